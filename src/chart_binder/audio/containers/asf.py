"""Windows Media (ASF): attributes in several objects of the header.

Format: Advanced Systems Format (ASF) Specification, revision 01.20.03
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from chart_binder.audio.forms.asf import (
    DESCRIPTION,
    EXTENDED,
    LIBRARY,
    METADATA,
    in_places,
    read_description,
    read_extended,
    read_metadata,
    written_attributes,
)
from chart_binder.audio.pieces import Piece, Source, Stretch
from chart_binder.audio.tagset import Block, Item, TagSet
from chart_binder.errors import AudioError


def _guid(text: str) -> bytes:
    return UUID(text).bytes_le


MAGIC = _guid("75B22630-668E-11CF-A6D9-00AA0062CE6C")
_DATA = _guid("75B22636-668E-11CF-A6D9-00AA0062CE6C")
_FILE = _guid("8CABDCA1-A947-11CF-8EE4-00C00C205365")
_STREAM = _guid("B7DC0791-A9B7-11CF-8EE6-00C00C205365")
_EXTENSION = _guid("5FBF03B5-A92E-11CF-8EE3-00C00C205365")
_PADDING = _guid("1806D474-CADF-4509-A4BA-9AABCB96AAE8")
_EXTENSION_HEAD = _guid("ABD3D211-A9BA-11CF-8EE6-00C00C205365") + b"\6\0"

_OBJECT, _HEADER, _EXTENSION_FIELDS = 24, 30, 22
_FILE_SIZE = slice(16, 24)

# Where attributes stand: the object, what reads it, whether it stands in the header extension.
_PLACES: dict[bytes, tuple[str, Callable[[bytes], tuple[Item, ...]], bool]] = {
    _guid("75B22633-668E-11CF-A6D9-00AA0062CE6C"): (DESCRIPTION, read_description, False),
    _guid("D2D0A440-E307-11D2-97F0-00A0C95EA850"): (EXTENDED, read_extended, False),
    _guid("C5F8CBEA-5BAF-4877-8467-AA8C44FA4CCA"): (
        METADATA, partial(read_metadata, place=METADATA), True),
    _guid("44231C94-9498-49D1-A141-1D134E457054"): (
        LIBRARY, partial(read_metadata, place=LIBRARY), True),
}  # fmt: skip

Object = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class ASF:
    """The objects of the header, those of its extension, and the rest of the file."""

    source: Source
    head: bytes
    objects: tuple[Object, ...]
    extension: tuple[Object, ...]

    @classmethod
    def of(cls, source: Source) -> "ASF":
        """Take a Windows Media file apart."""
        head = source.at(0, _HEADER)
        size = int.from_bytes(head[16:24], "little")
        objects = tuple(_objects(source, source.at(0, size)[_HEADER:]))
        inner: tuple[Object, ...] = ()
        for guid, content in objects:
            if guid == _EXTENSION:
                inner = tuple(_objects(source, content[_EXTENSION_FIELDS:]))
        return cls(source, head, objects, inner)

    @property
    def tags(self) -> TagSet:
        """The attributes of all four objects."""
        items: list[Item] = []
        for guid, content in (*self.objects, *self.extension):
            if guid not in _PLACES:
                continue
            try:
                items += _PLACES[guid][1](content)
            except (ValueError, struct.error) as error:
                raise self.source.damaged(f"its attributes cannot be read ({error})") from error
        return TagSet("asf", (Block("asf", in_places(items)),) if items else ())

    def audio(self) -> Iterator[Piece]:
        """Yield what describes the streams, and everything behind the header."""
        for guid, content in self.objects:
            if guid == _STREAM:
                yield content
        yield Stretch(self._end, self.source.size - self._end)

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with other attributes."""
        block = next(iter(blocks), Block("asf"))
        extension = _with_attributes(self.extension, block.items, inner=True)
        objects = _with_attributes(self.objects, block.items, inner=False)
        if extension != list(self.extension):
            objects = _with_extension(objects, extension)
        objects = _in_room(objects, self._end - _HEADER)
        size = _HEADER + sum(_OBJECT + len(content) for _, content in objects)
        total = self.source.size - self._end + size
        head = MAGIC + struct.pack("<QI", size, len(objects)) + self.head[28:]
        header = [head, *(_written(each, total) for each in objects)]
        return [b"".join(header), Stretch(self._end, self.source.size - self._end)]

    @property
    def _end(self) -> int:
        return int.from_bytes(self.head[16:24], "little")


def _objects(source: Source, body: bytes) -> Iterator[Object]:
    at = 0
    while at + _OBJECT <= len(body):
        size = int.from_bytes(body[at + 16 : at + _OBJECT], "little")
        if size < _OBJECT or at + size > len(body):
            raise source.damaged("an object of its header is longer than the header")
        yield body[at : at + 16], body[at + _OBJECT : at + size]
        at += size
    if body[at:]:
        raise source.damaged("its header does not end with an object")


def _with_attributes(
    objects: Iterable[Object], items: tuple[Item, ...], *, inner: bool
) -> list[Object]:
    """Return the objects with the attributes in their places; missing ones are put at the end."""
    result = list(objects)
    for guid, (place, _, stands_inside) in _PLACES.items():
        here = any(item.place == place for item in items)
        there = [at for at, (found, _) in enumerate(result) if found == guid]
        if stands_inside != inner or not (here or there):
            continue
        if len(there) > 1:
            raise AudioError(f"the file has more than one {place} object: it is left as it is")
        content = written_attributes(items, place)
        if there:
            result[there[0]] = (guid, content)
        else:
            result.append((guid, content))
    return result


def _with_extension(objects: list[Object], inner: list[Object]) -> list[Object]:
    body = b"".join(_written(each) for each in inner)
    content = _EXTENSION_HEAD + struct.pack("<I", len(body)) + body
    if any(guid == _EXTENSION for guid, _ in objects):
        return [(guid, content if guid == _EXTENSION else old) for guid, old in objects]
    return [*objects, (_EXTENSION, content)]


def _in_room(objects: list[Object], room: int) -> list[Object]:
    """Return the objects with their padding cut or widened so that they fill the room."""
    excess = sum(_OBJECT + len(content) for _, content in objects) - room
    for at, (guid, content) in enumerate(objects):
        if guid == _PADDING and len(content) >= excess:
            return [*objects[:at], (guid, bytes(len(content) - excess)), *objects[at + 1 :]]
    return objects


def _written(each: Object, total: int | None = None) -> bytes:
    guid, content = each
    if guid == _FILE and total is not None:
        sized = bytearray(content)
        sized[_FILE_SIZE] = struct.pack("<Q", total)
        content = bytes(sized)
    return guid + struct.pack("<Q", _OBJECT + len(content)) + content
