"""Tags of audio files, the policies by which they are written, and the albums that they make.

Files are grouped to albums by folder and release id. Of the players that were read (docs/tags.md)
Navidrome alone makes albums of dates, so its keys are here.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from chart_binder.domain.evidence import Artifact
from chart_binder.errors import replaced_policy

Fields: TypeAlias = Mapping[str, tuple[str, ...]]
"""Texts by field; an empty tuple removes a field."""


@dataclass(frozen=True, slots=True)
class TrackTags:
    """The tags of one audio file that help to identify its recording; `None` means unknown.

    Field meanings follow MusicBrainz Picard's tag mapping: `recording_mbid` is what Vorbis
    comments call `MUSICBRAINZ_TRACKID`.
    """

    title: str | None = None
    artist: str | None = None
    album: str | None = None
    album_artist: str | None = None
    date: str | None = None
    duration_ms: int | None = None
    is_compilation: bool = False
    isrcs: tuple[str, ...] = ()
    recording_mbid: str | None = None
    release_mbid: str | None = None
    release_group_mbid: str | None = None
    artist_mbid: str | None = None


def artifact_of(tags: TrackTags) -> Artifact:
    """Return what a file's tags say as evidence has it."""
    said = asdict(tags) | {"isrc": "; ".join(tags.isrcs)}
    texts = ((name, text) for name, text in said.items() if text and isinstance(text, str))
    return Artifact(duration_ms=tags.duration_ms, tags=dict(texts))


class Policy(StrEnum):
    """What is written: first-release dates, notes under keys of our own, or a whole release.

    Looking up a policy of earlier versions raises an error that says what to use instead.
    """

    DATES = "dates"
    NOTE = "note"
    MOVE = "move"

    @classmethod
    def _missing_(cls, value: object) -> None:
        if replaced := replaced_policy(str(value)):
            raise ValueError(replaced)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What is written, and how.

    With `whole_albums` an album's tracks are dated all or none; with `also_date` the first date
    becomes the file's date as well; with `in_parts` an album is also dated where Navidrome would
    show it in parts then. All three are of `Policy.DATES`.
    """

    policy: Policy = Policy.DATES
    whole_albums: bool = False
    also_date: bool = False
    in_parts: bool = False

    @property
    def problems(self) -> Iterator[str]:
        """What is wrong with them, each as a sentence."""
        if self.policy not in (*Policy,):
            replaced = replaced_policy(str(self.policy))
            allowed = ", ".join(Policy)
            yield replaced or f"policy: found {str(self.policy)!r}; {allowed} are allowed"
            return
        for name in ("whole_albums", "also_date", "in_parts"):
            if getattr(self, name) and self.policy != Policy.DATES:
                yield f"{name} is of the policy dates, not of {self.policy}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The ids of a decision, by rules, a model or a person.

    There is no release group where the case is open: its first release may be known all the same.
    """

    recording: str | None
    release_group: str | None
    release: str | None
    trace: str | None


# Albums.

T = TypeVar("T")

_DISC_FOLDER = re.compile(
    r"(?:cd|dis[ck]|dvd|lp|vinyl|side|volume|vol)[\s._-]*\d{1,2}\b.*", re.IGNORECASE
)
_VARIOUS = "Various Artists"
_DATE_LENGTH = len("2004-01-31")


class AlbumKey(NamedTuple):
    """What the files of one album have in common: the folder, and the release id in their tags.

    Files without a release id are told apart by the album's title instead.
    """

    folder: Path
    release: str
    title: str


def album_folder(path: Path) -> Path:
    """Return the folder of a file's album: of `Opera/CD 2/01.flac` it is `Opera`.

    The path should be from the root: `01.flac` alone does not say what folder it is in.
    """
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
    container_and_fields: Iterable[tuple[str, Fields, Fields]],
) -> frozenset[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the Navidrome keys under which files are one album that would be several.

    Each file is given by its container, its fields before, and its fields after. A file's keys are
    those before.
    """
    tracks = [
        (navidrome_keys(container, before), navidrome_keys(container, after))
        for container, before, after in container_and_fields
    ]
    split = set()
    for which in (0, 1):
        after_of = defaultdict(set)
        for before, after in tracks:
            after_of[before[which]].add(after[which])
        split |= {before for before, _ in tracks if len(after_of[before[which]]) > 1}
    return frozenset(split)


def _first(fields: Fields, name: str) -> str:
    return next(iter(fields.get(name, ())), "")
