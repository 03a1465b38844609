"""AIFF, WAV and DSF files: an ID3v2 tag in a chunk of its own, or behind the audio.

The text chunks of AIFF are only read. The INFO list of a WAV is written if it has to change.

Formats: EA IFF 85; Audio Interchange File Format 1.3 (AIFF); RIFF (WAV); Sony's DSF File Format
Specification; of the kinds that are not read: EBU Tech 3306 (RF64), ITU-R BS.2088 (BW64), Wave64
"""

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from chart_binder.audio.containers.mp3 import find_id3, written_id3
from chart_binder.audio.file_access import ByteSpan, OpenFile, Piece
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.errors import AudioError

DSF_MAGIC = b"DSD "

_CHUNK_HEADER, _FORM_HEADER, _DSF_HEADER, _DSF_CHUNK_HEADER = 8, 12, 28, 12
_MAX_SIZE = 0xFFFFFFFF
_CHUNK_NAME = re.compile(rb"[ -~]{4}")
# Tags that other programs put behind the last chunk, where they are neither sound nor chunks.
_KEPT_REST = re.compile(rb"TAG|APETAGEX|LYRICSBEGIN|ID3[\2-\4]")
_REST_BYTES = 16
_TAG_CHUNKS = frozenset({b"ID3 ", b"id3 "})
INFO_FORM, TEXT_FORM = "riff-info", "aiff-text"
"""The forms of the tags beside ID3."""

_LIST, _INFO = b"LIST", b"INFO"
_TEXT_CHUNKS = frozenset({b"NAME", b"AUTH", b"(c) ", b"ANNO"})

_UNREAD_WAVES: tuple[tuple[bytes, bytes, str], ...] = (
    (b"RF64", b"WAVE", "RF64, a WAV with sizes of 64 bits"),
    (b"BW64", b"WAVE", "BW64, a broadcast WAV with sizes of 64 bits"),
    (b"RIFX", b"WAVE", "RIFX, a WAV with its bytes the other way round"),
    (b"riff\x2e\x91\xcf\x11", b"", "Wave64, Sony's WAV with sizes of 64 bits"),
)


@dataclass(frozen=True, slots=True)
class ChunkFormat:
    """What tells AIFF and WAV apart.

    `heard` are the chunks that hold or describe the audio, `sound` that of the samples with the
    number of bytes that stand before them in it.
    """

    container: str
    order: Literal["big", "little"]
    tag_chunk: bytes
    heard: frozenset[bytes]
    sound: tuple[bytes, int]


AIFF = ChunkFormat("aiff", "big", b"ID3 ", frozenset({b"COMM", b"SSND"}), (b"SSND", 8))
WAV = ChunkFormat("wav", "little", b"id3 ", frozenset({b"fmt ", b"data", b"fact"}), (b"data", 0))


@dataclass(frozen=True, slots=True)
class IffChunk:
    """A chunk: its name, its content, and where the next one begins."""

    name: bytes
    content: ByteSpan
    end: int


_Edit = tuple[int, int, bytes]
"""Where bytes of a file begin and end, and what stands in their place."""


