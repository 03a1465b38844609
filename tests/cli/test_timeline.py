"""The timeline of appearances: golden drawings, their width, and what they are drawn from."""

import copy
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chart_binder.cli.decision_text import place_days
from chart_binder.cli.output import display_width
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.jobs.explain import appearances, lead_window
from cli.drawing import DRAWN, KNOBS, drawn, evidence
from rules.making import document, recording, records

TIMELINES = Path(__file__).parent / "timelines"


@pytest.mark.parametrize("name", DRAWN)
def test_a_timeline_is_drawn_as_its_golden_file(name: str) -> None:
    text = "".join(f"{line}\n" for line in drawn(DRAWN[name]))
    assert text == (TIMELINES / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("width", [20, 31, 60, 79])
def test_no_line_is_wider_than_asked_and_each_candidate_has_one(name: str, width: int) -> None:
    lines = drawn(DRAWN[name], width)
    assert all(display_width(line) <= width for line in lines)
    assert len(lines) >= len(appearances(DRAWN[name]))


def test_evidence_in_any_order_is_drawn_alike() -> None:
    made = document(recording(*records("S single 1975; A album 1975-11-21 1975; B album undated")))
    shuffled = copy.deepcopy(made)
    for group in shuffled["recording_candidates"][0]["rg_candidates"]:
        random.Random(3).shuffle(group["releases"])
    shuffled["recording_candidates"][0]["rg_candidates"].reverse()
    assert drawn(read_bundle(shuffled)) == drawn(read_bundle(made))


days = st.lists(st.integers(1, 3_652_059), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(days=days, width=st.integers(1, 100))
def test_the_scale_keeps_the_order_of_days_and_its_width(days: list[int], width: int) -> None:
    columns = place_days(days, width)
    placed = [columns[day] for day in sorted(days)]
    assert placed == sorted(placed)
    assert (placed[0], placed[-1]) == (0, width - 1 if len(set(days)) > 1 else 0)


def test_a_title_cannot_break_its_line() -> None:
    made = records("A album 1974")
    made[0]["title"] = "two\nlines\x1b[31m"
    (line, *_) = drawn(read_bundle(document(recording(*made))))
    assert "two lines [31m" in line


def test_the_lead_window_is_certain_only_for_days_that_follow_every_possible_date() -> None:
    window = lead_window(evidence("S single 1974-10; A album 1974-11-08"), KNOBS)
    assert window is not None
    assert [str(day) for day in (window.earliest, window.from_, window.to, window.latest)] == [
        "1974-10-02", "1974-11-01", "1974-12-30", "1975-01-29",
    ]  # fmt: skip
    vague = lead_window(evidence("S single 1974; A album 1974-11-08"), KNOBS)
    assert vague is not None
    assert (vague.from_, vague.to) == (None, None)


@pytest.mark.parametrize(
    "text", ["A album 1974", "S single 1974", "S single undated; A album 1974", "L live 1974"]
)
def test_there_is_no_window_where_no_single_comes_before_an_album(text: str) -> None:
    assert lead_window(evidence(text), KNOBS) is None


def test_each_date_names_its_release() -> None:
    (album, single) = appearances(
        evidence("A album 1974-11@DE 1974@US 1974-11@GB 1980 1974-10/promo; S single group:1975")
    )
    assert [(one.date, one.release, one.said, one.others) for one in album.sources] == [
        ("1974", "A.2", "US", 0), ("1974-11", "A.1", "DE", 1),
    ]  # fmt: skip
    assert [(one.date, one.status) for one in album.aside] == [("1974-10", "Promotion")]
    assert [(one.date, one.release) for one in single.sources] == [("1975", None)]


def test_the_first_and_last_days_of_the_calendar_are_drawn() -> None:
    made = evidence("S single 0001-01-01; A album 0001-02; L live 9999-12-31; C compilation 0001")
    assert [one.since and one.since.isoformat() for one in appearances(made)] == [
        "0001-01-01", "0001-01-01", "0001-02-01", "9999-12-31",
    ]  # fmt: skip
    lines = drawn(made)
    assert "|0001-01-01" in "".join(lines)
    assert not [line for line in lines if "? no date" in line]
