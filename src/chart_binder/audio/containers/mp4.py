"""MP4 files (M4A, ALAC), whose items are nested in the `moov` box before or behind the audio.

If `moov` precedes the audio and changes its size, every file offset in the tables of samples, in
the fragments and in their indexes has to be adjusted.

Format: ISO/IEC 14496-12; the items are Apple's (QuickTime File Format, metadata).
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.open_file import ByteSpan, OpenFile, Piece
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.errors import AudioError

FIRST_BOXES = frozenset({b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot"})

_PADDING = 1024  # bytes of free space added behind items that had to grow

_HEADER, _LONG_HEADER, _NO_LIMIT = 8, 16, 1 << 64
_MOVIE, _MEDIA, _FRAGMENT, _INDEX, _SEGMENT_INDEX = b"moov", b"mdat", b"moof", b"mfra", b"sidx"
_USER, _META, _ITEMS, _FREE = b"udta", b"meta", b"ilst", b"free"
_TRACK, _HANDLER_BOX, _SOUND = b"trak", b"hdlr", b"soun"
_TRACK_BOXES = frozenset({_TRACK, b"mdia", b"minf", b"stbl"})
_NOT_AUDIO = frozenset({_USER, _META, _FREE, b"skip", b"wide", b"uuid"})
"""Boxes of the movie in which other programs store tags or leave free space."""

_TIMED = frozenset({b"mvhd", b"tkhd", b"mdhd"})  # they begin with creation and modification times
_KNOWN_BOXES = FIRST_BOXES | {_FRAGMENT, _INDEX, _SEGMENT_INDEX, _META, _USER, b"styp", b"uuid"}
_OFFSET_TABLES = {b"stco": 4, b"co64": 8}
_BASE_OFFSET_PRESENT = 1  # a flag of `tfhd`

_FREE_FORM = "----"
_UTF_8, _NO_LOCALE, _NO_VERSION = b"\0\0\0\1", bytes(4), bytes(4)
_PLAIN, _INTEGER = bytes(4), b"\0\0\0\x15"
_PAIRS = {"trkn": 8, "disk": 6}
"""Items that hold a number and a total of two bytes each behind two zeros, with their lengths."""
_FLAGS = frozenset({"cpil"})
_MAX_NUMBER = 0xFFFF


@dataclass(frozen=True, slots=True)
class Mp4Box:
    """The position of a box: its header at `start`, its content at `content`, and its `end`."""

    kind: bytes
    start: int
    content: int
    end: int

    @property
    def body(self) -> ByteSpan:
        """The content as a span."""
        return ByteSpan(self.content, self.end - self.content)


@dataclass(frozen=True, slots=True)
class OffsetTable:
    """`count` file offsets in the content of a box: the first is at `start`, `step` bytes apart."""

    start: int
    width: int
    count: int
    step: int

    def read(self, body: bytes) -> list[int]:
        """Return the offsets in the content of the box."""
        positions = range(self.start, self.start + self.step * self.count, self.step)
        return [int.from_bytes(body[at : at + self.width], "big") for at in positions]


class Mp4Layout:
    """The boxes of an MP4 file and the content of its `moov` box, the movie."""

    written_forms = ("mp4",)

    def __init__(self, source: OpenFile) -> None:
        self._source = source
        self._boxes = tuple(_boxes_of(source))
        movies = [box for box in self._boxes if box.kind == _MOVIE]
        if not movies:
            raise source.damaged("it has no moov box")
        self._moov = movies[0]
        self._movie = self._content(self._moov)
        self._media = [box for box in self._boxes if box.kind == _MEDIA]

    def _require_media(self) -> None:
        """Raise `AudioError` unless a single movie describes media that exist."""
        if sum(box.kind == _MOVIE for box in self._boxes) > 1:
            raise self._source.damaged("it has more than one moov box")
        if self._boxes[-1].end > self._source.size:
            raise self._source.damaged(
                f"its media should end at byte {self._boxes[-1].end:,}, and the file has"
                f" {self._source.size:,}"
            )
        if not any(box.body.size > 0 for box in self._media):
            raise self._source.damaged("it has no media: its mdat box is empty or missing")
        tables = self._tables(self._movie)  # checks where they point
        handlers = (box.content + 8 for box, _ in tables if box.kind == _HANDLER_BOX)
        if not any(self._movie.startswith(_SOUND, at) for at in handlers):
            raise self._source.damaged("it has no sound track")

    @property
    def tags(self) -> TagSet:
        """The items, if there are any."""
        items = _items_in(self._movie)
        return TagSet("mp4", (TagBlock("mp4", items),) if items else ())

    def audio(self) -> Iterator[Piece]:
        """Yield the movie without tags, and all media; offsets become positions in the media.

        The first offset of a segment index is left out, because other programs do not adjust it.
        """
        self._require_media()
        is_outside = False
        for box, table in self._tables(self._movie):
            yield box.kind
            if table is None:
                yield _without_times(box.kind, self._movie[box.content : box.end])
                continue
            positions = [self._position(offset) for offset in table.read(self._movie)]
            is_outside |= any(isinstance(position, int) for position in positions)
            yield from (repr(position).encode() for position in positions)
        yield from (self._fragment(box) for box in self._boxes if box.kind == _FRAGMENT)
        for box in self._boxes:
            if box.kind == _SEGMENT_INDEX:
                body = self._content(box)
                at, width = _first_offset(body)
                yield body[:at] + body[at + width :]
        if is_outside:
            yield self._trailing
        for box in self._media:
            yield struct.pack(">Q", box.body.size)
            yield box.body

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with other items; if `moov` comes first, all offsets are adjusted."""
        self._require_media()
        block = tags.block("mp4")
        movie = _with_items(self._movie, block.items if block else ())
        shift = len(movie) + _HEADER - (self._moov.end - self._moov.start)
        if self._moov == self._boxes[-1]:
            shift = 0
        if shift:
            movie = self._shifted(movie, self._movable_offsets(movie), shift)
        pieces: list[Piece] = []
        for box in self._boxes:
            pieces += [_box(_MOVIE, movie)] if box == self._moov else self._moved(box, shift)
        return [*pieces, self._trailing]

    @property
    def _trailing(self) -> ByteSpan:
        end = self._boxes[-1].end
        return ByteSpan(end, self._source.size - end)

    def _movable_offsets(self, movie: bytes) -> list[OffsetTable]:
        """Return the offsets in `moov`. Raises `AudioError` if some cannot be adjusted."""
        tables = self._tables(movie)
        fragments = [box for box in self._boxes if box.kind == _FRAGMENT]
        if any(box.kind == b"saio" for box, _ in tables):
            raise AudioError("its samples are encrypted and must not move")
        metas = [self._content(box) for box in self._boxes if box.kind == _META]
        metas += _metas_below(movie, 0, len(movie))
        if any(_first(_boxes_in(meta, _start_of_meta(meta))[0], b"iloc") for meta in metas):
            raise AudioError("it has items at fixed file offsets (iloc), which must not move")
        if any(box.start < self._moov.start for box in fragments):
            raise AudioError("fragments precede its moov box, which must keep its size")
        offsets = [table for _, table in tables if table]
        if not offsets and not fragments:
            raise AudioError("it has no table of sample offsets")
        return offsets

    def _content(self, box: Mp4Box) -> bytes:
        return self._source.read(box.content, box.body.size)

    def _moved(self, box: Mp4Box, shift: int) -> list[Piece]:
        if not shift or box.kind not in (_FRAGMENT, _INDEX, _SEGMENT_INDEX):
            return [ByteSpan(box.start, box.end - box.start)]
        body = self._content(box)
        header = ByteSpan(box.start, box.content - box.start)
        if box.kind == _SEGMENT_INDEX:
            return [header, self._shifted_index(box, body, shift)]
        offsets = _fragment_offsets(body) if box.kind == _FRAGMENT else _index_offsets(body)
        return [header, self._shifted(body, offsets, shift)]

    def _shifted_index(self, box: Mp4Box, body: bytes, shift: int) -> bytes:
        """Return the content of a segment index, whose first offset counts from its own end."""
        at, width = _first_offset(body)
        try:
            (count,) = struct.unpack_from(">H", body, at + width + 2)
            sizes = [
                struct.unpack_from(">I", body, at + width + 4 + 12 * index)[0] & 0x7FFFFFFF
                for index in range(count)
            ]
            first = int.from_bytes(body[at : at + width], "big")
            start = box.end + first
            if box.start > self._moov.start or start + sum(sizes) <= self._moov.start:
                return body
            if start < self._moov.end:
                raise AudioError("its segment index (sidx) spans its moov box, which must not move")
            return body[:at] + (first + shift).to_bytes(width, "big") + body[at + width :]
        except (OverflowError, struct.error) as error:
            raise self._source.damaged(f"its segment index cannot be read ({error})") from error

    def _shifted(self, body: bytes, tables: Iterable[OffsetTable], shift: int) -> bytes:
        """Return the content of a box, with every offset behind `moov` increased by `shift`."""
        moved = bytearray(body)
        try:
            for table in tables:
                for index, offset in enumerate(table.read(body)):
                    if self._moov.start < offset < self._moov.end:
                        raise self._source.damaged("a sample lies inside its moov box")
                    if offset >= self._moov.end:
                        start = table.start + table.step * index
                        new = (offset + shift).to_bytes(table.width, "big")
                        moved[start : start + table.width] = new
        except OverflowError as error:
            raise AudioError("its samples would exceed the limit of its tables (4 GiB)") from error
        except (ValueError, IndexError, struct.error) as error:
            raise self._source.damaged(str(error)) from error
        return bytes(moved)

    def _tables(self, movie: bytes) -> list[tuple[Mp4Box, OffsetTable | None]]:
        """Return the boxes of the movie that affect the audio, with their offsets if any."""
        try:
            tables = list(_tables_below(movie, 0, len(movie)))
        except (ValueError, IndexError, struct.error) as error:
            raise self._source.damaged(str(error)) from error
        offsets = [offset for _, table in tables if table for offset in table.read(movie)]
        if offsets and all(isinstance(self._position(offset), int) for offset in offsets):
            raise self._source.damaged("its tables point to places without media")
        return tables

    def _position(self, offset: int) -> tuple[int, int] | int:
        """Return the index of a media box and the position in it, or `offset` outside of media."""
        index = bisect_right(self._media, offset, key=lambda box: box.content) - 1
        if index < 0 or offset >= self._media[index].end:
            return offset
        return index, offset - self._media[index].content

    def _fragment(self, box: Mp4Box) -> bytes:
        """Return the offsets of a fragment relative to its start, then its other content."""
        body = self._content(box)
        relative = b""
        for table in _fragment_offsets(body):
            relative += b"".join(repr(offset - box.start).encode() for offset in table.read(body))
            end = table.start + table.width
            body = body[: table.start] + bytes(table.width) + body[end:]
        return relative + body


