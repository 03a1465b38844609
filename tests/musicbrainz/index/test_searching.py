"""Recordings that an index finds by artist and title."""

from typing import Any

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.errors import NothingFoundError
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.source import MusicBrainzSource
from corpus import rows
from musicbrainz.index.small_index import write_index
from servers.musicbrainz_world import id_of, world

WORLD = """
Pink Floyd | Album | The Dark Side | 1973-03 GB | time Time 6:53
Pink Floyd | Album | The Wall | 1979-11 GB | brick Another Brick in the Wall, Part 2 3:59
Björk | Album | Homogenic | 1997-09 GB | joga Jóga 5:05
The Beatles | Album | Help! | 1965-08 GB | help Help! 2:18
AC/DC | Album | The Razors Edge | 1990-09 AU | thunder Thunderstruck 4:52
Queen & David Bowie | Single | Under Pressure | 1981-10 GB | pressure Under Pressure 4:08
宇多田ヒカル | Single | First Love | 1999-04 JP | love First Love 4:17
椎名林檎 | Album | 無罪モラトリアム | 1999-02 JP | sadistic 丸ノ内サディスティック 3:55
Кино | Album | Группа крови | 1988 RU | blood Группа крови 4:45
Simon & Garfunkel | Single | The Sound of Silence | 1965-09 US | silence The Sound of Silence 3:05
Fleetwood Mac | Album | Rumours | 1977-02 US | way Go Your Own Way 3:38
Blur | Album | Parklife | 1994-04 GB | park Parklife 3:06
"""
NAMESAKES = [
    "Nirvana | Album | Nevermind | 1991-09 US | lithium Lithium 4:17; aneurysm Aneurysm 4:46",
    "Nirvana | Album | All of Us | 1968 GB | rainbow Rainbow Chaser 2:37; first Aneurysm 2:00",
]
ALIASES = {
    "宇多田ヒカル": ["Utada Hikaru", "Hikaru Utada"],
    "椎名林檎": ["Ringo Sheena"],
}


def bundles() -> list[dict[str, Any]]:
    """Return the world; two artists have one name, and a credit names two artists."""
    made = world(WORLD)
    for number, table in enumerate(NAMESAKES):
        for bundle in world(table):
            bundle["artist"]["mb_artist_id"] = id_of(f"Nirvana {number}")
            made.append(bundle)
    for bundle in made:
        if bundle["artist"]["name"] == "Queen & David Bowie":
            bundle["artist"]["mb_artist_id"] = f"{id_of('Queen')}+{id_of('David Bowie')}"
    return made


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> MusicBrainzSource:
    path = tmp_path_factory.mktemp("index") / "index"
    aliases = {id_of(artist): names for artist, names in ALIASES.items()}
    return MusicBrainzSource(IndexService(write_index(path, bundles(), aliases=aliases)))


@pytest.mark.parametrize(("artist", "title", "length", "names"), rows(__file__, "searches"))
def test_a_search_finds_what_is_meant(
    artist: str, title: str, length: str, names: str, source: MusicBrainzSource
) -> None:
    minutes, seconds = map(int, length.split(":"))
    tags = TrackTags(artist=artist, title=title, duration_ms=1_000 * (60 * minutes + seconds))
    try:
        candidates = source.gather(tags).recording_candidates
    except NothingFoundError:
        candidates = ()
    expected = [id_of(name) for name in names.split()]
    assert [recording.mb_recording_id for recording in candidates] == expected
