"""Ids that MusicBrainz merged into others: from persons and from tags, they mean the new ones."""

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
from mutagen.flac import FLAC

from golden.bundles import year_only_single
from integration.conftest import Canon
from integration.services import ALBUM, LP, RHAPSODY, SINGLE, asking, flac
from integration.test_override import RECORDING, listed, put
from servers.musicbrainz import BUSY, MusicBrainzStandIn

OLD = {name: f"{number:08}-0000-4000-8000-000000000001" for number, name in enumerate(
    ("recording", "group", "release"), start=1)}  # fmt: skip
PROMO = "00000004-0000-4000-8000-000000000001"
OTHER = "00000005-0000-4000-8000-000000000001"
FIRST_OF_SINGLE = "fecc857d-61fd-4ecf-8b3c-d101952c202d"
MERGED = {OLD["recording"]: RECORDING, OLD["group"]: SINGLE, OLD["release"]: FIRST_OF_SINGLE}


@pytest.fixture
def merging() -> Iterator[MusicBrainzStandIn]:
    """A MusicBrainz that merged three ids into others."""
    with MusicBrainzStandIn([RHAPSODY["bundle"]], merged=MERGED) as server:
        yield server


def test_ids_of_an_override_are_resolved_at_once(canon: Canon, merging: MusicBrainzStandIn) -> None:
    named = (OLD["recording"], OLD["group"], f"--rr={OLD['release']}", "--output=json")
    kept = put(canon, *named, **asking(merging)).line
    assert (kept["recording_mbid"], kept["crg_mbid"], kept["rr_mbid"]) == (
        RECORDING, SINGLE, FIRST_OF_SINGLE,
    )  # fmt: skip
    assert f"release group {OLD['group']} is now {SINGLE}" in kept["notes"]
    assert not [note for note in kept["notes"] if "not in the evidence" in note]
    put(canon, RECORDING, ALBUM, f"--rr={OLD['release']}", **asking(merging)).must_end(
        1, f"release {FIRST_OF_SINGLE} is of release group {SINGLE}"
    )
    listed = canon("override", "list", OLD["recording"], "--output=json", **asking(merging)).line
    assert listed["crg_mbid"] == SINGLE
    assert canon("override", "remove", OLD["recording"], **asking(merging)).status == 0


def test_ids_of_a_verdict_are_resolved(canon: Canon, home: Path) -> None:
    song = flac(home, "song.flac", recording=RECORDING, artist="Queen", title="Rhapsody")
    named = (OLD["group"], f"--recording={OLD['recording']}", "--output=json")
    with MusicBrainzStandIn([year_only_single()], merged=MERGED) as server:
        canon("decide", song, **asking(server)).must_end(3)
        ruled = canon("review", "choose", song, *named, **asking(server)).must_end(0)
        line = canon("decide", song, "--output=json", **asking(server)).must_end(0).line
    assert f"release group {OLD['group']} is now {SINGLE}" in ruled.line["notes"]
    assert (line["decided_by"], line["crg_mbid"]) == ("override", SINGLE)


@pytest.mark.parametrize("tagged", [OLD["recording"], RECORDING])
def test_an_override_set_before_a_merge_is_followed_after_it(
    canon: Canon, home: Path, merging: MusicBrainzStandIn, tagged: str
) -> None:
    """The file is decided again under the new ids; the override is listed under them."""
    song = flac(home, "song.flac", recording=tagged, artist="Queen", title="Bohemian Rhapsody")
    recording = OLD["recording"] if tagged == OLD["recording"] else RECORDING
    put(canon, recording, OLD["group"], f"--rr={OLD['release']}", "--offline", "--force")
    for _ in range(2):
        line = canon("decide", song, "--output=json", **asking(merging)).must_end(0).line
        assert (line["decided_by"], line["crg_mbid"]) == ("override", SINGLE)
        assert (line["rr_mbid"], line["recording_mbid"]) == (FIRST_OF_SINGLE, RECORDING)
    (kept,) = listed(canon)
    assert (kept["recording_mbid"], kept["crg_mbid"], kept["crg_title"], kept["files"]) == (
        RECORDING, SINGLE, "Bohemian Rhapsody", [str(song)],
    )  # fmt: skip
    canon("batch", song, **asking(merging)).must_end(0, "1 unchanged since an earlier run")
    canon("write", song, "--policy=note", **asking(merging)).must_end(0)


@pytest.fixture
def unmerged() -> Iterator[MusicBrainzStandIn]:
    """A MusicBrainz that has the recording under its old id, and another song of the artist."""
    document = copy.deepcopy(RHAPSODY["bundle"])
    document["recording_candidates"][0] |= {"mb_recording_id": OLD["recording"], "length_ms": None}
    other = copy.deepcopy(document) | {"recording_title": "Good Company"}
    (recording,) = other["recording_candidates"]
    recording |= {"mb_recording_id": OTHER, "title": "Good Company", "isrcs": ["GBUM71029605"]}
    recording["rg_candidates"] = recording["rg_candidates"][1:2]
    with MusicBrainzStandIn([document, other]) as server:
        yield server


