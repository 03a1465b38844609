"""The items inside the content of a `moov` box: `udta`, in it `meta`, in it `ilst`."""

from chart_binder.audio.forms.boxes import Box, box, boxes_in
from chart_binder.audio.forms.ilst import read_items, written_items
from chart_binder.audio.tagset import Item

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
