"""Releases become groups; dates, countries, media and labels are read as MusicBrainz means them."""

import pytest

from chart_binder.domain.evidence import Artist, Release
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS, ArtistId, ReleaseGroupId, ReleaseId
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.evidence import country_of, release_groups
from chart_binder.musicbrainz.web_service import Area, Credit, LabelInfo, Medium, ReleaseEvent
from chart_binder.rules.names import is_by

GROUP = ws.MBReleaseGroup(ReleaseGroupId("g"), "A Night at the Opera", "Album")


def read(home: str | None = None, **fields: object) -> Release:
    release = ws.MBRelease(id=ReleaseId("r"), release_group=GROUP, **fields)  # type: ignore[arg-type]
    (group,) = release_groups([release], home)
    (made,) = group.editions
    return made


def event(date: str | None, country: str | None) -> ReleaseEvent:
    return ReleaseEvent(date, Area((country,)) if country else None)


@pytest.mark.parametrize(("events", "home", "expected"), [
    ([event("1975-11-21", "GB")], None, ("1975-11-21", "GB")),
    ([event("1975-12-02", "US"), event("1975-11-21", "GB")], "US", ("1975-11-21", "GB")),
    ([event("1975-11-21", "DE"), event("1975-11-21", "GB")], "GB", ("1975-11-21", "GB")),
    ([event("1975-11-21", "DE"), event("1975-11-21", "GB")], "FR", ("1975-11-21", "DE")),
    ([event("1975", "US"), event("1975-11-21", "GB")], None, ("1975-11-21", "GB")),
    ([event("1974", "US"), event("1975-11-21", "GB")], None, ("1974", "US")),
    ([event("", "US"), event("1975", None)], None, ("1975", None)),
    ([event(None, "XW")], "GB", ("", "XW")),
    ([event("1975-13-41", "GB")], None, ("", "GB")), ([event("????-05", "GB")], None, ("", "GB")),
    ([ReleaseEvent("1975", Area(()))], None, ("1975", None)), ([], "GB", ("2001", "JP")),
])  # fmt: skip
def test_the_earliest_event_counts_and_the_own_country_on_one_day(
    events: list[ReleaseEvent], home: str | None, expected: tuple[str, str | None]
) -> None:
    made = read(home, date="2001", country="JP", release_event_list=tuple(events))
    assert (made.when.text, made.country) == expected


@pytest.mark.parametrize(("formats", "expected"), [
    ([], None), ([None], None), (["CD"], "CD"), (["CD", "CD", "DVD"], "2×CD + DVD"),
    (['12" Vinyl', '12" Vinyl', "CD", "Enhanced CD"], '2×12" Vinyl + CD + Enhanced CD'),
    (["CD", None, "CD"], "2×CD"), (["CD", "DVD", "CD"], "CD + DVD + CD"),
])  # fmt: skip
def test_media_are_counted(formats: list[str | None], expected: str | None) -> None:
    assert read(medium_list=tuple(map(Medium, formats))).format == expected


def test_a_group_has_the_labels_and_countries_of_all_its_releases() -> None:
    one = ws.MBRelease(
        id=ReleaseId("one"), release_group=GROUP,
        label_info_list=(LabelInfo("EMTC 103"), LabelInfo(None, ws.Label("EMI")), LabelInfo("X 1",
            ws.Label("Parlophone"))),
        release_event_list=(event("1975", "GB"), event("1975", "IE")),
    )  # fmt: skip
    other = ws.MBRelease(id=ReleaseId("other"), release_group=GROUP, country="US")
    (group,) = release_groups([one, other], None)
    assert group.labels == ("EMI", "Parlophone")
    assert group.countries == ("GB", "IE", "US")
    assert [(r.label, r.catno) for r in group.editions] == [("EMI", "EMTC 103"), (None, None)]


@pytest.mark.parametrize(("begin", "area", "country", "expected"), [
    (Area((), ("GB-LND",)), Area(("US",)), "US", "GB"), (Area(("JP",)), None, None, "JP"),
    (Area(("SU",)), Area(("EE",)), "EE", "SU"), (Area((), ()), Area(("FR",)), None, "FR"),
    (Area((), (None,)), Area((None,), ("CA-QC",)), "US", "CA"), (None, None, "DE", "DE"),
    (Area(("XE",)), Area(("DE",)), "DE", "DE"), (None, Area(("XW",)), "XW", None),
    (None, None, "", None), (None, None, None, None),
])  # fmt: skip
def test_an_artist_is_from_where_they_began(
    begin: Area | None, area: Area | None, country: str | None, expected: str | None
) -> None:
    artist = ws.MBArtist(ArtistId("a"), country=country, area=area, begin_area=begin)
    assert country_of(artist) == expected


@pytest.mark.parametrize(("credit", "by", "has_ids", "is_own"), [
    ("Алла Пугачёва", "a", False, True),
    ("Various Artists", VARIOUS_ARTISTS, False, False), ("Разные", VARIOUS_ARTISTS, True, False),
    ("Alla Pugacheva", "a", True, True), ("Ministry of Sound", "m", True, None),
])  # fmt: skip
def test_a_group_credited_otherwise_has_the_ids_of_its_artists(
    credit: str, by: str, has_ids: bool, is_own: bool | None
) -> None:
    credited = (Credit(ws.MBArtist(ArtistId(by))),)
    named = ws.MBReleaseGroup(
        ReleaseGroupId("g"), artist_credit_phrase=credit, artist_credit=credited
    )
    release = ws.MBRelease(id=ReleaseId("r"), release_group=named)
    (group,) = release_groups([release], None, "Алла Пугачёва")
    assert group.artist_ids == ((by,) if has_ids else None)
    artist = Artist("Алла Пугачёва", ArtistId("a"))
    assert is_by([artist], group, group.editions) is is_own
