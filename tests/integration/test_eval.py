"""`canon eval` as a process: a golden file is decided and scored."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from golden.bundles import CASES, golden, year_only_single
from integration.conftest import REPOSITORY, Canon
from integration.services import (
    ALBUM,
    ANSWER,
    LP,
    RHAPSODY,
    SINGLE,
    asking,
    final,
    replaying,
)
from servers.musicbrainz import MusicBrainzStandIn

DEMO_RUN = REPOSITORY / "src" / "chart_binder" / "demo" / "transcript.jsonl"
"""A run in which the model finds the fact that settles `year_only_single`."""
FILE = REPOSITORY / "tests" / "golden" / "decisions.jsonl"
YEAR = {"date": "1975", "year_certain": True, "release_group_mbid": None}
OPEN = {
    "id": "open",
    "bundle": year_only_single(),
    "expected": RHAPSODY["expected"] | {"first_release": YEAR},
}


def lines(*cases: dict[str, Any] | str) -> bytes:
    texts = (case if isinstance(case, str) else json.dumps(case) for case in cases)
    return "\n".join(texts).encode()


def test_the_golden_decisions_are_as_expected(canon: Canon) -> None:
    text = canon("eval", FILE)
    assert (text.status, text.err) == (0, "")
    for word in (f"{len(CASES)} {len(CASES)}", "100.0%", "CRG:ALBUM_LEAD_WINDOW"):
        assert word in re.sub(" +", " ", text.out)
    report = canon("eval", FILE, "--output=json").line
    assert (report["crg"]["cases"], report["crg"]["accuracy"]) == (len(CASES), 1.0)
    assert report["wrong"] == report["open"] == report["ill_formed"] == []


def test_wrong_cases_and_ill_formed_lines_are_listed(canon: Canon) -> None:
    wrong = RHAPSODY | {"id": "\x1b[2Jodd", "expected": {"crg_mbid": None}}
    unknown = RHAPSODY | {"id": "unknown", "expected": {"crg_mbid": "alb"}}
    ran = canon("eval", "-", stdin=lines(wrong, "{", RHAPSODY, unknown)).must_end(1)
    for word in (
        "odd (line 1)", "CRG:ALBUM_LEAD_WINDOW: the single", "line 2", ALBUM,
        "expected     alb, which the evidence lacks\n",
    ):  # fmt: skip
        assert word in ran.out
    assert "\x1b" not in ran.out


def test_first_releases_are_scored_and_wrong_ones_listed(canon: Canon) -> None:
    assert f"first release: {len(CASES)} of {len(CASES)} right" in canon("eval", FILE).out
    wanted = {"date": "1974", "year_certain": False, "release_group_mbid": SINGLE}
    wrong = OPEN | {"expected": OPEN["expected"] | {"first_release": wanted}}
    ran = canon("eval", "-", stdin=lines(wrong), COLUMNS="100").must_end(
        1, "0 of 1 right, 1 of a wrong year that is called certain, 1 called certain without",
        "reason, 1 of another date",
        "first        expected 1974 or earlier (Bohemian Rhapsody), found 1975",
        "whichever was first, it is of this year",
    )  # fmt: skip
    assert ran.err == ""


def test_first_releases_are_compared_with_the_years_of_a_list(canon: Canon, home: Path) -> None:
    bundles = [golden(name) for name in ("lead-bohemian", "lead-hanae")]
    years = home / "years.csv"
    years.write_text(
        "artist,title,year,isrc\n"
        "Queen,Bohemian Rhapsody,1975,GBUM71029604\n"
        '"ハナエ",小さな恋のものがたり,2010,\n'
        "Nobody,Nothing,1977,\n",
        "utf-8",
    )
    with MusicBrainzStandIn(bundles) as mb:
        settings = asking(mb) | {"COLUMNS": "100"}
        text = canon("eval", "--dates", years, **settings).must_end(
            3, "rows         3", "decided      2 (66.7%); 1 not known to MusicBrainz",
            "+6  ハナエ - 小さな恋のものがたり (line 3): 2010 in the list, first released 2016-",
            "Nobody - Nothing (line 4): MusicBrainz",
        )  # fmt: skip
        asked = [target for target in mb.targets if "isrc" in target or "query=" in target]
        assert any("GBUM71029604" in target for target in asked)
        report = canon("--output=json", "eval", "--dates", years, **settings).line
        again = canon("eval", "--dates", years, "--offline", **settings)
        assert again.out.count("Nobody - Nothing") == 1
        with_list = years.read_bytes().replace(b"1975", b"soon")
        bad = canon("eval", "--dates", "-", stdin=with_list, **settings)
    assert "of a certain year 2 1 50.0% 1 50.0% 1 50.0%" in " ".join(text.out.split())
    assert (report["decided"]["exact"], report["decided"]["more_than_two"]) == (1, 1)
    assert [(one["off"], one["row"]["line"]) for one in report["worst"]] == [(6, 3)]
    bad.must_end(1, "1 ill-formed line", "line 2       year: found 'soon'")


def test_open_cases_are_counted_apart_from_wrong_ones(canon: Canon) -> None:
    ran = canon("eval", "-", "--output=json", stdin=lines(OPEN)).must_end(3)
    assert (ran.line["crg"]["open"], ran.line["crg"]["wrong"]) == (1, 0)
    assert ran.line["open"][0]["decision"]["missing_facts"]


def test_the_adjudicator_is_scored(canon: Canon, home: Path) -> None:
    settings = replaying(home, "") | {"CANON_LLM__MODEL_ID": str(DEMO_RUN)}
    dated = {"date": "1975-10-31", "year_certain": True}
    case = lines(OPEN | {"expected": OPEN["expected"] | {"first_release": dated}})
    ran = canon("eval", "--adjudicate", "-", "--output=json", stdin=case, **settings)
    report = ran.line
    assert (ran.status, report["crg"]["right"], report["rr"]["right"]) == (0, 1, 1)


def test_wrong_answers_of_the_model_are_listed(canon: Canon, home: Path) -> None:
    for confidence in (0.95, 0.2):
        answer = final(crg_mbid="C1", rr_mbid=None, confidence=confidence)
        settings = replaying(home, answer)
        ran = canon("eval", "--adjudicate", "-", stdin=lines(OPEN), COLUMNS="100", **settings)
        for words in (
            f"expected     A Night at the Opera ({ALBUM})",
            f"Bohemian Rhapsody ({SINGLE})",
            f"because      {ANSWER['rationale']}",
            f"confidence {confidence:.2f}",
            "ok: C1 'Bohemian Rhapsody' is a candidate",
            "transcript   ",
        ):
            assert words in ran.out
    kept = list((home / "data").rglob("transcripts/*"))
    assert len(kept) == 2
    assert any(each.name in ran.out for each in kept)


@pytest.mark.parametrize(
    ("environment", "word"),
    [({}, "--adjudicate: no model is enabled; llm.enabled = true"),
     ({"CANON_LLM__ENABLED": "true", "CANON_MUSICBRAINZ__OFFLINE": "true"},
      "--adjudicate: musicbrainz.offline is true")],
)  # fmt: skip
def test_adjudicate_names_what_is_missing(
    canon: Canon, environment: dict[str, str], word: str
) -> None:
    ran = canon("eval", "--adjudicate", "-", stdin=lines(RHAPSODY), **environment)
    assert (ran.status, ran.out) == (2, "")
    assert word in ran.err


def test_an_override_changes_no_score(canon: Canon) -> None:
    recording = RHAPSODY["bundle"]["recording_candidates"][0]["mb_recording_id"]
    canon("override", "set", recording, "--crg", LP, "--reason=x", "--offline")
    assert canon("eval", "-", stdin=lines(RHAPSODY)).status == 0


@pytest.mark.parametrize("text", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_a_file_without_a_case_is_an_error(canon: Canon, home: Path, text: bytes) -> None:
    empty = home / "empty.jsonl"
    empty.write_bytes(text)
    for output in ("text", "json"):
        ran = canon("eval", empty, f"--output={output}")
        assert (ran.status, ran.out) == (1, "")
        assert f"{empty}: holds no case, so there is nothing to score" in ran.err
