"""Tags with what was written taken back key by key, where other programs changed some since."""

from collections.abc import Iterator
from dataclasses import dataclass

from chart_binder.audio import tagset
from chart_binder.audio.containers import asf
from chart_binder.audio.fields import (
    FIELDS,
    field_texts,
    is_same_key,
    new_block,
    with_dates_of_version,
    with_fields,
    written_keys,
)
from chart_binder.domain.records import WriteRecord
from chart_binder.errors import SaveError
from chart_binder.jobs import journal
from chart_binder.jobs.stored_decisions import path_from_bytes

# The frames that fields may be put back into in an ID3v2 tag of another version.
_KEYS = frozenset(key for field in FIELDS for key in written_keys(field.name))


@dataclass(frozen=True, slots=True)
class PutBack:
    """Tags with what was written taken back.

    `kept` are written keys that somebody changed since, which say that still; `others` are keys
    that were not written, changed since.
    """

    tags: tagset.TagSet
    kept: tuple[journal.ChangedKey, ...] = ()
    others: tuple[journal.ChangedKey, ...] = ()


def tags_put_back(
    write: WriteRecord, changes: tagset.TagChanges, tags: tagset.TagSet, *, force: bool = False
) -> PutBack:
    """Return tags with every written key put back that says what was written.

    With `force` the others, too. Of tags that are those that were written, the result is exactly
    what was there before. Raises `AudioError` for a journal that cannot be read, and `SaveError`
    for one that does not lead back.
    """
    is_exact = tags.hash == write.tags_after_hash
    if is_exact or tagset.normalized_hash(tags) == changes.new_alike:
        return PutBack(_tags_before(write, changes, tags, is_exact=is_exact))
    back, moved = _with_old_dates(tags, changes, force=force)
    back, kept = _with_old_items(back, changes, force=force)
    back, kept_fields = _with_old_fields(back, changes, force=force)
    ours = _KEYS if any(_other_version(tags, change.form) for change in changes.changes) else ()
    others = tuple(
        each
        for each in journal.changes_since_write(write, changes, back)
        if each.before is None
        and journal.SAME_WORDS not in each.new
        and not each.field.startswith(journal.HEAD_OF)
        and each.field not in ours
    )
    return PutBack(back, (*moved, *kept, *kept_fields), others)


def _tags_before(
    write: WriteRecord, changes: tagset.TagChanges, tags: tagset.TagSet, *, is_exact: bool
) -> tagset.TagSet:
    now = tags if is_exact else tagset.with_recorded_names(tags, changes)
    before = tagset.apply_changes(now, changes.reversed)
    is_restored = before.hash == write.tags_before_hash
    if not is_restored and (is_exact or tagset.normalized_hash(before) != changes.old_alike):
        raise SaveError(
            f"{path_from_bytes(write.path)}: the journal does not lead back to the tags before"
        )
    return before


_Result = tuple[tagset.TagSet, tuple[journal.ChangedKey, ...]]


def _with_old_dates(tags: tagset.TagSet, changes: tagset.TagChanges, *, force: bool) -> _Result:
    """Put dates that were written back under their keys, if somebody moved them to others.

    Of those that somebody changed, too, the new keys are returned.
    """
    kept: list[journal.ChangedKey] = []
    for name in ("date", "original_date"):
        moved = with_dates_of_version(tags, name)
        block = moved.block("id3v2.3")
        if block is None or moved is tags:
            continue
        written = [
            journal.ChangedKey(
                each.key,
                *(
                    journal.shown_texts(each.form, items)
                    for items in (each.new, _items_of(block, each), each.old)
                ),
            )
            for each in journal.merged_by_key(changes.changes)
            if each.form == block.form and each.key in written_keys(name)
        ]
        changed = [key for key in written if key.old != key.new]
        if written and (force or not changed):
            tags = moved
        else:
            kept += (key for key in changed if not key.before)
    return tags, tuple(kept)


