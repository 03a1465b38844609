"""What differs between two tag sets, kept so that either can be made from the other."""

import msgspec

from chart_binder.audio.tagset import NEVER_EMPTY, Block, Item, TagSet
from chart_binder.errors import AudioError
from chart_binder.typed import decoded


class Placed(msgspec.Struct, frozen=True):
    """A record together with its place among the records of its block, from 0."""

    at: int
    item: Item


class Change(msgspec.Struct, frozen=True):
    """The records of one key before and after; none before means it was added."""

    form: str
    key: str
    old: tuple[Placed, ...]
    new: tuple[Placed, ...]


class Shell(msgspec.Struct, frozen=True):
    """That a block is there, with what it says before its items."""

    form: str
    head: bytes


class TagChanges(msgspec.Struct, frozen=True):
    """All changes from one tag set to another, in the order of the file.

    `old_alike` and `new_alike` are the `alike_hash` of both, or empty where nobody kept it.
    """

    old_blocks: tuple[Shell, ...]
    new_blocks: tuple[Shell, ...]
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


def changed(current: TagSet, changes: TagChanges) -> TagSet:
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


def _by_key(block: Block | None) -> dict[str, tuple[Placed, ...]]:
    found: dict[str, tuple[Placed, ...]] = {}
    for at, item in enumerate(block.items if block else ()):
        found[item.key] = (*found.get(item.key, ()), Placed(at, item))
    return found


def _shells(tags: TagSet) -> tuple[Shell, ...]:
    return tuple(Shell(block.form, block.head) for block in tags.blocks)
