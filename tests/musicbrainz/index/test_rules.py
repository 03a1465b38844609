"""What MusicBrainz' web service makes of the rows of a dump, and an index must make, too.

Each rule has cases that are written to one dump. Its index and a web service with its rows are
asked for each case: they must say the same, and it must be as expected.
"""

from collections.abc import Iterator
from statistics import median_low
from typing import NamedTuple

import pytest

from chart_binder.domain.evidence import EvidenceBundle, Release
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import EntityKind, RecordingId
from chart_binder.musicbrainz import web_service as ws
from make_dump import relate
from musicbrainz.index.building import DUMP, BothPaths, both_paths
from musicbrainz.index.small_dump import (
    CITY,
    COUNTRY,
    ENDED_WIKIPEDIA,
    LIVE,
    NEAR,
    PART_UNTIL_1991,
    SUBDIVISION,
    SmallDump,
)
from musicbrainz.index.test_same_evidence import assert_same_siblings, siblings_of
from servers.musicbrainz_dump import Rows


class Asked(NamedTuple):
    """Both paths to the facts of the dump, and the MBIDs of its recordings by title."""

    paths: BothPaths
    mbids: dict[str, str]

    def bundle(self, title: str) -> EvidenceBundle:
        """Return the evidence on a recording."""
        return self.paths.bundle(TrackTags(recording_mbid=self.mbids[title]))

    def release(self, title: str) -> Release:
        """Return the only release of a recording as evidence."""
        (release,) = (one for group in self.bundle(title).groups for one in group.editions)
        return release

    def releases(self, title: str) -> Iterator[tuple[ws.MBRelease, ...]]:
        """Yield the releases of a recording as the index and as the web service show them."""
        query = ws.BrowseReleases("recording", self.mbids[title])
        for metadata in self.paths.answers(query):
            yield metadata.release_list or ()

    def recordings(self, title: str) -> Iterator[ws.Recording]:
        """Yield a recording as the index and as the web service show it."""
        for metadata in self.paths.answers(ws.LookUp("recording", self.mbids[title])):
            assert metadata.recording
            yield metadata.recording


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("rules")
    dump = SmallDump(folder / "dump")
    for write in (
        write_areas, write_events, write_first_dates, write_labels, write_media, write_countries,
        write_texts, write_ids, write_relations,
    ):  # fmt: skip
        write(dump)
    dump.dump.close()
    with both_paths(folder / "dump", folder / "index") as paths:
        yield Asked(paths, dump.mbids)


def write_areas(dump: SmallDump) -> None:
    for name, code in (
        ("Zambia", "ZM"), ("Åland Islands", "AX"), ("Austria", "AT"), ("Area 10", "QM"),
        ("Area 9", "QN"), ("Japan", "JP"), ("japan", "QO"), ("Poland", "PL"), ("Latvia", "LV"),
        ("United Kingdom", "GB"), ("Soviet Union", "SU"),
    ):  # fmt: skip
        dump.area(name, COUNTRY, [code])
    dump.area("[Worldwide]", None, ["XW"])
    dump.area("Europe", None, ["XE"])


# 1. Events of a release, and 3. the text of dates.

EVENTS = [
    ("", ""),
    ("1999 Austria", "1999 AT"),
    ("1999-06-21 Austria, 1999-06-20 Japan", "1999-06-20 JP, 1999-06-21 AT"),
    ("2000 Austria, 1999 Japan, 2001 Poland", "1999 JP, 2000 AT, 2001 PL"),
    ("1999 Austria, 1999-12-31 Japan", "1999-12-31 JP, 1999 AT"),
    ("1999-06 Austria, 1999-06-30 Japan, 1999-05 Poland", "1999-05 PL, 1999-06-30 JP, 1999-06 AT"),
    ("1999-??-21 Austria, 1999-12 Japan", "1999-12 JP, 1999-??-21 AT"),
    ("- Austria, ????-06 Japan, 1999 Poland", "1999 PL, ????-06 JP, - AT"),
    ("????-06-05 Austria, ????-??-04 Japan", "????-06-05 AT, ????-??-04 JP"),
    ("1999 Zambia, 1999 Japan, 1999 japan, 1999 Poland", "1999 QO, 1999 JP, 1999 PL, 1999 ZM"),
    ("1999 Area 10, 1999 Austria, 1999 Area 9", "1999 QN, 1999 QM, 1999 AT"),
    ("1999 Austria, 1999 Åland Islands, 1999 [Worldwide]", "1999 XW, 1999 AX, 1999 AT"),
    ("1999 -, 1999 Zambia", "1999 ZM, 1999 -"),
    ("1999-01 -, 1999 Zambia", "1999-01 -, 1999 ZM"),
    ("1999-??-21 Austria", "1999-??-21 AT"),
    ("- -", "- -"),
]  # fmt: skip


