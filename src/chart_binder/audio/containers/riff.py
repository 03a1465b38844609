"""Kinds of WAV that nothing here reads are known by how they begin, and called by their names.

Formats: EBU Tech 3306 (RF64); ITU-R BS.2088 (BW64); Sony Wave64.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from chart_binder.audio.containers.id3 import FoundTag, find_id3, written_id3
from chart_binder.audio.file_access import Piece, Source, Span
from chart_binder.audio.tagset import Block, TagSet
from chart_binder.errors import AudioError

_HEADER, _FORM = 8, 12
_MOST = 0xFFFFFFFF
_TAG_NAMES = frozenset({b"ID3 ", b"id3 "})


@dataclass(frozen=True, slots=True)
class Kind:
    """What tells the two apart."""

    container: str
    order: Literal["big", "little"]
    tag_name: bytes
    heard: frozenset[bytes]


AIFF = Kind("aiff", "big", b"ID3 ", frozenset({b"COMM", b"SSND"}))
WAV = Kind("wav", "little", b"id3 ", frozenset({b"fmt ", b"data", b"fact"}))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk: its name, its content, and where the next one begins."""

    name: bytes
    content: Span
    end: int

    @property
    def start(self) -> int:
        """Where its header stands."""
        return self.content.start - _HEADER


@dataclass(frozen=True, slots=True)
class IFF:
    """The chunks, and where they end."""

    source: Source
    kind: Kind
    chunks: tuple[Chunk, ...]
    end: int

    @classmethod
    def of(cls, source: Source, kind: Kind) -> "IFF":
        """Take an AIFF or WAV file apart."""
        size = int.from_bytes(source.at(4, 4), kind.order)
        end = _HEADER + size
        if end > source.size:
            raise source.damaged("it is shorter than its header says, or was never finished")
        chunks = tuple(_chunks(source, kind, end))
        if sum(chunk.name in _TAG_NAMES for chunk in chunks) > 1:
            raise source.damaged("it has more than one ID3 tag")
        return cls(source, kind, chunks, max(end, chunks[-1].end if chunks else _FORM))

    @property
    def tags(self) -> TagSet:
        """The tag, if there is one."""
        found = self._tag()
        return TagSet(self.kind.container, (found.block,) if found else ())

    def audio(self) -> Iterator[Piece]:
        """Yield the chunks that describe the audio and those that hold it."""
        for chunk in self.chunks:
            if chunk.name in self.kind.heard:
                yield chunk.name + chunk.content.size.to_bytes(8, "big")
                yield chunk.content

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with another tag, or without one."""
        block = next(iter(blocks), None)
        old = self._tag_chunk()
        tag = b""
        if block:
            tag = self._chunk(old.name if old else self.kind.tag_name,
                              written_id3(block, old.content.size if old else 0))  # fmt: skip
        cut = (old.start, old.end) if old else (self.end, self.end)
        odd = bytes(cut[0] % 2) if tag and not old else b""  # a chunk begins at an even place
        size = self.end - (cut[1] - cut[0]) + len(odd) + len(tag) - _HEADER
        if size > _MOST:
            raise AudioError("the file would be longer than its kind can be (4 GiB)")
        return [
            self.source.at(0, 4) + size.to_bytes(4, self.kind.order),
            Span(_HEADER, cut[0] - _HEADER),
            odd + tag,
            Span(cut[1], self.source.size - cut[1]),
        ]

    def _chunk(self, name: bytes, content: bytes) -> bytes:
        even = bytes(len(content) % 2)
        return name + len(content).to_bytes(4, self.kind.order) + content + even

    def _tag_chunk(self) -> Chunk | None:
        return next((chunk for chunk in self.chunks if chunk.name in _TAG_NAMES), None)

    def _tag(self) -> FoundTag | None:
        chunk = self._tag_chunk()
        if chunk is None:
            return None
        found = find_id3(self.source, chunk.content.start)
        if found is None or found.size > chunk.content.size:
            raise self.source.damaged("its ID3 chunk holds no ID3 tag")
        return found


def _chunks(source: Source, kind: Kind, end: int) -> Iterator[Chunk]:
    at = _FORM
    while at + _HEADER <= end:
        header = source.at(at, _HEADER)
        size = int.from_bytes(header[4:], kind.order)
        content = Span(at + _HEADER, size)
        if content.start + size > source.size:
            raise source.damaged(f"its chunk {header[:4]!r} is longer than the file")
        at = min(content.start + size + size % 2, source.size)
        yield Chunk(header[:4], content, at)


MAGIC = b"DSD "
_DSF_HEADER = 28


@dataclass(frozen=True, slots=True)
class DSF:
    """The audio up to `end`, then the tag."""

    source: Source
    end: int
    tag: FoundTag | None

    @classmethod
    def of(cls, source: Source) -> "DSF":
        """Take a DSF file apart."""
        # What it says of the file's length is not looked at: mutagen leaves it wrong at times.
        size, _, pointer = struct.unpack("<QQQ", source.at(4, 24))
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

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with another tag, or without one."""
        block = next(iter(blocks), None)
        # Whatever stands behind the tag inside the file is room of that tag.
        room = self.source.size - self.end
        tag = written_id3(block, room) if block else b""
        pointer = self.end if tag else 0
        header = MAGIC + struct.pack("<QQQ", _DSF_HEADER, self.end + len(tag), pointer)
        return [header, Span(_DSF_HEADER, self.end - _DSF_HEADER), tag]


_KINDS: tuple[tuple[bytes, bytes, str], ...] = (
    (b"RF64", b"WAVE", "RF64, a WAV with sizes of 64 bits"),
    (b"BW64", b"WAVE", "BW64, a broadcast WAV with sizes of 64 bits"),
    (b"RIFX", b"WAVE", "RIFX, a WAV with its bytes the other way round"),
    (b"riff\x2e\x91\xcf\x11", b"", "Wave64, Sony's WAV with sizes of 64 bits"),
)
_FORM_AT = 8
LOOKED_AT = 12


def unread_wave(head: bytes) -> str | None:
    """Return what kind of WAV begins so that is not read, with what can be done."""
    for magic, form, name in _KINDS:
        if head.startswith(magic) and head[_FORM_AT:].startswith(form):
            return f"is {name}, which is not read; a WAV of less than 4 GiB is, or FLAC of any size"
    return None