def texts_of(item: TagItem) -> tuple[str, ...] | None:
    """Return an item's texts, `5/12` or `5` for a number, `1` or `0` for a flag, else `None`."""
    if not item.key:
        return None
    (outer,), _ = _boxes_in(item.data)
    boxes, _ = _boxes_in(item.data, outer.content, outer.end)
    values = [item.data[box.content : box.end] for box in boxes if box.kind == b"data"]
    if values and item.key in _PAIRS and len(values[0]) >= _HEADER + _PAIRS["disk"]:
        number, total = struct.unpack_from(">HH", values[0], _HEADER + 2)
        return (f"{number}/{total}" if total else str(number),)
    if values and item.key in _FLAGS:
        return ("1" if any(values[0][_HEADER:]) else "0",)
    if not values or any(value[:4] != _UTF_8 for value in values):
        return None
    return tuple(value[8:].decode("utf-8", "replace") for value in values)


def text_item(key: str, texts: tuple[str, ...]) -> TagItem:
    """Return an item with the texts. Raises `AudioError` for a number that it cannot hold."""
    if key in _PAIRS or key in _FLAGS:
        return TagItem(key, _box(key.encode("latin-1"), _box(b"data", _numbers(key, texts[0]))))
    values = b"".join(_box(b"data", _UTF_8 + _NO_LOCALE + text.encode()) for text in texts)
    if not key.startswith(_FREE_FORM):
        return TagItem(key, _box(key.encode("latin-1"), values))
    _, mean, name = key.split(":", 2)
    names = _box(b"mean", _NO_VERSION + mean.encode()) + _box(b"name", _NO_VERSION + name.encode())
    return TagItem(key, _box(_FREE_FORM.encode(), names + values))


