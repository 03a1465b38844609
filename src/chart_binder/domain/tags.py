"""Tags of audio files, a release as tags describe it, and the albums that tags make.

An album is the files with the same folder and release id, or the same folder and title. Among the
players whose code was read (docs/tags.md), only Navidrome groups files by date, so its keys are
here.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.evidence import Artifact

Texts = tuple[str, ...]
"""The values of a field."""

Fields: TypeAlias = Mapping[str, Texts]
"""Values by field; an empty tuple removes a field."""


@dataclass(frozen=True, slots=True)
class TrackTags:
    """The tags of an audio file that help to identify its recording; None means unknown.

    They follow Picard's mapping: `recording_mbid` is `MUSICBRAINZ_TRACKID`.
    """

    title: str | None = None
    artist: str | None = None
    album: str | None = None
    album_artist: str | None = None
    date: str | None = None
    original_date: str | None = None
    duration_ms: int | None = None
    is_compilation: bool = False
    isrcs: tuple[str, ...] = ()
    recording_mbid: str | None = None
    release_mbid: str | None = None
    release_group_mbid: str | None = None
    artist_mbid: str | None = None
    named_by: str | None = None
    """`file name` if artist or title are from the name of the file."""


def artifact_of(tags: TrackTags) -> Artifact:
    """Return a file's tags in the form of evidence."""
    texts = {name: text for name, text in zip(_TEXTS, _texts_of(tags), strict=True) if text}
    if tags.isrcs:
        texts["isrc"] = "; ".join(tags.isrcs)
    return Artifact(duration_ms=tags.duration_ms, tags=texts)


_TEXTS = tuple(
    field.name
    for field in fields(TrackTags)
    if field.name not in {"duration_ms", "is_compilation", "isrcs"}
)
_texts_of = attrgetter(*_TEXTS)


@dataclass(frozen=True, slots=True)
class ReleaseTrack:
    """A track of a release: its recording, its place and its medium.

    `disc` and `number` count from 1; `total` is the number of tracks on its disc.
    """

    recording: str
    mbid: str
    disc: int
    number: int
    total: int
    length_ms: int | None = None
    artist_mbids: Texts = ()
    format: str | None = None
    disc_title: str | None = None


@dataclass(frozen=True, slots=True)
class WholeRelease:
    """A release with its tracks: the parts for which tags have fields."""

    mbid: str
    group_mbid: str
    title: str
    artist: str
    discs: int
    tracks: tuple[ReleaseTrack, ...]
    artist_sort: str = ""
    artist_mbids: Texts = ()
    date: PartialDate = UNKNOWN
    country: str | None = None
    status: str | None = None
    types: Texts = ()
    labels: Texts = ()
    catalog_numbers: Texts = ()
    barcode: str | None = None
    _by_recording: Mapping[str, Sequence[ReleaseTrack]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_recording: dict[str, list[ReleaseTrack]] = {}
        for track in self.tracks:
            by_recording.setdefault(track.recording, []).append(track)
        object.__setattr__(self, "_by_recording", by_recording)

    def track_of(self, recordings: Iterable[str], length_ms: int | None) -> ReleaseTrack | None:
        """Return the track with the first of these recordings that is on the release, or None.

        If several tracks have it, return the nearest in length, else the first.
        """
        for recording in recordings:
            if tracks := self._by_recording.get(recording):
                return min(tracks, key=lambda track: _length_gap(track, length_ms))
        return None


def _length_gap(track: ReleaseTrack, length_ms: int | None) -> int:
    return abs(track.length_ms - length_ms) if track.length_ms and length_ms else 0


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
