"""Tag sets: the tags of an audio file as raw bytes, and the changes between two sets.

Nothing is decoded here: a frame, comment, atom or attribute of any kind is stored, compared and
restored as bytes. `audio.fields` reads the texts.
"""

import hashlib
from collections.abc import Iterable
from typing import Self

import msgspec

from chart_binder.errors import AudioError
from chart_binder.files import decode_json

_NEVER_EMPTY = frozenset({"mp4", "asf"})  # tag formats in which an empty tag does not exist
_VORBIS = "vorbis"
_ENCODER = msgspec.json.Encoder(order="sorted")


class TagItem(msgspec.Struct, frozen=True):
    """One item of a tag (a frame, comment, atom or attribute) with its bytes, `data`.

    `key` is empty for bytes that are not an item. `place` names the part of the tag if there are
    several.
    """

    key: str
    data: bytes
    place: str = ""


class TagBlock(msgspec.Struct, frozen=True):
    """One tag of a file. `form` is its format, such as `id3v2.4`; a file has one tag per format.

    `head` holds the data that precede the items. The items are in file order.
    """

    form: str
    items: tuple[TagItem, ...] = ()
    head: bytes = b""


class TagSet(msgspec.Struct, frozen=True):
    """The tags of one file, without their padding and their positions in the file."""

    container: str
    blocks: tuple[TagBlock, ...] = ()

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON."""
        return hashlib.sha256(_ENCODER.encode(self)).hexdigest()

    def block(self, form: str) -> TagBlock | None:
        """Return the block with this format; `id3v2` matches every version of ID3v2."""
        return next((b for b in self.blocks if form in (b.form, b.form.partition(".")[0])), None)

    def with_block(self, block: TagBlock) -> "TagSet":
        """Return the set with the block replacing the one of its format, or added in front."""
        blocks = tuple(block if old.form == block.form else old for old in self.blocks)
        if all(old.form != block.form for old in self.blocks):
            blocks = (block, *blocks)
        return msgspec.structs.replace(self, blocks=_existing(blocks))


class PlacedItem(msgspec.Struct, frozen=True):
    """An item and its index among the items of its block."""

    at: int
    item: TagItem


class TagChange(msgspec.Struct, frozen=True):
    """The items of one key before and after a change; `old` is empty if the key was added."""

    form: str
    key: str
    old: tuple[PlacedItem, ...]
    new: tuple[PlacedItem, ...]


class BlockHeader(msgspec.Struct, frozen=True):
    """The format and head of an existing block."""

    form: str
    head: bytes


class TagChanges(msgspec.Struct, frozen=True):
    """All changes from an old tag set to a new one.

    `new_alike` is the hash of the new set after `normalized`. `copied` are the items that the
    written tag received from other tags because it was missing or empty; if it was not, `uncopied`
    are the items that it would have received.
    """

    old_blocks: tuple[BlockHeader, ...]
    new_blocks: tuple[BlockHeader, ...]
    changes: tuple[TagChange, ...]
    new_alike: str = ""
    copied: tuple[TagItem, ...] = ()
    uncopied: tuple[TagItem, ...] = ()

    @property
    def json(self) -> bytes:
        """The canonical JSON, with bytes in base64; `from_json` reads it without loss."""
        return _ENCODER.encode(self)

    @classmethod
    def from_json(cls, document: bytes) -> Self:
        """Read the value of `json`. Raises `AudioError` for any other document."""
        try:
            return decode_json(document, cls)
        except msgspec.MsgspecError as error:
            raise AudioError(f"the recorded tags cannot be read: {error}") from error

    @property
    def reversed(self) -> "TagChanges":
        """The changes that undo these."""
        changes = tuple(TagChange(c.form, c.key, c.new, c.old) for c in self.changes)
        return TagChanges(self.new_blocks, self.old_blocks, changes)


def changes_between(old: TagSet, new: TagSet) -> TagChanges:
    """Return the changes that turn `old` into `new`."""
    changes = []
    for form in dict.fromkeys(block.form for block in (*old.blocks, *new.blocks)):
        old_items, new_items = _items_by_key(old.block(form)), _items_by_key(new.block(form))
        for key in dict.fromkeys((*old_items, *new_items)):
            before, after = old_items.get(key, ()), new_items.get(key, ())
            if [placed.item for placed in before] != [placed.item for placed in after]:
                changes.append(TagChange(form, key, before, after))
    return TagChanges(_headers(old), _headers(new), tuple(changes))


def apply_changes(current: TagSet, changes: TagChanges) -> TagSet:
    """Return `current` with the changes applied; items of other keys stay."""
    blocks = []
    for header in changes.new_blocks:
        block = current.block(header.form) or TagBlock(header.form, (), header.head)
        blocks.append(TagBlock(header.form, _changed_items(block, changes), block.head))
    new_forms = {header.form for header in changes.new_blocks}
    removed_forms = {header.form for header in changes.old_blocks} - new_forms
    for block in current.blocks:
        items = _changed_items(block, changes)
        if block.form not in new_forms and (items or block.form not in removed_forms):
            blocks.append(TagBlock(block.form, items, block.head))
    return TagSet(current.container, _existing(blocks))


def _existing(blocks: Iterable[TagBlock]) -> tuple[TagBlock, ...]:
    return tuple(block for block in blocks if block.items or block.form not in _NEVER_EMPTY)


def normalized(tags: TagSet) -> TagSet:
    """Return the tags with Vorbis comments sorted and their names in upper case.

    Neither the order nor the case of Vorbis comments has a meaning.
    """
    block = tags.block(_VORBIS)
    if block is None:
        return tags
    items = []
    for item in block.items:
        name, sign, text = item.data.partition(b"=")
        upper = TagItem(item.key.upper(), name.upper() + sign + text, item.place)
        items.append(upper if sign else item)
    items.sort(key=lambda item: item.key)
    return tags.with_block(TagBlock(_VORBIS, tuple(items), block.head))


def _changed_items(block: TagBlock, changes: TagChanges) -> tuple[TagItem, ...]:
    of_block = [change for change in changes.changes if change.form == block.form]
    keys = {change.key for change in of_block}
    items = [item for item in block.items if item.key not in keys]
    new_items = (placed for change in of_block for placed in change.new)
    for placed in sorted(new_items, key=lambda placed: placed.at):
        items.insert(placed.at, placed.item)
    return tuple(items)


def _items_by_key(block: TagBlock | None) -> dict[str, tuple[PlacedItem, ...]]:
    by_key: dict[str, tuple[PlacedItem, ...]] = {}
    for at, item in enumerate(block.items if block else ()):
        by_key[item.key] = (*by_key.get(item.key, ()), PlacedItem(at, item))
    return by_key


def _headers(tags: TagSet) -> tuple[BlockHeader, ...]:
    return tuple(BlockHeader(block.form, block.head) for block in tags.blocks)