class IffLayout:
    """An AIFF or WAV file: its chunks, and where they end."""

    written = ("id3v2", INFO_FORM)

    def __init__(self, source: OpenFile, kind: ChunkFormat) -> None:
        self._source, self._kind = source, kind
        self._declared = _CHUNK_HEADER + int.from_bytes(source.read(4, 4), kind.order)
        self._chunks = tuple(_chunks(source, kind, self._declared))
        self._end = self._chunks[-1].end if self._chunks else _FORM_HEADER
        found = [chunk for chunk in self._chunks if chunk.name in _TAG_CHUNKS]
        self._tag = found[0] if found else None
        detail = self._contradiction()
        self._refusal = _contradiction(source, detail) if detail else None
        if len(found) > 1:
            self._refusal = source.damaged("it has more than one ID3 tag")

    def _contradiction(self) -> str | None:
        """Return what the header and the file contradict each other on, if it may be sound."""
        size, end, (name, least) = self._source.size, self._end, self._kind.sound
        if long := [each for each in self._chunks if each.content.end > size]:
            size, name = long[-1].content.size, long[-1].name
            return f"its header says {size:,} bytes for the chunk {name.decode()!r}"
        if self._declared > size and end != size:
            return f"its header says {self._declared:,} bytes"
        if not any(each.name == name and each.content.size > least for each in self._chunks):
            return f"its chunk {name.decode()!r} has 0 bytes or is not there"
        has_more = not end <= self._declared < end + _CHUNK_HEADER or self._chunks[-1].name == name
        if has_more and not self._is_kept():
            return f"its chunks end at byte {end:,}, and what follows may be sound"
        return None

    def _is_kept(self) -> bool:
        """Say whether zeros, another tag or nothing stands behind the last chunk."""
        rest = ByteSpan(self._end, self._source.size - self._end)
        head = self._source.read(rest.start, min(rest.size, _REST_BYTES))
        if _KEPT_REST.match(head):
            return True
        return not any(chunk.strip(b"\0") for chunk in self._source.chunks([rest]))

    @property
    def tags(self) -> TagSet:
        """The ID3 tag, and the texts that stand outside of it."""
        blocks = self._texts
        if self._tag is not None:
            tag, size = find_id3(self._source, self._tag.content.start)
            if tag is None or size > self._tag.content.size:
                raise self._source.damaged("its ID3 chunk holds no ID3 tag")
            blocks = (tag, *blocks)
        return TagSet(self._kind.container, blocks)

    @property
    def _texts(self) -> tuple[TagBlock, ...]:
        items = []
        for chunk in self._chunks:
            if chunk.content.end > self._source.size:
                continue
            if self._kind is AIFF and chunk.name in _TEXT_CHUNKS:
                body = self._source.read(chunk.content.start, chunk.content.size)
                items.append(TagItem(chunk.name.decode("latin-1"), body))
            elif self._kind is WAV and chunk.name == _LIST:
                items += _info(self._source.read(chunk.content.start, chunk.content.size))
        form = TEXT_FORM if self._kind is AIFF else INFO_FORM
        return (TagBlock(form, tuple(items)),) if items else ()

    def audio(self) -> Iterator[Piece]:
        """Yield what describes the audio and holds it; where this is in doubt, all that may."""
        if self._refusal:
            yield ByteSpan(_CHUNK_HEADER, self._source.size - _CHUNK_HEADER)
            return
        for chunk in self._chunks:
            if chunk.name in self._kind.heard:
                yield chunk.name + chunk.content.size.to_bytes(8, "big")
                yield chunk.content
        yield ByteSpan(self._end, self._source.size - self._end)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with another ID3v2 tag and INFO list, or without them."""
        if self._refusal:
            raise self._refusal
        edits = sorted((*self._info_edits(tags), self._tag_edit(tags)), key=lambda edit: edit[:2])
        if edits[-1][0] == self._end:  # a chunk begins at an even offset
            at = next(at for at, edit in enumerate(edits) if edit[0] == self._end)
            edits[at] = (self._end, self._end, bytes(self._end % 2) + edits[at][2])
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
            raise AudioError("the file would be longer than its kind can be (4 GiB)")
        return [self._source.read(0, 4) + size.to_bytes(4, self._kind.order), *pieces]

    def _tag_edit(self, tags: TagSet) -> _Edit:
        block, old = tags.block("id3v2"), self._tag
        start = old.content.start - _CHUNK_HEADER if old else self._end
        end = old.end if old else self._end
        new = b""
        if block:
            name = old.name if old else self._kind.tag_chunk
            content = written_id3(block, old.content.size if old else 0)
            new = name + len(content).to_bytes(4, self._kind.order) + content
            new += bytes(len(content) % 2)
        return start, end, new

    def _info_edits(self, tags: TagSet) -> Iterator[_Edit]:
        """Yield the INFO list in place of the first that is there, and nothing for the others."""
        block = tags.block(INFO_FORM)
        if block == self.tags.block(INFO_FORM):
            return
        new = _written_info(block) if block else b""
        for chunk in self._chunks:
            if chunk.name == _LIST and self._source.has(chunk.content.start, _INFO):
                yield chunk.content.start - _CHUNK_HEADER, chunk.end, new
                new = b""
        if new:
            yield self._end, self._end, new


def _chunks(source: OpenFile, kind: ChunkFormat, declared: int) -> Iterator[IffChunk]:
    """Yield the chunks up to what is none, also those behind the end that the header declares.

    The last one may be longer than the file.
    """
    at = _FORM_HEADER
    while at + _CHUNK_HEADER <= source.size:
        header = source.read(at, _CHUNK_HEADER)
        content = ByteSpan(at + _CHUNK_HEADER, int.from_bytes(header[4:], kind.order))
        if not _CHUNK_NAME.match(header) or (at >= declared and content.end > source.size):
            return
        at = min(content.end + content.size % 2, source.size)
        yield IffChunk(header[:4], content, at)


def _contradiction(source: OpenFile, declared: str) -> AudioError:
    remedy = "a program that imports raw samples may read it"
    if source.has(0, b"RIFF"):
        remedy = (
            "`ffmpeg -i OLD -c copy NEW` writes a header that fits; where it leaves out sound,"
            " `-ignore_length 1` before `-i` takes all that follows for it"
        )
    return source.damaged(f"{declared}, and the file has {source.size:,}; {remedy}")


def _info(body: bytes) -> Iterator[TagItem]:
    at = len(_INFO) if body.startswith(_INFO) else len(body)
    while at + _CHUNK_HEADER <= len(body):
        end = at + _CHUNK_HEADER + int.from_bytes(body[at + 4 : at + 8], "little")
        if end > len(body):
            return
        yield TagItem(body[at : at + 4].decode("latin-1"), body[at + _CHUNK_HEADER : end])
        at = end + end % 2


def _written_info(block: TagBlock) -> bytes:
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
    """A DSF file: the audio, then the tag."""

    written = ("id3v2",)

    def __init__(self, source: OpenFile) -> None:
        # The length of the file in the header is not checked: mutagen leaves it wrong at times.
        size, _, pointer = struct.unpack("<QQQ", source.read(4, 24))
        if size != _DSF_HEADER:
            raise source.damaged("its header is of another length than it should be")
        tag, length = find_id3(source, pointer) if pointer else (None, 0)
        if pointer and (tag is None or pointer + length > source.size):
            raise source.damaged("there is no tag where its header points")
        self._source = source
        self._end = pointer or source.size
        self._behind = self._end + length
        end = _end_of_dsd(source)
        self._refusal: AudioError | None = None
        if end > self._end or (end < self._end and not pointer):
            ends = f"its header says that the sound ends at byte {end:,}"
            self._refusal = _contradiction(source, ends)
        self.tags = TagSet("dsf", (tag,) if tag else ())

    def audio(self) -> Iterator[Piece]:
        """Yield everything between the header and the tag, and what stands behind the tag."""
        yield ByteSpan(_DSF_HEADER, self._end - _DSF_HEADER)
        yield ByteSpan(self._behind, self._source.size - self._behind)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with another ID3v2 tag, or without one."""
        if self._refusal:
            raise self._refusal
        block = tags.block("id3v2")
        tag = written_id3(block, self._behind - self._end) if block else b""
        size = self._source.size - (self._behind - self._end) + len(tag)
        header = DSF_MAGIC + struct.pack("<QQQ", _DSF_HEADER, size, self._end if tag else 0)
        sound, rest = self.audio()
        return [header, sound, tag, rest]


def _end_of_dsd(source: OpenFile) -> int:
    """Return where the chunk of the samples ends."""
    at = _DSF_HEADER
    for name in (b"fmt ", b"data"):
        size = int.from_bytes(source.read(at, 12)[4:], "little")
        if not source.has(at, name) or size < _DSF_CHUNK_HEADER:
            raise _contradiction(source, f"its chunk {name.decode()!r} has no size or is not there")
        at += size
    return at


def unread_wave(head: bytes) -> str | None:
    """Return why a file that begins so is not read, if it is a kind of WAV that is not."""
    for magic, form, name in _UNREAD_WAVES:
        if head.startswith(magic) and head[8:].startswith(form):
            return f"is {name}, which is not read; a WAV of less than 4 GiB is, or FLAC of any size"
    return None
