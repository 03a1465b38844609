"""Audio file formats: detecting the format of a file, its tags and a hash of its audio."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from chart_binder.audio.containers import asf, mp3, mp4, mpeg, riff, vorbis
from chart_binder.audio.open_file import OpenFile, Piece, open_audio
from chart_binder.audio.tagset import TagSet
from chart_binder.errors import AudioError
from chart_binder.files import quoted

Layout = (
    asf.AsfLayout
    | mp3.ApeLayout
    | mp3.Mp3Layout
    | mp4.Mp4Layout
    | riff.DsfLayout
    | riff.IffLayout
    | vorbis.FlacLayout
    | vorbis.OggLayout
)
"""An audio file split into tags and audio. `written_forms` are the tag formats that it can save.

`audio` returns the audio data and what a decoder needs to play it. The result does not depend on
the tags, their position or their padding, but any changed byte of the audio changes it, and so does
a table that points to other audio. `with_tags` returns the whole file with other tags, in which
everything else keeps its bytes, apart from sizes and offsets. Both raise `AudioError`.
"""


class UnknownKindError(AudioError):
    """The file has a format whose tags cannot be written."""


_Parser = Callable[[OpenFile], Layout]

_MAGIC_BYTES = 16

_MAGICS: tuple[tuple[bytes, _Parser], ...] = (
    (vorbis.FLAC_MAGIC, vorbis.FlacLayout),
    (vorbis.OGG_MAGIC, vorbis.OggLayout),
    (asf.MAGIC, asf.AsfLayout),
    (riff.DSF_MAGIC, riff.DsfLayout),
    *((magic, partial(mp3.ApeLayout, container=name)) for magic, name in mp3.APE_MAGICS.items()),
)

_OLD_MUSEPACK = range(4, 7)

_CHUNK_FORMATS: dict[tuple[bytes, bytes], riff.ChunkFormat] = {
    (b"FORM", b"AIFF"): riff.AIFF,
    (b"FORM", b"AIFC"): riff.AIFF,
    (b"RIFF", b"WAVE"): riff.WAV,
}


def audio_hash(path: Path) -> str:
    """Return the SHA-256 of a file's audio and decoder data. Raises `AudioError`."""
    with open_audio(path) as source:
        return _audio_hash(source)


def read_tag_set(path: Path) -> TagSet:
    """Return the tags of a file. Raises `AudioError`."""
    with open_audio(path) as source:
        return layout_of(source).tags


def file_with_tags(layout: Layout, tags: TagSet) -> list[Piece]:
    """Return the whole file with other tags. Raises `AudioError` for tags it cannot hold."""
    read_only, new_read_only = (
        [block for block in tag_set.blocks if not block.form.startswith(layout.written_forms)]
        for tag_set in (layout.tags, tags)
    )
    if read_only != new_read_only:
        forms = ", ".join(layout.written_forms)
        raise AudioError(f"in a file of this format only these tags are written: {forms}")
    return list(layout.with_tags(tags))


def hash_if_same(source: OpenFile, copy: OpenFile) -> str | None:
    """Return the `audio_hash` of two open files, or `None` if their audio differs."""
    digest = _audio_hash(source)
    return digest if digest == _audio_hash(copy) else None


def _audio_hash(source: OpenFile) -> str:
    digest = hashlib.sha256()
    for chunk in source.chunks(layout_of(source).audio()):
        digest.update(chunk)
    return digest.hexdigest()


def layout_of(source: OpenFile) -> Layout:
    """Parse an audio file. Raises `AudioError` if it is damaged or has an unknown format."""
    _, start = mp3.find_id3(source, 0)
    size = min(_MAGIC_BYTES, source.size - start)
    head = source.read(start, size) if size >= 0 else b""
    for magic, parse in _MAGICS:
        if head.startswith(magic):
            return parse(source)
    if _is_old_musepack(source, head):
        return mp3.ApeLayout(source, container="mpc")
    _require_header_in_front(source, start)
    chunk_format = _CHUNK_FORMATS.get((head[:4], head[8:12]))
    is_mp4 = head[4:8] in mp4.FIRST_BOXES
    if start and (chunk_format or is_mp4):
        raise source.damaged("an ID3 tag precedes the header of another format")
    if chunk_format:
        return riff.IffLayout(source, chunk_format)
    if is_mp4:
        return mp4.Mp4Layout(source)
    if problem := riff.unsupported_wave(head):
        raise AudioError(problem, quoted(source.path))
    if (start or mp3.is_mpeg(source)) and not mpeg.is_other_format(head):
        return mp3.Mp3Layout(source)
    raise UnknownKindError(
        "has a format whose tags cannot be written; supported are MP3, FLAC, Ogg, MP4, WMA, APE,"
        " WavPack, Musepack, AIFF, WAV and DSF",
        quoted(source.path),
    )


def _require_header_in_front(source: OpenFile, start: int) -> None:
    """Raise `AudioError` if several ID3 tags or zeros precede the header of another format."""
    _, at = mp3.further_id3(source, start)
    head = source.read(at, min(mpeg.SEARCHED_BYTES, source.size - at))
    at += len(head) - len(head.lstrip(b"\0"))
    if at > start and any(source.has(at, magic) for magic, _ in _MAGICS):
        raise source.damaged(
            f"its header is at byte {at:,}, behind several ID3 tags or zeros; only one ID3 tag may"
            " precede it"
        )


def _is_old_musepack(source: OpenFile, head: bytes) -> bool:
    """Tell whether a file is Musepack 4 to 6, by its suffix and the version bits (11 to 20)."""
    version = int.from_bytes(head[:4], "little") >> 11 & 0x3FF
    return source.path.suffix.lower() == ".mpc" and version in _OLD_MUSEPACK
