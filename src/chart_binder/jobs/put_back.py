"""What a write changed in the tags of a file, put back into the tags as they are now.

The journal has the records of every changed key before and after the write. A key that says what
was written gets its former records, whatever version of ID3 the tag is of now. A key that somebody
changed since is kept.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain

import msgspec

from chart_binder.audio.containers import asf
from chart_binder.audio.field_table import folded
from chart_binder.audio.fields import (
    copied_items,
    field_of_key,
    fields_of_items,
    is_same_key,
    item_texts,
    new_block,
    text_items,
    without_fields,
)
from chart_binder.audio.id3_versions import changes_in_block, date_frame, is_as_saved
from chart_binder.audio.tagset import (
    PlacedItem,
    TagBlock,
    TagChange,
    TagChanges,
    TagItem,
    TagSet,
    apply_changes,
)
from chart_binder.domain.records import WriteRecord
from chart_binder.errors import SaveError
from chart_binder.files import quoted
from chart_binder.jobs.journal import (
    HEAD_OF,
    SAME_WORDS,
    ChangedKey,
    Texts,
    changes_since_write,
    merged_by_key,
    shown_texts,
    texts_after_write,
)
from chart_binder.jobs.stored_decisions import path_from_bytes

_ID3 = "id3v2"
_LAST = 1 << 16
_COPIED_INTO = {"wav": "riff-info", **dict.fromkeys(("mp3", "ape", "wv", "mpc"), "id3v1")}
"""The tag into which other programs copy the one that is written, by container."""


@dataclass(frozen=True, slots=True)
class PutBackResult:
    """Tags with what was written taken back but for `kept` keys; `others` changed since, too."""

    tags: TagSet
    kept_keys: tuple[ChangedKey, ...] = ()
    other_keys: tuple[ChangedKey, ...] = ()


def tags_put_back(write: WriteRecord, tags: TagSet, *, force: bool = False) -> PutBackResult:
    """Return tags with every written key put back that says what was written; all if `force`.

    Raises `AudioError` for a journal that cannot be read, `SaveError` if it does not lead back.
    """
    changes = TagChanges.from_json(write.changes)
    if tags.hash == write.tags_after_hash:
        before = apply_changes(tags, changes.reversed)
        if before.hash != write.tags_before_hash:
            path = quoted(path_from_bytes(write.path))
            raise SaveError(f"{path}: the journal does not lead back to the tags before")
        return PutBackResult(before)
    copied = tuple(_additions(changes.copied, changes))
    now = new_block(tags).items
    lost = _additions((item for item in changes.uncopied if item not in now), changes)
    recorded = _from_copies(merged_by_key(changes.changes), (*copied, *lost))
    present = _of_present_version(recorded, write, tags)
    back, kept = _with_old_items(tags, present, write, changes, force=force)
    back = _without_copies(back, _of_present_version(copied, write, back), changes)
    back = _without_written(back, write, changes)
    return PutBackResult(back, kept, tuple(_others(write, changes, present, back)))


def _additions(items: Iterable[TagItem], changes: TagChanges) -> Iterator[TagChange]:
    """Yield records that other tags said as additions to the tag that was written."""
    form = next((change.form for change in changes.changes if change.new), "")
    for at, item in enumerate(items):
        yield TagChange(form, item.key, (), (PlacedItem(at, item),))


def _from_copies(
    recorded: Iterable[TagChange], copied: tuple[TagChange, ...]
) -> Iterator[TagChange]:
    """Yield changes, those of a key that was absent or empty from what another tag said of it."""
    for change in recorded:
        copies = (copy for copy in copied if is_same_key(change.form, copy.key, change.key))
        of_other_tag = tuple(placed for copy in copies for placed in copy.new)
        if not of_other_tag or any(shown_texts(change.form, change.old)):
            yield change
        elif shown_texts(change.form, of_other_tag) != shown_texts(change.form, change.new):
            yield msgspec.structs.replace(change, old=of_other_tag)


def _of_present_version(
    changes: Iterable[TagChange], write: WriteRecord, tags: TagSet
) -> tuple[TagChange, ...]:
    """Return changes with those of ID3v2 for the version that its tag is of now."""
    block = tags.block(_ID3)
    id3, others = list[TagChange](), list[TagChange]()
    for change in changes:
        (id3 if block and change.form.startswith(_ID3) else others).append(change)
    if block and id3:
        others += changes_in_block(id3, texts_after_write(write, id3[0].form), block)
    return tuple(others)


def _with_old_items(
    tags: TagSet,
    present: Iterable[TagChange],
    write: WriteRecord,
    changes: TagChanges,
    *,
    force: bool,
) -> tuple[TagSet, tuple[ChangedKey, ...]]:
    """Put back the records of keys, as they were; return the keys that somebody changed, too.

    The keys of one field are put back together, or none of them.
    """
    kept = list[ChangedKey]()
    left = cache(partial(texts_after_write, write))
    heads = {block.form: block.head for block in (*changes.old_blocks, *changes.new_blocks)}
    units = defaultdict[tuple[str, str], list[TagChange]](list)
    for change in present:
        units[change.form, field_of_key(change.form, change.key) or change.key].append(change)
    for (form, name), unit in units.items():
        block = next((block for block in tags.blocks if block.form == form), None)
        if block is None and changes.copied:
            continue  # somebody removed the tag, and what it hid is seen again
        block = block or TagBlock(form, (), heads[form])
        merged = [*unit, *_merged_keys(block, name, unit, left(form))]
        is_merged = _are_merged(_changed_keys(block, merged))
        changed = [key for key in _changed_keys(block, unit) if key.new != key.before]
        is_as_written = is_merged or all(_is_as_written(key, form, heads) for key in changed)
        if not force and not is_as_written:
            kept += changed
        elif changed:
            for change in merged if is_merged else unit:
                block = _with_items(block, tuple(_items_of(block, change)), change.old)
            is_new = block.form in _COPIED_INTO.values() and not tags.block(block.form)
            behind = TagSet(tags.container, (*tags.blocks, block))
            tags = behind if is_new else tags.with_block(block)
    return tags, tuple(kept)


def _changed_keys(block: TagBlock, unit: Iterable[TagChange]) -> list[ChangedKey]:
    """Return what keys said before, as written, and now."""
    return [
        ChangedKey(
            change.key,
            shown_texts(block.form, change.new),
            shown_texts(block.form, _items_of(block, change)),
            shown_texts(block.form, change.old),
        )
        for change in unit
    ]


def _merged_keys(
    block: TagBlock, name: str, unit: list[TagChange], left: Mapping[str, Texts]
) -> Iterator[TagChange]:
    """Yield the keys of a field that a write left as they were, and that others of it say now."""
    there = [*(change.key for change in unit), *(item.key for item in block.items)]
    now = {text for key in _changed_keys(block, unit) for text in key.new}
    for key, texts in left.items():
        is_gone = not any(is_same_key(block.form, key, other) for other in there)
        if is_gone and now.issuperset(texts) and field_of_key(block.form, key) == name:
            items = text_items(block.form, key, texts)
            placed = tuple(PlacedItem(_LAST, item) for item in items)
            yield TagChange(block.form, key, placed, placed)


def _are_merged(keys: list[ChangedKey]) -> bool:
    """Say whether keys of one field say together what was written.

    TagLib saves the values of `Year` and `DATE`, or of `Disc` and `DISCNUMBER`, as one key.
    """
    now = Counter(chain.from_iterable(key.new for key in keys))
    written = Counter(chain.from_iterable(key.old for key in keys))
    return now == written and all(not key.new or {*key.old} <= {*key.new} for key in keys)


def _is_as_written(key: ChangedKey, form: str, heads: dict[str, bytes]) -> bool:
    """Say whether a key says what was written, in the way another program saves it.

    TagLib saves values in another order (ASF), and twice that are the same of two keys (APE).
    """
    is_of_other_version = form not in heads
    return {*key.new} == {*key.old} or (
        is_of_other_version and is_as_saved(form, key.field, key.new, key.old)
    )


def _without_copies(tags: TagSet, copied: tuple[TagChange, ...], changes: TagChanges) -> TagSet:
    """Leave out what a tag got from others if it says nothing else and they still say it.

    A tag that was made and is empty is left out, too.
    """
    forms = {change.form for change in copied}
    block = next((block for block in tags.blocks if block.form in forms), None)
    if block:
        items = [
            item
            for item in block.items
            if not any(
                is_same_key(block.form, item.key, change.key)
                and item_texts(block.form, item) == shown_texts(block.form, change.new)
                for change in copied
            )
        ]
        bare = _without_empty(
            tags.with_block(TagBlock(block.form, tuple(items), block.head)), changes
        )
        if copied_items(bare) == changes.copied:
            return bare
    return _without_empty(tags, changes)


def _without_written(tags: TagSet, write: WriteRecord, changes: TagChanges) -> TagSet:
    """Leave out what another program copied, of the fields that were written, under other keys.

    These are keys of the tag that was written, of RIFF INFO and ID3v1 that were not there after the
    write, and that say what was written and no tag of the file said before.
    """
    fields = _written_fields(write, changes)
    form = next((change.form for change in changes.changes if change.new), "")
    old = {(change.form, folded(change.form, change.key)) for change in changes.changes}
    for header in changes.new_blocks:
        left = texts_after_write(write, header.form)
        old |= {(header.form, folded(header.form, key)) for key in left}
    for block in tags.blocks if fields else ():
        if block.form not in (form, _COPIED_INTO.get(tags.container)):
            continue
        bare = without_fields(block, fields, {key for other, key in old if other == block.form})
        if bare is None and block.form != form:
            others = tuple(other for other in tags.blocks if other.form != block.form)
            tags = TagSet(tags.container, others)
        else:
            tags = tags.with_block(bare or TagBlock(form, (), block.head))
    return _without_empty(tags, changes)


def _written_fields(write: WriteRecord, changes: TagChanges) -> dict[str, Texts]:
    """Return the fields of a write that no tag of the file said before."""
    form = next((change.form for change in changes.changes if change.new), "")
    here = [change for change in changes.changes if change.form == form]
    changed = {change.key for change in here}
    unchanged = [
        (field_of_key(form, key), texts)
        for key, texts in texts_after_write(write, form).items()
        if key not in changed
    ]
    old = (placed.item for change in here for placed in change.old)
    new = (placed.item for change in here for placed in change.new)
    earlier = [fields_of_items(form, items) for items in (old, changes.copied, changes.uncopied)]
    return {
        name: texts
        for name, texts in fields_of_items(form, new).items()
        if (name, texts) not in unchanged and not any(each.get(name) == texts for each in earlier)
    }


def _without_empty(tags: TagSet, changes: TagChanges) -> TagSet:
    """Return tags without the tags that were made and have nothing in them."""
    old, new = (
        {block.form.partition(".")[0] for block in blocks}
        for blocks in (changes.old_blocks, changes.new_blocks)
    )
    made = new - old
    blocks = (b for b in tags.blocks if b.items or b.form.partition(".")[0] not in made)
    return TagSet(tags.container, tuple(blocks))


def _others(
    write: WriteRecord, changes: TagChanges, present: Iterable[TagChange], back: TagSet
) -> Iterator[ChangedKey]:
    """Yield the keys that changed since and were not written."""
    names = {change.key.casefold() for change in present}
    dates = {date_frame(change.form, change.key) for change in present} - {None}
    for key in changes_since_write(write, changes, back):
        is_written = key.before is not None or key.field.casefold() in names
        is_same = SAME_WORDS in key.new or key.field.startswith(HEAD_OF)
        if not is_written and not is_same and date_frame("id3v2.4", key.field) not in dates:
            yield key


def _items_of(block: TagBlock, change: TagChange) -> Iterator[PlacedItem]:
    for at, item in enumerate(block.items):
        if is_same_key(block.form, item.key, change.key):
            yield PlacedItem(at, item)


def _with_items(
    block: TagBlock, now: tuple[PlacedItem, ...], old: tuple[PlacedItem, ...]
) -> TagBlock:
    removed = {placed.at for placed in now}
    items = [item for at, item in enumerate(block.items) if at not in removed]
    end = sum(bool(item.key) for item in items)  # bytes that are no record stand behind the others
    for count, placed in enumerate(old):
        items.insert(min(placed.at, end + count), placed.item)
    in_order = asf.sorted_by_place(items) if block.form == "asf" else tuple(items)
    return TagBlock(block.form, in_order, block.head)
