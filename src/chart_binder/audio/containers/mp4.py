"""MP4 files (M4A, ALAC): items deep in the `moov` box, which may stand before or behind the audio.

Format: ISO/IEC 14496-12; the items are Apple's.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.containers.mp4_moov import items_in, with_items
from chart_binder.audio.containers.mp4_tables import (
    Places,
    fragment_places,
    index_places,
    shifted,
    tables_in,
)
from chart_binder.audio.forms.boxes import Box, box, box_header
from chart_binder.audio.pieces import Piece, Source, Stretch
from chart_binder.audio.tagset import Block, TagSet
from chart_binder.errors import AudioError

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
            yield Stretch(each.content, each.end - each.content)

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
        pieces: list[Piece] = [Stretch(0, self.moov.start), box(_MOVIE, movie)]
        for each in self.boxes:
            if each.start < behind:
                continue
            pieces += self._moved(each, shift)
        end = self.boxes[-1].end
        return [*pieces, Stretch(end, self.source.size - end)]

    def _moved(self, each: Box, shift: int) -> list[Piece]:
        """Return a box that stands behind `moov`."""
        if not shift or each.kind not in (_FRAGMENT, _INDEX):
            return [Stretch(each.start, each.end - each.start)]
        body = self.source.at(each.content, each.end - each.content)
        places = fragment_places(body) if each.kind == _FRAGMENT else index_places(body)
        head = Stretch(each.start, each.content - each.start)
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
