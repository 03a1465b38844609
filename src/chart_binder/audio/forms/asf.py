"""The attributes of a Windows Media file, each as its bytes.

Format: Advanced Systems Format (ASF) Specification, sections 3.10, 3.11, 4.7, 4.8
"""

import struct
from collections.abc import Iterable

from chart_binder.audio.tagset import Item

DESCRIPTION, EXTENDED, METADATA, LIBRARY = "description", "extended", "metadata", "library"
"""The objects that attributes stand in; `Item.place` says which."""

_IN_ORDER = (DESCRIPTION, EXTENDED, METADATA, LIBRARY)

DESCRIPTION_KEYS = ("Title", "Author", "Copyright", "Description", "Rating")

_UNICODE, _BYTES, _BOOL, _DWORD, _QWORD, _WORD = range(6)
_NUMBERS = frozenset({_BOOL, _DWORD, _QWORD, _WORD})
_MOST_EXTENDED = 0xFFFF


def read_description(body: bytes) -> tuple[Item, ...]:
    """Return the five texts of a content description, those that are empty left out."""
    at, items = 10, list[Item]()
    for key, size in zip(DESCRIPTION_KEYS, struct.unpack("<5H", body[:10]), strict=True):
        if at + size > len(body):
            raise ValueError(f"{key} is longer than its object")
        if size:
            items.append(Item(key, body[at : at + size], DESCRIPTION))
        at += size
    return tuple(items)


def read_extended(body: bytes) -> tuple[Item, ...]:
    """Return the attributes of an extended content description."""
    at, items = 2, list[Item]()
    for _ in range(_count(body)):
        (named,) = struct.unpack_from("<H", body, at)
        (size,) = struct.unpack_from("<H", body, at + 2 + named + 2)
        end = at + named + 6 + size
        items.append(_item(body, at, end, body[at + 2 : at + 2 + named], EXTENDED))
        at = end
    return tuple(items)


def read_metadata(body: bytes, place: str) -> tuple[Item, ...]:
    """Return the attributes of a metadata or metadata library object."""
    at, items = 2, list[Item]()
    for _ in range(_count(body)):
        _, _, named, _, size = struct.unpack_from("<HHHHI", body, at)
        end = at + 12 + named + size
        items.append(_item(body, at, end, body[at + 12 : at + 12 + named], place))
        at = end
    return tuple(items)


def in_places(items: Iterable[Item]) -> tuple[Item, ...]:
    """Return the items of each object together, whatever the order of the objects in a file."""
    return tuple(sorted(items, key=lambda item: _IN_ORDER.index(item.place)))


def written_attributes(items: tuple[Item, ...], place: str) -> bytes:
    """Return the content of the object `place`."""
    here = [item for item in items if item.place == place]
    if place == DESCRIPTION:
        texts = {item.key: item.data for item in here}
        values = [texts.get(key, b"") for key in DESCRIPTION_KEYS]
        return struct.pack("<5H", *map(len, values)) + b"".join(values)
    return struct.pack("<H", len(here)) + b"".join(item.data for item in here)


def texts_of(item: Item) -> tuple[str, ...] | None:
    """Return what an attribute says as text; numbers in digits, nothing for bytes."""
    kind, value = _value(item)
    if kind == _UNICODE:
        return (value.decode("utf-16-le", "replace").rstrip("\0"),)
    return (str(int.from_bytes(value, "little")),) if kind in _NUMBERS else None


def text_items(key: str, texts: tuple[str, ...]) -> tuple[Item, ...]:
    """Return an attribute for each text: the first where players look, more where there is room."""
    items = list[Item]()
    for text in texts:
        value = (text + "\0").encode("utf-16-le")
        named = (key + "\0").encode("utf-16-le")
        if items or len(value) > _MOST_EXTENDED:
            head = struct.pack("<HHHHI", 0, 0, len(named), _UNICODE, len(value))
            items.append(Item(key, head + named + value, LIBRARY))
        else:
            head = struct.pack("<H", len(named)) + named
            size = struct.pack("<HH", _UNICODE, len(value))
            items.append(Item(key, head + size + value, EXTENDED))
    return tuple(items)


def _value(item: Item) -> tuple[int, bytes]:
    if item.place == DESCRIPTION:
        return _UNICODE, item.data
    if item.place == EXTENDED:
        at = 2 + int.from_bytes(item.data[:2], "little")
        return int.from_bytes(item.data[at : at + 2], "little"), item.data[at + 4 :]
    _, _, named, kind, _ = struct.unpack_from("<HHHHI", item.data)
    return kind, item.data[12 + named :]


def _count(body: bytes) -> int:
    return int(struct.unpack_from("<H", body)[0])


def _item(body: bytes, start: int, end: int, named: bytes, place: str) -> Item:
    if end > len(body):
        raise ValueError("an attribute is longer than its object")
    return Item(named.decode("utf-16-le", "replace").rstrip("\0"), body[start:end], place)
