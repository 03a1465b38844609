"""What each policy makes of the tags that a file has."""

import json
from pathlib import Path
from typing import Any

import pytest

from chart_binder.audio.field_table import FIELDS_BY_NAME
from chart_binder.domain import tag_policies
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.tag_policies import (
    AlbumDates,
    ChosenIds,
    DecidedTrack,
    Policy,
    WriteOptions,
)
from chart_binder.domain.tags import ReleaseTrack, WholeRelease
from chart_binder.domain.verdict import FirstRelease
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS
from rules.making import cases

RELEASE = {
    "mb_release_id": "release", "title": "Opera", "date": "1975-11-21", "country": "GB",
    "status": "Official",
}  # fmt: skip
GROUP = {
    "mb_rg_id": "group", "title": "A Night at the Opera", "primary_type": "Album",
    "first_release_date": "1975-11-21", "releases": [RELEASE],
}  # fmt: skip
SAMPLER = {
    "mb_rg_id": "sampler", "title": "Hits", "primary_type": "Album",
    "secondary_types": ["Compilation"], "first_release_date": "1974-05-01",
    "releases": [{"mb_release_id": "hits", "title": "Hits!", "date": "1974-05-01"}],
}  # fmt: skip
ORIGINAL = Path(__file__).with_name("original_dates.txt")
CHOSEN = ChosenIds("recording", "group", "release", "evh=1")


def track(
    date: str | None = "1975-10-31", *, certain: bool = True, chosen: ChosenIds = CHOSEN,
    **recording: Any,
) -> DecidedTrack:  # fmt: skip
    candidate = {"mb_recording_id": "recording", "rg_candidates": [GROUP, SAMPLER]} | recording
    bundle = read_bundle({"recording_title": "T", "recording_candidates": [candidate]})
    first = FirstRelease(date, certain, "a reason") if date else None
    return DecidedTrack(chosen, bundle, first)


def fields(**texts: str) -> dict[str, tuple[str, ...]]:
    return {name: (text,) for name, text in texts.items()}


@pytest.mark.parametrize(("known", "first", "written", "noted"), cases(ORIGINAL, is_named=False))
def test_the_original_date(known: str, first: str, written: str, noted: str) -> None:
    now = json.loads(known)
    one, before = track(first), fields(**now)
    album = AlbumDates(tag_policies.dates_of_album(one, before))
    wanted = tag_policies.dates(one, before, album)
    expected = (
        {"original_date": (written,), "original_year": (written[:4],)} if written != "-" else {}
    )
    always = {"recording_mbid": ("recording",), "decision_trace": ("evh=1",)}
    assert wanted.fields == {**always, **expected}
    assert bool(wanted.notes) is (noted != "-")
    assert bool(wanted.withheld) is (noted == "doubted")


@pytest.mark.parametrize(("now", "first", "changed"), [
    ({"original_date": "1975-10-31", "original_year": "2004"}, "1975-10-31", "original_year"),
    ({"original_date": "2004", "original_year": "1975"}, "1975", "original_date"),
])  # fmt: skip
def test_of_two_fields_the_later_is_replaced(now: dict[str, str], first: str, changed: str) -> None:
    wanted = tag_policies.dates(track(first), fields(**now), AlbumDates())
    dates = {name: texts for name, texts in wanted.fields.items() if "original" in name}
    assert (dates, wanted.notes) == ({changed: ("1975",)}, ())


@pytest.mark.parametrize(("one", "why"), [
    (track(certain=False), "the year of the first release is not certain (a reason)"),
    (track(None), "no official release is known with a date"),
    (track("1974-10-31/1975"), "the year of the first release is not certain"),
])  # fmt: skip
def test_without_a_certain_year_the_dates_stay(one: DecidedTrack, why: str) -> None:
    now = fields(original_date="2004", date="2004", recording_mbid="mine")
    for album in (AlbumDates(), AlbumDates(also_date=True)):
        wanted = tag_policies.dates(one, now, album)
        assert wanted.fields == {"decision_trace": ("evh=1",)}
        assert why in (wanted.withheld or "")


