"""Tag sets: the tags of one audio file as the bytes they have there, and changes between two sets.

Nothing is translated: a frame, comment, atom, item or attribute that is unknown here is kept,
compared and put back by its bytes. What values say is read in `audio.fields`.
"""

import hashlib
from collections.abc import Iterable
from typing import Self

import msgspec

from chart_binder.errors import AudioError
from chart_binder.files import decode_json

_NEVER_EMPTY = frozenset({"mp4", "asf"})  # forms of tag that are not there if they hold nothing
_VORBIS = "vorbis"
_ENCODER = msgspec.json.Encoder(order="sorted")


class TagItem(msgspec.Struct, frozen=True):
    """One record of a tag: a frame, comment, atom, item or attribute, with its bytes `data`.

    `key` is empty for bytes that are no record; `place` is the part of the tag, if it has several.
    """

    key: str
    data: bytes
    place: str = ""


class TagBlock(msgspec.Struct, frozen=True):
    """One tag; a file may have several, each of another `form`.

    `head` is what it says before its items, which are in the order of the file.
    """

    form: str
    items: tuple[TagItem, ...] = ()
    head: bytes = b""


class TagSet(msgspec.Struct, frozen=True):
    """The tags of one file, as bytes, without padding and the place of a tag in the file."""

    container: str
    blocks: tuple[TagBlock, ...] = ()

    @property
    def hash(self) -> str:
        """SHA-256 over the canonical JSON."""
        return hashlib.sha256(_ENCODER.encode(self)).hexdigest()

    def block(self, form: str) -> TagBlock | None:
        """Return the block of this form; `id3v2` finds any version of it."""
        return next((b for b in self.blocks if form in (b.form, b.form.partition(".")[0])), None)

    def with_block(self, block: TagBlock) -> "TagSet":
        """Return the set with this block in place of the one of its form, or before all others."""
        if any(old.form == block.form for old in self.blocks):
            blocks = tuple(block if old.form == block.form else old for old in self.blocks)
        else:
            blocks = (block, *self.blocks)
        return msgspec.structs.replace(self, blocks=_there(blocks))


class PlacedItem(msgspec.Struct, frozen=True):
    """A record with its index among the records of its block."""

    at: int
    item: TagItem


class TagChange(msgspec.Struct, frozen=True):
    """The records of one key before and after; it was added if there are none before."""

    form: str
    key: str
    old: tuple[PlacedItem, ...]
    new: tuple[PlacedItem, ...]


class BlockHeader(msgspec.Struct, frozen=True):
    """The form and head of a block that is there."""

    form: str
    head: bytes


class TagChanges(msgspec.Struct, frozen=True):
    """All changes from one tag set to another; `new_alike` is the hash of the other, `normalized`.

    `copied` are the records that the written tag got from other tags, because it said nothing
    itself; `uncopied` those that it would have got: they are said by other tags alone.
    """

    old_blocks: tuple[BlockHeader, ...]
    new_blocks: tuple[BlockHeader, ...]
    changes: tuple[TagChange, ...]
    new_alike: str = ""
    copied: tuple[TagItem, ...] = ()
    uncopied: tuple[TagItem, ...] = ()

    @property
    def json(self) -> bytes:
        """The canonical JSON, bytes in base64; `from_json` reads it back without loss."""
        return _ENCODER.encode(self)

    @classmethod
    def from_json(cls, document: bytes) -> Self:
        """Read what `json` returned; raise `AudioError` for anything else."""
        try:
            return decode_json(document, cls)
        except msgspec.MsgspecError as error:
            raise AudioError(f"these are no recorded tags: {error}") from error

    @property
    def reversed(self) -> "TagChanges":
        """The changes that take these back."""
        return TagChanges(
            self.new_blocks,
            self.old_blocks,
            tuple(TagChange(each.form, each.key, each.new, each.old) for each in self.changes),
        )


def changes_between(old: TagSet, new: TagSet) -> TagChanges:
    """Return the changes that lead from `old` to `new`."""
    found = []
    for form in dict.fromkeys(block.form for block in (*old.blocks, *new.blocks)):
        before, after = _by_key(old.block(form)), _by_key(new.block(form))
        for key in dict.fromkeys((*before, *after)):
            was, will = before.get(key, ()), after.get(key, ())
            if [each.item for each in was] != [each.item for each in will]:
                found.append(TagChange(form, key, was, will))
    return TagChanges(_headers(old), _headers(new), tuple(found))


def apply_changes(current: TagSet, changes: TagChanges) -> TagSet:
    """Return `current` with the changes made; records of other keys stay."""
    blocks = []
    for header in changes.new_blocks:
        block = current.block(header.form) or TagBlock(header.form, (), header.head)
        blocks.append(TagBlock(header.form, _changed_items(block, changes), block.head))
    known = {header.form for header in changes.new_blocks}
    gone = {header.form for header in changes.old_blocks} - known
    for block in current.blocks:
        items = _changed_items(block, changes)
        if block.form not in known and (items or block.form not in gone):
            blocks.append(TagBlock(block.form, items, block.head))
    return TagSet(current.container, _there(blocks))


def _there(blocks: Iterable[TagBlock]) -> tuple[TagBlock, ...]:
    return tuple(each for each in blocks if each.items or each.form not in _NEVER_EMPTY)


def normalized(tags: TagSet) -> TagSet:
    """Return the tags with Vorbis names in capitals, sorted: they have neither case nor order."""
    block = tags.block(_VORBIS)
    if block is None:
        return tags
    items = []
    for item in block.items:
        name, sign, text = item.data.partition(b"=")
        named = TagItem(item.key.upper(), name.upper() + sign + text, item.place)
        items.append(named if sign else item)
    items.sort(key=lambda item: item.key)
    return tags.with_block(TagBlock(_VORBIS, tuple(items), block.head))


def _changed_items(block: TagBlock, changes: TagChanges) -> tuple[TagItem, ...]:
    here = [each for each in changes.changes if each.form == block.form]
    keys = {each.key for each in here}
    items = [item for item in block.items if item.key not in keys]
    placed = (place for each in here for place in each.new)
    for place in sorted(placed, key=lambda place: place.at):
        items.insert(place.at, place.item)
    return tuple(items)


def _by_key(block: TagBlock | None) -> dict[str, tuple[PlacedItem, ...]]:
    found: dict[str, tuple[PlacedItem, ...]] = {}
    for at, item in enumerate(block.items if block else ()):
        found[item.key] = (*found.get(item.key, ()), PlacedItem(at, item))
    return found


def _headers(tags: TagSet) -> tuple[BlockHeader, ...]:
    return tuple(BlockHeader(block.form, block.head) for block in tags.blocks)
