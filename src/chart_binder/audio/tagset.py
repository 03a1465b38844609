"""All that stands in the tags of one audio file, as the very bytes it stands there in.

Nothing is translated: a frame, comment, atom, item or attribute that nobody here knows is kept,
compared, put back by its bytes. What values *say* is read in `chart_binder.audio.forms`.
"""

import hashlib

import msgspec

from chart_binder.errors import AudioError
from chart_binder.typed import decoded

NEVER_EMPTY = frozenset({"mp4", "asf"})
"""Forms of which it cannot be seen whether they are there, if they hold nothing."""


class Item(msgspec.Struct, frozen=True):
    """One record of a tag.

    `data` is enough to write the record again; `key` is its name, for finding it; `place` says in
    which part of the tag it stands, where there are several. Bytes that are no record have no key.
    """

    key: str
    data: bytes
    place: str = ""


class Block(msgspec.Struct, frozen=True):
    """One tag; a file may have several, such as ID3v2 before the audio with ID3v1 behind it.

    `form` is unique within a file: `id3v2.2`, `id3v2.3`, `id3v2.4`, `id3v1`, `lyrics3`, `apev2`,
    `vorbis`, `flac-picture`, `mp4`, `asf`. `head` is what a form says before its items (the vendor
    of Vorbis comments, the version of an APE tag). Items are in the order of the file.
    """

    form: str
    items: tuple[Item, ...] = ()
    head: bytes = b""


class TagSet(msgspec.Struct, frozen=True):
    """The tags of one file; two files with the same tag set are tagged identically, byte for byte.

    Room for later (padding) is no part of it, nor is where in the file a tag stands.
    """

    container: str
    blocks: tuple[Block, ...] = ()
    version: int = 1

    @property
    def json(self) -> bytes:
        """The canonical JSON: `TagSet.from_json` reads it back without loss."""
        return _ENCODER.encode(self)

    @property
    def hash(self) -> str:
        """SHA-256 over the canonical JSON."""
        return hashlib.sha256(self.json).hexdigest()

    @classmethod
    def from_json(cls, document: bytes) -> "TagSet":
        """Return what `json` was made of; raise `AudioError` for anything else."""
        try:
            return decoded(document, cls)
        except msgspec.MsgspecError as error:
            raise AudioError(f"this is no recorded tag set: {error}") from error

    def block(self, form: str) -> Block | None:
        """Return the block of this form; `id3v2` finds any version of it."""
        return next((block for block in self.blocks if block.form.split(".")[0] == form
                     or block.form == form), None)  # fmt: skip

    def with_block(self, block: Block) -> "TagSet":
        """Return the set with this block instead of that of its form, or before all others.

        A form that is not there where it has no items is left out then.
        """
        if not block.items and block.form in NEVER_EMPTY:
            blocks = tuple(old for old in self.blocks if old.form != block.form)
        elif any(old.form == block.form for old in self.blocks):
            blocks = tuple(block if old.form == block.form else old for old in self.blocks)
        else:
            blocks = (block, *self.blocks)
        return msgspec.structs.replace(self, blocks=blocks)


_ENCODER = msgspec.json.Encoder(order="sorted")


class PlacedItem(msgspec.Struct, frozen=True):
    """A record together with its place among the records of its block, from 0."""

    at: int
    item: Item


class Change(msgspec.Struct, frozen=True):
    """The records of one key before and after; none before means it was added."""

    form: str
    key: str
    old: tuple[PlacedItem, ...]
    new: tuple[PlacedItem, ...]


class BlockHeader(msgspec.Struct, frozen=True):
    """That a block is there, with what it says before its items."""

    form: str
    head: bytes


