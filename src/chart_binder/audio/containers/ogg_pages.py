"""The pages of an Ogg stream.

Format: RFC 3533, section 6
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from chart_binder.audio.pieces import Source

MAGIC = b"OggS"
HEADER = 27
CONTINUED, FIRST, LAST = 1, 2, 4
NO_PACKET_ENDS = (1 << 64) - 1
"""The position of a page on which no packet ends."""

_FULL = 255
_MOST_SEGMENTS = 255
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


@dataclass(frozen=True, slots=True)
class Page:
    """One page: where it stands, what its header says, how its content is cut into segments."""

    start: int
    flags: int
    position: int
    serial: int
    number: int
    lacing: bytes

    @property
    def content(self) -> int:
        """Where its content begins."""
        return self.start + HEADER + len(self.lacing)

    @property
    def end(self) -> int:
        """Where the next page begins."""
        return self.content + sum(self.lacing)

    @property
    def ends_a_packet(self) -> bool:
        """Whether its last packet is whole: the next page begins a new one."""
        return bool(self.lacing) and self.lacing[-1] < _FULL


def page_at(source: Source, start: int) -> Page | None:
    """Return the page that begins here, or nothing if none does or it is cut short."""
    if start + HEADER > source.size:
        return None
    magic, version, flags, position, serial, number, _, count = struct.unpack(
        "<4sBBQIIIB", source.at(start, HEADER)
    )
    if magic != MAGIC or version or start + HEADER + count > source.size:
        return None
    lacing = source.at(start + HEADER, count)
    page = Page(start, flags, position, serial, number, lacing)
    return page if page.end <= source.size else None


def pages_from(source: Source, start: int) -> Iterator[Page]:
    """Yield the pages that stand one behind the other."""
    while page := page_at(source, start):
        yield page
        start = page.end


def packets_on(page: Page, content: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield the parts of packets on a page, with whether the packet ends there."""
    at, size = 0, 0
    for lace in page.lacing:
        size += lace
        if lace < _FULL:
            yield content[at : at + size], True
            at, size = at + size, 0
    if size:
        yield content[at : at + size], False


def written_page(page: Page, content: bytes) -> bytes:
    """Return the page as it stands in a file, with its checksum."""
    fields = (page.flags, page.position, page.serial, page.number)

    def header(checksum: int) -> bytes:
        return struct.pack("<4sBBQIIIB", MAGIC, 0, *fields, checksum, len(page.lacing))

    checksum = _checksum(header(0) + page.lacing + content)
    return header(checksum) + page.lacing + content


def paginated(packets: list[bytes], serial: int, number: int, *, pages: int) -> Iterator[bytes]:
    """Yield pages that hold these packets, starting with `number`; `pages` of them if that can be.

    The first packet begins the first page, the last one ends the last. The position of a page on
    which a header ends is 0.
    """
    lacing = b"".join(_laced(packet) for packet in packets)
    content = b"".join(packets)
    needed = -(-len(lacing) // _MOST_SEGMENTS)
    pages = min(max(pages, needed), len(lacing))
    at, done, continued = 0, 0, False
    for left in range(pages - 1, -1, -1):
        taken = lacing[at : at + min(_MOST_SEGMENTS, len(lacing) - at - left)]
        size = sum(taken)
        position = 0 if min(taken) < _FULL else NO_PACKET_ENDS
        page = Page(0, CONTINUED if continued else 0, position, serial, number, taken)
        yield written_page(page, content[done : done + size])
        at, done, number = at + len(taken), done + size, number + 1
        continued = taken[-1] == _FULL


def _laced(packet: bytes) -> bytes:
    full, rest = divmod(len(packet), _FULL)
    return bytes((_FULL,)) * full + bytes((rest,))


def _checksum(data: bytes) -> int:
    """Return Ogg's CRC-32: zlib's polynomial over mirrored bits, without its inversions."""
    mirrored = zlib.crc32(data.translate(_MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)
