"""MP4 files (M4A, ALAC): items deep in the `moov` box, which may stand before or behind the audio.

Format: ISO/IEC 14496-12; the items are Apple's.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.file_access import Piece, Source, Span
from chart_binder.audio.tagset import Block, Item, TagSet
from chart_binder.errors import AudioError

HEADER, LONG_HEADER = 8, 16


@dataclass(frozen=True, slots=True)
class Box:
    """Where a box stands: from its header at `start`, with its content up to `end`."""

    kind: bytes
    start: int
    content: int
    end: int


def box_header(head: bytes, start: int, limit: int) -> Box | None:
    """Return the box whose header `head` begins with (16 bytes, if there), or nothing."""
    if len(head) < HEADER:
        return None
    size, kind = struct.unpack(">I4s", head[:HEADER])
    length = HEADER
    if size == 1:
        length, size = LONG_HEADER, int.from_bytes(head[HEADER:LONG_HEADER], "big")
        if len(head) < length:
            return None
    elif size == 0:  # up to the end of what it stands in
        size = limit - start
    if size < length or start + size > limit:
        return None
    return Box(kind, start, start + length, start + size)


def boxes_in(body: bytes, start: int = 0, end: int | None = None) -> tuple[list[Box], int]:
    """Return the boxes that stand side by side, and where what is no box begins."""
    limit = len(body) if end is None else end
    found, at = [], start
    while at < limit:
        each = box_header(body[at : min(at + LONG_HEADER, limit)], at, limit)
        if each is None or body[at : at + 4] == bytes(4):
            break
        found.append(each)
        at = each.end
    return found, at


def box(kind: bytes, content: bytes) -> bytes:
    """Return a box of this kind."""
    return struct.pack(">I4s", len(content) + 8, kind) + content


FREE = "----"
_UTF_8 = b"\0\0\0\1"
_NO_LOCALE = bytes(4)


def read_items(body: bytes) -> tuple[Item, ...]:
    """Return the items in the content of an `ilst` box; what is no box has no key."""
    found, end = boxes_in(body)
    items = [Item(_key(body, each), body[each.start : each.end]) for each in found]
    return (*items, Item("", body[end:])) if body[end:] else tuple(items)


def written_items(items: tuple[Item, ...]) -> bytes:
    """Return the content of the `ilst` box."""
    return b"".join(item.data for item in sorted(items, key=lambda item: not item.key))


def texts_of(item: Item) -> tuple[str, ...] | None:
    """Return the texts of an item, or nothing if it holds something else."""
    if not item.key:
        return None
    (whole,), _ = boxes_in(item.data)
    content = item.data[whole.content : whole.end]
    values = [content[each.content : each.end] for each in boxes_in(content)[0]
              if each.kind == b"data"]  # fmt: skip
    if not values or any(value[:4] != _UTF_8 for value in values):
        return None
    return tuple(value[8:].decode("utf-8", "replace") for value in values)


def text_item(key: str, texts: tuple[str, ...]) -> Item:
    """Return an item that says the texts; its key has four letters or begins with `----:`."""
    values = b"".join(box(b"data", _UTF_8 + _NO_LOCALE + text.encode()) for text in texts)
    if not key.startswith(FREE):
        return Item(key, box(key.encode("latin-1"), values))
    _, mean, name = key.split(":", 2)
    named = box(b"mean", bytes(4) + mean.encode()) + box(b"name", bytes(4) + name.encode())
    return Item(key, box(FREE.encode(), named + values))


def _key(body: bytes, item: Box) -> str:
    if item.kind != FREE.encode():
        return item.kind.decode("latin-1")
    content = body[item.content : item.end]
    named = {each.kind: content[each.content + 4 : each.end] for each in boxes_in(content)[0]}
    words = (named.get(kind, b"").decode("utf-8", "replace") for kind in (b"mean", b"name"))
    return ":".join((FREE, *words))


PADDING = 1024
"""Room left behind items that had to grow."""

_USER, _META, _ITEMS, _FREE = b"udta", b"meta", b"ilst", b"free"
_FULL = bytes(4)  # version and flags, which Apple's own `meta` does not have
_HANDLER = box(b"hdlr", bytes(8) + b"mdirappl" + bytes(9))


def items_in(movie: bytes) -> tuple[Item, ...]:
    """Return the items; none where there is no place for them."""
    body = movie
    for kind in (_USER, _META, _ITEMS):
        start = _start_of_meta(body) if kind == _ITEMS else 0
        found = _first(boxes_in(body, start)[0], kind)
        if found is None:
            return ()
        body = body[found.content : found.end]
    return read_items(body)


def with_items(movie: bytes, items: tuple[Item, ...]) -> bytes:
    """Return the content of `moov` with these items instead, as long as before where they fit."""
    user = _first(boxes_in(movie)[0], _USER)
    old_user = movie[user.content : user.end] if user else b""
    meta = _first(boxes_in(old_user)[0], _META)
    old_meta = old_user[meta.content : meta.end] if meta else _FULL + _HANDLER
    new_meta = box(_META, _with_items(old_meta, box(_ITEMS, written_items(items))))
    return _put(movie, user, box(_USER, _put(old_user, meta, new_meta)))


def _with_items(meta: bytes, items: bytes) -> bytes:
    """Return the content of `meta` with another `ilst`, the room behind it used or left."""
    inside, _ = boxes_in(meta, _start_of_meta(meta))
    old = _first(inside, _ITEMS)
    start = old.start if old else len(meta)
    end = old.end if old else start
    if old and (free := _first(inside, _FREE)) and free.start == old.end:
        end = free.end
    left = end - start - len(items)
    if left < 0 or 0 < left < len(box(_FREE, b"")):
        left = PADDING
    room = box(_FREE, bytes(left - 8)) if left else b""
    return meta[:start] + items + room + meta[end:]


def _put(body: bytes, old: Box | None, new: bytes) -> bytes:
    """Return the content with a box replaced, or added before what is no box."""
    if old:
        return body[: old.start] + new + body[old.end :]
    end = boxes_in(body)[1]
    return body[:end] + new + body[end:]


def _first(boxes: list[Box], kind: bytes) -> Box | None:
    return next((each for each in boxes if each.kind == kind), None)


def _start_of_meta(meta: bytes) -> int:
    """Return where its boxes begin: behind version and flags, unless QuickTime left them out."""
    return 0 if meta[4:8] in (b"hdlr", b"keys", _ITEMS) and any(meta[:4]) else len(_FULL)


_TO_CHUNKS = (b"trak", b"mdia", b"minf", b"stbl")
_SIZES = {b"stco": 4, b"co64": 8}
_BASE_IS_GIVEN = 1


@dataclass(frozen=True, slots=True)
class Places:
    """Numbers in a box that are places in the file: where the first stands, how wide, how many."""

    start: int
    width: int
    count: int
    step: int

    def read(self, body: bytes) -> list[int]:
        """Return the places."""
        span = range(self.start, self.start + self.step * self.count, self.step)
        return [int.from_bytes(body[at : at + self.width], "big") for at in span]


def tables_in(moov: bytes, start: int = 0) -> Iterator[tuple[Box, Places | None]]:
    """Yield every table of samples in the content of a `moov` box, with its places if it has any.

    They come track by track. Raises `ValueError` for a table longer than its box.
    """
    yield from _below(moov, start, len(moov), _TO_CHUNKS)


def _below(
    body: bytes, start: int, end: int, path: tuple[bytes, ...]
) -> Iterator[tuple[Box, Places | None]]:
    for each in boxes_in(body, start, end)[0]:
        if path and each.kind == path[0]:
            yield from _below(body, each.content, each.end, path[1:])
        elif not path:
            yield each, _chunk_places(body, each)


def _chunk_places(body: bytes, table: Box) -> Places | None:
    width = _SIZES.get(table.kind)
    if width is None:
        return None
    (count,) = struct.unpack_from(">I", body, table.content + 4)
    places = Places(table.content + 8, width, count, width)
    if places.start + width * count > table.end:
        raise ValueError("a table of chunks is longer than its box")
    return places


def fragment_places(moof: bytes) -> Iterator[Places]:
    """Yield the places in the content of a `moof` box: what its tracks count from."""
    for track in boxes_in(moof)[0]:
        if track.kind != b"traf":
            continue
        for each in boxes_in(moof, track.content, track.end)[0]:
            flags = int.from_bytes(moof[each.content + 1 : each.content + 4], "big")
            if each.kind == b"tfhd" and flags & _BASE_IS_GIVEN and each.content + 16 <= each.end:
                yield Places(each.content + 8, 8, 1, 8)


def index_places(mfra: bytes) -> Iterator[Places]:
    """Yield the places in the content of an `mfra` box: where the fragments stand."""
    for each in boxes_in(mfra)[0]:
        if each.kind != b"tfra":
            continue
        wide = mfra[each.content] == 1
        lengths, count = struct.unpack_from(">II", mfra, each.content + 8)
        numbers = sum((lengths >> shift & 3) + 1 for shift in (4, 2, 0))
        width = 8 if wide else 4
        places = Places(each.content + 16 + width, width, count, 2 * width + numbers)
        if places.start + places.step * count > each.end + places.step:
            raise ValueError("an index of fragments is longer than its box")
        yield places


def shifted(body: bytes, places: Iterator[Places], since: int, shift: int) -> bytes:
    """Return the bytes with every place from `since` on moved by `shift`; raise `AudioError`."""
    moved = bytearray(body)
    for each in places:
        for at, place in enumerate(each.read(body)):
            if place < since:
                continue
            start = each.start + each.step * at
            try:
                moved[start : start + each.width] = (place + shift).to_bytes(each.width, "big")
            except OverflowError as error:
                raise AudioError(
                    "its samples would stand further than its tables can say (4 GiB)"
                ) from error
    return bytes(moved)


KINDS = frozenset({b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot"})
"""The boxes that such a file may begin with."""

_FRAGMENT, _INDEX, _MEDIA, _MOVIE = b"moof", b"mfra", b"mdat", b"moov"


@dataclass(frozen=True, slots=True)
class MP4:
    """The boxes of the file, `moov` among them."""

    source: Source
    boxes: tuple[Box, ...]
    moov: Box
    movie: bytes

    @classmethod
    def of(cls, source: Source) -> "MP4":
        """Take an MP4 file apart."""
        boxes = tuple(_boxes(source))
        movies = [each for each in boxes if each.kind == _MOVIE]
        if len(movies) != 1:
            raise source.damaged(f"it has {len(movies) or 'no'} moov box{'es' * bool(movies)}")
        (moov,) = movies
        return cls(source, boxes, moov, source.at(moov.content, moov.end - moov.content))

    @property
    def tags(self) -> TagSet:
        """The items, if there are any."""
        items = items_in(self.movie)
        return TagSet("mp4", (Block("mp4", items),) if items else ())

    def audio(self) -> Iterator[Piece]:
        """Yield the tables that describe the samples, and all media.

        A place in the file counts by what it points at: which media box, and where in it.
        """
        media = [each for each in self.boxes if each.kind == _MEDIA]
        for table, places in self._tables():
            if places is None:
                yield self.movie[table.start : table.end]
            else:
                yield from (_pointing(place, media) for place in places.read(self.movie))
        for each in self.boxes:
            if each.kind == _FRAGMENT:
                yield self._fragment(each)
        for each in media:
            yield struct.pack(">Q", each.end - each.content)
            yield Span(each.content, each.end - each.content)

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with other items; where `moov` comes first, all places follow it."""
        block = next(iter(blocks), Block("mp4"))
        movie = with_items(self.movie, block.items)
        shift = len(movie) + 8 - (self.moov.end - self.moov.start)
        behind = self.moov.end
        if shift and behind < self.boxes[-1].end:
            movie = self._shifted(movie, (p for _, p in tables_in(movie) if p), shift)
            if any(each.kind == b"saio" for each, _ in tables_in(movie)):
                raise AudioError("its samples are encrypted: where they stand must not change")
        pieces: list[Piece] = [Span(0, self.moov.start), box(_MOVIE, movie)]
        for each in self.boxes:
            if each.start < behind:
                continue
            pieces += self._moved(each, shift)
        end = self.boxes[-1].end
        return [*pieces, Span(end, self.source.size - end)]

    def _moved(self, each: Box, shift: int) -> list[Piece]:
        """Return a box that stands behind `moov`."""
        if not shift or each.kind not in (_FRAGMENT, _INDEX):
            return [Span(each.start, each.end - each.start)]
        body = self.source.at(each.content, each.end - each.content)
        places = fragment_places(body) if each.kind == _FRAGMENT else index_places(body)
        head = Span(each.start, each.content - each.start)
        return [head, self._shifted(body, places, shift)]

    def _shifted(self, body: bytes, places: Iterator[Places], shift: int) -> bytes:
        try:
            return shifted(body, places, self.moov.end, shift)
        except (ValueError, IndexError, struct.error) as error:
            raise self.source.damaged(str(error)) from error

    def _tables(self) -> list[tuple[Box, Places | None]]:
        try:
            return list(tables_in(self.movie))
        except (ValueError, IndexError, struct.error) as error:
            raise self.source.damaged(str(error)) from error

    def _fragment(self, each: Box) -> bytes:
        body = self.source.at(each.content, each.end - each.content)
        pointed = b""
        for places in fragment_places(body):
            pointed += b"".join(_relative(place, each) for place in places.read(body))
            body = body[: places.start] + bytes(places.width) + body[places.start + places.width :]
        return pointed + body


def _boxes(source: Source) -> Iterator[Box]:
    at = 0
    while at < source.size:
        head = source.at(at, min(16, source.size - at))
        each = box_header(head, at, source.size)
        if each is None:
            if head.strip(b"\0"):
                raise source.damaged("a box is longer than the file")
            return  # zeros behind the last box, which some programs leave
        yield each
        at = each.end


def _pointing(place: int, media: list[Box]) -> bytes:
    """Return which media box a place lies in, and where in it."""
    at = bisect_right([each.content for each in media], place) - 1
    inside = at >= 0 and place <= media[at].end
    return repr((at, place - media[at].content) if inside else place).encode()


def _relative(place: int, fragment: Box) -> bytes:
    return repr(place - fragment.start).encode()
