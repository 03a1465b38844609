"""A FLAC file: Vorbis comments in one of the metadata blocks before the audio.

Format: RFC 9639, section 8
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.containers.id3 import find_id3
from chart_binder.audio.containers.mp3 import Tail, tail_of
from chart_binder.audio.file_access import Piece, Source, Stretch
from chart_binder.audio.tagset import Block, Item, TagSet
from chart_binder.errors import AudioError

NEW_HEAD = b"chart-binder"
"""The vendor of comments that this program was the first to write."""


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments, and what stands behind them in the same packet."""

    block: Block
    rest: bytes


def read_comments(body: bytes) -> Comments | None:
    """Return the comments at the beginning of `body`, or nothing if that is not what it is."""
    vendor = _counted(body, 0)
    if vendor is None or len(body) < len(vendor) + 8:
        return None
    at = 4 + len(vendor)
    (count,) = struct.unpack("<I", body[at : at + 4])
    at += 4
    items = []
    for _ in range(count):
        comment = _counted(body, at)
        if comment is None:
            return None
        key, sign, _ = comment.partition(b"=")
        items.append(Item(key.decode("latin-1") if sign else "", comment))
        at += 4 + len(comment)
    return Comments(Block("vorbis", tuple(items), vendor), body[at:])


def written_comments(block: Block) -> bytes:
    """Return the comments as they stand in a packet or metadata block."""
    parts = [_with_length(block.head), struct.pack("<I", len(block.items))]
    parts += [_with_length(item.data) for item in block.items]
    return b"".join(parts)


def texts_of(item: Item) -> tuple[str, ...] | None:
    """Return the text of a comment."""
    return (item.data.partition(b"=")[2].decode("utf-8", "replace"),) if item.key else None


def text_items(key: str, texts: tuple[str, ...]) -> tuple[Item, ...]:
    """Return a comment for each text."""
    return tuple(Item(key, f"{key}={text}".encode()) for text in texts)


def _counted(body: bytes, at: int) -> bytes | None:
    if at + 4 > len(body):
        return None
    end = at + 4 + int.from_bytes(body[at : at + 4], "little")
    return body[at + 4 : end] if end <= len(body) else None


def _with_length(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


MAGIC = b"fLaC"
PADDING = 4096
"""Room left behind metadata that had to grow."""

_STREAMINFO, _PADDING, _COMMENTS, _PICTURE, _INVALID = 0, 1, 4, 6, 127
_HEADER, _LAST, _MOST = 4, 0x80, (1 << 24) - 1


@dataclass(frozen=True, slots=True)
class Metadata:
    """One metadata block: what kind, where its content stands."""

    kind: int
    content: Stretch


@dataclass(frozen=True, slots=True)
class FLAC:
    """The metadata blocks, with the audio behind them."""

    source: Source
    start: int
    metadata: tuple[Metadata, ...]
    tail: Tail

    @classmethod
    def of(cls, source: Source) -> "FLAC":
        """Take a FLAC file apart; an ID3 tag around it is left alone."""
        leading = find_id3(source, 0)
        start = leading.size if leading else 0
        metadata = tuple(_metadata(source, start + len(MAGIC)))
        if metadata[0].kind != _STREAMINFO:
            raise source.damaged("its first metadata block does not describe the stream")
        sound = metadata[-1].content.start + metadata[-1].content.size
        return cls(source, start, metadata, tail_of(source, sound))

    @property
    def tags(self) -> TagSet:
        """The comments, the pictures, and what stands behind the audio."""
        blocks = []
        if body := self._content(_COMMENTS):
            comments = read_comments(body[0])
            if comments is None or comments.rest.strip(b"\0"):
                raise self.source.damaged("its Vorbis comments do not fit their block")
            blocks.append(comments.block)
        if pictures := self._content(_PICTURE):
            items = tuple(Item(f"PICTURE:{at}", data) for at, data in enumerate(pictures, 1))
            blocks.append(Block("flac-picture", items))
        return TagSet("flac", (*blocks, *self.tail.blocks))

    def audio(self) -> Iterator[Piece]:
        """Yield the stream's description and the frames."""
        yield self.metadata[0].content
        yield Stretch(self._sound, self.tail.start - self._sound)

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with other Vorbis comments."""
        wanted = list(blocks)
        comments = next((block for block in wanted if block.form == "vorbis"), None)
        others = [block for block in self.tags.blocks if block.form != "vorbis"]
        if others != [block for block in wanted if block.form != "vorbis"]:
            raise AudioError("of a FLAC file only the Vorbis comments are written")
        kept = self._kept(written_comments(comments) if comments else None)
        return [
            Stretch(0, self.start + len(MAGIC)),
            *_with_headers(kept, self._sound - self.start - len(MAGIC)),
            Stretch(self._sound, self.source.size - self._sound),
        ]

    @property
    def _sound(self) -> int:
        last = self.metadata[-1].content
        return last.start + last.size

    def _content(self, kind: int) -> list[bytes]:
        return [
            self.source.at(each.content.start, each.content.size)
            for each in self.metadata
            if each.kind == kind
        ]

    def _kept(self, comments: bytes | None) -> list[tuple[int, Piece]]:
        """Return the blocks in their order, those of room left out, the comments put in."""
        kept: list[tuple[int, Piece]] = []
        for each in self.metadata:
            if each.kind == _COMMENTS and comments is not None:
                kept.append((_COMMENTS, comments))
                comments = None
            elif each.kind not in (_PADDING, _COMMENTS):
                kept.append((each.kind, each.content))
        if comments is not None:
            kept.insert(1, (_COMMENTS, comments))
        return kept


def _metadata(source: Source, at: int) -> Iterator[Metadata]:
    last = False
    while not last:
        header = source.at(at, _HEADER)
        last, kind = bool(header[0] & _LAST), header[0] & ~_LAST
        size = int.from_bytes(header[1:], "big")
        at += _HEADER
        if kind == _INVALID or at + size > source.size:
            raise source.damaged("a metadata block is longer than the file")
        yield Metadata(kind, Stretch(at, size))
        at += size


def _with_headers(blocks: list[tuple[int, Piece]], room: int) -> Iterator[Piece]:
    """Yield the blocks with their headers, padded so that they fill the room where they fit."""
    sizes = [len(each) if isinstance(each, bytes) else each.size for _, each in blocks]
    left = room - sum(sizes) - _HEADER * len(sizes)
    if left < 0 or 0 < left < _HEADER:
        left = PADDING + _HEADER
    for at, ((kind, content), size) in enumerate(zip(blocks, sizes, strict=True), 1):
        if size > _MOST:
            raise AudioError(f"the tags are too long for FLAC ({size:,} bytes, {_MOST:,} fit)")
        last = _LAST if at == len(blocks) and not left else 0
        yield bytes((kind | last,)) + size.to_bytes(3, "big")
        yield content
    if left:
        size = min(left - _HEADER, _MOST)
        yield bytes((_PADDING | _LAST,)) + size.to_bytes(3, "big") + bytes(size)