def write_events(dump: SmallDump) -> None:
    for events, _ in EVENTS:
        dump.release(dump.recording(f"events {events}"), events)


@pytest.mark.parametrize(("events", "shown"), EVENTS)
def test_events_are_by_date_and_name_of_the_area(asked: Asked, events: str, shown: str) -> None:
    for (release,) in asked.releases(f"events {events}"):
        assert ", ".join(map(event_text, release.release_event_list)) == shown
        first = shown.partition(", ")[0]
        assert f"{release.date or '-'} {release.country or '-'}" == (first or "- -")
    asked.bundle(f"events {events}")


def event_text(event: ws.ReleaseEvent) -> str:
    codes = event.area.iso_3166_1_code_list if event.area else ()
    return f"{event.date or '-'} {next(iter(codes), None) or '-'}"


@pytest.mark.parametrize(("events", "date", "country"), [
    ("1999 Austria", "1999", "AT"),
    ("????-06-05 Austria, ????-??-04 Japan", None, "AT"),
    ("1999-??-21 Austria", "1999", "AT"),
    ("1999-??-21 Austria, 1999-12 Japan", "1999-12", "JP"),
    ("- -", None, None),
    ("", None, None),
])  # fmt: skip
def test_evidence_takes_a_date_up_to_its_gap(
    asked: Asked, events: str, date: str | None, country: str | None
) -> None:
    release = asked.release(f"events {events}")
    assert (release.date, release.country) == (date, country)


# 2. First dates of recordings and groups.

FIRST_DATES = [
    (["Official 2001", "Official 2000-05"], "2000-05"),
    (["Official 1999", "Official 1999-12-31"], "1999-12-31"),
    (["Official 1999-12", "Official 1999-12-31"], "1999-12-31"),
    (["Official 2000, 1998"], "1998"),
    (["Cancelled 1990", "Official 2000"], "2000"),
    (["Cancelled 1990"], None),
    (["Withdrawn 1990", "Bootleg 1991"], "1990"),
    (["Bootleg 1989-03", "Pseudo-Release 1988"], "1988"),
    (["Official -"], None),
    (["Official -, ????-06"], "????-06"),
    (["Official ????-06", "Promotion 2024"], "2024"),
    (["Official 1999-??-21", "Official 1999-11"], "1999-11"),
    (["Official 1999-??-21", "Official 2000"], "1999-??-21"),
]


def write_first_dates(dump: SmallDump) -> None:
    places = ["Austria", "Japan"]
    for releases, _ in FIRST_DATES:
        title, group = "first " + "; ".join(releases), dump.group()
        recording = dump.recording(title)
        for release in releases:
            status, _, dates = release.partition(" ")
            pairs = zip(dates.split(", "), places, strict=False)
            dump.release(recording, ", ".join(map(" ".join, pairs)), status, group)
    group = dump.group()
    dump.release(dump.recording("first on a later release"), "2005 Austria", group=group)
    dump.release(dump.recording("first on the first release"), "1977-03 -", group=group)
    dump.release(None, "1976 Austria", group=group)
    dump.recording("first on no release")


@pytest.mark.parametrize(("releases", "date"), FIRST_DATES)
def test_the_first_date_is_the_least_but_not_of_a_cancelled_release(
    asked: Asked, releases: list[str], date: str | None
) -> None:
    title = "first " + "; ".join(releases)
    for recording in asked.recordings(title):
        assert recording.first_release_date == date
    for shown in asked.releases(title):
        assert {release.release_group.first_release_date for release in shown} == {date}
    (candidate,) = asked.bundle(title).recording_candidates
    known = (date or "").partition("?")[0].rstrip("-")
    assert candidate.first_release_date == (known or None)


def test_a_group_is_dated_by_all_its_releases_and_a_recording_by_its_own(asked: Asked) -> None:
    for title, date in (("a later release", "2005"), ("the first release", "1977-03")):
        (candidate,) = asked.bundle(f"first on {title}").recording_candidates
        (group,) = candidate.groups
        assert (candidate.first_release_date, group.first_release_date) == (date, "1976")
    (candidate,) = asked.bundle("first on no release").recording_candidates
    assert (candidate.first_release_date, candidate.groups) == (None, ())


# 4. Labels and media.

