"""A hash over the audio of a file, which no change of its tags touches."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Protocol

from chart_binder.audio.containers import asf, mp3, mp4, riff, vorbis
from chart_binder.audio.containers.id3 import find_id3
from chart_binder.audio.containers.mp3 import MP3
from chart_binder.audio.containers.riff import unread_wave
from chart_binder.audio.file_access import Piece, Source, open_audio
from chart_binder.audio.tagset import Block, TagSet
from chart_binder.errors import AudioError
from chart_binder.files import quoted


class Layout(Protocol):
    """An audio file taken apart into its tags and the rest."""

    @property
    def tags(self) -> TagSet:
        """All tags."""

    def audio(self) -> Iterator[Piece]:
        """Yield what the listener hears, with what is needed to decode it.

        It is the same whatever stands in the tags, wherever they stand, whatever room is left for
        them; a changed byte of the audio, or a table that points elsewhere in it, changes it.
        Raises `AudioError` for a file too damaged to be understood.
        """

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the whole file with these tags instead.

        Everything else keeps its bytes, apart from lengths and places that have to follow. Raises
        `AudioError` for what cannot be written.
        """


_Opener = Callable[[Source], Layout]

_LOOKED_AT = 16
_SEARCHED = 1 << 16

_MAGICS: tuple[tuple[bytes, _Opener], ...] = (
    (vorbis.FLAC_MAGIC, vorbis.FLAC.of),
    (vorbis.OGG_MAGIC, vorbis.Ogg.of),
    (asf.MAGIC, asf.ASF.of),
    (riff.MAGIC, riff.DSF.of),
    *((magic, partial(mp3.APE.of, container=name)) for magic, name in mp3.MAGICS.items()),
)

# Eleven bits set; then no reserved version, no reserved layer; no reserved bitrate or sample rate.
_SECOND = bytes(byte for byte in range(0xE0, 0x100) if byte >> 3 & 3 != 1 and byte >> 1 & 3)
_THIRD = bytes(byte for byte in range(0xF0) if ~byte >> 2 & 3)
_MPEG_FRAME = re.compile(b"\xff[" + re.escape(_SECOND) + b"][" + re.escape(_THIRD) + b"]")

_FORMS: dict[tuple[bytes, bytes], riff.Kind] = {
    (b"FORM", b"AIFF"): riff.AIFF,
    (b"FORM", b"AIFC"): riff.AIFF,
    (b"RIFF", b"WAVE"): riff.WAV,
}


def layout_of(source: Source) -> Layout:
    """Take an audio file apart; raise `AudioError` if it is damaged or of no kind known here."""
    leading = find_id3(source, 0)
    start = leading.size if leading else 0
    head = source.at(start, min(_LOOKED_AT, source.size - start)) if start <= source.size else b""
    for magic, opener in _MAGICS:
        if head.startswith(magic):
            return opener(source)
    kind = _FORMS.get((head[:4], head[8:12]))
    if kind and not leading:
        return riff.IFF.of(source, kind)
    if head[4:8] in mp4.KINDS and not leading:
        return mp4.MP4.of(source)
    if unread := unread_wave(head):
        raise AudioError(f"{quoted(source.path)} {unread}")
    if leading or _has_mpeg_frame(source):
        return MP3.of(source)
    raise AudioError(
        f"{quoted(source.path)} is of no kind whose tags are written: those are MP3, FLAC, Ogg,"
        " MP4, WMA, APE, WavPack, Musepack, AIFF, WAV and DSF"
    )


def _has_mpeg_frame(source: Source) -> bool:
    """Say whether an MPEG frame header of layer I to III stands near the beginning."""
    head = source.at(0, min(_SEARCHED, source.size))
    return _MPEG_FRAME.search(head) is not None


def audio_hash(path: Path) -> str:
    """Return the SHA-256 over the audio packets of a file, with what is needed to decode them.

    A megabyte is in memory at a time. Raises `AudioError` if the file cannot be read, is damaged or
    of no kind that is written.
    """
    with open_audio(path) as descriptor:
        return hash_of(Source.of(path, descriptor))


def read_tag_set(path: Path) -> TagSet:
    """Return all that stands in the tags of a file, as bytes.

    Raises `AudioError` like `audio_hash`.
    """
    with open_audio(path) as descriptor:
        return layout_of(Source.of(path, descriptor)).tags


def hash_of(source: Source) -> str:
    """Return `audio_hash` of an open file."""
    digest = hashlib.sha256()
    for chunk in source.chunks(layout_of(source).audio()):
        digest.update(chunk)
    return digest.hexdigest()


def hash_if_same(source: Source, copy: Source) -> str | None:
    """Return `audio_hash` of two open files, or nothing if their audio is not the same.

    One is hashed, the other compared with it byte by byte, which takes a fraction of hashing it.
    """
    digest = hashlib.sha256()
    ours, theirs = (each.chunks(layout_of(each).audio()) for each in (source, copy))
    for one, other in zip_longest(ours, theirs):
        if one != other:
            return None
        digest.update(other)
    return digest.hexdigest()