@pytest.mark.parametrize(("now", "expected", "note"), [
    ({"date": "2004"}, {"date": "1975-10-31", "release_date": "2004"}, ""),
    ({}, {"date": "1975-10-31"}, ""), ({"date": "1975-10-31"}, {}, ""),
    ({"date": "1975"}, {"date": "1975-10-31", "release_date": "1975"}, ""),
    ({"date": "1969"}, {}, "date 1969 stays"),
    ({"date": "May 1969"}, {}, "date 1969-05 stays"),
    ({"date": "before 1969"}, {}, "date 'before 1969' stays: it cannot be read as a date"),
    ({"date": "2004", "release_date": "2004"}, {"date": "1975-10-31"}, ""),
    ({"date": "2004", "release_date": "2003"}, {"date": "1975-10-31"}, "the date 2004 goes"),
])  # fmt: skip
def test_the_first_date_as_date(now: dict[str, str], expected: dict[str, str], note: str) -> None:
    wanted = tag_policies.dates(track(), fields(**now), AlbumDates(also_date=True))
    found = {
        name: wanted.fields[name][0] for name in ("date", "release_date") if name in wanted.fields
    }
    assert found == expected
    assert note in " ".join(wanted.notes)
    assert bool(wanted.notes) is bool(note)


def test_an_earlier_date_that_this_program_wrote_is_replaced() -> None:
    now = fields(original_date="1969")
    wanted = tag_policies.dates(track(), now, AlbumDates(frozenset({"1969"})))
    assert (wanted.fields["original_date"], wanted.notes) == (("1975-10-31",), ())
    moved = tag_policies.move(track(), now, OPERA, TRACKS[1], frozenset({"1969"}))
    assert moved.fields["original_date"] == ("1975-10-31",)


def test_an_album_is_kept_whole_by_its_release_date_and_by_vaguer_dates() -> None:
    now = fields(date="1975")
    whole = AlbumDates(also_date=True, with_release_date=True)
    wanted = tag_policies.dates(track(certain=False), now, whole)
    assert wanted.fields["release_date"] == ("1975",)
    cut = AlbumDates(no_finer_than_date=True)
    wanted = tag_policies.dates(track(), now, cut)
    assert wanted.fields["original_date"] == ("1975",)
    assert "cut to the precision of the date" in " ".join(wanted.notes)
    assert tag_policies.dates(track(), {**now, **wanted.fields}, cut).notes == ()
    assert tag_policies.dates(track("1974-10"), now, cut).fields["original_date"] == ("1974-10",)


def test_a_recording_id_is_added_but_never_replaced_nor_a_siblings() -> None:
    for policy in (lambda one, now: tag_policies.dates(one, now, AlbumDates()), tag_policies.note):
        assert policy(track(), {}).fields["recording_mbid"] == ("recording",)
        assert "recording_mbid" not in policy(track(), fields(recording_mbid="mine")).fields
        assert "recording_mbid" not in policy(track(relation="sibling"), {}).fields


def test_a_note_is_under_keys_of_its_own() -> None:
    now = fields(recording_mbid="mine", album="Hits", note_release_mbid="old")
    assert tag_policies.note(track(), now).fields == {
        "note_album": ("A Night at the Opera",), "note_original_date": ("1975-10-31",),
        "note_release_group_mbid": ("group",), "note_release_mbid": ("release",),
        "decision_trace": ("evh=1",),
    }  # fmt: skip
    uncertain = tag_policies.note(
        track(certain=False, chosen=ChosenIds("r", "group", None, None)), now
    )
    assert uncertain.fields["note_original_date"] == ()
    assert uncertain.fields["note_release_mbid"] == ()
    assert "decision_trace" not in uncertain.fields


TRACKS = (
    ReleaseTrack("other", "track 1", 1, 1, 12, 100_000),
    ReleaseTrack("recording", "track 2", 1, 2, 12, 100_000, ("artist",), '12" Vinyl'),
    ReleaseTrack("recording", "track 3", 2, 3, 9, 200_000, ("artist",), '12" Vinyl', "Encores"),
)
OPERA = WholeRelease(
    mbid="release", group_mbid="group", title="A Night at the Opera", artist="Queen", discs=2,
    tracks=TRACKS, artist_sort="Queen", artist_mbids=("artist",),
    date=PartialDate.parse("1975-11-21"), country="GB", status="Official", types=("album",),
    labels=("EMI", "[no label]", "EMI"), catalog_numbers=("[none]", "EMC 103"),
)  # fmt: skip


