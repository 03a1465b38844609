"""Vorbis comments, each as its bytes.

Format: https://xiph.org/vorbis/doc/v-comment.html
"""

import struct
from dataclasses import dataclass

from chart_binder.audio.tagset import Block, Item

NEW_HEAD = b"chart-binder"
"""The vendor of comments that this program was the first to write."""


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments, and what stands behind them in the same packet."""

    block: Block
    rest: bytes


def read_comments(body: bytes) -> Comments | None:
    """Return the comments at the beginning of `body`, or nothing if that is not what it is."""
    vendor = _counted(body, 0)
    if vendor is None or len(body) < len(vendor) + 8:
        return None
    at = 4 + len(vendor)
    (count,) = struct.unpack("<I", body[at : at + 4])
    at += 4
    items = []
    for _ in range(count):
        comment = _counted(body, at)
        if comment is None:
            return None
        key, sign, _ = comment.partition(b"=")
        items.append(Item(key.decode("latin-1") if sign else "", comment))
        at += 4 + len(comment)
    return Comments(Block("vorbis", tuple(items), vendor), body[at:])


def written_comments(block: Block) -> bytes:
    """Return the comments as they stand in a packet or metadata block."""
    parts = [_with_length(block.head), struct.pack("<I", len(block.items))]
    parts += [_with_length(item.data) for item in block.items]
    return b"".join(parts)


def texts_of(item: Item) -> tuple[str, ...] | None:
    """Return the text of a comment."""
    return (item.data.partition(b"=")[2].decode("utf-8", "replace"),) if item.key else None


def text_items(key: str, texts: tuple[str, ...]) -> tuple[Item, ...]:
    """Return a comment for each text."""
    return tuple(Item(key, f"{key}={text}".encode()) for text in texts)


def _counted(body: bytes, at: int) -> bytes | None:
    if at + 4 > len(body):
        return None
    end = at + 4 + int.from_bytes(body[at : at + 4], "little")
    return body[at + 4 : end] if end <= len(body) else None


def _with_length(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data
