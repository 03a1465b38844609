"""What an audio file says of itself, read from the tags that Picard and beets write."""

import logging
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from mediafile import (
    TYPES,
    ASFStorageStyle,
    FileTypeError,
    ListMediaField,
    ListStorageStyle,
    MediaFile,
    MP3ListStorageStyle,
    MP4ListStorageStyle,
    MutagenError,
    UnreadableFileError,
)

from chart_binder.audio.containers.riff import LOOKED_AT, unread_wave
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import AudioError, UnidentifiedError
from chart_binder.files import path_error, quoted


def _several(id3: str, mp4: str, asf: str, *others: str) -> ListMediaField:
    """Describe a field by its ID3 frame, MP4 atom, ASF attribute and Vorbis/APE keys."""
    return ListMediaField(
        MP3ListStorageStyle(id3),
        MP4ListStorageStyle(mp4),
        ASFStorageStyle(asf),
        *(ListStorageStyle(key) for key in others),
    )


class TaggedAudio(MediaFile):  # type: ignore[misc]  # mediafile has no type information
    """mediafile's own field table, and beside it the fields of which it keeps the first value only.

    `every_date` is a text as found: mediafile's `date` turns 1974 into 1 January 1974, besides it
    takes no more than the year from the `Year` that Picard writes into APE tags.

    Keys: https://picard-docs.musicbrainz.org/en/appendices/tag_mapping.html
    """

    every_artist = _several("TPE1", "\xa9ART", "Author", "ARTIST")
    every_album_artist = _several(
        "TPE2", "aART", "WM/AlbumArtist", "ALBUMARTIST", "ALBUM ARTIST", "ALBUM_ARTIST"
    )
    every_date = _several("TDRC", "\xa9day", "WM/Year", "DATE", "YEAR")
    every_isrc = _several("TSRC", "----:com.apple.iTunes:ISRC", "WM/ISRC", "ISRC")


_log = logging.getLogger(__name__)

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# ISO 3901: country, registrant, year, designation; often printed with hyphens or spaces between.
_ISRC = re.compile(r"(?<![A-Z0-9])[A-Z]{2}[ -]?[A-Z0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{5}(?![A-Z0-9])")

# What Picard and beets put between several values where ID3v2.3 has room for one only.
_BETWEEN_IDS = re.compile(r"[\s/;,|\0]+")

# How Picard shows several values of one field.
_BETWEEN_NAMES = "; "

# Stray terminators and byte order marks are no part of a name.
_AROUND_TEXT = " \t\r\n\0\ufeff"

# No recording lasts a week; a longer duration is a damaged header.
_LONGEST_S = 7 * 24 * 3600


def read_tags(path: Path) -> TrackTags:
    """Read the tags and the duration of one audio file; it is opened for reading only.

    Blank values are absent, as is a MusicBrainz id that is no UUID. Several artists come as one
    text, joined the way Picard shows them. Raises `AudioError` for a path that is absent, a folder,
    not permitted, empty, not audio or damaged.
    """
    _require_content(path)
    audio = _opened(path)
    # mediafile guards the opening of a file against whatever mutagen raises, not what its fields
    # make of the values found. Of 155,000 damaged files only APE items marked binary got this far,
    # as a TypeError; the others named here are what the same indexing and decoding could raise.
    try:
        return _tags(audio, path)
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        raise _damaged(path, f"a tag cannot be understood ({error})") from error


def format_name(path: Path) -> str:
    """Return what kind of audio file it is, by mediafile; raise `AudioError` like `read_tags`."""
    _require_content(path)
    return str(_opened(path).type)


def _require_content(path: Path) -> None:
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise path_error(path, error) from error
    if S_ISDIR(status.st_mode):
        raise AudioError(f"{quoted(path)} is a folder, not an audio file")
    if not S_ISREG(status.st_mode):  # opening a pipe would wait for somebody to write into it
        raise AudioError(f"{quoted(path)} is a device or a pipe, not an audio file")
    if not status.st_size:
        raise AudioError(f"{quoted(path)} is empty (0 bytes)")


