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
from servers.musicbrainz import MusicBrainzStandIn

OLD = {name: f"{number:08}-0000-4000-8000-000000000001" for number, name in enumerate(
    ("recording", "group", "release"), start=1)}  # fmt: skip
PROMO = "00000004-0000-4000-8000-000000000001"
FIRST_OF_SINGLE = "fecc857d-61fd-4ecf-8b3c-d101952c202d"
MERGED = {OLD["recording"]: RECORDING, OLD["group"]: SINGLE, OLD["release"]: FIRST_OF_SINGLE}


@pytest.fixture
def merging() -> Iterator[MusicBrainzStandIn]:
    """A MusicBrainz that merged three ids into others."""
    with MusicBrainzStandIn([RHAPSODY["bundle"]], merged=MERGED) as server:
        yield server


def test_ids_of_an_override_are_resolved_when_it_is_set(
    canon: Canon, merging: MusicBrainzStandIn
) -> None:
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
    canon("batch", song, **asking(merging)).must_end(0, "1 decided before")
    canon("write", song, "--policy=note", **asking(merging)).must_end(0)


def test_a_file_of_a_merged_release_moves_to_no_other(
    canon: Canon, home: Path, merging: MusicBrainzStandIn
) -> None:
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
def test_the_original_date_of_a_merged_release_is_replaced(
    canon: Canon, home: Path, release: str
) -> None:
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