LABELS = [
    ("CAT-2 Beta; CAT-10 Alpha", "CAT-10 Alpha; CAT-2 Beta", "Alpha", "CAT-10"),
    ("a1 Alpha; B2 Beta", "B2 Beta; a1 Alpha", "Beta", "B2"),
    ("É1 Alpha; z1 Beta", "z1 Beta; É1 Alpha", "Beta", "z1"),
    ("X1 Zeta; X1 Álpha; X1 beta", "X1 Álpha; X1 beta; X1 Zeta", "Álpha", "X1"),
    ("- Beta; - alpha; X1 -", "X1 -; - alpha; - Beta", "alpha", "X1"),
    ("- Alpha; X1 Beta", "X1 Beta; - Alpha", "Beta", "X1"),
    ("X1 Alpha;  Beta", "- Beta; X1 Alpha", "Beta", "X1"),  # empty, as before schema 31
    ("+1 Beta; 0 Zeta; X1 Alpha", "+1 Beta; - Zeta; X1 Alpha", "Beta", "+1"),
    ("- -", "- -", None, None),
    ("", "", None, None),
]


def write_labels(dump: SmallDump) -> None:
    for labels, *_ in LABELS:
        release = dump.release(dump.recording(f"labels {labels}"))
        for label in filter(None, labels.split("; ")):
            dump.label(release, *label.split(" "))


@pytest.mark.parametrize(("labels", "shown", "name", "catno"), LABELS)
def test_labels_are_by_bytes_of_the_number_then_by_name(
    asked: Asked, labels: str, shown: str, name: str | None, catno: str | None
) -> None:
    for (release,) in asked.releases(f"labels {labels}"):
        pairs = [
            f"{info.catalog_number or '-'} {info.label.name if info.label else '-'}"
            for info in release.label_info_list
        ]
        assert "; ".join(pairs) == shown
    evidence = asked.release(f"labels {labels}")
    assert (evidence.label, evidence.catno) == (name, catno)


def write_media(dump: SmallDump) -> None:
    vinyl, disc, dvd = 31, 1, 2
    recording = dump.recording("on the third medium")
    release = dump.release(None)
    for position, kind in ((3, dvd), (1, disc), (4, None), (2, disc), (5, vinyl)):
        medium = dump.medium(release, position, format=kind)
        if position == 3:
            dump.track(recording, medium, 2)
    twice = dump.recording("twice on a release")
    medium = dump.medium(dump.release(twice), 2)
    dump.track(twice, medium)
    dump.track(twice, medium, 2)
    dump.track(dump.recording("hidden"), medium, 0)
    dump.track(dump.recording("data"), medium, 3, is_data_track="t")


def test_media_are_by_position(asked: Asked) -> None:
    assert asked.release("on the third medium").format == '2×CD + DVD + 12" Vinyl'


def test_a_release_with_a_recording_twice_counts_once(asked: Asked) -> None:
    assert asked.release("twice on a release")
    for shown in asked.releases("twice on a release"):
        assert len(shown) == 1


@pytest.mark.parametrize("title", ["hidden", "data"])
def test_hidden_tracks_and_data_tracks_are_tracks(asked: Asked, title: str) -> None:
    twice = asked.release("twice on a release")
    assert asked.release(title) == twice
    for client in (asked.paths.index.client(), asked.paths.web.client()):
        release = client.release(twice.mb_release_id)
        assert release
        _, medium = release.medium_list
        hidden, (data,) = medium.pregap, medium.data_track_list
        assert [track.position for track in medium.track_list] == ["1", "2"]
        assert hidden
        assert (hidden.position, data.position) == ("0", "3")


# 5. The country of an artist.

HOMES = [
    ("its begin area's code", "Japan", "Poland", "JP"),
    ("its begin area's part", "Wales", "Poland", "GB"),
    ("a begin area is not walked up", "Cardiff", "Poland", "PL"),
    ("its area's code", None, "Poland", "PL"),
    ("its area's part", None, "Wales", "GB"),
    ("walked up two steps", None, "Cardiff", "GB"),
    ("the nearest country", None, "Riga", "LV"),
    ("the least of two as near", None, "Border town", "AT"),
    ("by a link that has ended", None, "Old town", "SU"),
    ("not by another link", None, "Neighbour", None),
    ("through a circle", None, "Circle A", "PL"),
    ("in a circle without a country", None, "Circle C", None),
    ("a code above that is no country's", None, "Harbour", "JP"),
    ("the least of two codes", None, "Two codes", "QP"),
    ("not worldwide", None, "[Worldwide]", None),
    ("not Europe", "Europe", "Poland", "PL"),
    ("worldwide, then its area", "[Worldwide]", "Cardiff", "GB"),
    ("nowhere", None, None, None),
]


