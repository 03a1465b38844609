"""Decide the items of beets through canon's pipeline, by the tags that beets has of them."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.reading import isrcs_in, require_identity, with_file_name
from chart_binder.batch import BatchOptions, BatchResult, FileResult, run_items
from chart_binder.domain.records import DecisionRecord
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import MBID, fold
from chart_binder.errors import CanonError, FileError
from chart_binder.files import quoted
from chart_binder.jobs.batch import MAX_ALBUM_FILES, MAX_MERGED_FILES, Album
from chart_binder.jobs.review import QUEUED, ReviewCase, is_overridden, is_waiting, review_case
from chart_binder.jobs.stored_decisions import current_decisions, file_status, new_run, path_bytes
from chart_binder.store import open_store
from chart_binder.wiring import overrides, store_url

from .fields import date_of_parts, original_date

if TYPE_CHECKING:
    from beets.library import Item

    from chart_binder.config import Config

_GONE = "the file is gone; if beets should forget it, type `beet update`"


def path_of(item: "Item") -> Path:
    """Return the path of an item's file."""
    return Path(os.fsdecode(item.path))


def decide_items(
    items: Sequence["Item"],
    config: "Config",
    on_item: Callable[["Item", FileResult], None],
    *,
    call: Sequence[str],
    to_stop: Callable[[], bool] = lambda: False,
    on_message: Callable[[str], None] = lambda _: None,
) -> BatchResult:
    """Decide items and store the decisions under the paths of their files.

    Items with a valid decision are not decided again. `on_item` is called for each item in the
    caller's thread, and the `call` of beets is stored with the run. Raises `CanonError`.
    """
    by_path = {path_of(item): item for item in items}
    return run_items(
        lambda _: albums_of(items),
        config,
        BatchOptions(),
        run=new_run(f"beet {call[0]}", call[1:]),
        on_file=lambda file: on_item(by_path[file.path], file),
        to_stop=to_stop,
        on_message=on_message,
        read_tags=partial(_tags_or_error, by_path),
    )


def albums_of(items: Iterable["Item"]) -> Iterator[Album]:
    """Yield items that are looked up together: an album, or small albums of one artist."""

    def artist(item: "Item") -> str:
        return fold((item.album_id and item.albumartist) or item.artist or "")

    def album(item: "Item") -> int:
        return item.album_id or 0

    in_order = sorted(items, key=lambda item: (artist(item), album(item)))
    for _, of_artist in groupby(in_order, artist):
        held: tuple[Path, ...] = ()
        for _, of_album in groupby(of_artist, album):
            paths = tuple(map(path_of, of_album))
            if held and len(held) + len(paths) > MAX_MERGED_FILES:
                yield from _in_parts(held)
                held = ()
            held += paths
        yield from _in_parts(held)


def _in_parts(paths: tuple[Path, ...]) -> Iterator[Album]:
    for start in range(0, len(paths), MAX_ALBUM_FILES):
        yield Album(paths[start : start + MAX_ALBUM_FILES])


def _tags_or_error(items: Mapping[Path, "Item"], path: Path) -> TrackTags | CanonError:
    """Return the tags of an item by its path, or why it cannot be looked up."""
    if file_status(path) is None:
        return FileError(f"{quoted(path)}: {_GONE}")
    tags = with_file_name(item_tags(items[path]), path)
    try:
        require_identity(tags, path)
    except CanonError as error:
        return error
    return tags


def item_tags(item: "Item") -> TrackTags:
    """Return what beets knows about an item; ids of other services are ignored."""
    return TrackTags(
        title=item.title or None,
        artist=item.artist or None,
        album=item.album or None,
        album_artist=item.albumartist or None,
        date=date_of_parts(item.year, item.month, item.day).text or None,
        original_date=original_date(item).text or None,
        duration_ms=round((item.length or 0) * 1000) or None,
        is_compilation=bool(item.comp),
        isrcs=isrcs_in([(item.isrc or "").upper()]),
        recording_mbid=_mbid(item.mb_trackid),
        release_mbid=_mbid(item.mb_albumid),
        release_group_mbid=_mbid(item.mb_releasegroupid),
        artist_mbid=_mbid(item.mb_artistid),
    )


def _mbid(text: str | None) -> str | None:
    mbid = (text or "").strip().lower()
    return mbid if MBID.fullmatch(mbid) else None


def waiting_items(items: Iterable["Item"], config: "Config") -> Iterator[tuple["Item", ReviewCase]]:
    """Yield the items whose decisions wait for a person. Raises `StoreError`."""
    by_path = {path_bytes(path_of(item)): item for item in items}
    said_by_person = overrides(config)()
    with open_store(store_url(config)) as store:
        records = current_decisions(store, [*by_path])
        for item, record in zip(by_path.values(), records, strict=True):
            if isinstance(record, DecisionRecord):
                case = review_case(store, record)
                if is_waiting(store, case, QUEUED) and not is_overridden(case, said_by_person):
                    yield item, case


def forget_gone(paths: Iterable[Path], config: "Config") -> None:
    """Forget the decisions on files that were moved away. Raises `StoreError`."""
    gone = [path_bytes(path) for path in paths if not os.path.lexists(path)]
    if gone:
        with open_store(store_url(config)) as store:
            store.decisions.forget(gone)
