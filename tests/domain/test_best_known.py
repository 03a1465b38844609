"""The earliest known year where it is not certain: which one it is, and when it is written."""

from typing import Any

import pytest
from msgspec import UNSET

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tag_policies import (
    AlbumDates,
    ChosenIds,
    DecidedTrack,
    WantedFields,
    dates,
)
from chart_binder.domain.verdict import BestKnown, FirstRelease
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from llm.verdicts.play import load_evidence

RULES = RulesConfig()
BUNDLE = EvidenceBundle(())
HINT = BestKnown("1977-10-28", "the recording is dated 1977-10-28")


def first_of(*records: str, **recording: object) -> FirstRelease:
    raw = {"artist": "Lena Frost", "country": "GB", "title": "Slow Tram", "records": records}
    bundle = load_evidence("best", raw | {"recording": recording}).bundle
    first = first_release(bundle, decide(bundle, RULES), RULES)
    assert first
    return first


ALBUM = 'A | Album | Rails | 1981-03-02 GB [R 1, 12" Vinyl]'
PROMO = 'P | Single | Slow Tram | 1977-10-28 GB promo [R 0, 7" Vinyl]'


def test_a_dated_recording_is_earlier_than_the_records_listed() -> None:
    first = first_of(ALBUM, first_release_date="1977-10-28")
    assert str(first.best) == (
        "1977? (the recording is dated 1977-10-28; the earliest record listed is dated 1981)"
    )
    assert (first.date, first.year_certain) == ("1981-03-02", False)


def test_a_date_that_a_promotional_copy_explains_is_no_better_one() -> None:
    first = first_of(ALBUM, PROMO, first_release_date="1977-10-28")
    assert (first.year_certain, first.best_known, first.best.year) == (False, UNSET, 1981)


def test_a_certain_year_has_no_other() -> None:
    first = first_of(ALBUM)
    assert first.year_certain
    assert (first.best_known, first.best.date) == (UNSET, "1981-03-02")


def written(first: FirstRelease, album: AlbumDates, **now: str) -> WantedFields:
    track = DecidedTrack(ChosenIds(None, "group", None, None), BUNDLE, first)
    return dates(track, {key: (text,) for key, text in now.items()}, album)


UNCERTAIN = FirstRelease("1981-03-02", year_certain=False, because="a hint", best_known=HINT)
CERTAIN = FirstRelease("1979-01-01", year_certain=True, because="it is")
MARKED = {
    "original_date": ("1977",), "original_year": ("1977",), "note_uncertain_date": ("1977",),
}  # fmt: skip


@pytest.mark.parametrize(("now", "is_written"), [
    ({}, True), ({"date": "1999"}, True),
    ({"date": "1999", "original_date": "1981-03-02"}, True), ({"date": "1977-12-01"}, False),
    ({"date": "1999", "original_date": "1976"}, False),
    ({"date": "1999", "original_date": "unknown 7"}, False), ({"date": "1970"}, False),
    ({"original_date": "1977", "note_uncertain_date": "1977"}, True),
])  # fmt: skip
def test_it_is_written_and_marked_where_it_is_earlier_than_the_files_own(
    now: dict[str, Any], is_written: bool
) -> None:
    wanted = written(UNCERTAIN, AlbumDates(best_known=True), **now)
    assert (wanted.fields, wanted.withheld is None) == (MARKED if is_written else {}, is_written)
    assert bool(wanted.notes) is is_written
    assert written(UNCERTAIN, AlbumDates(), **now).fields == {}


def test_a_certain_year_later_replaces_it_and_takes_the_mark_off() -> None:
    now = {"original_date": "1977", "original_year": "1977", "note_uncertain_date": "1977"}
    wanted = written(CERTAIN, AlbumDates(frozenset({"1977"})), **now)
    assert wanted.fields == {
        "original_date": ("1979-01-01",), "original_year": ("1979",), "note_uncertain_date": (),
    }  # fmt: skip
