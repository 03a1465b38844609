"""Reading the tag fields that identify a recording, and the duration of a file.

Names of files and folders provide the artist and title that tags lack. The forms are
`Artist - Title`, `01 - Artist - Title`, `Artist - Album - 01 - Title`,
`Artist/Album (Year)/01 Title` and `Artist - Album (Year)/01 Title`. The number may include a side
(`B2`). A bare number is not an artist, and `Track 01` is not a title.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
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
from chart_binder.audio.containers.riff import unsupported_wave
from chart_binder.audio.fields import BLANK, texts_of_file
from chart_binder.audio.open_file import OpenFile, no_audio, open_audio
from chart_binder.audio.tagset import TagSet
from chart_binder.domain.tags import TrackTags, album_folder
from chart_binder.domain.titles_and_credits import VARIOUS_NAMES, without_noise
from chart_binder.domain.vocabulary import MBID, fold
from chart_binder.errors import AudioError, UnidentifiedError
from chart_binder.files import path_error, quoted

_log = logging.getLogger(__name__)

# ISO 3901: country, registrant, year and designation, often separated by hyphens or spaces.
_ISRC = re.compile(r"(?<![A-Z0-9])[A-Z]{2}[ -]?[A-Z0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{5}(?![A-Z0-9])")

# The separators of Picard and beets where ID3v2.3 holds only one text.
_ID_SEPARATORS = re.compile(r"[\s/;,|\0]+")
_NAME_SEPARATOR = "; "  # as Picard displays several values of a field
_MAX_DURATION_S = 7 * 24 * 3600  # a longer duration is damage
_WAVE_HEADER_BYTES = 12

# The supported formats, by the name of mutagen's class.
_FORMATS = {
    "MP3": "MP3", "MP4": "MP4", "FLAC": "FLAC", "OggOpus": "Opus", "OggVorbis": "Ogg Vorbis",
    "MonkeysAudio": "Monkey's Audio", "WavPack": "WavPack", "Musepack": "Musepack",
    "ASF": "Windows Media", "AIFF": "AIFF", "DSF": "DSF", "WAVE": "WAV",
}  # fmt: skip


# The function that reads the length of a file, by container; most skip the tags.
_INFO: dict[str, Callable[[BinaryIO], Any]] = {
    "mp3": MPEGInfo, "aiff": AIFFInfo, "wav": WaveStreamInfo, "flac": FLAC, "ogg": OggVorbis,
    "opus": OggOpus, "asf": ASF, "ape": MonkeysAudioInfo, "wv": WavPackInfo, "mpc": MusepackInfo,
    "dsf": lambda stream: DSFInfo(DSFFile(stream).fmt_chunk),
    "mp4": lambda stream: MP4Info(Atoms(stream), stream),
}  # fmt: skip
_AUDIO_FIRST = frozenset({"ape", "wv"})
"""Containers in which mutagen must start reading where the audio begins, behind an ID3 tag."""


def read_tags(path: Path) -> TrackTags:
    """Read the fields of all tags of an audio file, and its duration.

    The first tag that has a field provides its value. Blank values and invalid MusicBrainz ids are
    left out, and several artists are joined. Raises `AudioError` if the path does not lead to a
    readable file, or the file is empty, damaged or not audio.
    """
    with open_audio(path) as source:
        tags = _tags_of(source)
        fields = texts_of_file(tags)
        duration = _milliseconds(_length(source, tags.container))

    def texts(name: str) -> Iterator[str]:
        return filter(None, (text.strip(BLANK) for text in fields.get(name, ())))

    return TrackTags(
        title=next(texts("title"), None),
        artist=_joined(texts("artist")),
        album=next(texts("album"), None),
        album_artist=_joined(texts("album_artist")),
        date=next(texts("date"), None),
        original_date=next(chain(texts("original_date"), texts("original_year")), None),
        duration_ms=duration,
        is_compilation=next(texts("compilation"), "0").strip("0") != "",
        isrcs=isrcs_in(texts("isrcs")),
        recording_mbid=_mbid(texts("recording_mbid"), "recording", path),
        release_mbid=_mbid(texts("release_mbid"), "release", path),
        release_group_mbid=_mbid(texts("release_group_mbid"), "release group", path),
        artist_mbid=_mbid(texts("artist_mbids"), "artist", path),
    )


def read_names(path: Path) -> TrackTags:
    """Read the tags, and complete artist and title from the file name if they are missing.

    Raises `AudioError` like `read_tags`.
    """
    return with_file_name(read_tags(path), path)


def require_identity(tags: TrackTags, path: Path) -> None:
    """Raise `UnidentifiedError` with the missing fields if the tags identify no recording."""
    if tags.recording_mbid or tags.isrcs or (tags.artist and tags.title):
        return
    fields = (("artist", tags.artist), ("title", tags.title))
    *names, last = ["ISRC", *(name for name, value in fields if not value)]
    raise UnidentifiedError(
        f"{quoted(path)} says too little to be looked up: its tags have no MusicBrainz recording"
        f" id, no {', no '.join(names)} and no {last}, and its name is not of the form"
        " `Artist - Title`"
    )


def _tags_of(source: OpenFile) -> TagSet:
    try:
        return layout_of(source).tags
    except UnknownKindError:
        _opened(source)  # gives a more specific reason for files that are not audio
        raise


def _length(source: OpenFile, container: str) -> float | None:
    """Return the length in seconds, or `None`.

    If a file has very few MPEG frames, mutagen must detect the same format.
    """
    start = find_id3(source, 0)[1] if container in _AUDIO_FIRST else 0
    info = _by_mutagen(source, _INFO[container], start)
    info = info if isinstance(info, StreamInfo) else info.info
    if getattr(info, "sketchy", False):
        info = _opened(source).info
    length: float | None = info.length
    return length


def _opened(source: OpenFile) -> Any:
    """Return mutagen's object for a file. Raises `AudioError` for an unsupported format."""
    audio = _by_mutagen(source, mutagen.File)
    if type(audio).__name__ not in _FORMATS:
        raise _unsupported(source, None if audio is None else type(audio).__name__)
    return audio


