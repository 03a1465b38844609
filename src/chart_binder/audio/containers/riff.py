"""AIFF, WAV and DSF files: an ID3v2 tag in a chunk of its own, or behind the audio.

Formats: EA IFF 85; Audio Interchange File Format 1.3 (AIFF); RIFF (WAV); Sony's DSF File Format
Specification; of the kinds that are not read: EBU Tech 3306 (RF64), ITU-R BS.2088 (BW64), Wave64
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from chart_binder.audio.containers.id3 import FoundTag, find_id3, written_id3
from chart_binder.audio.file_access import Piece, Source, Span
from chart_binder.audio.tagset import TagSet
from chart_binder.errors import AudioError

DSF_MAGIC = b"DSD "

_CHUNK_HEADER, _FORM_HEADER, _DSF_HEADER = 8, 12, 28
_MAX_SIZE = 0xFFFFFFFF
_TAG_CHUNKS = frozenset({b"ID3 ", b"id3 "})

_UNREAD_WAVES: tuple[tuple[bytes, bytes, str], ...] = (
    (b"RF64", b"WAVE", "RF64, a WAV with sizes of 64 bits"),
    (b"BW64", b"WAVE", "BW64, a broadcast WAV with sizes of 64 bits"),
    (b"RIFX", b"WAVE", "RIFX, a WAV with its bytes the other way round"),
    (b"riff\x2e\x91\xcf\x11", b"", "Wave64, Sony's WAV with sizes of 64 bits"),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What tells AIFF and WAV apart; `heard` are the chunks that hold or describe the audio."""

    container: str
    order: Literal["big", "little"]
    tag_chunk: bytes
    heard: frozenset[bytes]


AIFF = Kind("aiff", "big", b"ID3 ", frozenset({b"COMM", b"SSND"}))
WAV = Kind("wav", "little", b"id3 ", frozenset({b"fmt ", b"data", b"fact"}))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk: its name, its content, and where the next one begins."""

    name: bytes
    content: Span
    end: int


@dataclass(frozen=True, slots=True)
class IFF:
    """An AIFF or WAV file: its chunks, and where they end."""

    source: Source
    kind: Kind
    chunks: tuple[Chunk, ...]
    end: int

    @classmethod
    def parse(cls, source: Source, kind: Kind) -> "IFF":
        """Take an AIFF or WAV file apart."""
        end = _CHUNK_HEADER + int.from_bytes(source.read(4, 4), kind.order)
        if end > source.size:
            raise source.damaged("it is shorter than its header says, or was never finished")
        chunks = tuple(_chunks(source, kind, end))
        if sum(chunk.name in _TAG_CHUNKS for chunk in chunks) > 1:
            raise source.damaged("it has more than one ID3 tag")
        return cls(source, kind, chunks, max(end, chunks[-1].end if chunks else _FORM_HEADER))

    @property
    def tags(self) -> TagSet:
        """The tag, if there is one."""
        chunk = self._tag_chunk()
        if chunk is None:
            return TagSet(self.kind.container)
        found = find_id3(self.source, chunk.content.start)
        if found is None or found.size > chunk.content.size:
            raise self.source.damaged("its ID3 chunk holds no ID3 tag")
        return TagSet(self.kind.container, (found.block,))

    def audio(self) -> Iterator[Piece]:
        """Yield the chunks that describe the audio and those that hold it."""
        for chunk in self.chunks:
            if chunk.name in self.kind.heard:
                yield chunk.name + chunk.content.size.to_bytes(8, "big")
                yield chunk.content

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with another ID3v2 tag, or without one."""
        block, old = tags.block("id3v2"), self._tag_chunk()
        start, end = (old.content.start - _CHUNK_HEADER, old.end) if old else (self.end, self.end)
        new = b""
        if block:
            name = old.name if old else self.kind.tag_chunk
            content = written_id3(block, old.content.size if old else 0)
            new = name + len(content).to_bytes(4, self.kind.order) + content
            new += bytes(len(content) % 2)
            if not old:  # a chunk begins at an even offset
                new = bytes(start % 2) + new
        size = self.end - (end - start) + len(new) - _CHUNK_HEADER
        if size > _MAX_SIZE:
            raise AudioError("the file would be longer than its kind can be (4 GiB)")
        return [
            self.source.read(0, 4) + size.to_bytes(4, self.kind.order),
            Span(_CHUNK_HEADER, start - _CHUNK_HEADER),
            new,
            Span(end, self.source.size - end),
        ]

    def _tag_chunk(self) -> Chunk | None:
        return next((chunk for chunk in self.chunks if chunk.name in _TAG_CHUNKS), None)


def _chunks(source: Source, kind: Kind, end: int) -> Iterator[Chunk]:
    at = _FORM_HEADER
    while at + _CHUNK_HEADER <= end:
        header = source.read(at, _CHUNK_HEADER)
        content = Span(at + _CHUNK_HEADER, int.from_bytes(header[4:], kind.order))
        at = content.end
        if at > source.size:
            raise source.damaged(f"its chunk {header[:4]!r} is longer than the file")
        at = min(at + content.size % 2, source.size)
        yield Chunk(header[:4], content, at)


@dataclass(frozen=True, slots=True)
class DSF:
    """A DSF file: the audio up to `end`, then the tag."""

    source: Source
    end: int
    tag: FoundTag | None

    @classmethod
    def parse(cls, source: Source) -> "DSF":
        """Take a DSF file apart."""
        # The length of the file in the header is not checked: mutagen leaves it wrong at times.
        size, _, pointer = struct.unpack("<QQQ", source.read(4, 24))
        if size != _DSF_HEADER:
            raise source.damaged("its header is of another length than it should be")
        tag = find_id3(source, pointer) if pointer else None
        if pointer and (tag is None or pointer + tag.size > source.size):
            raise source.damaged("there is no tag where its header points")
        return cls(source, pointer or source.size, tag)

    @property
    def tags(self) -> TagSet:
        """The tag, if there is one."""
        return TagSet("dsf", (self.tag.block,) if self.tag else ())

    def audio(self) -> Iterator[Piece]:
        """Yield everything between the header and the tag."""
        yield Span(_DSF_HEADER, self.end - _DSF_HEADER)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with another ID3v2 tag, or without one."""
        # Everything between the old tag's start and the end of the file is room for the new one.
        block = tags.block("id3v2")
        tag = written_id3(block, self.source.size - self.end) if block else b""
        pointer = self.end if tag else 0
        header = DSF_MAGIC + struct.pack("<QQQ", _DSF_HEADER, self.end + len(tag), pointer)
        return [header, Span(_DSF_HEADER, self.end - _DSF_HEADER), tag]


def unread_wave(head: bytes) -> str | None:
    """Return why a file that begins so is not read, if it is a kind of WAV that is not."""
    for magic, form, name in _UNREAD_WAVES:
        if head.startswith(magic) and head[8:].startswith(form):
            return f"is {name}, which is not read; a WAV of less than 4 GiB is, or FLAC of any size"
    return None
