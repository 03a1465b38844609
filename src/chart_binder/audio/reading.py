"""Reading of the tags that identify a recording, as Picard and beets write them, by mediafile."""

import logging
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

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

from chart_binder.audio.containers.riff import unread_wave
from chart_binder.audio.file_access import damaged_file, no_audio, require_audio_file
from chart_binder.domain.file_names import with_file_name
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import AudioError, UnidentifiedError
from chart_binder.files import path_error, quoted

_log = logging.getLogger(__name__)

# ISO 3901: country, registrant, year, designation; often printed with hyphens or spaces between.
_ISRC = re.compile(r"(?<![A-Z0-9])[A-Z]{2}[ -]?[A-Z0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{5}(?![A-Z0-9])")

# What Picard and beets put between several values where ID3v2.3 has room for one text.
_BETWEEN_IDS = re.compile(r"[\s/;,|\0]+")
_BETWEEN_NAMES = "; "  # as Picard shows several values of one field
_AROUND_TEXT = " \t\r\n\0\ufeff"  # stray terminators and byte order marks
_MAX_DURATION_S = 7 * 24 * 3600  # a longer one is a damaged header
_WAVE_HEADER_BYTES = 12


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


def read_tags(path: Path) -> TrackTags:
    """Read the tags and the duration of one audio file.

    Blank values and MusicBrainz ids that are no UUID are absent; several artists are one text.
    Raises `AudioError` for what is no file, not permitted, empty, not audio or damaged.
    """
    audio = _opened(path)
    # mediafile guards the opening of a file against whatever mutagen raises, not what its fields
    # make of the values found, such as an APE item marked binary.
    try:
        return _tags(audio, path)
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        raise _damaged(path, f"a tag cannot be understood ({error})") from error


def read_names(path: Path) -> TrackTags:
    """Read tags; artist and title that they lack are taken from the file's name, if it has them.

    Raises `AudioError` like `read_tags`.
    """
    return with_file_name(read_tags(path), path)


def require_identity(tags: TrackTags, path: Path) -> None:
    """Raise `UnidentifiedError`, naming what is missing, if the tags identify no recording."""
    if tags.recording_mbid or tags.isrcs or (tags.artist and tags.title):
        return
    names = [name for name, value in (("artist", tags.artist), ("title", tags.title)) if not value]
    raise UnidentifiedError(
        f"{quoted(path)} says too little to be looked up: its tags have no MusicBrainz recording"
        f" id, no ISRC and no {' and no '.join(names)}, and its name is not like `Artist - Title`"
    )


def format_name(path: Path) -> str:
    """Return mediafile's name of the format (`mp3`, `aac`); raise `AudioError` like `read_tags`."""
    return str(_opened(path).type)


def _opened(path: Path) -> TaggedAudio:
    # What mediafile logs as an error is raised from here as well, in clearer words.
    logging.getLogger("mediafile").setLevel(logging.CRITICAL)
    head = b""
    try:
        require_audio_file(path, path.stat())  # opening a pipe would wait for a writer
        with path.open("rb") as stream:
            head = stream.read(_WAVE_HEADER_BYTES)
            stream.seek(0)
            return TaggedAudio(stream)
    except UnreadableFileError as error:
        raise _unreadable(path, head, error) from error
    except (OSError, ValueError) as error:
        raise path_error(path, error) from error


def _unreadable(path: Path, head: bytes, error: UnreadableFileError) -> AudioError:
    if unread := unread_wave(head):
        return no_audio(path, unread)
    if isinstance(error, FileTypeError):
        known = ", ".join(TYPES.values())
        bundle = "; a bundle goes behind --evidence" if path.suffix == ".json" else ""
        return no_audio(
            path, f"is not audio that can be read ({error.message}); readable are {known}{bundle}"
        )
    if isinstance(error, MutagenError):
        bug = error.mutagen_exception  # a defect of mutagen, met on a damaged file
        return _damaged(path, f"{type(bug).__name__}: {bug}")
    return _damaged(path, error.message)


def _damaged(path: Path, detail: str) -> AudioError:
    return damaged_file(path, " ".join(detail.split())[:200] or "nothing in it makes sense")


def _tags(audio: TaggedAudio, path: Path) -> TrackTags:
    return TrackTags(
        title=_text(audio.title),
        artist=_joined(audio.every_artist),
        album=_text(audio.album),
        album_artist=_joined(audio.every_album_artist),
        date=next(_texts(audio.every_date), None),
        duration_ms=_milliseconds(audio.length),
        is_compilation=bool(audio.comp),
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
        if MBID.fullmatch(part):
            return part
    _log.warning("%s: %s id %r is no UUID, taken as absent", quoted(path), kind, text)
    return None


def _milliseconds(seconds: float | None) -> int | None:
    if seconds is None or not 0 < seconds <= _MAX_DURATION_S:
        return None
    return round(seconds * 1000) or None
