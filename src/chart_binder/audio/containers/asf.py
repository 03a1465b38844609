"""Windows Media files (ASF, specification 01.20.03): attributes in four objects of the header."""

import struct
from collections.abc import Callable, Iterable, Iterator
from uuid import UUID

from chart_binder.audio.file_access import ByteSpan, OpenFile, Piece
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.errors import AudioError

# The objects that attributes stand in, as `TagItem.place` names them, in the order of a tag set.
_DESCRIPTION, _EXTENDED, _METADATA, _LIBRARY = "description", "extended", "metadata", "library"
_IN_ORDER = (_DESCRIPTION, _EXTENDED, _METADATA, _LIBRARY)

_DESCRIPTION_KEYS = ("Title", "Author", "Copyright", "Description", "Rating")
_UNICODE, _BYTES, _BOOL, _DWORD, _QWORD, _WORD = range(6)
_NUMBERS = frozenset({_BOOL, _DWORD, _QWORD, _WORD})
_MAX_EXTENDED = 0xFFFF


def _guid(text: str) -> bytes:
    return UUID(text).bytes_le


MAGIC = _guid("75B22630-668E-11CF-A6D9-00AA0062CE6C")
_FILE = _guid("8CABDCA1-A947-11CF-8EE4-00C00C205365")
_STREAM = _guid("B7DC0791-A9B7-11CF-8EE6-00C00C205365")
_EXTENDED_STREAM = _guid("14E6A5CB-C672-4332-8399-A96952065B5A")
_EXTENSION = _guid("5FBF03B5-A92E-11CF-8EE3-00C00C205365")
_PADDING = _guid("1806D474-CADF-4509-A4BA-9AABCB96AAE8")
_EXTENSION_HEAD = _guid("ABD3D211-A9BA-11CF-8EE6-00C00C205365") + b"\6\0"

_OBJECT_HEADER, _FILE_HEADER, _EXTENSION_FIELDS = 24, 30, 22
_HEADER_SIZE, _FILE_SIZE = slice(16, 24), slice(16, 24)
# Where what each object says of the audio begins: in that of the file behind its size and day.
_HEARD = {_FILE: 32, _STREAM: 0, _EXTENDED_STREAM: 0}

_AsfObject = tuple[bytes, bytes]


