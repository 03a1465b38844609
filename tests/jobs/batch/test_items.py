"""Which albums are collections, what a library takes, and the lines of another program."""

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from audio.tagging import CONTAINERS
from chart_binder.audio.reading import read_tags
from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import EvidenceError
from chart_binder.jobs.batch import Album, find_albums, items
from chart_binder.jobs.batch.items import (
    BundleRequest,
    Collection,
    Estimate,
    Estimator,
    NoInputYet,
    Order,
    Requests,
    collection_of,
    library_items,
    read_request,
)
from integration.services import flac

SAMPLER, BEST_OF, UNDATED = Collection
PLAIN = TrackTags(title="t", artist="Queen", album="Innuendo", date="1991")
QUEEN, ABBA = {"artist": "Queen"}, {"artist": "ABBA"}


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ([{}, {}], None),
        ([{"is_compilation": True}], SAMPLER),
        ([{"album_artist": "Various Artists"}], SAMPLER),
        ([{"album_artist": "V.A."}], SAMPLER),
        ([{"album_artist": "オムニバス"}], SAMPLER),
        ([QUEEN, ABBA], SAMPLER),
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


def folders(music: Path) -> list[Path]:
    """Make three albums of two files, the last of which is a sampler, and return their folders."""
    found = []
    for name, album, artists in (
        ("a", "Innuendo", ("Queen", "Queen")), ("b", "Arrival", ("ABBA", "ABBA")),
        ("c", "Hits", ("Queen", "ABBA")),
    ):  # fmt: skip
        (music / name / "cd").mkdir(parents=True)  # so that folders are not neighbours
        for number, artist in enumerate(artists):
            flac(music / name / "cd", f"{number}.flac", artist=artist, title=f"{number}",
                 album=album, date="1991")  # fmt: skip
        found.append(music / name / "cd")
    return found


def order_of(music: Path, order: Order, **options: object) -> list[str]:
    never = {"only_collections": False, "has_decisions": lambda _: False} | options
    found = library_items([music], order, **never)  # type: ignore[arg-type]
    albums = [one for one in found if not isinstance(one, NoInputYet)]
    assert all(isinstance(one, Album) for one in albums)
    return [one.paths[0].parts[-3] for one in albums if isinstance(one, Album)]


def test_collections_go_first_and_every_album_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders(tmp_path)
    assert order_of(tmp_path, Order.COMPILATIONS) == ["c", "a", "b"]
    assert order_of(tmp_path, Order.PATH) == ["a", "b", "c"]
    assert order_of(tmp_path, Order.PATH, only_collections=True) == ["c"]
    monkeypatch.setattr(items, "_PATIENCE_S", -1.0)
    assert sorted(order_of(tmp_path, Order.COMPILATIONS)) == ["a", "b", "c"], "nothing is lost"
    monkeypatch.undo()
    settled = {"has_decisions": lambda paths: paths[0].parts[-3] == "c"}
    assert order_of(tmp_path, Order.COMPILATIONS, **settled) == ["a", "b", "c"]


def test_an_error_while_albums_are_found_reaches_whoever_asks(tmp_path: Path) -> None:
    folders(tmp_path)

    def fail(_: object) -> bool:
        raise OSError("the store is gone")

    with pytest.raises(OSError, match="the store is gone"):
        order_of(tmp_path, Order.COMPILATIONS, has_decisions=fail)


@pytest.mark.parametrize(
    ("name", "key"),
    [("mp3-2.4", "TCMP"), ("mp3-2.3", "TCMP"), ("flac", "COMPILATION"), ("ogg", "COMPILATION"),
     ("ape", "Compilation"), ("wma", "WM/IsCompilation")],
)  # fmt: skip
def test_a_compilation_flag_is_read(tmp_path: Path, name: str, key: str) -> None:
    container = next(each for each in CONTAINERS if each.name == name)
    assert not read_tags(container.tagged(tmp_path, [])).is_compilation
    assert read_tags(container.tagged(tmp_path, [(key, ("1",))])).is_compilation


def estimated(folder: Path, decided: set[Path], config: MusicBrainzConfig) -> Estimate:
    estimator = Estimator(config)
    for album in find_albums([folder]):
        assert isinstance(album, Album)
        due = [path for path in album.paths if path not in decided]
        estimator.add(due, resumed=len(album.paths) - len(due))
    return estimator.estimate()


def test_an_estimate_adds_up(tmp_path: Path) -> None:
    one, *_ = folders(tmp_path)
    (tmp_path / "broken.mp3").write_bytes(b"no audio")
    flac(tmp_path, "untagged.flac")
    found = estimated(tmp_path, {*one.iterdir()}, MusicBrainzConfig(rate_limit_per_s=0.5))
    assert (found.files, found.resumed, found.unreadable, found.unidentified) == (8, 2, 1, 1)
    assert (found.all.files, found.all.albums) == (4, 2)
    assert (found.compilations.files, found.compilations.albums, found.kinds) == (
        2,
        1,
        {"sampler": 1},
    )
    # two files by name, their artist; two of a sampler with siblings, and their two artists
    assert found.compilations.requests == 2 * (3 + 1) + 2
    assert found.all.requests == found.compilations.requests + 2 * 3
    assert found.all.hours == pytest.approx(found.all.requests / 0.5 / 3600)
    assert found.all.most_requests > found.all.requests
    assert Estimator(MusicBrainzConfig(rate_limit_per_s=0)).estimate().all.hours is None


def test_the_albums_of_a_large_folder_are_counted_by_their_tags(tmp_path: Path) -> None:
    for number in range(60):  # more than go into one part of a folder
        flac(tmp_path, f"{number}.flac", artist=f"A{number}", title="T", album=f"B{number % 3}")
    found = estimated(tmp_path, set(), MusicBrainzConfig())
    assert (found.all.files, found.all.albums, found.kinds) == (60, 3, {"undated": 3})


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b'{"path": "a/b.flac"}', Path("a/b.flac")),
        (json.dumps({"path_b64": base64.b64encode(b"a\xff").decode()}).encode(), Path("a\udcff")),
    ],
)
def test_a_line_names_a_file(line: bytes, path: Path) -> None:
    assert read_request(line, 1).target == path


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "^line 7: "),
        (b'{"path": "a.flac", "bundle": {}}', "^line 7: found '{.*}'; allowed is"),
        (b'{"path_b64": "YQ==", "bundle": {}}', "^line 7: found"),
        (b'{"bundle": null}', "^line 7: found"),
        (b"[" * 5_000, "^line 7: found"),
        (b"\xff", "^line 7: found"),
        (b"[1]", "^line 7: found '\\[1\\]'; allowed is"),
        (b"{}", "^line 7: found '{}'; allowed is"),
        (b'{"path": 3}', "^line 7: found"),
        (b'{"path_b64": "%"}', "^line 7: found"),
        (b'{"bundle": 3}', "evidence bundle: "),
        (b'{"recording_candidates": 3}', "recording_candidates"),
    ],
)
def test_a_line_that_asks_for_nothing_is_told_what_may_stand_there(line: bytes, told: str) -> None:
    asked = read_request(line, 7).target
    assert isinstance(asked, BundleRequest)
    with pytest.raises(EvidenceError, match=told):
        asked.bundle()


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
