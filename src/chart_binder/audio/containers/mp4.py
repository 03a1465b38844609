"""MP4 files (M4A, ALAC): items deep in the `moov` box, which may stand before or behind the audio.

Where `moov` stands before the audio and changes its size, every offset in the tables of samples,
fragments and their index has to follow.

Format: ISO/IEC 14496-12; the items are Apple's (QuickTime File Format, metadata).
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.file_access import ByteSpan, OpenFile, Piece
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.errors import AudioError

FIRST_BOXES = frozenset({b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot"})

_PADDING = 1024  # room left behind items that had to grow

_HEADER, _LONG_HEADER, _NO_LIMIT = 8, 16, 1 << 64
_MOVIE, _MEDIA, _FRAGMENT, _INDEX, _SEGMENT_INDEX = b"moov", b"mdat", b"moof", b"mfra", b"sidx"
_USER, _META, _ITEMS, _FREE = b"udta", b"meta", b"ilst", b"free"
_TRACK, _HANDLER_BOX, _SOUND = b"trak", b"hdlr", b"soun"
_OF_TRACKS = frozenset({_TRACK, b"mdia", b"minf", b"stbl"})
_UNHEARD = frozenset({_USER, _META, _FREE, b"skip", b"wide", b"uuid"})
"""Boxes of the movie that other programs put tags in, or leave room with."""

_TIMED = frozenset({b"mvhd", b"tkhd", b"mdhd"})  # they begin with when they were made and changed
_KNOWN_BOXES = FIRST_BOXES | {_FRAGMENT, _INDEX, _SEGMENT_INDEX, _META, _USER, b"styp", b"uuid"}
_OFFSET_TABLES = {b"stco": 4, b"co64": 8}
_BASE_OFFSET_PRESENT = 1  # a flag of `tfhd`

_FREE_FORM = "----"
_UTF_8, _NO_LOCALE, _NO_VERSION = b"\0\0\0\1", bytes(4), bytes(4)
_PLAIN, _INTEGER = bytes(4), b"\0\0\0\x15"
_PAIRS = {"trkn": 8, "disk": 6}
"""Items that hold a number and a total of two bytes each, after two zeros; with their lengths."""
_FLAGS = frozenset({"cpil"})
_MAX_NUMBER = 0xFFFF


@dataclass(frozen=True, slots=True)
class Mp4Box:
    """The place of a box: from its header at `start`, with its content, up to `end`."""

    kind: bytes
    start: int
    content: int
    end: int


@dataclass(frozen=True, slots=True)
class OffsetTable:
    """Offsets in the file that stand in a body: the first, how wide, how many, how far apart."""

    start: int
    width: int
    count: int
    step: int

    def read(self, body: bytes) -> list[int]:
        """Return the offsets in a body."""
        span = range(self.start, self.start + self.step * self.count, self.step)
        return [int.from_bytes(body[at : at + self.width], "big") for at in span]


class Mp4Layout:
    """An MP4 file: its boxes, `moov` among them, whose content is `movie`."""

    written = ("mp4",)

    def __init__(self, source: OpenFile) -> None:
        self._source = source
        self._boxes = tuple(_boxes_of(source))
        movies = [each for each in self._boxes if each.kind == _MOVIE]
        if not movies:
            raise source.damaged("it has no moov box")
        self._moov = movies[0]
        self._movie = self._content(self._moov)
        self._media = [each for each in self._boxes if each.kind == _MEDIA]

    def _require_media(self) -> None:
        """Raise `AudioError` unless one movie says where all the media are, and they are there."""
        if sum(each.kind == _MOVIE for each in self._boxes) > 1:
            raise self._source.damaged("it has more than one moov box")
        if self._boxes[-1].end > self._source.size:
            raise self._source.damaged(
                f"its media should end at byte {self._boxes[-1].end:,}, and the file has"
                f" {self._source.size:,}"
            )
        if not any(each.end > each.content for each in self._media):
            raise self._source.damaged("it has no media: its mdat box is empty, or not there")
        tables = self._tables(self._movie)  # are they where it says
        kinds = (each.content + 8 for each, _ in tables if each.kind == _HANDLER_BOX)
        if not any(self._movie.startswith(_SOUND, at) for at in kinds):
            raise self._source.damaged("it has no sound: none of its tracks is of that kind")

    @property
    def tags(self) -> TagSet:
        """The items, if there are any."""
        items = _items_in(self._movie)
        return TagSet("mp4", (TagBlock("mp4", items),) if items else ())

    def audio(self) -> Iterator[Piece]:
        """Yield all of the movie but tags, an offset as the place it points at, and all media.

        The index of segments has no first offset here: other programs do not let it follow.
        """
        self._require_media()
        is_outside = False
        for table, offsets in self._tables(self._movie):
            yield table.kind
            if offsets is None:
                yield _without_times(table.kind, self._movie[table.content : table.end])
                continue
            places = [self._place(at) for at in offsets.read(self._movie)]
            is_outside |= any(isinstance(each, int) for each in places)
            yield from (repr(each).encode() for each in places)
        yield from (self._fragment(each) for each in self._boxes if each.kind == _FRAGMENT)
        for each in self._boxes:
            if each.kind == _SEGMENT_INDEX:
                body = self._content(each)
                at, width = _first_offset(body)
                yield body[:at] + body[at + width :]
        if is_outside:
            end = self._boxes[-1].end
            yield ByteSpan(end, self._source.size - end)
        for each in self._media:
            yield struct.pack(">Q", each.end - each.content)
            yield ByteSpan(each.content, each.end - each.content)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with other items; where `moov` comes first, all offsets follow it."""
        self._require_media()
        block = tags.block("mp4")
        movie = _with_items(self._movie, block.items if block else ())
        shift = len(movie) + _HEADER - (self._moov.end - self._moov.start)
        if not shift or self._moov == self._boxes[-1]:
            shift = 0
        else:
            movie = self._shifted(movie, self._movable_offsets(movie), shift)
        pieces: list[Piece] = []
        for each in self._boxes:
            pieces += [_box(_MOVIE, movie)] if each == self._moov else self._moved(each, shift)
        end = self._boxes[-1].end
        return [*pieces, ByteSpan(end, self._source.size - end)]

    def _movable_offsets(self, movie: bytes) -> list[OffsetTable]:
        """Return the offsets in `moov`; raise `AudioError` if there are others than can follow."""
        tables = self._tables(movie)
        fragments = [each for each in self._boxes if each.kind == _FRAGMENT]
        if any(each.kind == b"saio" for each, _ in tables):
            raise AudioError("its samples are encrypted: where they stand must not change")
        metas = [self._content(each) for each in self._boxes if each.kind == _META]
        metas += _metas_below(movie, 0, len(movie))
        if any(_first(_boxes_in(meta, _start_of_meta(meta))[0], b"iloc") for meta in metas):
            raise AudioError("it has items by their place in the file (iloc): they must not move")
        if any(each.start < self._moov.start for each in fragments):
            raise AudioError("fragments stand before its moov box, which must not change its size")
        offsets = [each for _, each in tables if each]
        if not offsets and not fragments:
            raise AudioError("it has no table that says where its samples are")
        return offsets

    def _content(self, each: Mp4Box) -> bytes:
        return self._source.read(each.content, each.end - each.content)

    def _moved(self, each: Mp4Box, shift: int) -> list[Piece]:
        if not shift or each.kind not in (_FRAGMENT, _INDEX, _SEGMENT_INDEX):
            return [ByteSpan(each.start, each.end - each.start)]
        body = self._content(each)
        head = ByteSpan(each.start, each.content - each.start)
        if each.kind == _SEGMENT_INDEX:
            return [head, self._shifted_index(each, body, shift)]
        offsets = _fragment_offsets(body) if each.kind == _FRAGMENT else _index_offsets(body)
        return [head, self._shifted(body, offsets, shift)]

    def _shifted_index(self, box: Mp4Box, body: bytes, shift: int) -> bytes:
        """Return a segment index; its first offset counts from its end, maybe across `moov`."""
        at, width = _first_offset(body)
        try:
            (count,) = struct.unpack_from(">H", body, at + width + 2)
            sizes = [
                struct.unpack_from(">I", body, at + width + 4 + 12 * number)[0] & 0x7FFFFFFF
                for number in range(count)
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

    def _shifted(self, body: bytes, offsets: Iterable[OffsetTable], shift: int) -> bytes:
        """Return the content with every offset that points behind `moov` moved by `shift`."""
        moved = bytearray(body)
        try:
            for each in offsets:
                for index, offset in enumerate(each.read(body)):
                    if self._moov.start < offset < self._moov.end:
                        raise self._source.damaged("a sample stands within its moov box")
                    if offset >= self._moov.end:
                        start = each.start + each.step * index
                        new = (offset + shift).to_bytes(each.width, "big")
                        moved[start : start + each.width] = new
        except OverflowError as error:
            raise AudioError(
                "its samples would stand further than its tables can say (4 GiB)"
            ) from error
        except (ValueError, IndexError, struct.error) as error:
            raise self._source.damaged(str(error)) from error
        return bytes(moved)

    def _tables(self, movie: bytes) -> list[tuple[Mp4Box, OffsetTable | None]]:
        """Return every box of the movie that is heard, with its offsets if it has any."""
        try:
            tables = list(_tables_below(movie, 0, len(movie)))
        except (ValueError, IndexError, struct.error) as error:
            raise self._source.damaged(str(error)) from error
        chunks = [at for _, offsets in tables if offsets for at in offsets.read(movie)]
        if chunks and all(isinstance(self._place(at), int) for at in chunks):
            raise self._source.damaged("its media are not where its tables say")
        return tables

    def _place(self, offset: int) -> tuple[int, int] | int:
        """Return which media box an offset points into, and where in it; itself if into none."""
        number = bisect_right(self._media, offset, key=lambda each: each.content) - 1
        if number < 0 or offset >= self._media[number].end:
            return offset
        return number, offset - self._media[number].content

    def _fragment(self, each: Mp4Box) -> bytes:
        """Return a fragment with its offsets relative to its start, before the rest of it."""
        body = self._content(each)
        pointed = b""
        for offsets in _fragment_offsets(body):
            pointed += b"".join(repr(at - each.start).encode() for at in offsets.read(body))
            end = offsets.start + offsets.width
            body = body[: offsets.start] + bytes(offsets.width) + body[end:]
        return pointed + body


def texts_of(item: TagItem) -> tuple[str, ...] | None:
    """Return the texts of an item, of a number `5/12` or `5`, of a flag `1` or `0`; else `None`."""
    if not item.key:
        return None
    (whole,), _ = _boxes_in(item.data)
    parts, _ = _boxes_in(item.data, whole.content, whole.end)
    values = [item.data[each.content : each.end] for each in parts if each.kind == b"data"]
    if values and item.key in _PAIRS and len(values[0]) >= _HEADER + _PAIRS["disk"]:
        number, total = struct.unpack_from(">HH", values[0], _HEADER + 2)
        return (f"{number}/{total}" if total else str(number),)
    if values and item.key in _FLAGS:
        return ("1" if any(values[0][_HEADER:]) else "0",)
    if not values or any(value[:4] != _UTF_8 for value in values):
        return None
    return tuple(value[8:].decode("utf-8", "replace") for value in values)


def text_item(key: str, texts: tuple[str, ...]) -> TagItem:
    """Return an item that holds the texts; raise `AudioError` for a number that it cannot hold."""
    if key in _PAIRS or key in _FLAGS:
        return TagItem(key, _box(key.encode("latin-1"), _box(b"data", _numbers(key, texts[0]))))
    values = b"".join(_box(b"data", _UTF_8 + _NO_LOCALE + text.encode()) for text in texts)
    if not key.startswith(_FREE_FORM):
        return TagItem(key, _box(key.encode("latin-1"), values))
    _, mean, name = key.split(":", 2)
    named = _box(b"mean", _NO_VERSION + mean.encode()) + _box(b"name", _NO_VERSION + name.encode())
    return TagItem(key, _box(_FREE_FORM.encode(), named + values))


def _numbers(key: str, text: str) -> bytes:
    """Return the content of the `data` box of a flag, or of a number with its total."""
    parts = text.split("/")
    most = 1 if key in _FLAGS else _MAX_NUMBER
    if len(parts) > len(_PAIRS) or not all(one.isdecimal() and int(one) <= most for one in parts):
        raise AudioError(f"{key} in MP4 holds numbers up to {most:,}, not {text!r}")
    numbers = [int(one) for one in parts]
    if key in _FLAGS:
        return _INTEGER + _NO_LOCALE + bytes(numbers)
    pair = struct.pack(">HHH", 0, numbers[0], numbers[1] if len(numbers) > 1 else 0)
    return _PLAIN + _NO_LOCALE + pair.ljust(_PAIRS[key], b"\0")


def _boxes_of(source: OpenFile) -> Iterator[Mp4Box]:
    at, has_movie = 0, False
    while at < source.size:
        head = source.read(at, min(_LONG_HEADER, source.size - at))
        if each := _box_header(head, at, source.size):
            yield each
            at, has_movie = each.end, has_movie or each.kind == _MOVIE
        elif (each := _box_header(head, at, _NO_LIMIT)) and each.kind == _MEDIA:
            yield each  # cut short
            return
        elif head.strip(b"\0") and (not has_movie or head[4:8] in _KNOWN_BOXES):
            raise source.damaged("a box is longer than the file")
        else:  # zeros, another tag or line ends behind the last box, which some programs leave
            return


def _boxes_in(body: bytes, start: int = 0, end: int | None = None) -> tuple[list[Mp4Box], int]:
    """Return the boxes that stand side by side, and where what is no box begins."""
    limit = len(body) if end is None else end
    found, at = [], start
    while at < limit:
        each = _box_header(body[at : min(at + _LONG_HEADER, limit)], at, limit)
        if each is None or body[at : at + 4] == bytes(4):
            break
        found.append(each)
        at = each.end
    return found, at


def _box_header(head: bytes, start: int, limit: int) -> Mp4Box | None:
    """Return the box whose header `head` begins with (16 bytes, if there), or `None`."""
    if len(head) < _HEADER:
        return None
    size, kind = struct.unpack(">I4s", head[:_HEADER])
    length = _HEADER
    if size == 1:
        length, size = _LONG_HEADER, int.from_bytes(head[_HEADER:_LONG_HEADER], "big")
        if len(head) < length:
            return None
    elif size == 0:  # up to the end of what it stands in
        size = limit - start
    if size < length or start + size > limit:
        return None
    return Mp4Box(kind, start, start + length, start + size)


def _first(boxes: list[Mp4Box], kind: bytes) -> Mp4Box | None:
    return next((each for each in boxes if each.kind == kind), None)


def _box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content) + _HEADER, kind) + content