class AsfLayout:
    """A Windows Media file: the objects of its header, those of the header's extension."""

    written = ("asf",)

    def __init__(self, source: OpenFile) -> None:
        self._source = source
        self._head = source.read(0, _FILE_HEADER)
        self._end = int.from_bytes(self._head[_HEADER_SIZE], "little")
        self._objects = list(_objects(source, source.read(0, self._end)[_FILE_HEADER:]))
        self._extension = list[_AsfObject]()
        for guid, content in self._objects:
            if guid == _EXTENSION:
                self._extension = list(_objects(source, content[_EXTENSION_FIELDS:]))

    @property
    def tags(self) -> TagSet:
        """The attributes of all four objects."""
        items: list[TagItem] = []
        try:
            for guid, content in (*self._objects, *self._extension):
                if guid in _PLACES:
                    place, read, _ = _PLACES[guid]
                    items += read(content, place)
        except (ValueError, struct.error) as error:
            raise self._source.damaged(f"its attributes cannot be read ({error})") from error
        return TagSet("asf", (TagBlock("asf", sorted_by_place(items)),) if items else ())

    def audio(self) -> Iterator[Piece]:
        """Yield what describes the streams, and everything behind the header."""
        for guid, content in (*self._objects, *self._extension):
            if guid in _HEARD:
                yield content[_HEARD[guid] :]
        yield ByteSpan(self._end, self._source.size - self._end)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with other attributes."""
        items = (tags.block("asf") or TagBlock("asf")).items
        extension = _with_attributes(self._extension, items, inner=True)
        objects = _with_attributes(self._objects, items, inner=False)
        if extension != self._extension:
            objects = _with_extension(objects, extension)
        objects = _padded(objects, self._end - _FILE_HEADER)
        size = _FILE_HEADER + sum(_OBJECT_HEADER + len(content) for _, content in objects)
        total = self._source.size - self._end + size
        head = MAGIC + struct.pack("<QI", size, len(objects)) + self._head[28:]
        header = [head, *(_written(each, total) for each in objects)]
        return [b"".join(header), ByteSpan(self._end, self._source.size - self._end)]


def texts_of(item: TagItem) -> tuple[str, ...] | None:
    """Return an attribute as text, a number in digits; `None` for bytes."""
    kind, value = _UNICODE, item.data
    if item.place == _EXTENDED:
        at = 2 + int.from_bytes(item.data[:2], "little")
        kind, value = int.from_bytes(item.data[at : at + 2], "little"), item.data[at + 4 :]
    elif item.place != _DESCRIPTION:
        _, _, named, kind, _ = struct.unpack_from("<HHHHI", item.data)
        value = item.data[12 + named :]
    if kind == _UNICODE:
        return (value.decode("utf-16-le", "replace").rstrip("\0"),)
    return (str(int.from_bytes(value, "little")),) if kind in _NUMBERS else None


def text_items(key: str, texts: tuple[str, ...]) -> tuple[TagItem, ...]:
    """Return an attribute for each text: the first where players look, more where there is room."""
    items = list[TagItem]()
    for text in texts:
        named, value = ((each + "\0").encode("utf-16-le") for each in (key, text))
        if items or len(value) > _MAX_EXTENDED:
            head = struct.pack("<HHHHI", 0, 0, len(named), _UNICODE, len(value)) + named
            items.append(TagItem(key, head + value, _LIBRARY))
        else:
            head = struct.pack("<H", len(named)) + named + struct.pack("<HH", _UNICODE, len(value))
            items.append(TagItem(key, head + value, _EXTENDED))
    return tuple(items)


def sorted_by_place(items: Iterable[TagItem]) -> tuple[TagItem, ...]:
    """Return the items of each object together, whatever the order of the objects in a file."""
    return tuple(sorted(items, key=lambda item: _IN_ORDER.index(item.place)))


def _read_description(body: bytes, place: str) -> Iterator[TagItem]:
    at = 10
    for key, size in zip(_DESCRIPTION_KEYS, struct.unpack("<5H", body[:10]), strict=True):
        if at + size > len(body):
            raise ValueError(f"{key} is longer than its object")
        if size:
            yield TagItem(key, body[at : at + size], place)
        at += size


def _read_attributes(body: bytes, place: str) -> Iterator[TagItem]:
    (count,) = struct.unpack_from("<H", body)
    at = 2
    for _ in range(count):
        if place == _EXTENDED:
            name = at + 2
            (named,) = struct.unpack_from("<H", body, at)
            (size,) = struct.unpack_from("<H", body, name + named + 2)
            end = name + named + 4 + size
        else:
            name = at + 12
            _, _, named, _, size = struct.unpack_from("<HHHHI", body, at)
            end = name + named + size
        if end > len(body):
            raise ValueError("an attribute is longer than its object")
        key = body[name : name + named].decode("utf-16-le", "replace").rstrip("\0")
        yield TagItem(key, body[at:end], place)
        at = end


# Where attributes stand: the object, what reads it, whether it stands in the header extension.
_PLACES: dict[bytes, tuple[str, Callable[[bytes, str], Iterator[TagItem]], bool]] = {
    _guid("75B22633-668E-11CF-A6D9-00AA0062CE6C"): (_DESCRIPTION, _read_description, False),
    _guid("D2D0A440-E307-11D2-97F0-00A0C95EA850"): (_EXTENDED, _read_attributes, False),
    _guid("C5F8CBEA-5BAF-4877-8467-AA8C44FA4CCA"): (_METADATA, _read_attributes, True),
    _guid("44231C94-9498-49D1-A141-1D134E457054"): (_LIBRARY, _read_attributes, True),
}


def _written_attributes(items: tuple[TagItem, ...], place: str) -> bytes:
    here = [item for item in items if item.place == place]
    if place == _DESCRIPTION:
        texts = {item.key: item.data for item in here}
        values = [texts.get(key, b"") for key in _DESCRIPTION_KEYS]
        return struct.pack("<5H", *map(len, values)) + b"".join(values)
    return struct.pack("<H", len(here)) + b"".join(item.data for item in here)


def _objects(source: OpenFile, body: bytes) -> Iterator[_AsfObject]:
    at = 0
    while at + _OBJECT_HEADER <= len(body):
        size = int.from_bytes(body[at + 16 : at + _OBJECT_HEADER], "little")
        if size < _OBJECT_HEADER or at + size > len(body):
            raise source.damaged("an object of its header is longer than the header")
        yield body[at : at + 16], body[at + _OBJECT_HEADER : at + size]
        at += size
    if body[at:]:
        raise source.damaged("its header does not end with an object")


def _with_attributes(
    objects: Iterable[_AsfObject], items: tuple[TagItem, ...], *, inner: bool
) -> list[_AsfObject]:
    """Return the objects with the attributes in their places; missing ones are put at the end."""
    result = list(objects)
    for guid, (place, _, stands_inside) in _PLACES.items():
        here = any(item.place == place for item in items)
        there = [at for at, (found, _) in enumerate(result) if found == guid]
        if stands_inside != inner or not (here or there):
            continue
        if len(there) > 1:
            raise AudioError(f"the file has more than one {place} object: it is left as it is")
        content = _written_attributes(items, place)
        if there:
            result[there[0]] = (guid, content)
        else:
            result.append((guid, content))
    return result


def _with_extension(objects: list[_AsfObject], inner: list[_AsfObject]) -> list[_AsfObject]:
    body = b"".join(_written(each) for each in inner)
    content = _EXTENSION_HEAD + struct.pack("<I", len(body)) + body
    if any(guid == _EXTENSION for guid, _ in objects):
        return [(guid, content if guid == _EXTENSION else old) for guid, old in objects]
    return [*objects, (_EXTENSION, content)]


def _padded(objects: list[_AsfObject], room: int) -> list[_AsfObject]:
    """Return the objects with their padding cut or widened so that they fill the room."""
    excess = sum(_OBJECT_HEADER + len(content) for _, content in objects) - room
    for at, (guid, content) in enumerate(objects):
        if guid == _PADDING and len(content) >= excess:
            return [*objects[:at], (guid, bytes(len(content) - excess)), *objects[at + 1 :]]
    return objects


def _written(each: _AsfObject, total: int | None = None) -> bytes:
    guid, content = each
    if guid == _FILE and total is not None:
        sized = bytearray(content)
        sized[_FILE_SIZE] = struct.pack("<Q", total)
        content = bytes(sized)
    return guid + struct.pack("<Q", _OBJECT_HEADER + len(content)) + content
