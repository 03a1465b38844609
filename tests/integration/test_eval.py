"""`canon eval` as a process: a golden file is decided and scored."""

import json
from pathlib import Path
from typing import Any

import pytest

from golden.bundles import CASES, year_only_single
from integration.conftest import REPOSITORY, Canon
from integration.services import (
    ALBUM,
    ANSWER,
    LP,
    RHAPSODY,
    SINGLE,
    final,
    replaying,
)

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
        "whichever was first, it came out in this year",
    )  # fmt: skip
    assert ran.err == ""


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
    [({}, "--adjudicate: no language model was asked"),
     ({"CANON_LLM__ENABLED": "true", "CANON_MUSICBRAINZ__OFFLINE": "true"},
      "--adjudicate: no model was asked, because this run is offline")],
)  # fmt: skip
def test_adjudicate_needs_a_model(canon: Canon, environment: dict[str, str], word: str) -> None:
    ran = canon("eval", "--adjudicate", "-", stdin=lines(RHAPSODY), **environment)
    assert (ran.status, ran.out) == (2, "")
    assert word in ran.err


def test_an_override_changes_no_score(canon: Canon) -> None:
    recording = RHAPSODY["bundle"]["recording_candidates"][0]["mb_recording_id"]
    canon("override", "set", recording, "--crg", LP, "--reason=x", "--offline")
    assert canon("eval", "-", stdin=lines(RHAPSODY)).status == 0


def test_a_file_without_a_case_is_an_error(canon: Canon, home: Path) -> None:
    empty = home / "empty.jsonl"
    empty.write_bytes(b"\xef\xbb\xbf\n \n")
    for output in ("text", "json"):
        ran = canon("eval", empty, f"--output={output}")
        assert (ran.status, ran.out) == (1, "")
        assert f"{empty}: no case to score" in ran.err
