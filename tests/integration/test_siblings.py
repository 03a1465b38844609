"""Sibling recordings as the command line looks them up, shows them and counts what they took."""

from pathlib import Path

import pytest

from integration.conftest import Canon
from integration.services import asking, flac
from musicbrainz.sibling_worlds import World, worlds
from servers.musicbrainz import MusicBrainzStandIn

WORLDS = worlds(Path(__file__).parents[1] / "musicbrainz" / "sibling_worlds.txt")
BAND = WORLDS["band"]


def served(world: World) -> MusicBrainzStandIn:
    return MusicBrainzStandIn(world.bundles, works=world.works, videos=world.videos)


def file_of(world: World, name: str, folder: Path) -> Path:
    """Make an audio file of a recording of a world."""
    folder.mkdir(exist_ok=True, parents=True)
    return flac(folder, f"{name}.flac", recording=world.recordings[name], title=name)


def test_siblings_are_shown_with_their_reasons(canon: Canon, home: Path) -> None:
    song = file_of(BAND, "sampler", home)
    with served(BAND) as mb:
        settings = asking(mb)
        canon("decide", "-v", song, **settings).must_end(
            0, "through a sibling recording", "a sibling recording (First Song, 4:10): it has the",
        )  # fmt: skip
        canon("explain", song, **settings).must_end(
            0, "siblings looked up: 3 found a sibling recording (First Song, 4:10): it has",
            "on 'Single-77', 'Album-77'", "it has the same ISRC GBAAA0900001",
        )  # fmt: skip
        line = canon("explain", "--output=json", song, **settings).must_end(0).line
    first = line["first_release"]
    told = [first[key] for key in ("date", "year_certain", "via_sibling")]
    assert told == ["1977-03-01", True, True]
    assert first["recording_mbid"] == line["recording_mbid"] == BAND.recordings["original"]
    siblings = line["explanation"]["siblings"]
    names = {BAND.name_of(one["recording_mbid"]) for one in siblings}
    assert names == {"original", "duplicate", "remaster"}
    assert all(one["because"] for one in siblings)


@pytest.mark.parametrize(
    ("world", "file", "settings", "status", "found", "said"),
    [
        ("band", "sampler", {}, 0, 3, "looked up: 3 found"),
        ("alone", "file", {}, 0, 0,
         "looked up: MusicBrainz has no other recording of this performance"),
        ("band", "original", {}, 0, 0, "not looked up: the rules need none"),
        ("isrc", "file", {"CANON_MUSICBRAINZ__SIBLINGS": "never"}, 3, 0,
         "not looked up: [musicbrainz] siblings is never"),
        ("band", "live", {"CANON_MUSICBRAINZ__SIBLINGS": "always"}, 0, 0,
         "not looked up: a live take, remix or other version has none"),
        ("longer", "file", {}, 3, 0,
         "looked up, but one that was found is only perhaps the same performance"),
    ],
)  # fmt: skip
def test_each_case_says_what_came_of_siblings(
    canon: Canon, home: Path, world: str, file: str, settings: dict[str, str], status: int,
    found: int, said: str,
) -> None:  # fmt: skip
    song = file_of(WORLDS[world], file, home / "music")
    with served(WORLDS[world]) as mb:
        settings = asking(mb) | settings
        for command in ("decide", "explain"):
            canon(command, "-v", song, **settings).must_end(status, f"siblings {said}")
            brief = canon(command, song, **settings).must_end(status).out
            assert ("siblings" in brief) is (status == 3 or said.startswith("looked up: "))
        lines = [
            canon(*command, "--output=json", **settings).must_end(status).line["siblings"]
            for command in (
                ("decide", song),
                ("explain", song),
                ("batch", "--refresh", home / "music"),
            )
        ]
    told = {"looked_up": said.startswith("looked up: "), "found": found, "said": said}
    assert lines == [told] * 3


def test_offline_a_case_says_that_siblings_were_not_looked_up(canon: Canon, home: Path) -> None:
    song = file_of(WORLDS["isrc"], "file", home)
    with served(WORLDS["isrc"]) as mb:
        canon("decide", song, CANON_MUSICBRAINZ__SIBLINGS="never", **asking(mb))
        offline = asking(mb) | {"CANON_MUSICBRAINZ__OFFLINE": "true"}
        told = "siblings not looked up: canon is offline, and no answer about them is stored"
        canon("decide", song, **offline).must_end(3, told)


def test_a_batch_shares_requests_and_counts_them(canon: Canon, home: Path) -> None:
    world = World("batch")
    for n in range(10):
        by = f"Band | Song {n}"
        world.add(f"f{n} | {by} | 200 | - | - | Sampler various 2004-01-01")
        world.add(f"o{n} | {by} | 201 | - | - | A{n} album 1977-01-01")
        file_of(world, f"f{n}", home / "music")
    counts = []
    for when in ("never", "when_needed"):
        with served(world) as mb:
            settings = {"CANON_MUSICBRAINZ__SIBLINGS": when, "XDG_DATA_HOME": str(home / when)}
            ran = canon("batch", home / "music", "--output=json", **asking(mb), **settings)
            counts.append(len(mb.requests))
            shown = canon("runs", "show", "--output=json", **settings).line
            assert shown["measures"]["spent"]["musicbrainz_requests"] == len(mb.requests)
            again = canon("batch", home / "music", **asking(mb), **settings)
            assert len(mb.requests) == counts[-1], again.out
        found = {world.name_of(line["crg_mbid"]) for line in ran.lines}
        originals = {f"A{n}" for n in range(10)}
        assert found == originals if when == "when_needed" else not found & originals, ran.out
    assert counts[1] - counts[0] <= 10
