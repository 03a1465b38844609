"""Files are decided from an index as they are from the web service: by the same tables of cases."""

import json
from pathlib import Path

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.source import MusicBrainzSource
from musicbrainz import test_artists, test_remarks, test_siblings
from musicbrainz.index.small_index import write_index
from musicbrainz.sibling_worlds import World, decided, said_of
from rules.making import cases


def in_index(world: World, folder: Path) -> MusicBrainzSource:
    """Return a source that reads an index of a world."""
    path = write_index(
        folder / "index", world.bundles, videos=world.videos, works=world.works,
        comments=world.comments,
    )  # fmt: skip
    return MusicBrainzSource(IndexService(path))


@pytest.mark.parametrize(
    ("world", "file", "state", "group", "first", "siblings", "requests"),
    cases(test_siblings.CASES),
)
def test_other_recordings_of_a_performance(
    world: str, file: str, state: str, group: str, first: str, siblings: str, requests: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    known = test_siblings.WORLDS[world]
    source = in_index(known, tmp_path)
    assert said_of(decided(source, known.tags(file)), known) == (state, group, first, siblings)


@pytest.mark.parametrize(
    ("world", "tags", "state", "group", "first", "asked"), cases(test_artists.CASES)
)
def test_artists_of_one_name(
    world: str, tags: str, state: str, group: str, first: str, asked: str, tmp_path: Path
) -> None:
    known = test_artists.WORLDS[world]
    written = test_artists.tags_of(known, **json.loads(tags))
    case = decided(in_index(known, tmp_path), written)
    assert said_of(case, known)[:3] == (state, group, first)
    assert asked == "-" or asked in test_artists.asked_of(case)


@pytest.mark.parametrize(
    ("world", "title", "state", "group", "first"), cases(test_remarks.HERE / "remark_cases.txt")
)
def test_remarks_in_titles(
    world: str, title: str, state: str, group: str, first: str, tmp_path: Path
) -> None:
    known = test_remarks.WORLDS[world]
    tags = TrackTags(title=title, artist=test_remarks.ARTISTS[world])
    case = decided(in_index(known, tmp_path), tags)
    assert said_of(case, known)[:3] == (state, group, first)
