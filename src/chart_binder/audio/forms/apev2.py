"""An APE tag, with every item as its bytes.

Format: https://wiki.hydrogenaud.io/index.php?title=APEv2_specification
"""

import struct
from dataclasses import dataclass

from chart_binder.audio.pieces import Source
from chart_binder.audio.tagset import Block, Item

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
