"""An MP3 file: ID3v2 before the audio; ID3v1, APE tag or Lyrics3 behind it stay as they are."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.containers.id3 import FoundTag, find_id3, written_id3
from chart_binder.audio.file_access import Piece, Source, Span
from chart_binder.audio.tagset import Block, Item, TagSet
from chart_binder.errors import AudioError

MAGIC = b"APETAGEX"
FOOTER = 32

_HAS_HEADER, _IS_HEADER = 1 << 31, 1 << 29
_KIND, _BINARY = 0x6, 0x2
_MOST_ITEMS = 1 << 16

NEW_HEAD = struct.pack("<II", 2000, _HAS_HEADER) + bytes(8)
"""Version 2 with a header; what stands in `Block.head`: version, flags, reserved bytes."""


@dataclass(frozen=True, slots=True)
class FoundApeTag:
    """A tag, with the place where it begins."""

    block: Block
    start: int


def find_ape(source: Source, end: int) -> FoundApeTag | None:
    """Return the APE tag that ends at `end`, if one does; raise `AudioError` if it is damaged."""
    if not source.has(end - FOOTER, MAGIC):
        return None
    footer = source.at(end - FOOTER, FOOTER)
    version, size, count, flags = struct.unpack("<IIII", footer[8:24])
    start = end - size
    if size < FOOTER or start < 0 or flags & _IS_HEADER or count > _MOST_ITEMS:
        raise source.damaged("its APE tag does not know how long it is")
    items = _items(source, source.at(start, size - FOOTER), count)
    if flags & _HAS_HEADER:
        start -= FOOTER
        if not source.has(start, MAGIC):
            raise source.damaged("its APE tag has no header where it should")
    head = struct.pack("<II", version, flags) + footer[24:]
    return FoundApeTag(Block("apev2", items, head), start)


def written_ape(block: Block) -> bytes:
    """Return the tag as it stands in a file."""
    version, flags = struct.unpack("<II", block.head[:8])
    records = sorted(block.items, key=lambda item: not item.key)
    body = b"".join(item.data for item in records)
    size, count = len(body) + FOOTER, sum(bool(item.key) for item in records)

    def edge(flags: int) -> bytes:
        return MAGIC + struct.pack("<IIII", version, size, count, flags) + block.head[8:]

    header = edge(flags | _IS_HEADER) if flags & _HAS_HEADER else b""
    return header + body + edge(flags)


def texts_of(item: Item) -> tuple[str, ...] | None:
    """Return the texts of an item, or nothing if it is binary."""
    flags = int.from_bytes(item.data[4:8], "little")
    if not item.key or flags & _KIND == _BINARY:
        return None
    value = item.data[8:].partition(b"\0")[2]
    return tuple(value.decode("utf-8", "replace").split("\0"))


def text_item(key: str, texts: tuple[str, ...]) -> Item:
    """Return an item that says the texts, NUL between them."""
    value = "\0".join(texts).encode()
    head = struct.pack("<II", len(value), 0)
    return Item(key, head + key.encode("ascii") + b"\0" + value)


def _items(source: Source, body: bytes, count: int) -> tuple[Item, ...]:
    at, items = 0, []
    for _ in range(count):
        name_end = body.find(b"\0", at + 8)
        if name_end < 0:
            raise source.damaged("an item of its APE tag has no name")
        end = name_end + 1 + int.from_bytes(body[at : at + 4], "little")
        if end > len(body):
            raise source.damaged("an item of its APE tag is longer than the tag")
        items.append(Item(body[at + 8 : name_end].decode("latin-1"), body[at:end]))
        at = end
    return (*items, Item("", body[at:])) if body[at:] else tuple(items)


_ID3V1_BYTES = 128
_LYRICS_END = b"LYRICS200"  # https://id3.org/Lyrics3v2
_LYRICS_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the audio ends, and the tags behind it, in the order of the file."""

    start: int
    blocks: tuple[Block, ...]


