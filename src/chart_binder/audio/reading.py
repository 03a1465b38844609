"""Reading of what identifies a recording: the fields of all tags of a file, and its duration."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import mutagen
from mutagen import StreamInfo
from mutagen.aiff import AIFFInfo
from mutagen.asf import ASF
from mutagen.dsf import DSFFile, DSFInfo
from mutagen.flac import FLAC
from mutagen.monkeysaudio import MonkeysAudioInfo
from mutagen.mp3 import MPEGInfo
from mutagen.mp4 import MP4Info
from mutagen.mp4._atom import Atoms
from mutagen.musepack import MusepackInfo
from mutagen.oggopus import OggOpus
from mutagen.oggvorbis import OggVorbis
from mutagen.wave import WaveStreamInfo
from mutagen.wavpack import WavPackInfo

from chart_binder.audio.containers import UnknownKindError, layout_of
from chart_binder.audio.containers.mp3 import find_id3
from chart_binder.audio.containers.riff import unread_wave
from chart_binder.audio.fields import BLANK, texts_of_file
from chart_binder.audio.file_access import OpenFile, damaged_file, no_audio, open_audio
from chart_binder.audio.tagset import TagSet
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
_MAX_DURATION_S = 7 * 24 * 3600  # a longer one is a damaged header
_WAVE_HEADER_BYTES = 12

# The formats that are read, by mutagen's classes.
_FORMATS = {
    "MP3": "MP3", "MP4": "MP4", "FLAC": "FLAC", "OggOpus": "Opus", "OggVorbis": "Ogg Vorbis",
    "MonkeysAudio": "Monkey's Audio", "WavPack": "WavPack", "Musepack": "Musepack",
    "ASF": "Windows Media", "AIFF": "AIFF", "DSF": "DSF", "WAVE": "WAV",
}  # fmt: skip


def _dsf_info(stream: BinaryIO) -> Any:
    return DSFInfo(DSFFile(stream).fmt_chunk)


def _mp4_info(stream: BinaryIO) -> Any:
    return MP4Info(Atoms(stream), stream)


# What reads the length of a file, by its container: where it can without the tag.
_INFO: dict[str, Callable[[BinaryIO], Any]] = {
    "mp3": MPEGInfo, "aiff": AIFFInfo, "wav": WaveStreamInfo, "dsf": _dsf_info, "flac": FLAC,
    "ogg": OggVorbis, "opus": OggOpus, "mp4": _mp4_info, "asf": ASF, "ape": MonkeysAudioInfo,
    "wv": WavPackInfo, "mpc": MusepackInfo,
}  # fmt: skip
_BEHIND_ID3 = frozenset({"ape", "wv"})
"""Containers whose length mutagen reads where the audio begins."""


def read_tags(path: Path) -> TrackTags:
    """Read what the tags of an audio file say, whatever their form, and its duration.

    A field is of the first tag that has it. Blank values and MusicBrainz ids that are no UUID are
    absent; several artists are one text. Raises `AudioError` for what is no file, not permitted,
    empty, not audio or damaged.
    """
    with open_audio(path) as source:
        tags = _tags_of(source)
        fields = texts_of_file(tags)
        duration = _milliseconds(_length(source, tags.container))

    def texts(name: str) -> Iterator[str]:
        return (text for each in fields.get(name, ()) if (text := each.strip(BLANK)))

    return TrackTags(
        title=next(texts("title"), None),
        artist=_joined(texts("artist")),
        album=next(texts("album"), None),
        album_artist=_joined(texts("album_artist")),
        date=next(texts("date"), None),
        original_date=next(chain(texts("original_date"), texts("original_year")), None),
        duration_ms=duration,
        is_compilation=next(texts("compilation"), "0").strip("0") != "",
        isrcs=_isrcs(texts("isrcs")),
        recording_mbid=_mbid(texts("recording_mbid"), "recording", path),
        release_mbid=_mbid(texts("release_mbid"), "release", path),
        release_group_mbid=_mbid(texts("release_group_mbid"), "release group", path),
        artist_mbid=_mbid(texts("artist_mbids"), "artist", path),
    )


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
        f" id, no ISRC and no {' and no '.join(names)}, and its name tells nothing, as"
        " `Artist - Title` would"
    )


def _tags_of(source: OpenFile) -> TagSet:
    try:
        return layout_of(source).tags
    except UnknownKindError:
        _opened(source)  # says more of what is no audio
        raise


def _length(source: OpenFile, container: str) -> float | None:
    """Return the length in seconds; a file with few frames has to be what mutagen takes it for."""
    start = find_id3(source, 0)[1] if container in _BEHIND_ID3 else 0
    info = _by_mutagen(source, _INFO[container], start)
    info = info if isinstance(info, StreamInfo) else info.info
    if getattr(info, "sketchy", False):
        info = _opened(source).info
    length: float | None = info.length
    return length


def _opened(source: OpenFile) -> Any:
    """Return what mutagen makes of a file. Raises `AudioError` for what it does not know."""
    audio = _by_mutagen(source, mutagen.File)
    if type(audio).__name__ not in _FORMATS:
        raise _unread(source, None if audio is None else type(audio).__name__)
    return audio


def _by_mutagen(source: OpenFile, read: Callable[[BinaryIO], Any], start: int = 0) -> Any:
    try:
        with source.stream() as stream:
            stream.seek(start)
            return read(stream)
    except mutagen.MutagenError as error:
        raise _damaged(source, str(error)) from error
    except OSError as error:
        raise path_error(source.path, error) from error
    except Exception as error:  # a defect of mutagen, met on a damaged file
        raise _damaged(source, f"{type(error).__name__}: {error}") from error


def _unread(source: OpenFile, kind: str | None) -> AudioError:
    """Return the error for a file that mutagen knows as one of another kind, or not at all."""
    if unread := _wave_that_is_not_read(source):
        return unread
    what = f"File type {kind!r} is not supported" if kind else "File is not in a recognized format"
    bundle = "; a bundle goes behind --evidence" if source.path.suffix == ".json" else ""
    known = ", ".join(_FORMATS.values())
    return no_audio(
        source.path, f"is not audio that can be read ({what}); readable are {known}{bundle}"
    )


def _damaged(source: OpenFile, detail: str) -> AudioError:
    if unread := _wave_that_is_not_read(source):
        return unread
    return damaged_file(source.path, " ".join(detail.split())[:200] or "nothing in it makes sense")


def _wave_that_is_not_read(source: OpenFile) -> AudioError | None:
    unread = unread_wave(source.read(0, min(_WAVE_HEADER_BYTES, source.size)))
    return no_audio(source.path, unread) if unread else None


def _joined(texts: Iterable[str]) -> str | None:
    return _BETWEEN_NAMES.join(dict.fromkeys(texts)) or None


def _isrcs(texts: Iterable[str]) -> tuple[str, ...]:
    found = (code for text in texts for code in _ISRC.findall(text.upper()))
    return tuple(dict.fromkeys(code.replace("-", "").replace(" ", "") for code in found))


def _mbid(texts: Iterable[str], kind: str, path: Path) -> str | None:
    """Return the first UUID, in lower case: a recording with two artists has the ids of both."""
    text = " ".join(texts)
    if not text:
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
