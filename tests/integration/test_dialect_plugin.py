"""A dialect from another package works through its entry point, from the command line."""

import json
import re
from pathlib import Path

import pytest

from docs.pages import blocks
from integration.conftest import Canon
from integration.services import ANSWER, replaying


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The dialect of the docs, installed as a package of its own; how Python finds it."""
    site = tmp_path / "site"
    metadata = site / "terse-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "terse.py").write_text(blocks("docs/react.md", "python")[-1], "utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: terse\nVersion: 1.0\n")
    (toml,) = blocks("docs/react.md", "toml")
    group, name, value = re.findall(r'"(.*)"\]\n(\w+) = "(.*)"', toml)[0]
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
    return {"PYTHONPATH": str(site)}


def test_a_reply_is_read_in_it(cold_canon: Canon, installed: dict[str, str]) -> None:
    reply = b'I need the day.\nCALL web_search {"query": "Killer Queen"}'
    parse = ("transcript", "parse", "--dialect", "terse")
    line = cold_canon(*parse, stdin=reply, **installed).line
    assert (line["kind"], line["tool"]) == ("act", "web_search")
    assert line["arguments"] == {"query": "Killer Queen"}
    line = cold_canon(*parse, "--any", stdin=b"SAY 28", **installed).line
    assert (line["kind"], line["answer"]) == ("finish", "28")


def test_it_is_spoken(
    cold_canon: Canon, installed: dict[str, str], home: Path, open_bundle: Path
) -> None:
    settings = replaying(home, f"So.\nSAY {json.dumps(ANSWER)}") | installed
    settings["CANON_LLM__DIALECT"] = "terse"
    line = cold_canon("decide", "--evidence", open_bundle, "--output=json", **settings).line
    assert line["adjudication"]["dialect"] == "terse"
    assert line["adjudication"]["rationale"] == ANSWER["rationale"]
