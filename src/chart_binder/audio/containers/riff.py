"""AIFF, WAV and DSF files, which hold an ID3v2 tag in a chunk or behind the audio.

The text chunks of AIFF are only read. The INFO list of a WAV file can be written.

Formats: EA IFF 85; Audio Interchange File Format 1.3 (AIFF); RIFF (WAV); Sony's DSF File Format
Specification. Rejected formats: EBU Tech 3306 (RF64), ITU-R BS.2088 (BW64), Wave64
"""

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from chart_binder.audio.containers.mp3 import encode_id3, find_id3
from chart_binder.audio.open_file import ByteSpan, OpenFile, Piece
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.errors import AudioError

DSF_MAGIC = b"DSD "

_CHUNK_HEADER, _FORM_HEADER, _DSF_HEADER, _DSF_CHUNK_HEADER = 8, 12, 28, 12
_MAX_SIZE = 0xFFFFFFFF
_CHUNK_NAME = re.compile(rb"[ -~]{4}")
# Tags that other programs write behind the last chunk.
_TRAILING_TAG = re.compile(rb"TAG|APETAGEX|LYRICSBEGIN|ID3[\2-\4]")
_TRAILING_TAG_BYTES = 16
_TAG_CHUNKS = frozenset({b"ID3 ", b"id3 "})
INFO_FORM, TEXT_FORM = "riff-info", "aiff-text"
"""The formats of the text chunks of WAV and of AIFF."""

_LIST, _INFO = b"LIST", b"INFO"
_TEXT_CHUNKS = frozenset({b"NAME", b"AUTH", b"(c) ", b"ANNO"})

_UNSUPPORTED_WAVES: tuple[tuple[bytes, bytes, str], ...] = (
    (b"RF64", b"WAVE", "RF64, a WAV with sizes of 64 bits"),
    (b"BW64", b"WAVE", "BW64, a broadcast WAV with sizes of 64 bits"),
    (b"RIFX", b"WAVE", "RIFX, a big-endian WAV"),
    (b"riff\x2e\x91\xcf\x11", b"", "Wave64, Sony's WAV with sizes of 64 bits"),
)


@dataclass(frozen=True, slots=True)
class ChunkFormat:
    """The differences between AIFF and WAV.

    `audio_chunks` hold or describe the audio. `sample_chunk` is the one that holds the samples,
    behind `sample_offset` bytes of its content.
    """

    container: str
    order: Literal["big", "little"]
    tag_chunk: bytes
    audio_chunks: frozenset[bytes]
    sample_chunk: bytes
    sample_offset: int


AIFF = ChunkFormat("aiff", "big", b"ID3 ", frozenset({b"COMM", b"SSND"}), b"SSND", 8)
WAV = ChunkFormat("wav", "little", b"id3 ", frozenset({b"fmt ", b"data", b"fact"}), b"data", 0)


@dataclass(frozen=True, slots=True)
class IffChunk:
    """A chunk: its name, its content, and the offset of the next chunk."""

    name: bytes
    content: ByteSpan
    end: int


_Edit = tuple[int, int, bytes]
"""The start and end of bytes to replace, and the new bytes."""


