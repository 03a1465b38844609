"""Put back the keys that a write changed, in tags that another program may have saved since.

The journal has the items of every changed key before and after the write. A key that still has the
written texts gets its former items, also if the tag is of another version of ID3 now. A key that
somebody changed since is kept.
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
    ChangedKey,
    Texts,
    changes_since_write,
    merged_by_key,
    shown_texts,
    texts_after_write,
)
from chart_binder.jobs.stored_decisions import path_from_bytes

_ID3 = "id3v2"
_LAST_PLACE = 1 << 16
"""A place after every item of a tag."""
_COPIED_INTO = {"wav": "riff-info", **dict.fromkeys(("mp3", "ape", "wv", "mpc"), "id3v1")}
"""The tag that other programs fill with copies from the written tag, by container."""


@dataclass(frozen=True, slots=True)
class PutBackResult:
    """Tags with the written keys put back.

    `kept_keys` are written keys that were changed since, and stay; `other_keys` are keys that were
    not written and changed since.
    """

    tags: TagSet
    kept_keys: tuple[ChangedKey, ...] = ()
    other_keys: tuple[ChangedKey, ...] = ()


def tags_put_back(write: WriteRecord, tags: TagSet, *, force: bool = False) -> PutBackResult:
    """Put back every written key that still has the written texts; with `force`, all written keys.

    Raises `AudioError` if the journal cannot be read, and `SaveError` if undoing the changes does
    not result in the former tags.
    """
    changes = TagChanges.from_json(write.changes)
    if tags.hash == write.tags_after_hash:
        before = apply_changes(tags, changes.reversed)
        if before.hash != write.tags_before_hash:
            path = quoted(path_from_bytes(write.path))
            raise SaveError(f"{path}: the journal does not lead back to the former tags")
        return PutBackResult(before)
    copied = tuple(_additions(changes.copied, changes))
    present_items = new_block(tags).items
    lost = _additions((item for item in changes.uncopied if item not in present_items), changes)
    recorded = _from_copies(merged_by_key(changes.changes), (*copied, *lost))
    converted = _in_present_version(recorded, write, tags)
    back, kept_keys = _with_old_items(tags, converted, write, changes, force=force)
    back = _without_copies(back, _in_present_version(copied, write, back), changes)
    back = _without_written(back, write, changes)
    return PutBackResult(back, kept_keys, tuple(_other_keys(write, changes, converted, back)))


def _written_form(changes: TagChanges) -> str:
    """Return the form of the tag that was written, or an empty text."""
    return next((change.form for change in changes.changes if change.new), "")


def _additions(items: Iterable[TagItem], changes: TagChanges) -> Iterator[TagChange]:
    """Yield items of other tags as additions to the written tag."""
    form = _written_form(changes)
    for at, item in enumerate(items):
        yield TagChange(form, item.key, (), (PlacedItem(at, item),))


def _from_copies(
    recorded: Iterable[TagChange], copied: tuple[TagChange, ...]
) -> Iterator[TagChange]:
    """Yield changes; the old items of an absent or empty key are those of another tag."""
    for change in recorded:
        copies = (copy for copy in copied if is_same_key(change.form, copy.key, change.key))
        of_other_tag = tuple(placed for copy in copies for placed in copy.new)
        if not of_other_tag or any(shown_texts(change.form, change.old)):
            yield change
        elif shown_texts(change.form, of_other_tag) != shown_texts(change.form, change.new):
            yield msgspec.structs.replace(change, old=of_other_tag)


def _in_present_version(
    changes: Iterable[TagChange], write: WriteRecord, tags: TagSet
) -> tuple[TagChange, ...]:
    """Return changes, those of ID3v2 converted to the version that the tag has now."""
    block = tags.block(_ID3)
    id3_changes, converted = list[TagChange](), list[TagChange]()
    for change in changes:
        is_id3 = block and change.form.startswith(_ID3)
        (id3_changes if is_id3 else converted).append(change)
    if block and id3_changes:
        texts = texts_after_write(write, id3_changes[0].form)
        converted += changes_in_block(id3_changes, texts, block)
    return tuple(converted)


def _with_old_items(
    tags: TagSet,
    converted: Iterable[TagChange],
    write: WriteRecord,
    changes: TagChanges,
    *,
    force: bool,
) -> tuple[TagSet, tuple[ChangedKey, ...]]:
    """Return tags with the old items of keys, and the keys that are kept because they changed.

    The keys of one field are put back together, or none of them is.
    """
    kept_keys = list[ChangedKey]()
    texts_after = cache(partial(texts_after_write, write))
    heads = {block.form: block.head for block in (*changes.old_blocks, *changes.new_blocks)}
    units = defaultdict[tuple[str, str], list[TagChange]](list)
    for change in converted:
        units[change.form, field_of_key(change.form, change.key) or change.key].append(change)
    for (form, name), unit in units.items():
        block = next((block for block in tags.blocks if block.form == form), None)
        if block is None and changes.copied:
            continue  # somebody removed the tag, so the tag that it hid counts again
        block = block or TagBlock(form, (), heads[form])
        merged = [*unit, *_merged_keys(block, name, unit, texts_after(form))]
        is_merged = _are_merged(_changed_keys(block, merged))
        changed = [key for key in _changed_keys(block, unit) if key.new != key.before]
        is_as_written = is_merged or all(_is_as_written(key, form, heads) for key in changed)
        if not force and not is_as_written:
            kept_keys += changed
        elif changed:
            for change in merged if is_merged else unit:
                block = _with_items(block, tuple(_items_of(block, change)), change.old)
            is_new = block.form in _COPIED_INTO.values() and not tags.block(block.form)
            appended = TagSet(tags.container, (*tags.blocks, block))
            tags = appended if is_new else tags.with_block(block)
    return tags, tuple(kept_keys)


def _changed_keys(block: TagBlock, unit: Iterable[TagChange]) -> list[ChangedKey]:
    """Return keys with their texts before the write, after it, and now."""
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
    block: TagBlock, name: str, unit: list[TagChange], texts_after: Mapping[str, Texts]
) -> Iterator[TagChange]:
    """Yield the unwritten keys of a field that are gone because another key has their texts now."""
    present_keys = [*(change.key for change in unit), *(item.key for item in block.items)]
    present_texts = {text for key in _changed_keys(block, unit) for text in key.new}
    for key, texts in texts_after.items():
        is_gone = not any(is_same_key(block.form, key, present) for present in present_keys)
        if is_gone and present_texts.issuperset(texts) and field_of_key(block.form, key) == name:
            items = text_items(block.form, key, texts)
            placed = tuple(PlacedItem(_LAST_PLACE, item) for item in items)
            yield TagChange(block.form, key, placed, placed)


def _are_merged(keys: list[ChangedKey]) -> bool:
    """Return whether the keys of one field together still have the texts that were written.

    TagLib saves the values of `Year` and `DATE`, or of `Disc` and `DISCNUMBER`, as one key.
    """
    present = Counter(chain.from_iterable(key.new for key in keys))
    after_write = Counter(chain.from_iterable(key.old for key in keys))
    return present == after_write and all(not key.new or {*key.old} <= {*key.new} for key in keys)


def _is_as_written(key: ChangedKey, form: str, heads: dict[str, bytes]) -> bool:
    """Return whether a key has the written texts, as another program may save them.

    TagLib changes the order of values (ASF), and repeats a value that two keys had (APE).
    """
    is_of_other_version = form not in heads
    return {*key.new} == {*key.old} or (
        is_of_other_version and is_as_saved(form, key.field, key.new, key.old)
    )


def _without_copies(tags: TagSet, copied: tuple[TagChange, ...], changes: TagChanges) -> TagSet:
    """Return tags without the items that were copied from other tags, if these still have them.

    A tag that the write created is removed if it is empty then.
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
    """Return tags without the written fields that another program copied to other keys.

    These keys are in the written tag, in RIFF INFO or in ID3v1, were absent after the write, and
    have written texts that no tag of the file had before.
    """
    fields = _written_fields(write, changes)
    form = _written_form(changes)
    old = {(change.form, folded(change.form, change.key)) for change in changes.changes}
    for header in changes.new_blocks:
        texts_after = texts_after_write(write, header.form)
        old |= {(header.form, folded(header.form, key)) for key in texts_after}
    for block in tags.blocks if fields else ():
        if block.form not in (form, _COPIED_INTO.get(tags.container)):
            continue
        old_keys = {key for old_form, key in old if old_form == block.form}
        bare = without_fields(block, fields, old_keys)
        if bare is None and block.form != form:
            remaining = (present for present in tags.blocks if present.form != block.form)
            tags = TagSet(tags.container, tuple(remaining))
        else:
            tags = tags.with_block(bare or TagBlock(form, (), block.head))
    return _without_empty(tags, changes)