def tail_of(source: Source, first: int) -> Tail:
    """Return the tags behind the audio, which begins no earlier than `first`."""
    end, blocks = source.size, list[Block]()
    while True:
        forms = {block.form for block in blocks}
        for form, find in _FINDERS:
            found = None if form in forms else find(source, end)
            if found and found.start >= first:
                end = found.start
                blocks[:0] = found.blocks
                break
        else:
            return Tail(end, tuple(blocks))


def _id3v1(source: Source, end: int) -> Tail | None:
    start = end - _ID3V1_BYTES
    if end != source.size or not source.has(start, b"TAG"):
        return None
    item = Item("ID3v1", source.at(start, _ID3V1_BYTES))
    return Tail(start, (Block("id3v1", (item,)),))


def _lyrics(source: Source, end: int) -> Tail | None:
    if not source.has(end - len(_LYRICS_END), _LYRICS_END):
        return None
    behind = len(_LYRICS_END) + _LYRICS_DIGITS
    digits = source.at(end - behind, _LYRICS_DIGITS) if end >= behind else b""
    start = end - behind - int(digits) if digits.isdigit() else -1
    if not source.has(start, b"LYRICSBEGIN"):
        return None
    item = Item("LYRICS200", source.at(start, end - start))
    return Tail(start, (Block("lyrics3", (item,)),))


def _ape(source: Source, end: int) -> Tail | None:
    found = find_ape(source, end)
    return Tail(found.start, (found.block,)) if found else None


_FINDERS = (("id3v1", _id3v1), ("lyrics3", _lyrics), ("apev2", _ape))


@dataclass(frozen=True, slots=True)
class MP3:
    """The tags at both ends, the audio between."""

    source: Source
    leading: FoundTag | None
    tail: Tail

    @classmethod
    def of(cls, source: Source) -> "MP3":
        """Take an MP3 file apart."""
        leading = find_id3(source, 0)
        return cls(source, leading, tail_of(source, leading.size if leading else 0))

    @property
    def tags(self) -> TagSet:
        """All tags."""
        return TagSet("mp3", (*([self.leading.block] if self.leading else ()), *self.tail.blocks))

    def audio(self) -> Iterator[Piece]:
        """Yield what stands between the tags."""
        yield self._sound

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with another ID3v2 tag, or without one."""
        wanted = list(blocks)
        leading = next((block for block in wanted if block.form.startswith("id3v2")), None)
        behind = tuple(block for block in wanted if block is not leading)
        if behind != self.tail.blocks:
            raise AudioError("of an MP3 file only the ID3v2 tag is written, not what stands behind")
        room = self.leading.size if self.leading else 0
        head = written_id3(leading, room) if leading else b""
        end = Span(self.tail.start, self.source.size - self.tail.start)
        return [head, self._sound, end]

    @property
    def _sound(self) -> Span:
        start = self.leading.size if self.leading else 0
        return Span(start, self.tail.start - start)


MAGICS = {b"MAC ": "ape", b"wvpk": "wv", b"MP+": "mpc", b"MPCK": "mpc"}
"""How such files begin, Musepack of stream version 7 and 8 among them."""


@dataclass(frozen=True, slots=True)
class APE:
    """The audio with the tags behind it; an ID3v2 tag before it is left alone."""

    source: Source
    container: str
    start: int
    tail: Tail

    @classmethod
    def of(cls, source: Source, container: str) -> "APE":
        """Take such a file apart."""
        leading = find_id3(source, 0)
        start = leading.size if leading else 0
        return cls(source, container, start, tail_of(source, start))

    @property
    def tags(self) -> TagSet:
        """All tags."""
        return TagSet(self.container, self.tail.blocks)

    def audio(self) -> Iterator[Piece]:
        """Yield what stands before the tags."""
        yield Span(self.start, self.tail.start - self.start)

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with another APE tag, or without one."""
        wanted = list(blocks)
        others = tuple(block for block in wanted if block.form != "apev2")
        if others != tuple(block for block in self.tail.blocks if block.form != "apev2"):
            raise AudioError("of this kind of file only the APE tag is written")
        pieces: list[Piece] = [Span(0, self.tail.start)]
        for block in sorted(wanted, key=lambda block: block.form == "id3v1"):
            is_ape = block.form == "apev2"
            pieces.append(written_ape(block) if is_ape else block.items[0].data)
        return pieces
