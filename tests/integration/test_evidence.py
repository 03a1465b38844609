"""How files find their evidence, from the tags to the exit status."""

from dataclasses import replace
from pathlib import Path

import pytest

from integration.conftest import Canon
from integration.services import asking, flac
from integration.test_siblings import WORLDS as SIBLINGS
from integration.test_siblings import file_of, served
from musicbrainz.sibling_worlds import World, worlds
from servers.musicbrainz import BUSY, first

ARTISTS = Path(__file__).parents[1] / "musicbrainz" / "artist_worlds.txt"


def decided(canon: Canon, song: Path, world: World, status: int) -> str:
    """Decide a file; return the group it is decided for, by the name that the world has for it."""
    with served(world) as mb:
        line = canon("decide", song, "--output=json", **asking(mb)).must_end(status).line
    return world.name_of(line["crg_mbid"])


@pytest.mark.parametrize(
    ("artist", "group"),
    [
        ("Queen, David Bowie", "Single-81"),
        ("Queen/David Bowie", "Single-81"),
        ("Queen with David Bowie", "Single-81"),
        ("David Bowie x Queen", "Single-81"),
        ("Queen + David Bowie", "Single-81"),
        ("Queen feat. David Bowie", "Single-81"),
        ("Queen", "-"),
    ],
)
def test_artists_are_found_whatever_joins_them(
    canon: Canon, home: Path, artist: str, group: str
) -> None:
    world = World("joined")
    world.add("both | Queen +& David Bowie | Pressure | - | - | - | Single-81 single 1981-10-26")
    world.add("alone | Queen | Pressure | - | - | - | Album-90 album 1990-01-01")
    song = flac(home, artist=artist, title="Pressure")
    assert decided(canon, song, world, 0 if group != "-" else 3) == group


@pytest.mark.parametrize("is_reversed", [False, True])
def test_two_songs_of_one_isrc_are_told_apart_by_a_title_alone(
    canon: Canon, home: Path, is_reversed: bool
) -> None:
    world = worlds(ARTISTS)["shared"]
    if is_reversed:
        world.bundles.reverse()
    bare = flac(home, "bare.flac", isrc="GBAAA9000001")
    assert decided(canon, bare, world, 3) == "-"
    with served(world) as mb:
        canon("decide", bare, **asking(mb)).must_end(
            3, "which recording is it: 'First'", "'Second'"
        )
    for title, group in (("First", "Album-90"), ("Second", "Single-85")):
        song = flac(home, f"{title}.flac", isrc="GBAAA9000001", title=title)
        assert decided(canon, song, world, 0) == group


def test_a_sibling_is_found_by_its_work(canon: Canon, home: Path) -> None:
    song = file_of(SIBLINGS["work"], "file", home)
    assert decided(canon, song, SIBLINGS["work"], 0) == "Album-77"


def test_a_proxy_that_got_no_answer_is_asked_again(canon: Canon, home: Path) -> None:
    song = file_of(SIBLINGS["plain"], "file", home)
    with served(SIBLINGS["plain"]) as mb:
        mb.behave = first(1, replace(BUSY, status=520))
        canon("decide", song, **asking(mb)).must_end(0, "Album-77")
        assert len(mb.requests) == 4