_HANDLER = _box(b"hdlr", bytes(8) + b"mdirappl" + bytes(9))


def _items_in(movie: bytes) -> tuple[TagItem, ...]:
    """Return the items in the content of `moov`; what is no box has no key."""
    body = movie
    for kind in (_USER, _META, _ITEMS):
        start = _start_of_meta(body) if kind == _ITEMS else 0
        found = _first(_boxes_in(body, start)[0], kind)
        if found is None:
            return ()
        body = body[found.content : found.end]
    boxes, end = _boxes_in(body)
    items = [TagItem(_key(body, each), body[each.start : each.end]) for each in boxes]
    return (*items, TagItem("", body[end:])) if body[end:] else tuple(items)


def _key(body: bytes, item: Mp4Box) -> str:
    if item.kind != _FREE_FORM.encode():
        return item.kind.decode("latin-1")
    content = body[item.content : item.end]
    named = {each.kind: content[each.content + 4 : each.end] for each in _boxes_in(content)[0]}
    words = (named.get(kind, b"").decode("utf-8", "replace") for kind in (b"mean", b"name"))
    return ":".join((_FREE_FORM, *words))


def _with_items(movie: bytes, items: tuple[TagItem, ...]) -> bytes:
    """Return the content of `moov` with these items instead, as long as before where they fit."""
    boxes, _ = _boxes_in(movie)
    user, movie_meta = _first(boxes, _USER), _first(boxes, _META)
    if user and movie_meta and movie_meta.start < user.start and _is_short(movie, movie_meta):
        raise AudioError("QuickTime's meta box before its udta box hides the tags from others")
    old_user = movie[user.content : user.end] if user else b""
    meta = _first(_boxes_in(old_user)[0], _META)
    # Version and flags come first, which Apple's own `meta` does not have and mutagen needs; and
    # ffmpeg needs a handler.
    old_meta = old_user[meta.content : meta.end] if meta else b""
    old_meta = _NO_VERSION[_start_of_meta(old_meta) :] + old_meta
    if not _first(_boxes_in(old_meta, len(_NO_VERSION))[0], b"hdlr"):
        old_meta = old_meta[: len(_NO_VERSION)] + _HANDLER + old_meta[len(_NO_VERSION) :]
    written = b"".join(item.data for item in sorted(items, key=lambda item: not item.key))
    new_meta = _box(_META, _with_item_box(old_meta, _box(_ITEMS, written)))
    new_user = _box(_USER, _put(old_user, meta, new_meta))
    if user is None and movie_meta:
        return movie[: movie_meta.start] + new_user + movie[movie_meta.start :]
    return _put(movie, user, new_user)


