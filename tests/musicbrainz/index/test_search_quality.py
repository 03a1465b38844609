"""The golden recordings are found without ids by an index as often as by the web service."""

from collections.abc import Iterator

import pytest

from chart_binder.domain.tags import TrackTags
from chart_binder.errors import NothingFoundError
from docs.pages import page
from musicbrainz.index.building import BothPaths, both_paths
from musicbrainz.index.quality import (
    KINDS,
    Score,
    dump_with_aliases,
    golden_recordings,
    lines,
    scores,
)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothPaths]:
    folder = tmp_path_factory.mktemp("quality")
    with both_paths(dump_with_aliases(folder / "dump"), folder / "index") as both:
        yield both


@pytest.fixture(scope="module")
def table(paths: BothPaths) -> dict[str, Score]:
    return scores(paths)


@pytest.mark.parametrize("kind", KINDS)
def test_the_index_finds_what_the_web_service_finds(table: dict[str, Score], kind: str) -> None:
    score = table[kind]
    assert score.found["index"] >= score.found["web"], score.missed
    assert score.found["index"] >= 0.8 * score.count, score.missed
    assert [tags for path, tags in score.by_others if path == "index"] == []


def test_the_page_has_the_figures(table: dict[str, Score]) -> None:
    assert "\n".join(lines(table)) in page("docs/benchmarks.md")


def test_a_title_by_another_artist_is_not_found(paths: BothPaths) -> None:
    """Golden recordings by each other's artists, who have no song of that title."""
    recordings = [*golden_recordings(paths.server.rows)]
    titles = {(wanted.artist, wanted.title) for wanted in recordings}
    count = 0
    for wanted in recordings:
        for artist in {other.artist for other in recordings}:
            if (artist, wanted.title) not in titles:
                with pytest.raises(NothingFoundError):
                    paths.index.gather(wanted.tags(artist))
                count += 1
    assert count > 1_500


@pytest.mark.parametrize(("artist", "title"), [
    ("Metrics", "Celebrate"),
    ("Metrik", "Celebrate"),
    ("Quen", "Innuendo"),
    ("Queens", "Innuendo"),
    ("Queen Tribute Band", "Bohemian Rhapsody"),
    ("The Pink Floyd Show", "Time"),
    ("Radiohead Cover Band", "Weird Fishes/Arpeggi"),
    ("Nirvana UK", "Smells Like Teen Spirit"),
    ("[unknown]", "Time"),
    ("Various Artists", "Time"),
    ("Time", "Pink Floyd"),
    ("坂本", "上を向いて歩こう"),
    ("坂本冬美", "上を向いて歩こう"),
    ("Pink Floyd", "Time Is on My Side"),
    ("Queen", "Bohemian"),
])  # fmt: skip
def test_no_other_artist_or_song_is_taken_for_the_one_that_is_meant(
    paths: BothPaths, artist: str, title: str
) -> None:
    with pytest.raises(NothingFoundError):
        paths.index.gather(TrackTags(artist=artist, title=title))