def _opened(path: Path) -> TaggedAudio:
    # What mediafile logs as an error on its own is raised from here as well, in clearer words.
    logging.getLogger("mediafile").setLevel(logging.CRITICAL)
    head = b""
    try:
        with path.open("rb") as stream:
            head = stream.read(LOOKED_AT)
            stream.seek(0)
            return TaggedAudio(stream)
    except OSError as error:
        raise path_error(path, error) from error
    except UnreadableFileError as error:
        raise _unread(path, head, error) from error


def _unread(path: Path, head: bytes, error: UnreadableFileError) -> AudioError:
    if unread := unread_wave(head):
        return AudioError(f"{quoted(path)} {unread}")
    if isinstance(error, FileTypeError):
        known = ", ".join(TYPES.values())
        return AudioError(
            f"{quoted(path)} is not audio that can be read ({error.message}); readable are {known}"
        )
    if isinstance(error, MutagenError):
        bug = error.mutagen_exception  # a defect of mutagen, met on a damaged file
        return _damaged(path, f"{type(bug).__name__}: {bug}")
    return _damaged(path, error.message)


def _damaged(path: Path, detail: str) -> AudioError:
    words = " ".join(detail.split())[:200] or "nothing in it makes sense"
    return AudioError(f"{quoted(path)} is damaged, cut short or not what its name says: {words}")


def _tags(audio: TaggedAudio, path: Path) -> TrackTags:
    return TrackTags(
        title=_text(audio.title),
        artist=_joined(audio.every_artist),
        album=_text(audio.album),
        album_artist=_joined(audio.every_album_artist),
        date=next(_texts(audio.every_date), None),
        duration_ms=_milliseconds(audio.length),
        isrcs=_isrcs(audio.every_isrc),
        recording_mbid=_mbid(audio.mb_trackid, "recording", path),
        release_mbid=_mbid(audio.mb_albumid, "release", path),
        release_group_mbid=_mbid(audio.mb_releasegroupid, "release group", path),
        artist_mbid=_mbid(" ".join(_texts(audio.mb_artistids)), "artist", path),
    )


def _text(value: str | None) -> str | None:
    return (value or "").strip(_AROUND_TEXT) or None


def _texts(values: Iterable[str] | None) -> Iterator[str]:
    return (text for value in values or () if (text := _text(value)))


def _joined(values: Iterable[str] | None) -> str | None:
    return _BETWEEN_NAMES.join(dict.fromkeys(_texts(values))) or None


def _isrcs(values: Iterable[str] | None) -> tuple[str, ...]:
    found = (code for text in _texts(values) for code in _ISRC.findall(text.upper()))
    return tuple(dict.fromkeys(code.replace("-", "").replace(" ", "") for code in found))


def _mbid(value: str | None, kind: str, path: Path) -> str | None:
    """Return the first UUID, in lower case: a recording with two artists has the ids of both."""
    text = _text(value)
    if text is None:
        return None
    for part in _BETWEEN_IDS.split(text.lower()):
        if _UUID.fullmatch(part):
            return part
    _log.warning("%s: %s id %r is no UUID, taken as absent", quoted(path), kind, text)
    return None


def _milliseconds(seconds: float | None) -> int | None:
    if seconds is None or not 0 < seconds <= _LONGEST_S:
        return None
    return round(seconds * 1000) or None


def require_identity(tags: TrackTags, path: Path) -> None:
    """Raise `UnidentifiedError`, naming what is missing, if the tags identify no recording."""
    if tags.recording_mbid or tags.isrcs or (tags.artist and tags.title):
        return
    names = [name for name, value in (("artist", tags.artist), ("title", tags.title)) if not value]
    raise UnidentifiedError(
        f"{quoted(path)} says too little to be looked up: its tags have no MusicBrainz recording"
        f" id, no ISRC and no {' and no '.join(names)}"
    )
