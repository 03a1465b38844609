"""Which albums are collections, what a library takes, and the lines of another program."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.tags import TrackTags
from chart_binder.jobs.batch import Album, find_albums, items
from chart_binder.jobs.batch.items import (
    Collection,
    Estimator,
    NoInputYet,
    Order,
    Requests,
    collection_of,
    library_items,
)
from integration.services import flac

COMPILATION, BEST_OF, UNDATED = Collection
PLAIN = TrackTags(title="t", artist="Queen", album="Innuendo", date="1991")
QUEEN, ABBA = {"artist": "Queen"}, {"artist": "ABBA"}


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ([{}, {}], None),
        ([{"is_compilation": True}], COMPILATION),
        ([{"album_artist": "Various Artists"}], COMPILATION),
        ([{"album_artist": "V.A."}], COMPILATION),
        ([{"album_artist": "オムニバス"}], COMPILATION),
        ([QUEEN, ABBA], COMPILATION),
        ([QUEEN | {"album_artist": "Queen"}, ABBA | {"album_artist": "Queen"}], None),
        ([QUEEN, {"artist": "Queen feat. David Bowie"}], None),
        ([QUEEN | {"album": None}, ABBA | {"album": None}], None),
        ([QUEEN | {"album": "One"}, ABBA | {"album": "Two"}], None),
        ([{"album": "Greatest Hits II"}], BEST_OF),
        ([{"album": "The Very Best of Queen"}], BEST_OF),
        ([{"album": "Now That's What I Call Music! 42"}], BEST_OF),
        ([{"album": "Lo mejor de Queen"}], BEST_OF),
        ([{"album": "ゴールデン☆ベスト"}], BEST_OF),
        ([{"album": "The Bestiary"}], None),
        ([{"album": "Hitsville"}], None),
        ([{"date": None}, {"date": None}], UNDATED),
        ([{"date": None}, {}], None),
        ([], None),
    ],
)
def test_a_collection_is_known_by_its_tags(
    files: list[dict[str, object]], kind: Collection | None
) -> None:
    given = {name: getattr(PLAIN, name) for name in ("title", "artist", "album", "date")}
    assert collection_of([TrackTags(**given | changes) for changes in files]) is kind


def order_of(music: Path, has_decisions: Callable[[Sequence[Path]], bool]) -> list[str]:
    """Return the order in which three albums come, the last of which is a compilation."""
    for name, artists in (("a", ("Queen",)), ("b", ("ABBA",)), ("c", ("Queen", "ABBA"))):
        folder = music / name / "cd"  # so that folders are not neighbours
        folder.mkdir(parents=True, exist_ok=True)
        for artist in artists:
            flac(folder, f"{artist}.flac", artist=artist, title="t", album=name, date="1991")
    found = library_items(
        [music], Order.COMPILATIONS, only_collections=False, has_decisions=has_decisions
    )
    return [item.paths[0].parts[-3] for item in found if isinstance(item, Album)]


def test_collections_go_first_unless_finding_them_takes_too_long_or_they_are_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert order_of(tmp_path, lambda _: False) == ["c", "a", "b"]
    assert order_of(tmp_path, lambda paths: paths[0].parts[-3] == "c") == ["a", "b", "c"]
    monkeypatch.setattr(items, "_PATIENCE_S", -1.0)
    assert sorted(order_of(tmp_path, lambda _: False)) == ["a", "b", "c"], "nothing is lost"


def test_an_error_while_albums_are_found_reaches_whoever_asks(tmp_path: Path) -> None:
    def fail(_: object) -> bool:
        raise OSError("the store is gone")

    with pytest.raises(OSError, match="the store is gone"):
        order_of(tmp_path, fail)


def test_the_albums_of_a_large_folder_are_counted_by_their_tags(tmp_path: Path) -> None:
    for number in range(60):  # more than go into one part of a folder
        flac(tmp_path, f"{number}.flac", artist=f"A{number}", title="T", album=f"B{number % 3}")
    estimator = Estimator(MusicBrainzConfig(rate_limit_per_s=0.5))
    for album in find_albums([tmp_path]):
        assert isinstance(album, Album)
        estimator.add(list(album.paths), resumed=0)
    found = estimator.estimate()
    assert (found.all.files, found.all.albums, found.kinds) == (60, 3, {"undated": 3})
    assert found.all.hours == pytest.approx(found.all.requests / 0.5 / 3600)


def test_files_of_a_folder_that_came_together_are_an_album() -> None:
    paths = ["a/1", "a/2", "b/1"]
    lines = [json.dumps({"path": path, "id": path}).encode() for path in paths]

    def late() -> Iterator[bytes]:
        time.sleep(0.05)
        yield from (*lines, b" ", b"{}")

    pending = Requests()
    items = pending.items(late())
    assert isinstance(next(items), NoInputYet)
    time.sleep(0.2)  # until they have come
    found = [item for item in items if not isinstance(item, NoInputYet)]
    albums = [item.paths for item in found if isinstance(item, Album)]
    assert albums == [(Path("a/1"), Path("a/2")), (Path("b/1"),)]
    assert [pending.pop(Path(path), is_given=False).id for path in paths] == paths
    assert pending.pop(Path("line 5"), is_given=True).number == 5
