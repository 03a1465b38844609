"""The boxes that MP4 files consist of, found in bytes.

Format: ISO/IEC 14496-12, 4.2
"""

import struct
from dataclasses import dataclass

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
