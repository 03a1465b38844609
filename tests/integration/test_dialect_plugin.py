"""A dialect from another package works through its entry point, from the command line."""

import json
import re
from pathlib import Path

import pytest

from golden.bundles import year_only_single
from integration.conftest import REPOSITORY, Canon

PAGE = (REPOSITORY / "docs" / "react.md").read_text("utf-8")


def block(language: str, holding: str) -> str:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return next(text for text in found if holding in text)


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The dialect of the docs, installed as a package of its own; how Python finds it."""
    site = tmp_path / "site"
    metadata = site / "terse-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "terse.py").write_text(block("python", "class Terse"), "utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: terse\nVersion: 1.0\n")
    toml = block("toml", "chart_binder.dialects")
    group, name, value = re.findall(r'"(.*)"\]\n(\w+) = "(.*)"', toml)[0]
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
    return {"PYTHONPATH": str(site)}


def test_a_reply_is_read_in_it(cold_canon: Canon, installed: dict[str, str]) -> None:
    reply = b'I need the day.\nCALL web_search {"query": "Killer Queen"}'
    ran = cold_canon("transcript", "parse", "--dialect", "terse", stdin=reply, **installed)
    assert ran.status == 0
    (line,) = ran.lines
    assert (line["kind"], line["tool"]) == ("act", "web_search")
    assert line["arguments"] == {"query": "Killer Queen"}
    arguments = ("transcript", "parse", "--any", "--dialect", "terse")
    (line,) = cold_canon(*arguments, stdin=b"SAY 28", **installed).lines
    assert (line["kind"], line["answer"]) == ("finish", "28")


def test_an_adjudicator_speaks_it(cold_canon: Canon, installed: dict[str, str], home: Path) -> None:
    bundle = home / "bundle.json"
    bundle.write_text(json.dumps(year_only_single()), "utf-8")
    answer = {"crg_mbid": "C1", "confidence": 0.9, "rationale": "It is the album."}
    canned = home / "canned.jsonl"
    reply = {"type": "reply", "content": f"So.\nSAY {json.dumps(answer)}"}
    canned.write_text(json.dumps(reply) + "\n", "utf-8")
    ran = cold_canon(
        "decide",
        "--evidence",
        bundle,
        "--output=json",
        CANON_LLM__ENABLED="true",
        CANON_LLM__PROVIDER="replay",
        CANON_LLM__MODEL_ID=str(canned),
        CANON_LLM__DIALECT="terse",
        **installed,
    )
    (line,) = ran.lines
    assert line["adjudication"]["dialect"] == "terse"
    assert line["adjudication"]["rationale"] == "It is the album."


def test_without_it_the_dialects_there_are_are_named(cold_canon: Canon) -> None:
    ran = cold_canon("transcript", "parse", "--dialect", "terse", stdin=b"SAY it")
    assert ran.status == 2
    assert "'terse'" in ran.err
    assert "classic, pause, xml" in ran.err
