"""Albums that the tags of files make: files of one folder and release id.

Of the players that were read (docs/policies.md) Navidrome alone makes albums of dates, so its keys
are here.
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
    """What the files of one album have in common: folder and release id, else folder and title."""

    folder: Path
    release: str
    title: str


def album_folder(path: Path) -> Path:
    """Return the folder of an album, `Opera` of `Opera/CD 2/01.flac`; the path is absolute."""
    folder = path.parent
    return folder.parent if is_disc_folder(folder.name) else folder


def is_disc_folder(name: str) -> bool:
    """Return whether a folder is called after a disc of an album: `CD 2`, `Disc2 (live)`."""
    return _DISC_FOLDER.fullmatch(name) is not None


def album_key(path: Path, fields: Fields) -> AlbumKey:
    """Return the key of a file's album, by its tags."""
    release = _first(fields, "release_mbid").strip().lower()
    title = "" if release else _first(fields, "album").strip()
    return AlbumKey(album_folder(path), release, title)


def group_by_album(
    items: Iterable[T], key_of: Callable[[T], AlbumKey]
) -> Sequence[tuple[AlbumKey, Sequence[T]]]:
    """Return items of the same album together, in the order in which albums first come."""
    found: dict[AlbumKey, list[T]] = {}
    for item in items:
        found.setdefault(key_of(item), []).append(item)
    return list(found.items())


def navidrome_keys(container: str, fields: Fields) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return by what Navidrome tells albums apart: its default since 0.55, and the one before.

    The default is the release id, else album artist, album and the release date that is in the
    tags; of an MP4 file that is the date (`resources/mappings.yaml`, `DefaultAlbumPID`). Before,
    and with `PID.Album = "album_legacy"`, it is album artist, album and a release date that is
    the date where there is an original date no later and no release date (`mapDates`).
    """
    if release := _first(fields, "release_mbid"):
        return (release,), (release,)
    artist = _first(fields, "album_artist")
    if not artist:
        is_compilation = _first(fields, "compilation") == "1"
        artist = _VARIOUS if is_compilation else _first(fields, "artist")
    named = (artist.lower(), _first(fields, "album").lower())
    date, original = _first(fields, "date"), _first(fields, "original_date")
    original = original or _first(fields, "original_year")
    released = date if container == "mp4" else _first(fields, "release_date")
    is_derived = original and not released and date >= original
    return (*named, released[:_DATE_LENGTH]), (*named, date if is_derived else released)


def split_keys(
    container_and_fields: Iterable[tuple[str, Fields, Fields]], *, before_055: bool
) -> frozenset[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the Navidrome keys under which files are one album that would be several.

    Each file is given by its container, its fields before, and its fields after. The keys of
    Navidrome before 0.55 count only if `before_055`.
    """
    tracks = [
        (navidrome_keys(container, before), navidrome_keys(container, after))
        for container, before, after in container_and_fields
    ]
    split = set()
    for which in (0, 1) if before_055 else (0,):
        after_of = defaultdict(set)
        for before, after in tracks:
            after_of[before[which]].add(after[which])
        split |= {before for before, _ in tracks if len(after_of[before[which]]) > 1}
    return frozenset(split)


def _first(fields: Fields, name: str) -> str:
    return next(iter(fields.get(name, ())), "")