def write_countries(dump: SmallDump) -> None:
    dump.area("Wales", SUBDIVISION, ["GB-WLS"])
    dump.area("Two codes", COUNTRY, ["QQ", "QP"])
    dump.area("Free port", SUBDIVISION, ["QR"])
    for name in (
        "Cardiff", "Riga", "Vidzeme", "Border town", "Old town", "Neighbour", "Circle A",
        "Circle B", "Circle C", "Circle D", "Harbour",
    ):  # fmt: skip
        dump.area(name, CITY)
    for part, whole in (
        ("Cardiff", "Wales"), ("Wales", "United Kingdom"), ("Riga", "Vidzeme"), ("Riga", "Latvia"),
        ("Vidzeme", "Austria"), ("Border town", "Poland"), ("Border town", "Austria"),
        ("Circle A", "Circle B"), ("Circle B", "Circle A"), ("Circle B", "Poland"),
        ("Circle C", "Circle D"), ("Circle D", "Circle C"), ("Harbour", "Free port"),
        ("Free port", "Japan"),
    ):  # fmt: skip
        dump.within(part, whole)
    dump.within("Old town", "Soviet Union", PART_UNTIL_1991)
    dump.within("Neighbour", "Poland", NEAR)
    for name, begin, area, _ in HOMES:
        artist = dump.artist(
            name,
            begin_area=dump.areas[begin] if begin else None,
            area=dump.areas[area] if area else None,
        )
        dump.recording(f"home {name}", artist_credit=dump.credit([(artist, name, "")]))


@pytest.mark.parametrize(("name", "begin", "area", "country"), HOMES)
def test_the_country_of_an_artist(
    asked: Asked, name: str, begin: str | None, area: str | None, country: str | None
) -> None:
    assert asked.bundle(f"home {name}").performer.begin_area_country == country, (begin, area)


# 6. Lengths, 7. ISRCs, types and credits.


def write_texts(dump: SmallDump) -> None:
    recording = dump.recording("length", length=200_000)
    medium = dump.medium(dump.release(recording), 2)
    for position, length in enumerate((100_000, 200_000, 300_000, 400_000), 2):
        dump.track(recording, medium, position, length=length)
    recording = dump.recording("codes")
    for code in ("USABC0000001", "GBABC0000002", "DEABC0000003"):
        dump.put("isrc", recording=recording, isrc=code)
    names = [(dump.artist(name), name.upper(), join) for name, join in (("A", " vs. "), ("B", "!"))]
    credit = dump.credit(names)
    dump.release(dump.recording("credit", artist_credit=credit))
    group = dump.group(name="Kinds", artist_credit=credit, type=1)
    for kind in (6, 1):
        dump.dump.put("release_group_secondary_type_join", release_group=group, secondary_type=kind)
    dump.release(dump.recording("kinds"), group=group, artist_credit=credit, name="Other title")


def test_the_length_is_that_of_the_row_which_is_the_lower_median(asked: Asked) -> None:
    (candidate,) = asked.bundle("length").recording_candidates
    assert candidate.length_ms == 200_000
    rows = Rows(DUMP)
    for recording in rows.all("recording"):
        tracks = rows.where("track", "recording", recording["id"])
        lengths = [int(track["length"]) for track in tracks if "length" in track]
        if lengths:
            assert int(recording["length"]) == median_low(lengths)


def test_isrcs_are_sorted(asked: Asked) -> None:
    for recording in asked.recordings("codes"):
        assert recording.isrc_list == ("DEABC0000003", "GBABC0000002", "USABC0000001")


def test_a_credit_is_shown_as_it_is_written(asked: Asked) -> None:
    bundle = asked.bundle("credit")
    assert bundle.performer.name == "A vs. B!"
    for recording in asked.recordings("credit"):
        first, second = recording.credits
        assert (first.artist.name, second.artist.name) == ("A", "B")
        assert [(one.name or one.artist.name) for one in (first, second)] == ["A", "B"]
    ((group,), release) = asked.bundle("kinds").groups, asked.release("kinds")
    assert (group.title, release.title) == ("Kinds", "Other title")
    assert (group.artist_credit, release.artist_credit) == ("A vs. B!", "A vs. B!")
    assert len(group.artist_ids or ()) == 2, "another credit than the recording's is told by ids"
    assert (group.primary_type, sorted(group.kinds)) == ("Album", ["Compilation", "Live"])


# 8. Merged ids, 10. provenance.


def write_ids(dump: SmallDump) -> None:
    recording = dump.recording("merged")
    group = dump.group(name="Merged group")
    release = dump.release(recording, group=group)
    for table, number in (
        ("recording", recording), ("release", release), ("release_group", group), ("artist", 1),
    ):  # fmt: skip
        dump.mbids[f"old {table}"] = gid = dump.dump.mbid()
        dump.dump.put(f"{table}_gid_redirect", gid=gid, new_id=number)