def _with_old_items(tags: tagset.TagSet, changes: tagset.TagChanges, *, force: bool) -> _Result:
    """Put back the records of keys, as they were; return the keys that somebody changed, too."""
    kept = []
    heads = {block.form: block.head for block in (*changes.old_blocks, *changes.new_blocks)}
    for change in journal.merged_by_key(changes.changes):
        block = next((each for each in tags.blocks if each.form == change.form), None)
        if block is None:
            if _other_version(tags, change.form):
                continue
            block = tagset.Block(change.form, (), heads[change.form])
        now = tuple(_items_of(block, change))
        texts = [journal.shown_texts(change.form, each) for each in (change.new, now, change.old)]
        if texts[1] == texts[2]:
            continue
        # TagLib saves values in another order (ASF), and those of `Year` and `DATE` as one (APE).
        if {*texts[0]} == {*texts[1]} or force:
            tags = tags.with_block(_with_items(block, now, change.old))
        else:
            kept.append(journal.ChangedKey(change.key, *texts))
    made = {block.form for block in changes.new_blocks} - {b.form for b in changes.old_blocks}
    for block in tags.blocks:
        if block.form in made and block.items:
            tags = tags.with_block(_with_taken_over(tags, block))
    blocks = tuple(block for block in tags.blocks if block.items or block.form not in made)
    return tagset.TagSet(tags.container, blocks), tuple(kept)


def _with_taken_over(tags: tagset.TagSet, block: tagset.Block) -> tagset.Block:
    """Return a tag that stays, for others have keys in it, with what it still hides in others."""
    keys = {item.key for item in block.items}
    taken = (item for item in new_block(tags).items if item.key not in keys)
    return tagset.Block(block.form, (*taken, *block.items), block.head)


def _items_of(block: tagset.Block, change: tagset.Change) -> Iterator[tagset.PlacedItem]:
    for at, item in enumerate(block.items):
        if is_same_key(block.form, item.key, change.key):
            yield tagset.PlacedItem(at, item)


def _with_items(
    block: tagset.Block, now: tuple[tagset.PlacedItem, ...], old: tuple[tagset.PlacedItem, ...]
) -> tagset.Block:
    removed = {placed.at for placed in now}
    items = [item for at, item in enumerate(block.items) if at not in removed]
    end = sum(bool(item.key) for item in items)  # bytes that are no record stand behind the others
    for count, placed in enumerate(old):
        items.insert(min(placed.at, end + count), placed.item)
    in_order = asf.sorted_by_place(items) if block.form == "asf" else tuple(items)
    return tagset.Block(block.form, in_order, block.head)


def _other_version(tags: tagset.TagSet, form: str) -> str | None:
    """Return the form of the ID3v2 tag, if another program made one of another version of it."""
    block = tags.block("id3v2") if form.startswith("id3v2") else None
    return block.form if block and block.form != form else None


def _with_old_fields(tags: tagset.TagSet, changes: tagset.TagChanges, *, force: bool) -> _Result:
    """Put fields back into an ID3v2 tag of another version than the one that was written."""
    form = next((change.form for change in changes.changes), "")
    other = _other_version(tags, form)
    if not other:
        return tags, ()
    empty = tagset.TagSet(tags.container, (tagset.Block(other),))
    was, written = (
        tagset.TagSet(tags.container, (tagset.Block(form, tuple(placed.item for placed in items)),))
        for items in (
            [placed for change in changes.changes for placed in change.old],
            [placed for change in changes.changes for placed in change.new],
        )
    )
    kept = []
    fields: dict[str, journal.Texts] = {}
    for field in FIELDS:
        old, new, now = (field_texts(each, field.name) for each in (was, written, tags))
        if old == new or _joined(now) == _joined(old):
            continue
        # ID3v2.3 holds the year of an original date alone.
        held = field_texts(with_fields(empty, {field.name: new}), field.name)
        if _joined(now) in (_joined(new), _joined(held)) or force:
            fields[field.name] = tuple(filter(None, old)) if field.several else old[:1]
        else:
            kept.append(journal.ChangedKey(field.name, new, now, old))
    return with_fields(tags, fields), tuple(kept)


def _joined(texts: journal.Texts) -> str:
    """Return texts as ID3v2.3 has them: in one."""
    return "/".join(texts)