def _numbers(key: str, text: str) -> bytes:
    """Return the content of the `data` box of a flag, or of a number with its total."""
    parts = text.split("/")
    limit = 1 if key in _FLAGS else _MAX_NUMBER
    if len(parts) > len(_PAIRS) or not all(
        part.isdecimal() and int(part) <= limit for part in parts
    ):
        raise AudioError(f"{key} in MP4 holds numbers up to {limit:,}, not {text!r}")
    numbers = [int(part) for part in parts]
    if key in _FLAGS:
        return _INTEGER + _NO_LOCALE + bytes(numbers)
    pair = struct.pack(">HHH", 0, numbers[0], numbers[1] if len(numbers) > 1 else 0)
    return _PLAIN + _NO_LOCALE + pair.ljust(_PAIRS[key], b"\0")


def _boxes_of(source: OpenFile) -> Iterator[Mp4Box]:
    at, has_movie = 0, False
    while at < source.size:
        head = source.read(at, min(_LONG_HEADER, source.size - at))
        if box := _box_header(head, at, source.size):
            yield box
            at, has_movie = box.end, has_movie or box.kind == _MOVIE
        elif (box := _box_header(head, at, _NO_LIMIT)) and box.kind == _MEDIA:
            yield box  # cut short
            return
        elif head.strip(b"\0") and (not has_movie or head[4:8] in _KNOWN_BOXES):
            raise source.damaged("a box is longer than the file")
        else:  # some programs leave zeros, another tag or line ends behind the last box
            return