def _metas_below(body: bytes, start: int, end: int) -> Iterator[bytes]:
    """Yield the contents of the `meta` boxes of the movie, its tracks and what users added."""
    for each in _boxes_in(body, start, end)[0]:
        if each.kind == _META:
            yield body[each.content : each.end]
        elif each.kind in (_USER, _TRACK):
            yield from _metas_below(body, each.content, each.end)


def _is_short(movie: bytes, meta: Mp4Box) -> bool:
    """Say whether a `meta` box is QuickTime's, without version and flags."""
    return not _start_of_meta(movie[meta.content : meta.end])


def _with_item_box(meta: bytes, items: bytes) -> bytes:
    """Return the content of `meta` with another `ilst`, the room behind it used or left."""
    inside, behind = _boxes_in(meta, _start_of_meta(meta))
    old, free = _first(inside, _ITEMS), _first(inside, _FREE)
    start, end = (old.start, old.end) if old else (behind, behind)
    if old and free and free.start == end:
        end = free.end
    left = end - start - len(items)
    if left < 0 or 0 < left < _HEADER:
        left = _PADDING
    room = _box(_FREE, bytes(left - _HEADER)) if left else b""
    return meta[:start] + items + room + meta[end:]


def _put(body: bytes, old: Mp4Box | None, new: bytes) -> bytes:
    """Return the content with a box replaced, or added before what is no box."""
    start = old.start if old else _boxes_in(body)[1]
    return body[:start] + new + body[old.end if old else start :]


