"""The items of an MP4 file's `ilst` box, each as its bytes.

Format: https://developer.apple.com/documentation/quicktime-file-format/metadata_item_list_atom
"""

from chart_binder.audio.forms.boxes import Box, box, boxes_in
from chart_binder.audio.tagset import Item

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