def test_a_moved_file_has_everything_of_its_release_and_nothing_of_another() -> None:
    now = fields(
        title="T", album="Hits", release_mbid="hits", date="1974", release_date="1974",
        original_date="1974-05-01", compilation="1", track="9/20", disc="1/1", barcode="1",
        asin="B", disc_id="x", disc_subtitle="Side", album_artist_sort="Various",
        recording_mbid="merged",
    )  # fmt: skip
    wanted = tag_policies.move(track(), now, OPERA, TRACKS[1]).fields
    assert wanted == {
        "album": ("A Night at the Opera",), "album_artist": ("Queen",),
        "album_artist_sort": ("Queen",), "date": ("1975-11-21",), "release_date": (),
        "original_date": ("1975-10-31",), "original_year": ("1975",), "track": ("2/12",),
        "disc": ("1/2",), "disc_subtitle": (), "compilation": (), "labels": ("EMI",),
        "catalog_numbers": ("EMC 103",), "barcode": (), "asin": (), "media": ('12" Vinyl',),
        "release_types": ("album",), "release_status": ("official",), "release_country": ("GB",),
        "recording_mbid": ("recording",), "release_track_mbid": ("track 2",),
        "release_mbid": ("release",), "release_group_mbid": ("group",),
        "artist_mbids": ("artist",), "album_artist_mbids": ("artist",), "disc_id": (),
        "decision_trace": ("evh=1",),
    }  # fmt: skip
    assert set(wanted) <= set(FIELDS_BY_NAME)
    uncertain = tag_policies.move(track(certain=False), now, OPERA, TRACKS[1])
    assert (uncertain.fields["original_date"], uncertain.withheld) == ((), None)
    now = {**now, "original_date": ("before 1960",)}
    kept = tag_policies.move(track(certain=False), now, OPERA, TRACKS[1])
    assert "original_date" not in kept.fields
    assert kept.notes == ("original date 'before 1960' stays: it cannot be read as a date",)
    assert kept.fields["original_year"] == ()


def test_what_is_not_known_of_the_same_release_stays() -> None:
    now = fields(release_mbid="RELEASE", barcode="1", asin="B", compilation="1", track="2/12")
    wanted = tag_policies.move(track(), now, OPERA, TRACKS[1]).fields
    assert {"barcode", "asin", "track", "disc_subtitle"}.isdisjoint(wanted)
    assert wanted["compilation"] == ()
    assert wanted["disc"] == ("1/2",)


@pytest.mark.parametrize(("artists", "now", "expected"), [
    ((VARIOUS_ARTISTS,), {}, ("1",)), (("artist",), {"compilation": "1"}, ()),
    (("artist",), {"compilation": "0"}, None),
])  # fmt: skip
def test_the_compilation_flag(
    artists: tuple[str, ...], now: dict[str, str], expected: tuple[str, ...] | None
) -> None:
    release = WholeRelease("release", "group", "T", "A", 1, TRACKS, artist_mbids=artists)
    wanted = tag_policies.move(track(), fields(**now), release, TRACKS[1])
    assert wanted.fields.get("compilation") == expected


@pytest.mark.parametrize(("recordings", "length", "place"), [
    (["recording"], None, "track 2"), (["recording"], 199_000, "track 3"),
    (["gone", "other"], 1, "track 1"), (["gone"], None, None), ([], None, None),
])  # fmt: skip
def test_a_recordings_track(recordings: list[str], length: int | None, place: str | None) -> None:
    found = OPERA.track_of(recordings, length)
    assert (found.mbid if found else None) == place


def test_an_option_of_another_policy_is_refused() -> None:
    problems = WriteOptions(Policy.MOVE, also_date=True).problems
    assert [name for name, _ in problems] == ["also_date"]