def _start_of_meta(meta: bytes) -> int:
    """Return where its boxes begin: behind version and flags, unless QuickTime left them out."""
    is_short = meta[4:8] in (b"hdlr", b"keys", _ITEMS) and any(meta[:4])
    return 0 if is_short or len(meta) < len(_NO_VERSION) else len(_NO_VERSION)


def _first_offset(index: bytes) -> tuple[int, int]:
    """Return where the first offset stands in the content of a `sidx` box, and how wide it is."""
    width = 8 if index[:1] == b"\1" else 4
    return 12 + width, width


def _without_times(kind: bytes, content: bytes) -> bytes:
    """Return the content of a box of the movie without when it was made and changed."""
    if kind not in _TIMED:
        return content
    return content[:4] + content[20 if content[:1] == b"\1" else 12 :]


def _tables_below(body: bytes, start: int, end: int) -> Iterator[tuple[Mp4Box, OffsetTable | None]]:
    """Yield the boxes that are heard, of tracks what is in them."""
    for each in _boxes_in(body, start, end)[0]:
        if each.kind in _UNHEARD:
            continue
        if each.kind in _OF_TRACKS:
            yield Mp4Box(each.kind, each.start, each.end, each.end), None
            yield from _tables_below(body, each.content, each.end)
        elif width := _OFFSET_TABLES.get(each.kind):
            (count,) = struct.unpack_from(">I", body, each.content + 4)
            if each.content + 8 + width * count > each.end:
                raise ValueError("a table of chunks is longer than its box")
            yield each, OffsetTable(each.content + 8, width, count, width)
        else:
            yield each, None


def _fragment_offsets(moof: bytes) -> Iterator[OffsetTable]:
    """Yield the offsets in the content of a `moof` box that its tracks count from."""
    for track in _boxes_in(moof)[0]:
        if track.kind != b"traf":
            continue
        for each in _boxes_in(moof, track.content, track.end)[0]:
            flags = int.from_bytes(moof[each.content + 1 : each.content + 4], "big")
            has_base = each.kind == b"tfhd" and flags & _BASE_OFFSET_PRESENT
            if has_base and each.content + 16 <= each.end:
                yield OffsetTable(each.content + 8, 8, 1, 8)


def _index_offsets(mfra: bytes) -> Iterator[OffsetTable]:
    for each in _boxes_in(mfra)[0]:
        if each.kind != b"tfra":
            continue
        lengths, count = struct.unpack_from(">II", mfra, each.content + 8)
        numbers = sum((lengths >> shift & 3) + 1 for shift in (4, 2, 0))
        width = 8 if mfra[each.content] == 1 else 4
        offsets = OffsetTable(each.content + 16 + width, width, count, 2 * width + numbers)
        if offsets.start + offsets.step * count > each.end + offsets.step:
            raise ValueError("an index of fragments is longer than its box")
        yield offsets
