"""How files find their evidence, from the tags to the exit status."""

from pathlib import Path

import pytest
from mutagen.flac import FLAC

from golden.bundles import year_only_single
from integration.conftest import Canon
from integration.services import LP, UNSURE, asking, flac, replaying
from integration.test_siblings import served
from musicbrainz.sibling_worlds import World


def decided(canon: Canon, song: Path, world: World, status: int) -> str:
    """Decide a file; return the group it is decided for, by the name that the world has for it."""
    with served(world) as mb:
        line = canon("decide", song, "--output=json", **asking(mb)).must_end(status).line
    return world.name_of(line["crg_mbid"])


# What a file's name says, where its tags lack it.


@pytest.fixture
def named() -> World:
    """A song that came out on a single before its album, and a recording of another artist."""
    world = World("named")
    world.add("song | The Band | First Song | - | - | - | Single-75 single 1975-01-01")
    world.add("other | The Others | Title | - | - | - | Single-80 single 1980-01-01")
    return world


@pytest.mark.parametrize(("name", "tags"), [
    ("The Band/Album (1975)/01 First Song.flac", {}),
    ("The Band - Anything.flac", {"title": "First Song"}),
])  # fmt: skip
def test_a_file_found_by_its_name_waits_until_a_person_agrees(
    canon: Canon, home: Path, named: World, name: str, tags: dict[str, str]
) -> None:
    song = home / name
    song.parent.mkdir(parents=True, exist_ok=True)
    flac(home, **tags).rename(song)
    with served(named) as mb:
        settings = asking(mb)
        asked = "is the file what its name says, 'First Song' by 'The Band'?"
        canon("decide", song, **settings).must_end(
            3, "review Single-75", asked, "only the file's name says which recording it is",
        )  # fmt: skip
        line = canon("decide", song, "--output=json", **settings).must_end(3).line
        assert (line["state"], named.name_of(line["crg_mbid"])) == ("review", "Single-75")
        assert line["first_release"]["year_certain"] is False
        canon("explain", song, **settings).must_end(3, asked)
        canon("batch", song, **settings).must_end(3, "1 unchanged since an earlier run")
        canon("write", song, "--apply", **settings).must_end(3)
        canon("review", "accept", song, **settings).must_end(0)
        line = canon("decide", song, "--output=json", **settings).must_end(0).line
        assert (line["decided_by"], line["first_release"]["year_certain"]) == ("override", True)
        canon("write", song, "--apply", **settings).must_end(0, "1 file written")


@pytest.mark.parametrize("tag", ["MUSICBRAINZ_ALBUMID", "MUSICBRAINZ_RELEASEGROUPID"])
def test_a_file_found_by_its_name_is_decided_if_an_id_agrees(
    canon: Canon, home: Path, named: World, tag: str
) -> None:
    (group,) = named.bundles[0]["recording_candidates"][0]["rg_candidates"]
    ids = {"MUSICBRAINZ_ALBUMID": group["releases"][0]["mb_release_id"],
           "MUSICBRAINZ_RELEASEGROUPID": group["mb_rg_id"]}  # fmt: skip
    song = flac(home, "The Band - First Song.flac")
    for value, status in ((LP, 3), (ids[tag], 0)):
        audio = FLAC(song)
        audio[tag] = value
        audio.save()
        assert decided(canon, song, named, status) == "Single-75"


def test_a_name_that_says_too_little_is_unmatched(canon: Canon, home: Path, named: World) -> None:
    song = flac(home, "01 First Song.flac")
    with served(named) as mb:
        ran = canon("decide", song, "--output=json", **asking(mb)).must_end(3)
        screen = " ".join(canon("decide", song, **asking(mb)).must_end(3).out.split())
        assert mb.requests == []
    assert (ran.line["state"], ran.line["cause"]) == ("unmatched", "unidentified")
    assert "its name is not of the form `Artist - Title`" in screen
    assert "to do give it tags (artist and title, or a recording id) or a name like" in screen


def test_a_model_is_not_asked_about_a_file_known_by_its_name(canon: Canon, home: Path) -> None:
    document = year_only_single()
    document["recording_candidates"][0]["length_ms"] = None
    song = flac(home, "Queen - Bohemian Rhapsody.flac")
    told = canon("decide", song, knowing=[document], **replaying(home, UNSURE)).must_end(
        3, "no model is asked about a file that only its name identifies"
    )
    assert "undecided" in told.out
