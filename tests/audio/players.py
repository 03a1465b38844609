"""What players and taggers make of files, by their sources: see docs/tags.md.

They are read with mutagen, under the keys that each of them reads, not by the table under test.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mutagen

_FREE = "----:com.apple.iTunes:"


def _id(kind: str, vorbis: str) -> tuple[str, str, str]:
    name = f"MusicBrainz {kind} Id"
    return f"TXXX:{name}", f"musicbrainz_{vorbis}", f"{_FREE}{name}"


_KEYS = {
    "title": ("TIT2", "title", "\xa9nam"), "album": ("TALB", "album", "\xa9alb"),
    "albumartist": ("TPE2", "albumartist", "aART"), "date": ("TDRC", "date", "\xa9day"),
    "originaldate": ("TDOR", "originaldate", f"{_FREE}ORIGINALDATE"),
    "originalyear": ("TXXX:originalyear", "originalyear", f"{_FREE}ORIGINALYEAR"),
    "releasedate": ("TDRL", "releasedate", "\xa9day"), "track": ("TRCK", "tracknumber", "trkn"),
    "disc": ("TPOS", "discnumber", "disk"),
    "compilation": ("TCMP", "compilation", "cpil"), "albumid": _id("Album", "albumid"),
    "groupid": _id("Release Group", "releasegroupid"),
    "trackid": _id("Release Track", "releasetrackid"),
    "originalalbumid": _id("Original Album", "originalalbumid"),
}  # fmt: skip
_COLUMNS = {".mp3": 0, ".flac": 1, ".m4a": 2}

Tags = dict[str, str]


def read(path: Path) -> Tags:
    """Read the tags of a file that players look at."""
    tags: Any = mutagen.File(path).tags
    values = {}
    for name, keys in _KEYS.items():
        key = keys[_COLUMNS[path.suffix]]
        if key not in tags:
            continue
        value = tags[key]
        if not hasattr(value, "text"):
            value = value[0] if isinstance(value, list) else value
        text = (
            value.decode() if isinstance(value, bytes) else str(getattr(value, "text", [value])[0])
        )
        values[name] = text
    return values


def navidrome_album(tags: Tags) -> tuple[str, ...]:
    """Navidrome since 0.55 (`DefaultAlbumPID`)."""
    if tags.get("albumid"):
        return (tags["albumid"],)
    return tuple(tags.get(name, "") for name in ("albumartist", "album", "releasedate"))


def former_navidrome_album(tags: Tags) -> tuple[str, ...]:
    """Navidrome before, and with `PID.Album = "album_legacy"` (`mapDates`)."""
    date, original, released = (tags.get(n, "") for n in ("date", "originaldate", "releasedate"))
    if original and not released and date >= original:
        released = date
    return tags.get("albumartist", ""), tags.get("album", ""), released


def navidrome_track(tags: Tags) -> tuple[str, ...]:
    """Navidrome's track (`DefaultTrackPID`), by which it keeps stars and play counts."""
    if tags.get("trackid"):
        return (tags["trackid"],)
    return (*navidrome_album(tags), *(tags.get(name, "") for name in ("disc", "track", "title")))


def beets_release(album: Iterable[Tags]) -> str | None:
    """Return the release by whose id beets looks an album up: one that all tracks agree on."""
    ids = {tags.get("albumid", "") for tags in album}
    return ids.pop() or None if len(ids) == 1 else None


def music_assistant_year(tags: Tags) -> str:
    """Return the year that Music Assistant shows of a track."""
    dates = (tags.get(name) for name in ("originalyear", "originaldate", "date"))
    return next(filter(None, dates), "")[:4]