class TagChanges(msgspec.Struct, frozen=True):
    """All changes from one tag set to another, in the order of the file.

    `old_alike` and `new_alike` are the `alike_hash` of both, or empty where nobody kept it.
    """

    old_blocks: tuple[BlockHeader, ...]
    new_blocks: tuple[BlockHeader, ...]
    changes: tuple[Change, ...]
    old_alike: str = ""
    new_alike: str = ""

    @property
    def json(self) -> bytes:
        """JSON with the raw values in base64: `TagChanges.from_json` reads it back."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, document: bytes) -> "TagChanges":
        """Return what `json` was made of; raise `AudioError` for anything else."""
        try:
            return decoded(document, cls)
        except msgspec.MsgspecError as error:
            raise AudioError(f"these are no recorded changes of tags: {error}") from error

    @property
    def reversed(self) -> "TagChanges":
        """The changes that take these back."""
        return TagChanges(
            self.new_blocks,
            self.old_blocks,
            tuple(Change(each.form, each.key, each.new, each.old) for each in self.changes),
            self.new_alike,
            self.old_alike,
        )


def changes_between(old: TagSet, new: TagSet) -> TagChanges:
    """Return what to change in `old` to have `new`."""
    forms = dict.fromkeys(block.form for block in (*old.blocks, *new.blocks))
    found = []
    for form in forms:
        before, after = _by_key(old.block(form)), _by_key(new.block(form))
        for key in dict.fromkeys((*before, *after)):
            was, will = before.get(key, ()), after.get(key, ())
            if [each.item for each in was] != [each.item for each in will]:
                found.append(Change(form, key, was, will))
    return TagChanges(_shells(old), _shells(new), tuple(found))


def apply_changes(current: TagSet, changes: TagChanges) -> TagSet:
    """Return `current` with the changes made.

    Records of other keys stay. Where `current` is what the changes start from, the outcome is what
    they lead to, exactly, in the same order; so `changed(now, changes.reversed)` undoes.
    """
    blocks = []
    for shell in changes.new_blocks:
        block = current.block(shell.form) or Block(shell.form, (), shell.head)
        blocks.append(Block(shell.form, _items(block, changes), block.head))
    known = {shell.form for shell in changes.new_blocks}
    gone = {shell.form for shell in changes.old_blocks} - known
    for block in current.blocks:
        items = _items(block, changes)
        if block.form not in known and (items or block.form not in gone):
            blocks.append(Block(block.form, items, block.head))
    left = tuple(each for each in blocks if each.items or each.form not in NEVER_EMPTY)
    return TagSet(current.container, left)


def _items(block: Block, changes: TagChanges) -> tuple[Item, ...]:
    here = [each for each in changes.changes if each.form == block.form]
    keys = {each.key for each in here}
    items = [item for item in block.items if item.key not in keys]
    placed = (place for each in here for place in each.new)
    for place in sorted(placed, key=lambda place: place.at):
        items.insert(place.at, place.item)
    return tuple(items)


def _by_key(block: Block | None) -> dict[str, tuple[PlacedItem, ...]]:
    found: dict[str, tuple[PlacedItem, ...]] = {}
    for at, item in enumerate(block.items if block else ()):
        found[item.key] = (*found.get(item.key, ()), PlacedItem(at, item))
    return found


def _shells(tags: TagSet) -> tuple[BlockHeader, ...]:
    return tuple(BlockHeader(block.form, block.head) for block in tags.blocks)


FORM = "vorbis"


def normalized_hash(tags: TagSet) -> str:
    """Return what is the same for tag sets that differ in names' case or fields' order alone.

    The order of several values of one field counts.
    """
    return normalized(tags).hash


def normalized(tags: TagSet) -> TagSet:
    """Return the tags with the names of Vorbis comments in capitals, the fields in their order.

    Names have no case, and fields no order: https://xiph.org/vorbis/doc/v-comment.html
    """
    block = tags.block(FORM)
    if block is None:
        return tags
    items = sorted(map(_folded, block.items), key=lambda item: item.key)
    return tags.with_block(Block(FORM, tuple(items), block.head))


def with_recorded_names(tags: TagSet, changes: TagChanges) -> TagSet:
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
