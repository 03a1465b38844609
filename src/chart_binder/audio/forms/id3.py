"""An ID3v2 tag, with every frame as its bytes.

Formats: https://id3.org/id3v2.4.0-structure, https://id3.org/id3v2.3.0, https://id3.org/id3v2-00
"""

import re
from dataclasses import dataclass

from chart_binder.audio.forms.id3_text import key_of, name_length
from chart_binder.audio.pieces import Source
from chart_binder.audio.tagset import Block, Item
from chart_binder.errors import AudioError

HEADER = 10
PADDING = 1024
"""Room left behind a tag that had to grow, so that the next change needs no new place."""

MOST = (1 << 28) - 1

_NAME = re.compile(rb"[A-Z0-9]{3}[A-Z0-9 ]?")
_OLDEST, _NEWEST, _SEVEN_BITS = 2, 4, 0x7F
_UNSYNCED, _EXTENDED, _FOOTED, _FRAME_UNSYNCED = 0x80, 0x40, 0x10, 0x02


@dataclass(frozen=True, slots=True)
class FoundTag:
    """A tag, with how many bytes it takes up."""

    block: Block
    size: int


def find_id3(source: Source, start: int) -> FoundTag | None:
    """Return the ID3v2 tag that begins at `start`, if one does; raise `AudioError` if damaged."""
    if not source.has(start, b"ID3") or start + HEADER > source.size:
        return None
    major, revision, flags, *digits = source.at(start + 3, 7)
    packed = major == _OLDEST and flags & _EXTENDED  # a compression that was never defined
    if not _OLDEST <= major <= _NEWEST or max(digits) > _SEVEN_BITS or packed:
        raise source.damaged(f"its ID3 tag is of an unknown kind (version 2.{major})")
    size = _syncsafe(bytes(digits))
    form = f"id3v2.{major}"
    body = source.at(start + HEADER, size)
    unsynced = bool(flags & _UNSYNCED)
    if major < _NEWEST and unsynced:
        body = _synced(body)
    if flags & _EXTENDED:
        body = _behind_extension(form, body)
    items = _frames(form, body, unsynced=unsynced and major == _NEWEST)
    footer = HEADER if major == _NEWEST and flags & _FOOTED else 0
    return FoundTag(Block(form, items, bytes((major, revision))), HEADER + size + footer)


def written_id3(block: Block, room: int = 0, *, spare: bool = True) -> bytes:
    """Return the tag as it stands in a file.

    It takes `room` bytes where it fits, else as many as it needs, with some to spare if wanted.
    Raises `AudioError` for what an ID3 tag has no room for.
    """
    frames = sorted(block.items, key=lambda item: not item.key)  # what is no frame stands behind
    body = b"".join(_frame(block.form, item) for item in frames)
    size = room - HEADER
    if len(body) > size:
        size = len(body) + (PADDING if spare else 0)
    if size > MOST:
        raise AudioError(f"the tags are too long for ID3 ({size:,} bytes, {MOST:,} fit)")
    return b"ID3" + block.head + b"\0" + _digits(size) + body.ljust(size, b"\0")


def _frames(form: str, body: bytes, *, unsynced: bool) -> tuple[Item, ...]:
    spans, end = _spans(form, body, syncsafe=form == "id3v2.4")
    if form == "id3v2.4" and body[end:].strip(b"\0"):
        # iTunes wrote plain lengths for years. They are taken where they explain the whole tag.
        plain, plain_end = _spans(form, body, syncsafe=False)
        if not body[plain_end:].strip(b"\0"):
            spans, end = plain, plain_end
    items = [_item(form, body, span, unsynced=unsynced) for span in spans]
    rest = body[end:].rstrip(b"\0")
    return (*items, Item("", rest)) if rest else tuple(items)


def _spans(form: str, body: bytes, *, syncsafe: bool) -> tuple[list[tuple[int, int]], int]:
    """Return where each frame starts and ends, and where the last one ends."""
    length = name_length(form)
    header = 2 * length + _flag_bytes(form)
    at, spans = 0, []
    while at + header <= len(body) and _NAME.fullmatch(body, at, at + length):
        digits = body[at + length : at + 2 * length]
        if syncsafe and max(digits) > _SEVEN_BITS:
            break
        size = _syncsafe(digits) if syncsafe else int.from_bytes(digits, "big")
        if at + header + size > len(body):
            break
        spans.append((at, at + header + size))
        at += header + size
    return spans, at


def _item(form: str, body: bytes, span: tuple[int, int], *, unsynced: bool) -> Item:
    start, end = span
    length = name_length(form)
    name, rest = body[start : start + length], body[start + 2 * length : end]
    if form == "id3v2.4" and (unsynced or rest[1] & _FRAME_UNSYNCED):
        rest = rest[:1] + bytes((rest[1] & ~_FRAME_UNSYNCED,)) + _synced(rest[2:])
    data = name + rest
    return Item(key_of(form, data), data)


def _frame(form: str, item: Item) -> bytes:
    if not item.key:
        return item.data
    length = name_length(form)
    size = len(item.data) - length - _flag_bytes(form)
    if size > (0xFFFFFF if form == "id3v2.2" else MOST):
        raise AudioError(f"{item.key} is too long for ID3 ({size:,} bytes)")
    digits = _digits(size) if form == "id3v2.4" else size.to_bytes(length, "big")
    return item.data[:length] + digits + item.data[length:]


def _flag_bytes(form: str) -> int:
    return 0 if form == "id3v2.2" else 2


def _behind_extension(form: str, body: bytes) -> bytes:
    """Return the frames behind the extended header, whose checksum would not hold any more."""
    if form == "id3v2.4":
        return body[_syncsafe(body[:4]) :]
    return body[4 + int.from_bytes(body[:4], "big") :]


def _synced(content: bytes) -> bytes:
    return content.replace(b"\xff\0", b"\xff")


def _syncsafe(digits: bytes) -> int:
    value = 0
    for digit in digits:
        value = value << 7 | digit & _SEVEN_BITS
    return value


def _digits(value: int) -> bytes:
    return bytes(value >> shift & _SEVEN_BITS for shift in (21, 14, 7, 0))
