"""The tables of an MP4 file that say where in the file its samples stand.

Format: ISO/IEC 14496-12, sections 8.7.5 (stco, co64), 8.8.7 (tfhd), 8.8.10 (tfra)
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from chart_binder.audio.forms.boxes import Box, boxes_in
from chart_binder.errors import AudioError

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
