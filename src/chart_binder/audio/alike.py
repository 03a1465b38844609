"""Vorbis comments that say the same, whatever the case of their names or the order of fields."""

import msgspec

from chart_binder.audio.changes import TagChanges
from chart_binder.audio.tagset import Block, Item, TagSet

FORM = "vorbis"


def alike_hash(tags: TagSet) -> str:
    """Return what is the same for tag sets that differ in names' case or fields' order alone.

    The order of several values of one field counts.
    """
    return alike(tags).hash


def alike(tags: TagSet) -> TagSet:
    """Return the tags with the names of Vorbis comments in capitals, the fields in their order.

    Names have no case, and fields no order: https://xiph.org/vorbis/doc/v-comment.html
    """
    block = tags.block(FORM)
    if block is None:
        return tags
    items = sorted(map(_folded, block.items), key=lambda item: item.key)
    return tags.with_block(Block(FORM, tuple(items), block.head))


def as_recorded(tags: TagSet, changes: TagChanges) -> TagSet:
    """Return the tags with the records that were changed under the names they were written by."""
    block = tags.block(FORM)
    if block is None:
        return tags
    written = [change for change in changes.changes if change.form == FORM]
    names = {change.key.upper(): change.key for change in written if change.new}
    items = tuple(
        msgspec.structs.replace(item, key=names.get(item.key.upper(), item.key))
        for item in block.items
    )
    return tags.with_block(Block(FORM, items, block.head))


def _folded(item: Item) -> Item:
    name, sign, text = item.data.partition(b"=")
    return Item(item.key.upper(), name.upper() + sign + text, item.place) if sign else item
