"""Spans of vague dates, promos and later records on one scale."""

import msgspec
import pytest

from chart_binder.domain.evidence_json import read_bundle
from chart_binder.pages.timeline import Timeline, timeline
from chart_binder.rules.labels import labelled_candidates
from golden.bundles import CASES, golden
from rules.making import document, recording, records


def drawn(text: str) -> Timeline | None:
    """Draw records as tests of the rules write them."""
    bundle = read_bundle(msgspec.json.encode(document(recording(*records(text)))))
    return timeline([*labelled_candidates(bundle)])


def test_a_vague_date_is_a_long_bar_and_a_day_a_short_one() -> None:
    shown = drawn("S single 1975; A album 1975-11-21")
    assert shown
    year, day = (row.bars[0] for row in shown.rows)
    assert (year.width > 80, day.width < 3, day.x > 75) == (True, True, True)
    assert [row.text for row in shown.rows] == ["single, 1975", "album, 1975-11-21"]
    assert shown.ticks[0].text.startswith("1975-")


def test_promos_are_apart_and_later_records_at_the_edge() -> None:
    shown = drawn("P single 1980-03-01/promo 1980-06-01; B album 1990-01-01; X live 1981/bootleg")
    assert shown
    bootleg, promo = (row for row in shown.rows if any(bar.is_promo for bar in row.bars))
    assert ([bar.is_promo for bar in promo.bars], bootleg.text) == (
        [False, True], "live album, nothing official",
    )  # fmt: skip
    assert promo.bars[1].x < promo.bars[0].x
    (later,) = (row for row in shown.rows if row.is_later)
    assert (later.text, later.bars) == ("album, 1990-01-01", ())


def test_nothing_is_drawn_without_a_date() -> None:
    assert drawn("S single undated") is None


@pytest.mark.parametrize("name", CASES)
def test_bars_and_ticks_are_inside(name: str) -> None:
    bundle = read_bundle(msgspec.json.encode(golden(name)))
    shown = timeline([*labelled_candidates(bundle)])
    if shown is None:
        return
    for row in shown.rows:
        for bar in row.bars:
            assert bar.x >= 0
            assert bar.width > 0
            assert bar.x + bar.width <= 100.01
    assert 0 < len(shown.ticks) <= 9
    assert all(0 <= tick.x <= 100 for tick in shown.ticks)
