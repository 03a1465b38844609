"""File names say artist and title, or nothing."""

import time
from pathlib import Path

import pytest

from chart_binder.audio.reading import with_file_name
from chart_binder.domain.tags import TrackTags
from rules.making import cases

NAMES = Path(__file__).with_name("file_names.txt")


@pytest.mark.parametrize(("path", "names"), cases(NAMES))
def test_a_name_says_artist_and_title_or_nothing(path: str, names: str) -> None:
    tags = with_file_name(TrackTags(), Path("/music") / path)
    said = " - ".join(name or "?" for name in (tags.artist, tags.album, tags.title))
    assert said == names if names != "-" else tags == TrackTags()
    assert (tags.named_by == "file name") is (names != "-")


@pytest.mark.parametrize("tags", [
    TrackTags(recording_mbid="b1a9c0e9-d987-4042-ae91-78d6a3267d69"),
    TrackTags(isrcs=("GBUM71029604",)), TrackTags("Title", "Artist"),
])  # fmt: skip
def test_a_name_says_nothing_where_tags_say_enough(tags: TrackTags) -> None:
    assert with_file_name(tags, Path("Queen - Bohemian Rhapsody.mp3")) is tags


def test_tags_go_before_the_name() -> None:
    tags = TrackTags(title="Bohemian Rhapsody (live)", album="Live Killers")
    named = with_file_name(tags, Path("Queen - X - 01 - Bohemian Rhapsody.mp3"))
    assert (named.artist, named.title, named.album) == ("Queen", tags.title, tags.album)


@pytest.mark.parametrize("name", ["0" * 5_000, "a - " * 1_000, "(" * 5_000, "[hd" * 1_000])
def test_a_long_name_costs_little(name: str) -> None:
    started = time.process_time()
    with_file_name(TrackTags(), Path(f"{name}.mp3"))
    assert time.process_time() - started < 0.5
