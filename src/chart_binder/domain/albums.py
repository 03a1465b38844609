"""Albums: files with the same folder and release id, or the same folder and title.

Among the players whose code was read (docs/tags.md), only Navidrome groups files by date, so
its keys are here.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from chart_binder.domain.tags import Fields

T = TypeVar("T")

_DISC_FOLDER = re.compile(
    r"(?:cd|dis[ck]|dvd|lp|vinyl|side|volume|vol)[\s._-]*\d{1,2}\b.*", re.IGNORECASE
)
_VARIOUS = "Various Artists"
_DATE_LENGTH = len("2004-01-31")


class AlbumKey(NamedTuple):
    """What the files of an album share: folder and release id, else folder and title."""

    folder: Path
    release: str
    title: str


def album_folder(path: Path) -> Path:
    """Return the folder of a file's album: `Opera` for `Opera/CD 2/01.flac`; `path` is absolute."""
    folder = path.parent
    return folder.parent if is_disc_folder(folder.name) else folder


def is_disc_folder(name: str) -> bool:
    """Return whether a folder is named after a disc of an album: `CD 2`, `Disc2 (live)`."""
    return _DISC_FOLDER.fullmatch(name) is not None


def album_key(path: Path, fields: Fields) -> AlbumKey:
    """Return the key of a file's album, by its tags."""
    release = _first(fields, "release_mbid").strip().lower()
    title = "" if release else _first(fields, "album").strip()
    return AlbumKey(album_folder(path), release, title)


def group_by_album(
    items: Iterable[T], key_of: Callable[[T], AlbumKey]
) -> Sequence[tuple[AlbumKey, Sequence[T]]]:
    """Return the items of each album, in the order in which the albums first occur."""
    albums: dict[AlbumKey, list[T]] = {}
    for item in items:
        albums.setdefault(key_of(item), []).append(item)
    return list(albums.items())


def navidrome_keys(container: str, fields: Fields) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the keys by which Navidrome groups files: since version 0.55, and before.

    Both are the release id if there is one, else album artist, album and release date. In an MP4
    file the date counts as the release date (`resources/mappings.yaml`, `DefaultAlbumPID`). The
    second key, which `PID.Album = "album_legacy"` still selects, has the date in place of a missing
    release date if the original date is not later than it (`mapDates`).
    """
    if release := _first(fields, "release_mbid"):
        return (release,), (release,)
    artist = _first(fields, "album_artist")
    if not artist:
        is_compilation = _first(fields, "compilation") == "1"
        artist = _VARIOUS if is_compilation else _first(fields, "artist")
    names = (artist.lower(), _first(fields, "album").lower())
    date, original = _first(fields, "date"), _first(fields, "original_date")
    original = original or _first(fields, "original_year")
    released = date if container == "mp4" else _first(fields, "release_date")
    is_derived = original and not released and date >= original
    return (*names, released[:_DATE_LENGTH]), (
        *names,
        date if is_derived else released,
    )


def split_keys(
    container_and_fields: Iterable[tuple[str, Fields, Fields]], *, before_055: bool
) -> frozenset[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the keys of the albums that new tags would split in Navidrome.

    For each file, pass its container, its present fields and its new fields. The keys of Navidrome
    before 0.55 count only if `before_055`.
    """
    tracks = [
        (navidrome_keys(container, before), navidrome_keys(container, after))
        for container, before, after in container_and_fields
    ]
    split = set()
    for version in (0, 1) if before_055 else (0,):
        after_of = defaultdict(set)
        for before, after in tracks:
            after_of[before[version]].add(after[version])
        split |= {before for before, _ in tracks if len(after_of[before[version]]) > 1}
    return frozenset(split)


def _first(fields: Fields, name: str) -> str:
    return next(iter(fields.get(name, ())), "")