class IffLayout:
    """The chunks of an AIFF or WAV file."""

    written_forms = ("id3v2", INFO_FORM)

    def __init__(self, source: OpenFile, chunk_format: ChunkFormat) -> None:
        self._source, self._format = source, chunk_format
        self._declared = _CHUNK_HEADER + int.from_bytes(source.read(4, 4), chunk_format.order)
        self._chunks = tuple(_chunks(source, chunk_format, self._declared))
        self._end = self._chunks[-1].end if self._chunks else _FORM_HEADER
        tag_chunks = [chunk for chunk in self._chunks if chunk.name in _TAG_CHUNKS]
        self._tag = tag_chunks[0] if tag_chunks else None
        detail = self._contradiction()
        self._refusal = _contradiction_error(source, detail) if detail else None
        if len(tag_chunks) > 1:
            self._refusal = source.damaged("it has more than one ID3 tag")

    def _contradiction(self) -> str | None:
        """Return how the header contradicts the file, if audio may be affected."""
        size, end, name = self._source.size, self._end, self._format.sample_chunk
        if too_long := [chunk for chunk in self._chunks if chunk.content.end > size]:
            last = too_long[-1]
            return (
                f"its header says {last.content.size:,} bytes for the chunk {last.name.decode()!r}"
            )
        if self._declared > size and end != size:
            return f"its header says {self._declared:,} bytes"
        offset = self._format.sample_offset
        if not any(chunk.name == name and chunk.content.size > offset for chunk in self._chunks):
            return f"its chunk {name.decode()!r} has 0 bytes or is missing"
        may_be_audio = (
            not end <= self._declared < end + _CHUNK_HEADER or self._chunks[-1].name == name
        )
        if may_be_audio and not self._ends_harmlessly():
            return f"its chunks end at byte {end:,}, and the bytes behind them may be sound"
        return None

    def _ends_harmlessly(self) -> bool:
        """Tell whether only zeros, a tag or nothing follows the last chunk."""
        tail = ByteSpan(self._end, self._source.size - self._end)
        head = self._source.read(tail.start, min(tail.size, _TRAILING_TAG_BYTES))
        if _TRAILING_TAG.match(head):
            return True
        return not any(chunk.strip(b"\0") for chunk in self._source.chunks([tail]))

    @property
    def tags(self) -> TagSet:
        """The ID3 tag, and the texts of other chunks."""
        blocks = self._texts
        if self._tag is not None:
            tag, size = find_id3(self._source, self._tag.content.start)
            if tag is None or size > self._tag.content.size:
                raise self._source.damaged("its ID3 chunk holds no ID3 tag")
            blocks = (tag, *blocks)
        return TagSet(self._format.container, blocks)

    @property
    def _texts(self) -> tuple[TagBlock, ...]:
        items = []
        for chunk in self._chunks:
            if chunk.content.end > self._source.size:
                continue
            if self._format is AIFF and chunk.name in _TEXT_CHUNKS:
                body = self._source.read(chunk.content.start, chunk.content.size)
                items.append(TagItem(chunk.name.decode("latin-1"), body))
            elif self._format is WAV and chunk.name == _LIST:
                items += _info_items(self._source.read(chunk.content.start, chunk.content.size))
        form = TEXT_FORM if self._format is AIFF else INFO_FORM
        return (TagBlock(form, tuple(items)),) if items else ()

    def audio(self) -> Iterator[Piece]:
        """Yield the audio chunks and what follows the last chunk, or the whole file if damaged."""
        if self._refusal:
            yield ByteSpan(_CHUNK_HEADER, self._source.size - _CHUNK_HEADER)
            return
        for chunk in self._chunks:
            if chunk.name in self._format.audio_chunks:
                yield chunk.name + chunk.content.size.to_bytes(8, "big")
                yield chunk.content
        yield ByteSpan(self._end, self._source.size - self._end)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with another ID3v2 tag and another INFO list, or without them."""
        if self._refusal:
            raise self._refusal
        edits = sorted((*self._info_edits(tags), self._tag_edit(tags)), key=lambda edit: edit[:2])
        if edits[-1][0] == self._end:  # a chunk begins at an even offset
            index = next(index for index, edit in enumerate(edits) if edit[0] == self._end)
            edits[index] = (self._end, self._end, bytes(self._end % 2) + edits[index][2])
        pieces: list[Piece] = []
        at = _CHUNK_HEADER
        for start, end, new in edits:
            pieces += (ByteSpan(at, start - at), new)
            at = end
        pieces.append(ByteSpan(at, self._source.size - at))
        old_end = max(min(self._declared, self._source.size), self._end)
        changed = sum(len(new) - (end - start) for start, end, new in edits)
        size = old_end + changed - _CHUNK_HEADER
        if size > _MAX_SIZE:
            raise AudioError("the file would exceed the limit of its format (4 GiB)")
        return [self._source.read(0, 4) + size.to_bytes(4, self._format.order), *pieces]

    def _tag_edit(self, tags: TagSet) -> _Edit:
        block, old = tags.block("id3v2"), self._tag
        start = old.content.start - _CHUNK_HEADER if old else self._end
        end = old.end if old else self._end
        new = b""
        if block:
            name = old.name if old else self._format.tag_chunk
            content = encode_id3(block, old.content.size if old else 0)
            new = name + len(content).to_bytes(4, self._format.order) + content
            new += bytes(len(content) % 2)
        return start, end, new

    def _info_edits(self, tags: TagSet) -> Iterator[_Edit]:
        """Yield the edits that replace the first INFO list and remove any further ones."""
        block = tags.block(INFO_FORM)
        if block == self.tags.block(INFO_FORM):
            return
        new = _encode_info(block) if block else b""
        for chunk in self._chunks:
            if chunk.name == _LIST and self._source.has(chunk.content.start, _INFO):
                yield chunk.content.start - _CHUNK_HEADER, chunk.end, new
                new = b""
        if new:
            yield self._end, self._end, new


def _chunks(source: OpenFile, chunk_format: ChunkFormat, declared: int) -> Iterator[IffChunk]:
    """Yield the chunks up to the first invalid one, even behind the size that the header declares.

    The last one may be longer than the file.
    """
    at = _FORM_HEADER
    while at + _CHUNK_HEADER <= source.size:
        header = source.read(at, _CHUNK_HEADER)
        content = ByteSpan(at + _CHUNK_HEADER, int.from_bytes(header[4:], chunk_format.order))
        if not _CHUNK_NAME.match(header) or (at >= declared and content.end > source.size):
            return
        at = min(content.end + content.size % 2, source.size)
        yield IffChunk(header[:4], content, at)


def _contradiction_error(source: OpenFile, contradiction: str) -> AudioError:
    remedy = "a program that imports raw samples may read it"
    if source.has(0, b"RIFF"):
        remedy = (
            "`ffmpeg -i OLD -c copy NEW` writes a correct header; if sound is missing then, put"
            " `-ignore_length 1` before `-i`"
        )
    return source.damaged(f"{contradiction}, and the file has {source.size:,}; {remedy}")


def _info_items(body: bytes) -> Iterator[TagItem]:
    at = len(_INFO) if body.startswith(_INFO) else len(body)
    while at + _CHUNK_HEADER <= len(body):
        end = at + _CHUNK_HEADER + int.from_bytes(body[at + 4 : at + 8], "little")
        if end > len(body):
            return
        yield TagItem(body[at : at + 4].decode("latin-1"), body[at + _CHUNK_HEADER : end])
        at = end + end % 2


def _encode_info(block: TagBlock) -> bytes:
    entries = (
        item.key.encode("latin-1")
        + len(item.data).to_bytes(4, "little")
        + item.data
        + bytes(len(item.data) % 2)
        for item in block.items
    )
    content = _INFO + b"".join(entries)
    return _LIST + len(content).to_bytes(4, "little") + content


class DsfLayout:
    """A DSF file: the audio, followed by the tag."""

    written_forms = ("id3v2",)

    def __init__(self, source: OpenFile) -> None:
        # The file size in the header is ignored, because mutagen may leave a wrong one.
        size, _, pointer = struct.unpack("<QQQ", source.read(4, 24))
        if size != _DSF_HEADER:
            raise source.damaged("its header has the wrong length")
        tag, length = find_id3(source, pointer) if pointer else (None, 0)
        if pointer and (tag is None or pointer + length > source.size):
            raise source.damaged("its header points to a tag that does not exist")
        self._source = source
        self._end = pointer or source.size
        self._behind = self._end + length
        end = _end_of_dsd(source)
        self._refusal: AudioError | None = None
        if end > self._end or (end < self._end and not pointer):
            ends = f"its header says that the sound ends at byte {end:,}"
            self._refusal = _contradiction_error(source, ends)
        self.tags = TagSet("dsf", (tag,) if tag else ())

    def audio(self) -> Iterator[Piece]:
        """Yield everything between the header and the tag, and everything behind the tag."""
        yield ByteSpan(_DSF_HEADER, self._end - _DSF_HEADER)
        yield ByteSpan(self._behind, self._source.size - self._behind)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with another ID3v2 tag, or without one."""
        if self._refusal:
            raise self._refusal
        block = tags.block("id3v2")
        tag = encode_id3(block, self._behind - self._end) if block else b""
        size = self._source.size - (self._behind - self._end) + len(tag)
        header = DSF_MAGIC + struct.pack("<QQQ", _DSF_HEADER, size, self._end if tag else 0)
        sound, trailing = self.audio()
        return [header, sound, tag, trailing]


def _end_of_dsd(source: OpenFile) -> int:
    """Return the offset at which the chunk of the samples ends."""
    at = _DSF_HEADER
    for name in (b"fmt ", b"data"):
        size = int.from_bytes(source.read(at, 12)[4:], "little")
        if not source.has(at, name) or size < _DSF_CHUNK_HEADER:
            raise _contradiction_error(
                source, f"its chunk {name.decode()!r} has no size or is missing"
            )
        at += size
    return at


def unsupported_wave(head: bytes) -> str | None:
    """Return the problem if a file begins like an unsupported variant of WAV, else `None`."""
    for magic, file_type, name in _UNSUPPORTED_WAVES:
        if head.startswith(magic) and head[8:].startswith(file_type):
            return f"is {name}, which is not supported; use a WAV below 4 GiB, or FLAC"
    return None