def _boxes_in(body: bytes, start: int = 0, end: int | None = None) -> tuple[list[Mp4Box], int]:
    """Return the adjacent boxes from `start`, and the offset of the first byte behind them."""
    limit = len(body) if end is None else end
    boxes, at = [], start
    while at < limit:
        box = _box_header(body[at : min(at + _LONG_HEADER, limit)], at, limit)
        if box is None or body[at : at + 4] == bytes(4):
            break
        boxes.append(box)
        at = box.end
    return boxes, at


def _box_header(head: bytes, start: int, limit: int) -> Mp4Box | None:
    """Return the box whose header is at the beginning of `head` (up to 16 bytes), or `None`."""
    if len(head) < _HEADER:
        return None
    size, kind = struct.unpack(">I4s", head[:_HEADER])
    length = _HEADER
    if size == 1:
        length, size = _LONG_HEADER, int.from_bytes(head[_HEADER:_LONG_HEADER], "big")
        if len(head) < length:
            return None
    elif size == 0:  # the box extends to the end of its parent
        size = limit - start
    if size < length or start + size > limit:
        return None
    return Mp4Box(kind, start, start + length, start + size)


def _first(boxes: list[Mp4Box], kind: bytes) -> Mp4Box | None:
    return next((box for box in boxes if box.kind == kind), None)


def _box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content) + _HEADER, kind) + content


_HANDLER = _box(b"hdlr", bytes(8) + b"mdirappl" + bytes(9))


def _items_in(movie: bytes) -> tuple[TagItem, ...]:
    """Return the items in the content of `moov`; bytes that are not a box have no key."""
    body = movie
    for kind in (_USER, _META, _ITEMS):
        start = _start_of_meta(body) if kind == _ITEMS else 0
        box = _first(_boxes_in(body, start)[0], kind)
        if box is None:
            return ()
        body = body[box.content : box.end]
    boxes, end = _boxes_in(body)
    items = [TagItem(_key(body, box), body[box.start : box.end]) for box in boxes]
    return (*items, TagItem("", body[end:])) if body[end:] else tuple(items)


def _key(body: bytes, item: Mp4Box) -> str:
    if item.kind != _FREE_FORM.encode():
        return item.kind.decode("latin-1")
    content = body[item.content : item.end]
    names = {box.kind: content[box.content + 4 : box.end] for box in _boxes_in(content)[0]}
    words = (names.get(kind, b"").decode("utf-8", "replace") for kind in (b"mean", b"name"))
    return ":".join((_FREE_FORM, *words))


def _with_items(movie: bytes, items: tuple[TagItem, ...]) -> bytes:
    """Return the content of `moov` with other items, of the same length if they fit."""
    boxes, _ = _boxes_in(movie)
    user, movie_meta = _first(boxes, _USER), _first(boxes, _META)
    is_first = user and movie_meta and movie_meta.start < user.start
    if movie_meta and is_first and not _start_of_meta(movie[movie_meta.content : movie_meta.end]):
        raise AudioError("QuickTime's meta box before its udta box hides the tags from others")
    old_user = movie[user.content : user.end] if user else b""
    meta = _first(_boxes_in(old_user)[0], _META)
    # mutagen needs version and flags, which Apple's own `meta` lacks; ffmpeg needs a handler.
    old_meta = old_user[meta.content : meta.end] if meta else b""
    old_meta = _NO_VERSION[_start_of_meta(old_meta) :] + old_meta
    if not _first(_boxes_in(old_meta, len(_NO_VERSION))[0], b"hdlr"):
        old_meta = old_meta[: len(_NO_VERSION)] + _HANDLER + old_meta[len(_NO_VERSION) :]
    encoded = b"".join(item.data for item in sorted(items, key=lambda item: not item.key))
    new_meta = _box(_META, _with_item_box(old_meta, _box(_ITEMS, encoded)))
    new_user = _box(_USER, _with_box(old_user, meta, new_meta))
    if user is None and movie_meta:
        return movie[: movie_meta.start] + new_user + movie[movie_meta.start :]
    return _with_box(movie, user, new_user)