def _written_fields(write: WriteRecord, changes: TagChanges) -> dict[str, Texts]:
    """Return the written fields whose texts no tag of the file had before."""
    form = _written_form(changes)
    of_form = [change for change in changes.changes if change.form == form]
    changed = {change.key for change in of_form}
    unchanged = [
        (field_of_key(form, key), texts)
        for key, texts in texts_after_write(write, form).items()
        if key not in changed
    ]
    old = (placed.item for change in of_form for placed in change.old)
    new = (placed.item for change in of_form for placed in change.new)
    for items in (old, changes.copied, changes.uncopied):
        unchanged += fields_of_items(form, items).items()
    return {
        name: texts
        for name, texts in fields_of_items(form, new).items()
        if (name, texts) not in unchanged
    }


def _without_empty(tags: TagSet, changes: TagChanges) -> TagSet:
    """Return tags without the empty ones that the write created."""
    old, new = (
        {block.form.partition(".")[0] for block in blocks}
        for blocks in (changes.old_blocks, changes.new_blocks)
    )
    blocks = (
        block
        for block in tags.blocks
        if block.items or block.form.partition(".")[0] not in new - old
    )
    return TagSet(tags.container, tuple(blocks))


def _other_keys(
    write: WriteRecord, changes: TagChanges, converted: Iterable[TagChange], back: TagSet
) -> Iterator[ChangedKey]:
    """Yield the keys that changed since the write and were not written."""
    names = {change.key.casefold() for change in converted}
    dates = {date_frame(change.form, change.key) for change in converted} - {None}
    for key in changes_since_write(write, changes, back, in_texts_only=True):
        is_written = key.before is not None or key.field.casefold() in names
        if not is_written and date_frame("id3v2.4", key.field) not in dates:
            yield key


def _items_of(block: TagBlock, change: TagChange) -> Iterator[PlacedItem]:
    for at, item in enumerate(block.items):
        if is_same_key(block.form, item.key, change.key):
            yield PlacedItem(at, item)


def _with_items(
    block: TagBlock, present: tuple[PlacedItem, ...], old: tuple[PlacedItem, ...]
) -> TagBlock:
    removed = {placed.at for placed in present}
    items = [item for at, item in enumerate(block.items) if at not in removed]
    end = sum(bool(item.key) for item in items)  # bytes that are not an item come last
    for count, placed in enumerate(old):
        items.insert(min(placed.at, end + count), placed.item)
    in_order = asf.sorted_by_place(items) if block.form == "asf" else tuple(items)
    return TagBlock(block.form, in_order, block.head)