def test_a_merged_id_is_answered_with_the_new_one(asked: Asked) -> None:
    old, new = (asked.bundle(title) for title in ("old recording", "merged"))
    assert old.recording_candidates == new.recording_candidates
    (group,), release = new.groups, asked.release("merged")
    current: list[tuple[EntityKind, str, str | None]] = [
        ("release", "old release", release.mb_release_id),
        ("release-group", "old release_group", group.mb_rg_id),
        ("artist", "old artist", new.performer.mb_artist_id),
    ]
    for source in (asked.paths.index, asked.paths.web):
        for kind, merged, mbid in current:
            assert source.client().current_id(kind, asked.mbids[merged]) == mbid


def test_the_evidence_names_its_source_and_the_index_of_which_day(asked: Asked) -> None:
    tags = TrackTags(recording_mbid=asked.mbids["merged"])
    ours, theirs = (
        source.gather(tags).provenance for source in (asked.paths.index, asked.paths.web)
    )
    assert ours
    assert theirs
    assert ours.sources_used == theirs.sources_used == ("MB",)
    assert (ours.index, theirs.index) == ("dump of 2026-07-18T00:10:01+00:00", None)


# Relations of recordings, and links of release groups.


def write_relations(dump: SmallDump) -> None:
    single, sampler = dump.group(type=2), dump.group(type=1)
    names = {"Don’t Stop": ("2004 Austria", sampler), "Dont Stop": ("1977 Austria", single)}
    recordings = [dump.recording(name, length=180_000) for name in (*names, "Stop (remix)")]
    for recording, (events, group) in zip(recordings, names.values(), strict=False):
        dump.release(recording, events, group=group)
    for link, gid in ((278, "f"), (LIVE, "0"), (278, "8")):
        of_work = [recordings[0]] if gid == "8" else recordings
        work = dump.put("work", name="Stop", gid=f"{gid}0000000-0000-4000-8000-000000000000")
        for recording in of_work:
            relate(dump.dump, "l_recording_work", link, recording, work)
    for link, recording, other in ((230, 0, 1), (309, 2, 0), (309, 0, 2)):
        relate(dump.dump, "l_recording_recording", link, recordings[recording], recordings[other])
    for link, address in (
        (89, "https://en.wikipedia.org/wiki/Stop"), (ENDED_WIKIPEDIA, "https://a.wikipedia.org/"),
        (353, "https://www.wikidata.org/wiki/Q1"), (90, "https://www.discogs.com/master/1"),
        (89, "https://de.wikipedia.org/wiki/Stop"),
    ):  # fmt: skip
        relate(dump.dump, "l_release_group_url", link, single, dump.put("url", url=address))


def test_recordings_of_a_work_are_siblings_if_their_titles_are_spelt_differently(
    asked: Asked,
) -> None:
    tags = TrackTags(recording_mbid=asked.mbids["Don’t Stop"])
    bundle = assert_same_siblings(asked.paths.index, asked.paths.web, tags)
    assert [mbid for mbid, _ in siblings_of(bundle)] == [asked.mbids["Dont Stop"]]


def test_recordings_are_related_in_both_directions(asked: Asked) -> None:
    mbids = asked.mbids
    expected = {("remaster", False, "Dont Stop"), ("edit", True, "Stop (remix)")}
    expected.add(("edit", False, "Stop (remix)"))
    for source in (asked.paths.index, asked.paths.web):
        client = source.client()
        recording = client.relations_of(RecordingId(mbids["Don’t Stop"]))
        assert recording
        assert {
            (relation.type, relation.direction == "backward", relation.recording.title)
            for relation in recording.recording_relation_list
            if relation.recording
        } == expected
        works = client.works_of(recording.id)
        assert [work.id[0] for work in works] == ["0", "8", "f"]
        performances, count = client.recordings_of_work(works[2].id)
        assert {performance.title for performance in performances} == {
            "Don’t Stop", "Dont Stop", "Stop (remix)"
        }  # fmt: skip
        assert count == 3


def test_links_of_a_group_are_by_type_and_address_and_have_not_ended(asked: Asked) -> None:
    (group,) = asked.bundle("Dont Stop").groups
    for source in (asked.paths.index, asked.paths.web):
        links = source.client().links_of([group.mb_rg_id])
        assert [link.address.partition("//")[2][:8] for link in links] == [
            "www.wiki", "de.wikip", "en.wikip"
        ]  # fmt: skip