AGAIN = {
    "another search": {"artist": "Queen", "title": "bohemian rhapsody"},
    "the same search": {"artist": "Queen", "title": "Bohemian Rhapsody"},
    "an ISRC": {"isrc": "GBUM71029604"},
    "the old id": {"recording": OLD["recording"], "title": "Bohemian Rhapsody"},
    "the new id": {"recording": RECORDING, "title": "Bohemian Rhapsody"},
}


def test_an_override_holds_for_files_without_its_id_after_a_merge(
    canon: Canon, home: Path, unmerged: MusicBrainzStandIn
) -> None:
    """Whether the evidence has the new recording, or is of answers from before the merge."""
    named = {"artist": "Queen", "title": "Bohemian Rhapsody"}
    first = flac(home, "first.flac", **named)
    canon("decide", first, **asking(unmerged)).must_end(0)
    put(canon, first, SINGLE, **asking(unmerged)).must_end(0)
    canon("decide", first, **asking(unmerged)).must_end(0, "MANUAL_OVERRIDE")
    unmerged.merge(OLD["recording"], RECORDING)
    songs = [flac(home, f"{name}.flac", **tags) for name, tags in AGAIN.items()]
    for song in (*songs, first):
        line = canon("decide", song, "--output=json", **asking(unmerged)).must_end(0).line
        assert (line["decided_by"], line["crg_mbid"]) == ("override", SINGLE), song
        assert line["recording_mbid"] == RECORDING, song
    (kept,) = listed(canon)
    assert (kept["recording_mbid"], len(kept["files"])) == (RECORDING, 1 + len(songs))
    canon("batch", *songs, first, **asking(unmerged)).must_end(0, "6 unchanged since")
    for song in songs:
        canon("write", song, "--policy=note", **asking(unmerged)).must_end(0)
    canon("override", "remove", songs[0], **asking(unmerged)).must_end(0)
    assert listed(canon) == []


def test_only_overrides_of_the_song_are_looked_up_and_a_failure_is_an_error(
    canon: Canon, home: Path, unmerged: MusicBrainzStandIn
) -> None:
    first = flac(home, "first.flac", artist="Queen", title="Bohemian Rhapsody")
    canon("decide", first, **asking(unmerged)).must_end(0)
    put(canon, first, SINGLE, **asking(unmerged)).must_end(0)
    unmerged.merge(OLD["recording"], RECORDING)
    before = len(unmerged.targets)
    other = flac(home, "other.flac", artist="Queen", title="Good Company")
    canon("decide", other, **asking(unmerged)).must_end(0, "EARLIEST_OFFICIAL")
    assert not [each for each in unmerged.targets[before:] if OLD["recording"] in each]
    unmerged.behave = lambda _, request, honest: (
        BUSY if OLD["recording"] in request.target else honest
    )
    again = flac(home, "again.flac", artist="Queen", title="bohemian rhapsody")
    canon("decide", again, **asking(unmerged)).must_end(1, "the look-up at MusicBrainz")
    unmerged.behave = None
    canon("decide", again, **asking(unmerged)).must_end(0, "MANUAL_OVERRIDE")


def test_merged_releases_are_one(canon: Canon, home: Path, merging: MusicBrainzStandIn) -> None:
    """What is not known of a release stays only in files of that release."""
    merging.merged = MERGED | {OLD["release"]: LP}
    asins = []
    for release in (OLD["release"], FIRST_OF_SINGLE):
        song = flac(home, f"{release}.flac", recording=RECORDING, title="Bohemian Rhapsody")
        audio = FLAC(song)
        audio.update({"MUSICBRAINZ_ALBUMID": release, "ASIN": "B000003TA4"})
        audio.save()
        canon("decide", song, **asking(merging)).must_end(0)
        canon("write", song, "--policy=move", "--apply", **asking(merging)).must_end(0)
        assert FLAC(song)["musicbrainz_albumid"] == [LP]
        asins.append(FLAC(song).get("asin"))
    assert asins == [["B000003TA4"], None]


@pytest.mark.parametrize("release", [OLD["release"], PROMO])
def test_the_date_of_a_merged_release_is_replaced(canon: Canon, home: Path, release: str) -> None:
    """An earlier original date is replaced where it is that of the file's release, a promo."""
    document = copy.deepcopy(RHAPSODY["bundle"])
    (recording,) = document["recording_candidates"]
    recording["rg_candidates"] = recording["rg_candidates"][1:2]
    (group,) = recording["rg_candidates"]
    promo = group["releases"][0] | {"mb_release_id": PROMO, "status": "Promotion"}
    group["releases"].append(promo | {"date": "1975-11-01", "flags": None})
    song = flac(home, "song.flac", recording=RECORDING, title="Bohemian Rhapsody")
    audio = FLAC(song)
    audio.update({"MUSICBRAINZ_ALBUMID": release, "ORIGINALDATE": "1975-11-01"})
    audio.save()
    with MusicBrainzStandIn([document], merged={OLD["release"]: PROMO}) as server:
        canon("decide", song, **asking(server)).must_end(0, "year certain")
        canon("write", song, "--apply", **asking(server)).must_end(0)
    assert FLAC(song)["originaldate"] == ["1975-11-21"]
