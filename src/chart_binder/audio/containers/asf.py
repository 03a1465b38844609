"""Windows Media files (ASF, specification 01.20.03), with attributes in four header objects."""

import struct
from collections.abc import Callable, Iterable, Iterator
from uuid import UUID

from chart_binder.audio.open_file import ByteSpan, OpenFile, Piece
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.errors import AudioError

# The objects that hold attributes, as `TagItem.place` names them, in the order of a tag set.
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
# The objects that describe the audio, with the offset of that: behind size and date of the file.
_AUDIO_OBJECTS = {_FILE: 32, _STREAM: 0, _EXTENDED_STREAM: 0}

_AsfObject = tuple[bytes, bytes]


class AsfLayout:
    """The objects in the header of a Windows Media file, and in the header extension."""

    written_forms = ("asf",)

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
                    place, read_attributes, _ = _PLACES[guid]
                    items += read_attributes(content, place)
        except (ValueError, struct.error) as error:
            raise self._source.damaged(f"its attributes cannot be read ({error})") from error
        return TagSet("asf", (TagBlock("asf", sorted_by_place(items)),) if items else ())

    def audio(self) -> Iterator[Piece]:
        """Yield the descriptions of the streams, and everything behind the header."""
        for guid, content in (*self._objects, *self._extension):
            if guid in _AUDIO_OBJECTS:
                yield content[_AUDIO_OBJECTS[guid] :]
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
        header = [head, *(_encode(header_object, total) for header_object in objects)]
        return [b"".join(header), ByteSpan(self._end, self._source.size - self._end)]


def texts_of(item: TagItem) -> tuple[str, ...] | None:
    """Return the text of an attribute, digits for a number, or `None` for binary data."""
    data_type, value = _UNICODE, item.data
    if item.place == _EXTENDED:
        at = 2 + int.from_bytes(item.data[:2], "little")
        data_type, value = int.from_bytes(item.data[at : at + 2], "little"), item.data[at + 4 :]
    elif item.place != _DESCRIPTION:
        _, _, name_size, data_type, _ = struct.unpack_from("<HHHHI", item.data)
        value = item.data[12 + name_size :]
    if data_type == _UNICODE:
        return (value.decode("utf-16-le", "replace").rstrip("\0"),)
    return (str(int.from_bytes(value, "little")),) if data_type in _NUMBERS else None


def text_items(key: str, texts: tuple[str, ...]) -> tuple[TagItem, ...]:
    """Return one attribute per text.

    The first one goes into the object that players read, others and long ones into the library.
    """
    items = list[TagItem]()
    name = (key + "\0").encode("utf-16-le")
    for text in texts:
        value = (text + "\0").encode("utf-16-le")
        if items or len(value) > _MAX_EXTENDED:
            head = struct.pack("<HHHHI", 0, 0, len(name), _UNICODE, len(value)) + name
            items.append(TagItem(key, head + value, _LIBRARY))
        else:
            head = struct.pack("<H", len(name)) + name + struct.pack("<HH", _UNICODE, len(value))
            items.append(TagItem(key, head + value, _EXTENDED))
    return tuple(items)


def sorted_by_place(items: Iterable[TagItem]) -> tuple[TagItem, ...]:
    """Return the items grouped by object, in an order that does not depend on the file."""
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
            name_at = at + 2
            (name_size,) = struct.unpack_from("<H", body, at)
            (size,) = struct.unpack_from("<H", body, name_at + name_size + 2)
            end = name_at + name_size + 4 + size
        else:
            name_at = at + 12
            _, _, name_size, _, size = struct.unpack_from("<HHHHI", body, at)
            end = name_at + name_size + size
        if end > len(body):
            raise ValueError("an attribute is longer than its object")
        key = body[name_at : name_at + name_size].decode("utf-16-le", "replace").rstrip("\0")
        yield TagItem(key, body[at:end], place)
        at = end


# The objects with attributes: place, function that reads them, is the object in the extension.
_PLACES: dict[bytes, tuple[str, Callable[[bytes, str], Iterator[TagItem]], bool]] = {
    _guid("75B22633-668E-11CF-A6D9-00AA0062CE6C"): (_DESCRIPTION, _read_description, False),
    _guid("D2D0A440-E307-11D2-97F0-00A0C95EA850"): (_EXTENDED, _read_attributes, False),
    _guid("C5F8CBEA-5BAF-4877-8467-AA8C44FA4CCA"): (_METADATA, _read_attributes, True),
    _guid("44231C94-9498-49D1-A141-1D134E457054"): (_LIBRARY, _read_attributes, True),
}


def _encode_attributes(items: tuple[TagItem, ...], place: str) -> bytes:
    placed = [item for item in items if item.place == place]
    if place == _DESCRIPTION:
        texts = {item.key: item.data for item in placed}
        values = [texts.get(key, b"") for key in _DESCRIPTION_KEYS]
        return struct.pack("<5H", *map(len, values)) + b"".join(values)
    return struct.pack("<H", len(placed)) + b"".join(item.data for item in placed)


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
    """Return the objects with new attributes; missing objects are added at the end.

    `inner` selects the objects of the header extension.
    """
    changed = list(objects)
    for guid, (place, _, is_inner) in _PLACES.items():
        has_items = any(item.place == place for item in items)
        indices = [index for index, (old_guid, _) in enumerate(changed) if old_guid == guid]
        if is_inner != inner or not (has_items or indices):
            continue
        if len(indices) > 1:
            raise AudioError(f"the file has more than one {place} object, and was not changed")
        new_object = (guid, _encode_attributes(items, place))
        if indices:
            changed[indices[0]] = new_object
        else:
            changed.append(new_object)
    return changed


def _with_extension(objects: list[_AsfObject], inner: list[_AsfObject]) -> list[_AsfObject]:
    body = b"".join(map(_encode, inner))
    content = _EXTENSION_HEAD + struct.pack("<I", len(body)) + body
    if any(guid == _EXTENSION for guid, _ in objects):
        return [(guid, content if guid == _EXTENSION else old) for guid, old in objects]
    return [*objects, (_EXTENSION, content)]


def _padded(objects: list[_AsfObject], room: int) -> list[_AsfObject]:
    """Return the objects with the padding resized so that they fill `room` bytes if possible."""
    excess = sum(_OBJECT_HEADER + len(content) for _, content in objects) - room
    for index, (guid, content) in enumerate(objects):
        if guid == _PADDING and len(content) >= excess:
            padding = (guid, bytes(len(content) - excess))
            return [*objects[:index], padding, *objects[index + 1 :]]
    return objects


def _encode(header_object: _AsfObject, file_size: int | None = None) -> bytes:
    guid, content = header_object
    if guid == _FILE and file_size is not None:
        resized = bytearray(content)
        resized[_FILE_SIZE] = struct.pack("<Q", file_size)
        content = bytes(resized)
    return guid + struct.pack("<Q", _OBJECT_HEADER + len(content)) + content