def _by_mutagen(source: OpenFile, parse: Callable[[BinaryIO], Any], start: int = 0) -> Any:
    try:
        with source.stream() as stream:
            stream.seek(start)
            return parse(stream)
    except mutagen.MutagenError as error:
        raise _damaged(source, str(error)) from error
    except OSError as error:
        raise path_error(source.path, error) from error
    except Exception as error:  # a bug in mutagen that a damaged file triggered
        raise _damaged(source, f"{type(error).__name__}: {error}") from error


def _unsupported(source: OpenFile, mutagen_class: str | None) -> AudioError:
    """Return the error for a file whose format is not supported, or which mutagen cannot detect."""
    if error := _unsupported_wave(source):
        return error
    reason = "File is not in a recognized format"
    if mutagen_class:
        reason = f"File type {mutagen_class!r} is not supported"
    hint = "; use --evidence for a bundle" if source.path.suffix == ".json" else ""
    formats = ", ".join(_FORMATS.values())
    return no_audio(
        source.path, f"is not audio that can be read ({reason}); readable are {formats}{hint}"
    )


def _damaged(source: OpenFile, detail: str) -> AudioError:
    detail = " ".join(detail.split())[:200] or "nothing in it can be decoded"
    return _unsupported_wave(source) or source.damaged(detail)


def _unsupported_wave(source: OpenFile) -> AudioError | None:
    problem = unsupported_wave(source.read(0, min(_WAVE_HEADER_BYTES, source.size)))
    return no_audio(source.path, problem) if problem else None


def _joined(texts: Iterable[str]) -> str | None:
    return _NAME_SEPARATOR.join(dict.fromkeys(texts)) or None


