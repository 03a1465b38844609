"""A remark in the title of a file tells which recording is found."""

from pathlib import Path

import pytest

from chart_binder.domain.tags import TrackTags
from musicbrainz.harness import Harness, StoreInMemory
from musicbrainz.sibling_worlds import decided, said_of, served, worlds
from rules.making import cases

HERE = Path(__file__).parent
WORLDS = worlds(HERE / "remark_worlds.txt")
ARTISTS = {
    "mixes": "The Boys", "languages": "Marta", "again": "Nora", "plain": "Olga", "others": "Pavel",
    "parts": "Quentin", "videos": "Rosa",
}  # fmt: skip


@pytest.mark.parametrize(
    ("world", "title", "state", "group", "first"), cases(HERE / "remark_cases.txt")
)
def test_the_title_of_the_file_tells_which_version_is_found(
    world: str, title: str, state: str, group: str, first: str
) -> None:
    tags = TrackTags(title=title, artist=ARTISTS[world])
    with served(WORLDS[world]) as server:
        case = decided(Harness(StoreInMemory(), server).source(), tags)
    assert said_of(case, WORLDS[world])[:3] == (state, group, first)
    assert case.bundle
    assert case.bundle.tags["title"] == title