def _metas_below(body: bytes, start: int, end: int) -> Iterator[bytes]:
    """Yield the contents of the `meta` boxes of the movie, its tracks and its user data."""
    for box in _boxes_in(body, start, end)[0]:
        if box.kind == _META:
            yield body[box.content : box.end]
        elif box.kind in (_USER, _TRACK):
            yield from _metas_below(body, box.content, box.end)


def _with_item_box(meta: bytes, items: bytes) -> bytes:
    """Return the content of `meta` with another `ilst`, using or creating free space behind it."""
    boxes, end_of_boxes = _boxes_in(meta, _start_of_meta(meta))
    old, free = _first(boxes, _ITEMS), _first(boxes, _FREE)
    start, end = (old.start, old.end) if old else (end_of_boxes, end_of_boxes)
    if old and free and free.start == end:
        end = free.end
    spare = end - start - len(items)
    if spare < 0 or 0 < spare < _HEADER:
        spare = _PADDING
    padding = _box(_FREE, bytes(spare - _HEADER)) if spare else b""
    return meta[:start] + items + padding + meta[end:]


def _with_box(body: bytes, old: Mp4Box | None, new: bytes) -> bytes:
    """Return the content with the box `old` replaced, or a box added behind the other boxes."""
    start = old.start if old else _boxes_in(body)[1]
    return body[:start] + new + body[old.end if old else start :]


def _start_of_meta(meta: bytes) -> int:
    """Return where the boxes in `meta` begin: behind version and flags, which QuickTime omits."""
    is_short = meta[4:8] in (b"hdlr", b"keys", _ITEMS) and any(meta[:4])
    return 0 if is_short or len(meta) < len(_NO_VERSION) else len(_NO_VERSION)


def _first_offset(index: bytes) -> tuple[int, int]:
    """Return the position and width of the first offset in the content of a `sidx` box."""
    width = 8 if index[:1] == b"\1" else 4
    return 12 + width, width


def _without_times(kind: bytes, content: bytes) -> bytes:
    """Return the content of a box of the movie without its creation and modification times."""
    if kind not in _TIMED:
        return content
    return content[:4] + content[20 if content[:1] == b"\1" else 12 :]


def _tables_below(body: bytes, start: int, end: int) -> Iterator[tuple[Mp4Box, OffsetTable | None]]:
    """Yield the boxes that affect the audio, with the contents of tracks, and their offsets."""
    for box in _boxes_in(body, start, end)[0]:
        if box.kind in _NOT_AUDIO:
            continue
        if box.kind in _TRACK_BOXES:
            yield Mp4Box(box.kind, box.start, box.end, box.end), None
            yield from _tables_below(body, box.content, box.end)
        elif width := _OFFSET_TABLES.get(box.kind):
            (count,) = struct.unpack_from(">I", body, box.content + 4)
            if box.content + 8 + width * count > box.end:
                raise ValueError("a table of chunks is longer than its box")
            yield box, OffsetTable(box.content + 8, width, count, width)
        else:
            yield box, None


def _fragment_offsets(moof: bytes) -> Iterator[OffsetTable]:
    """Yield the base offsets of the tracks in the content of a `moof` box."""
    for track in _boxes_in(moof)[0]:
        if track.kind != b"traf":
            continue
        for box in _boxes_in(moof, track.content, track.end)[0]:
            flags = int.from_bytes(moof[box.content + 1 : box.content + 4], "big")
            has_base = box.kind == b"tfhd" and flags & _BASE_OFFSET_PRESENT
            if has_base and box.content + 16 <= box.end:
                yield OffsetTable(box.content + 8, 8, 1, 8)


def _index_offsets(mfra: bytes) -> Iterator[OffsetTable]:
    for box in _boxes_in(mfra)[0]:
        if box.kind != b"tfra":
            continue
        lengths, count = struct.unpack_from(">II", mfra, box.content + 8)
        numbers = sum((lengths >> shift & 3) + 1 for shift in (4, 2, 0))
        width = 8 if mfra[box.content] == 1 else 4
        table = OffsetTable(box.content + 16 + width, width, count, 2 * width + numbers)
        if table.start + table.step * count > box.end + table.step:
            raise ValueError("an index of fragments is longer than its box")
        yield table