def isrcs_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the ISRCs in texts, without separators and duplicates."""
    codes = (code for text in texts for code in _ISRC.findall(text.upper()))
    return tuple(dict.fromkeys(code.replace("-", "").replace(" ", "") for code in codes))


def _mbid(texts: Iterable[str], entity: str, path: Path) -> str | None:
    """Return the first UUID, in lower case; a recording with two artists has two artist ids."""
    text = " ".join(texts)
    if not text:
        return None
    for part in _ID_SEPARATORS.split(text.lower()):
        if MBID.fullmatch(part):
            return part
    _log.warning("%s: the %s id %r is not a UUID and is ignored", quoted(path), entity, text)
    return None


def _milliseconds(seconds: float | None) -> int | None:
    if seconds is None or not 0 < seconds <= _MAX_DURATION_S:
        return None
    return round(seconds * 1000) or None


FROM_NAME = "file name"
_DASH = re.compile(r"\s+[-–—]\s+")
_NUMBER = r"(?:(?:\d{1,2}[-.])?\d{1,3}|[A-H][1-9])"
"""The number of a track: `05`, `1-05` on a disc, `B2` on a side of vinyl."""
_NUMBERED = re.compile(rf"{_NUMBER}(?:\s*-\s*|[.)]\s*|\s+)(?=\S)(.+)")
_NUMBERED_ARTIST = re.compile(
    r"(?:0\d{1,2}|\d{1,3}[.)]|\d{1,2}[-.]\d{2}|[A-H][1-9][.)]?)\s+(?=\S)(.+)"
)
"""A text that certainly begins with a track number; `3 Doors Down` is a band."""
_ALBUM = re.compile(
    r"(?P<title>.*\S)\s*[(\[](?:19|20)\d\d[)\]]"
    r"|(?:(?:19|20)\d\d\s+-|[(\[](?:19|20)\d\d[)\]])\s+(?P<behind>.+)"
)
_NO_TITLE = re.compile(
    r"(?:(?:(?:audio ?|new )?(?:track|titel|piste|pista|spur|traccia|faixa|nummer|recording"
    r"|aufnahme)|untitled|unknown|unbekannt|トラック)\W*\d*)?\W*"
)
_NO_ARTIST = re.compile(
    r"(?:v\W?a\W?|unknown(?: artist)?|unbekannt(?:er \w+)?|compilations?"
    r"|soundtracks?|(?:my )?music|musik|musique|downloads?|[\d\W]*)"
)


def with_file_name(tags: TrackTags, path: Path) -> TrackTags:
    """Return tags with a missing artist or title taken from the name of the file.

    Tags that identify a recording stay unchanged; so do all tags if the name has no known form.
    """
    if tags.recording_mbid or tags.isrcs or (tags.artist and tags.title):
        return tags
    names = _names_in(path)
    if names is None:
        return tags
    artist, album, title = names
    return replace(
        tags,
        artist=tags.artist or artist,
        title=tags.title or title,
        album=tags.album or album,
        named_by=FROM_NAME,
    )


def _names_in(path: Path) -> tuple[str, str | None, str] | None:
    """Return artist, album or None, and title; None if the name has no known form."""
    stem = path.stem if " " in path.stem else path.stem.replace("_", " ")
    parts = [part.strip() for part in _DASH.split(without_noise(stem))]
    album = None
    match [re.fullmatch(_NUMBER, part) is not None for part in parts]:
        case [True, False, False]:
            artist, title = parts[1:]
        case [False, False]:
            artist, title = parts
            if numbered := _NUMBERED_ARTIST.fullmatch(artist):
                artist = numbered[1]
        case [False, True, False]:
            artist, _, title = parts
        case [False, False, True, False]:
            artist, album, _, title = parts
        case [False] | [True, False]:
            return _names_in_folders(path, " - ".join(parts))
        case _:
            return None
    return _if_names(artist, album, title)


def _names_in_folders(path: Path, stem: str) -> tuple[str, str | None, str] | None:
    numbered, folder = _NUMBERED.fullmatch(stem), album_folder(path)
    album = _ALBUM.fullmatch(folder.name)
    if numbered is None or album is None:
        return None
    match _DASH.split(album["title"] or album["behind"]):
        case [artist, title]:
            pass
        case names:
            artist, title = folder.parent.name, " - ".join(names)
    return _if_names(artist, title, numbered[1])


def _if_names(artist: str, album: str | None, title: str) -> tuple[str, str | None, str] | None:
    """Return artist, album and title, or None if artist or title is only a placeholder."""
    folded = fold(artist)
    is_nobody = folded in _various_artists() or _NO_ARTIST.fullmatch(folded)
    return None if is_nobody or _NO_TITLE.fullmatch(fold(title)) else (artist, album, title)


@cache
def _various_artists() -> frozenset[str]:
    return frozenset(map(fold, VARIOUS_NAMES))
