"""The kinds of audio file: which one a file is, its tags, and a hash over its audio."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from chart_binder.audio.containers import asf, mp3, mp4, mpeg, riff, vorbis
from chart_binder.audio.file_access import OpenFile, Piece, open_audio
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
"""An audio file taken apart; `written` are the forms of tag that are written.

The pieces of `audio` are what is heard and what is needed to decode it. They do not depend on the
tags, their place or their padding; a changed byte of the audio, or a table that points elsewhere in
it, changes them. The pieces of `with_tags` are the whole file with other tags: all else keeps its
bytes, apart from sizes and offsets. Both raise `AudioError`.
"""


class UnknownKindError(AudioError):
    """A file is of no kind whose tags are written."""


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
    """Return the SHA-256 over a file's audio and what decodes it. Raises `AudioError`."""
    with open_audio(path) as source:
        return _audio_hash(source)


def read_tag_set(path: Path) -> TagSet:
    """Return the tags of a file, as bytes; raise `AudioError` like `audio_hash`."""
    with open_audio(path) as source:
        return layout_of(source).tags


def file_with_tags(layout: Layout, tags: TagSet) -> list[Piece]:
    """Return the whole file with these tags; raise `AudioError` for what cannot be written."""
    ours, theirs = (
        [block for block in each.blocks if not block.form.startswith(layout.written)]
        for each in (layout.tags, tags)
    )
    if ours != theirs:
        forms = ", ".join(layout.written)
        raise AudioError(f"of a file of this kind only these tags are written: {forms}")
    return list(layout.with_tags(tags))


def hash_if_same(source: OpenFile, copy: OpenFile) -> str | None:
    """Return the `audio_hash` of two open files, or `None` if their audio is not the same."""
    ours = _audio_hash(source)
    return ours if ours == _audio_hash(copy) else None


def _audio_hash(source: OpenFile) -> str:
    digest = hashlib.sha256()
    for chunk in source.chunks(layout_of(source).audio()):
        digest.update(chunk)
    return digest.hexdigest()


def layout_of(source: OpenFile) -> Layout:
    """Take an audio file apart; raise `AudioError` if it is damaged or of an unknown kind."""
    _, start = mp3.find_id3(source, 0)
    left = source.size - start
    head = source.read(start, min(_MAGIC_BYTES, left)) if left >= 0 else b""
    for magic, parse in _MAGICS:
        if head.startswith(magic):
            return parse(source)
    if _is_old_musepack(source, head):
        return mp3.ApeLayout(source, container="mpc")
    _require_header_in_front(source, start)
    kind = _CHUNK_FORMATS.get((head[:4], head[8:12]))
    is_mp4 = head[4:8] in mp4.FIRST_BOXES
    if start and (kind or is_mp4):
        raise source.damaged("an ID3 tag stands before the header of a file of another kind")
    if kind:
        return riff.IffLayout(source, kind)
    if is_mp4:
        return mp4.Mp4Layout(source)
    if unread := riff.unread_wave(head):
        raise AudioError(f"{quoted(source.path)} {unread}")
    if (start or mp3.is_mpeg(source)) and not mpeg.is_of_other_kind(head):
        return mp3.Mp3Layout(source)
    raise UnknownKindError(
        f"{quoted(source.path)} is of no kind whose tags are written: those are MP3, FLAC, Ogg,"
        " MP4, WMA, APE, WavPack, Musepack, AIFF, WAV and DSF"
    )


def _require_header_in_front(source: OpenFile, start: int) -> None:
    """Raise `AudioError` if the header of another kind stands behind several tags, or zeros."""
    _, at = mp3.more_id3(source, start)
    head = source.read(at, min(mpeg.SEARCHED_BYTES, source.size - at))
    at += len(head) - len(head.lstrip(b"\0"))
    if at > start and any(source.has(at, magic) for magic, _ in _MAGICS):
        raise source.damaged(
            f"its header stands at byte {at:,}, behind several ID3 tags or zeros; a file that"
            " begins with it, or with one ID3 tag, can be read"
        )


def _is_old_musepack(source: OpenFile, head: bytes) -> bool:
    """Say whether a file is Musepack 4 to 6: by its name, and the bits above the eleventh."""
    version = int.from_bytes(head[:4], "little") >> 11 & 0x3FF
    return source.path.suffix.lower() == ".mpc" and version in _OLD_MUSEPACK
