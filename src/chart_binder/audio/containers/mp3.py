"""MP3 files, and those with an APE tag: Monkey's Audio, WavPack, Musepack.

An MP3 file has ID3v2 before the audio; ID3v1, an APE tag or Lyrics3 behind it stay as they are. The
others have an APE tag behind the audio; an ID3v2 tag before it stays as it is.

Formats: https://wiki.hydrogenaud.io/index.php?title=APEv2_specification, https://id3.org/Lyrics3v2
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.containers.id3 import find_id3, leading_id3_size, written_id3
from chart_binder.audio.file_access import Piece, Source, Span
from chart_binder.audio.tagset import Block, Item, TagSet
from chart_binder.errors import AudioError

APE_MAGICS = {b"MAC ": "ape", b"wvpk": "wv", b"MP+": "mpc", b"MPCK": "mpc"}
"""How such files begin, Musepack of stream version 7 and 8 among them."""

_HAS_HEADER, _IS_HEADER = 1 << 31, 1 << 29
NEW_HEAD = struct.pack("<II", 2000, _HAS_HEADER) + bytes(8)
"""The `Block.head` of a new APE tag: version 2, flags (it has a header), reserved bytes."""

_APE_MAGIC, _APE_FOOTER, _MAX_APE_ITEMS = b"APETAGEX", 32, 1 << 16
_ITEM_KIND, _BINARY = 0x6, 0x2
_ID3V1_BYTES = 128
_LYRICS_END, _LYRICS_DIGITS = b"LYRICS200", 6


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the audio ends, and the tags behind it, in the order of the file."""

    start: int
    blocks: tuple[Block, ...]


class MP3:
    """An MP3 file: tags at both ends, the audio between."""

    def __init__(self, source: Source) -> None:
        leading = find_id3(source, 0)
        self._source = source
        self._start = leading.size if leading else 0
        self._tail = find_tail(source, self._start)
        self.tags = TagSet("mp3", (*([leading.block] if leading else ()), *self._tail.blocks))

    def audio(self) -> Iterator[Piece]:
        """Yield what stands between the tags."""
        yield Span(self._start, self._tail.start - self._start)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with another ID3v2 tag, or without one."""
        leading = tags.block("id3v2")
        if tuple(block for block in tags.blocks if block is not leading) != self._tail.blocks:
            raise AudioError("of an MP3 file only the ID3v2 tag is written, not what stands behind")
        head = written_id3(leading, self._start) if leading else b""
        return [head, Span(self._start, self._source.size - self._start)]


class APE:
    """A file with an APE tag: the audio, with the tags behind it."""

    def __init__(self, source: Source, container: str) -> None:
        self._start = leading_id3_size(source)
        self._tail = find_tail(source, self._start)
        self.tags = TagSet(container, self._tail.blocks)

    def audio(self) -> Iterator[Piece]:
        """Yield what stands before the tags."""
        yield Span(self._start, self._tail.start - self._start)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with another APE tag, or without one."""
        others = [
            [block for block in each.blocks if block.form != "apev2"] for each in (tags, self.tags)
        ]
        if others[0] != others[1]:
            raise AudioError("of this kind of file only the APE tag is written")
        blocks = sorted(tags.blocks, key=lambda block: block.form == "id3v1")
        written = (
            _written_ape(block) if block.form == "apev2" else block.items[0].data
            for block in blocks
        )
        return [Span(0, self._tail.start), *written]


def texts_of(item: Item) -> tuple[str, ...] | None:
    """Return the texts of an APE item, or `None` if it is binary."""
    flags = int.from_bytes(item.data[4:8], "little")
    if not item.key or flags & _ITEM_KIND == _BINARY:
        return None
    value = item.data[8:].partition(b"\0")[2]
    return tuple(value.decode("utf-8", "replace").split("\0"))


def text_item(key: str, texts: tuple[str, ...]) -> Item:
    """Return an APE item that holds the texts, NUL between them."""
    value = "\0".join(texts).encode()
    return Item(key, struct.pack("<II", len(value), 0) + key.encode("ascii") + b"\0" + value)


def find_tail(source: Source, first: int) -> Tail:
    """Return the tags behind the audio, which begins no earlier than `first`.

    Each form is found once; they may stand in any order, ID3v1 at the very end. Raises `AudioError`
    for a damaged APE tag.
    """
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
    item = Item("ID3v1", source.read(start, _ID3V1_BYTES))
    return Tail(start, (Block("id3v1", (item,)),))


def _lyrics3(source: Source, end: int) -> Tail | None:
    if not source.has(end - len(_LYRICS_END), _LYRICS_END):
        return None
    behind = len(_LYRICS_END) + _LYRICS_DIGITS
    digits = source.read(end - behind, _LYRICS_DIGITS) if end >= behind else b""
    start = end - behind - int(digits) if digits.isdigit() else -1
    if not source.has(start, b"LYRICSBEGIN"):
        return None
    item = Item("LYRICS200", source.read(start, end - start))
    return Tail(start, (Block("lyrics3", (item,)),))


def _ape(source: Source, end: int) -> Tail | None:
    if not source.has(end - _APE_FOOTER, _APE_MAGIC):
        return None
    footer = source.read(end - _APE_FOOTER, _APE_FOOTER)
    version, size, count, flags = struct.unpack("<IIII", footer[8:24])
    start = end - size
    if size < _APE_FOOTER or start < 0 or flags & _IS_HEADER or count > _MAX_APE_ITEMS:
        raise source.damaged("its APE tag does not know how long it is")
    items = _ape_items(source, source.read(start, size - _APE_FOOTER), count)
    if flags & _HAS_HEADER:
        start -= _APE_FOOTER
        if not source.has(start, _APE_MAGIC):
            raise source.damaged("its APE tag has no header where it should")
    head = struct.pack("<II", version, flags) + footer[24:]
    return Tail(start, (Block("apev2", items, head),))


_FINDERS = (("id3v1", _id3v1), ("lyrics3", _lyrics3), ("apev2", _ape))


def _ape_items(source: Source, body: bytes, count: int) -> tuple[Item, ...]:
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


def _written_ape(block: Block) -> bytes:
    version, flags = struct.unpack("<II", block.head[:8])
    records = sorted(block.items, key=lambda item: not item.key)
    body = b"".join(item.data for item in records)
    size, count = len(body) + _APE_FOOTER, sum(bool(item.key) for item in records)

    def edge(flags: int) -> bytes:
        return _APE_MAGIC + struct.pack("<IIII", version, size, count, flags) + block.head[8:]

    header = edge(flags | _IS_HEADER) if flags & _HAS_HEADER else b""
    return header + body + edge(flags)
