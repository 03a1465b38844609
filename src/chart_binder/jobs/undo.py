"""Undo what was written into files, and verify what is there against the journal.

The former file is made again byte by byte; tags that changed since are put back key by key.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.containers import asf, audio_hash, read_tag_set
from chart_binder.audio.field_table import FIELDS, FIELDS_BY_NAME, written_keys
from chart_binder.audio.fields import (
    field_texts,
    is_same_key,
    new_block,
    with_dates_of_version,
    with_fields,
)
from chart_binder.audio.file_access import FileInUseError
from chart_binder.audio.save import (
    ChangedSinceError,
    NotWritableError,
    PreparedCopy,
    Restoration,
    SaveResult,
    require_writable,
)
from chart_binder.audio.tagset import (
    Block,
    Change,
    PlacedItem,
    TagChanges,
    TagSet,
    apply_changes,
    normalized,
    with_recorded_names,
)
from chart_binder.domain.records import RunRecord, WriteRecord, WriteState, now_utc
from chart_binder.errors import AudioError, CanonError, SaveError, StoreError
from chart_binder.jobs.journal import (
    HEAD_OF,
    SAME_WORDS,
    ChangedKey,
    MovedFiles,
    Texts,
    WritingRun,
    changes_since_write,
    field_changes,
    has_written,
    is_undoing,
    last_done,
    merged_by_key,
    moved_text,
    not_undoing,
    only_done,
    shown_texts,
    write_of_file,
)
from chart_binder.jobs.stored_decisions import path_bytes, path_from_bytes
from chart_binder.jobs.write import WriteReport, WriteStatus, read_file_tags, why_text

if TYPE_CHECKING:
    from chart_binder.store import Store


_ALREADY = "its tags are as they were already"
_ALL_CHANGED = "all that was written changed since: --force puts it back"
_WRITTEN_SINCE = "run {run} wrote its tags since: `canon undo {run}` first, or --force"
_GONE = "; if it was moved, name the folder that it is in now: `canon undo FOLDER` finds it"
_IN_PART = "`canon undo` kept what somebody changed since: with --force it puts that back, too"
_DATES = ("date", "original_date")


@dataclass(frozen=True, slots=True)
class PutBack:
    """Tags with what was written taken back but for `kept` keys; `others` changed since, too."""

    tags: TagSet
    kept: tuple[ChangedKey, ...] = ()
    others: tuple[ChangedKey, ...] = ()


def runs_to_undo(store: "Store") -> Iterator[RunRecord]:
    """Yield the runs with writes that can be undone, newest first; undoing runs do not count."""
    return (run for run in store.runs.iterate() if any(writes_to_undo(store, run)))


def writes_to_undo(store: "Store", run: RunRecord) -> Iterator[WriteRecord]:
    """Yield the writes of a run that can be undone; writes that undid others do not count."""
    return not_undoing(store, store.journal.of_run(run.id))


def writes_since(
    store: "Store", at_utc: str, moved: MovedFiles, paths: Iterable[Path] | None = None
) -> Iterator[WriteRecord]:
    """Yield the writes since a time that can be undone, of all files or `paths`, newest first."""
    if paths is None:
        return not_undoing(store, store.journal.since(at_utc))
    names = (write.path for path in paths if (write := moved.last_write(path)))
    found = (write for name in names for write in store.journal.of_path(name))
    return not_undoing(store, (write for write in found if write.at_utc >= at_utc))


def undo_writes(
    writes: Iterable[WriteRecord],
    run: WritingRun,
    moved: MovedFiles | None = None,
    *,
    force: bool = False,
) -> Iterator[WriteReport]:
    """Undo writes, of each file the newest first, and yield a report for each. Raises `StoreError`.

    A file that was not changed since is made again byte by byte. In another, the written keys are
    put back; one that somebody changed since is kept unless `force`.
    """
    moved = moved or MovedFiles(run.store)
    for write in writes:
        yield _report_on(write, moved, partial(_undo, run=run, force=force))


def plan_undo(
    store: "Store",
    writes: Iterable[WriteRecord],
    moved: MovedFiles | None = None,
    *,
    force: bool = False,
) -> Iterator[WriteReport]:
    """Yield what `undo_writes` would report, and change nothing. Raises `StoreError`."""
    moved = moved or MovedFiles(store)
    planned: dict[bytes, list[WriteRecord]] = {}
    for write in writes:
        newer = planned.setdefault(write.path, [])
        report = _report_on(write, moved, partial(_plan, store=store, newer=newer, force=force))
        if report.status is WriteStatus.PLANNED:
            newer.append(write)
        yield report


def _report_on(
    write: WriteRecord, moved: MovedFiles, undo: Callable[[WriteRecord, Path], WriteReport]
) -> WriteReport:
    """Return the report on one file; what went wrong is part of it. Raises `StoreError`."""
    former, path = path_from_bytes(write.path), moved.path_of(write)
    try:
        report = undo(write, path)
    except StoreError:
        raise
    except CanonError as error:
        is_refused = isinstance(error, FileInUseError | NotWritableError | _RefusedError)
        status = WriteStatus.REFUSED if is_refused else WriteStatus.FAILED
        report = WriteReport(path, status, why=why_text(error))
    why = report.why
    if path_bytes(path) != write.path:
        why = moved_text(write, why)
    elif report.status is WriteStatus.FAILED and not former.exists():
        why = f"{why}{_GONE}"
    return replace(report, why=why, decision_id=write.decision_id, file=read_file_tags(path))


class _RefusedError(SaveError):
    """The file is not, or not any more, as this write left it."""


def _undo(write: WriteRecord, path: Path, *, run: WritingRun, force: bool) -> WriteReport:
    journal = run.store.journal
    now = read_tag_set(path)
    if now.hash == write.tags_before_hash:
        journal.undone(write.id, now_utc())
        return WriteReport(path, WriteStatus.UNCHANGED, why=_ALREADY)
    if not force:
        _require_last(run.store, write, now)
    saved, undoing, back = _restored(write, path, run) or _put_back(write, path, run, force=force)
    if not back.kept:
        journal.undone(write.id, now_utc())
    if not saved.changed:
        return _unchanged(path, back)
    return WriteReport(
        path,
        WriteStatus.UNDONE,
        field_changes(saved.before, saved.after),
        write_id=undoing.id if undoing else None,
        run_id=run.run.id,
        lost=saved.lost,
        kept=back.kept,
        others=back.others,
    )


def _plan(
    write: WriteRecord, path: Path, *, store: "Store", newer: Iterable[WriteRecord], force: bool
) -> WriteReport:
    """Return what `_undo` would report, once newer writes of the file are undone."""
    now = read_tag_set(path)
    for each in newer:
        now = tags_put_back(each, now, force=force).tags
    if now.hash == write.tags_before_hash:
        return WriteReport(path, WriteStatus.UNCHANGED, why=_ALREADY)
    if not force:
        _require_last(store, write, now)
    back = tags_put_back(write, now, force=force)
    _require_audio(write, audio_hash(path))
    if back.tags == now:
        return _unchanged(path, back)
    require_writable(path)
    changes = field_changes(now, back.tags)
    return WriteReport(path, WriteStatus.PLANNED, changes, kept=back.kept, others=back.others)


def _unchanged(path: Path, back: PutBack) -> WriteReport:
    status = WriteStatus.REFUSED if back.kept else WriteStatus.UNCHANGED
    why = _ALL_CHANGED if back.kept else _ALREADY
    return WriteReport(path, status, why=why, kept=back.kept, others=back.others)


def _require_last(store: "Store", write: WriteRecord, now: TagSet) -> None:
    """Raise `SaveError` if a file's tags are, without any other change, those of a later write."""
    if now.hash == write.tags_after_hash:
        return
    since = takewhile(lambda each: each.id != write.id, store.journal.of_path(write.path))
    for later in not_undoing(store, since):
        if later.tags_after_hash == now.hash:
            raise _RefusedError(_WRITTEN_SINCE.format(run=later.run_id))


def _require_audio(write: WriteRecord, found: str) -> None:
    if found != write.audio_hash:
        raise _RefusedError("its audio is not that which the tags were written for")


_Saved = tuple[SaveResult, WriteRecord | None, PutBack]


def _restored(write: WriteRecord, path: Path, run: WritingRun) -> _Saved | None:
    """Make the former file again; return `None` if the file was changed since."""
    try:
        saved, undoing = run.restore(path, Restoration.from_document(write.restoration), write)
    except ChangedSinceError:
        return None
    return saved, undoing, PutBack(saved.after)


def _put_back(write: WriteRecord, path: Path, run: WritingRun, *, force: bool) -> _Saved:
    found: list[PutBack] = []

    def change(tags: TagSet) -> TagSet:
        found.append(tags_put_back(write, tags, force=force))
        return found[-1].tags

    def check(prepared: PreparedCopy) -> None:
        _require_audio(write, prepared.audio_hash)

    saved, undoing = run.save(path, change, write.decision_id, check, write.id)
    return saved, undoing, found[-1]


def tags_put_back(write: WriteRecord, tags: TagSet, *, force: bool = False) -> PutBack:
    """Return tags with every written key put back that says what was written; all if `force`.

    Raises `AudioError` for a journal that cannot be read, `SaveError` if it does not lead back.
    """
    changes = TagChanges.from_json(write.changes)
    if has_written(tags, write):
        return PutBack(_tags_before(write, changes, tags))
    back, names, kept_fields = _with_old_fields(tags, changes, force=force)
    moved = {key for name in names for key in written_keys(name)}
    back, kept = _with_old_items(back, changes, moved, force=force)
    others = tuple(
        each
        for each in changes_since_write(write, changes, back)
        if each.before is None
        and SAME_WORDS not in each.new
        and not each.field.startswith(HEAD_OF)
        and each.field not in moved
    )
    return PutBack(back, (*kept, *kept_fields), others)


def _tags_before(write: WriteRecord, changes: TagChanges, tags: TagSet) -> TagSet:
    is_exact = tags.hash == write.tags_after_hash
    now = tags if is_exact else with_recorded_names(tags, changes)
    before = apply_changes(now, changes.reversed)
    is_restored = before.hash == write.tags_before_hash
    if not is_restored and (is_exact or normalized(before).hash != changes.old_alike):
        raise SaveError(
            f"{path_from_bytes(write.path)}: the journal does not lead back to the tags before"
        )
    return before


def _with_old_fields(
    tags: TagSet, changes: TagChanges, *, force: bool
) -> tuple[TagSet, tuple[str, ...], tuple[ChangedKey, ...]]:
    """Put back fields whose ID3v2 keys are of another version; return names, and kept ones."""
    form = next((change.form for change in changes.changes), "")
    block = tags.block("id3v2")
    if block is None or not form.startswith("id3v2"):
        return tags, (), ()
    names = tuple(
        each.name
        for each in FIELDS
        if block.form != form
        or (each.name in _DATES and with_dates_of_version(tags, each.name) is not tags)
    )
    empty = TagSet(tags.container, (Block(block.form),))
    was, written = (
        TagSet(tags.container, (Block(form, tuple(placed.item for placed in items)),))
        for items in (
            [placed for change in changes.changes for placed in change.old],
            [placed for change in changes.changes for placed in change.new],
        )
    )
    kept = []
    fields: dict[str, Texts] = {}
    for name in names:
        old, new, now = (field_texts(each, name) for each in (was, written, tags))
        if old == new or _joined(now) == _joined(old):
            continue
        # ID3v2.3 holds the year of an original date alone.
        held = field_texts(with_fields(empty, {name: new}), name)
        if _joined(now) in (_joined(new), _joined(held)) or force:
            is_several = FIELDS_BY_NAME[name].several
            fields[name] = tuple(filter(None, old)) if is_several else old[:1]
        else:
            kept.append(ChangedKey(name, new, now, old))
    return with_fields(tags, fields), names, tuple(kept)


def _joined(texts: Texts) -> str:
    """Return texts as ID3v2.3 has them: in one."""
    return "/".join(texts)


def _with_old_items(
    tags: TagSet, changes: TagChanges, moved: Container[str], *, force: bool
) -> tuple[TagSet, tuple[ChangedKey, ...]]:
    """Put back the records of keys, as they were; return the keys that somebody changed, too."""
    kept = []
    heads = {block.form: block.head for block in (*changes.old_blocks, *changes.new_blocks)}
    for change in merged_by_key(changes.changes):
        block = next((each for each in tags.blocks if each.form == change.form), None)
        if change.key in moved:
            continue
        if block is None:
            if change.form.startswith("id3v2") and tags.block("id3v2"):
                continue
            block = Block(change.form, (), heads[change.form])
        now = tuple(_items_of(block, change))
        texts = [shown_texts(change.form, each) for each in (change.new, now, change.old)]
        if texts[1] == texts[2]:
            continue
        # TagLib saves values in another order (ASF), and those of `Year` and `DATE` as one (APE).
        if {*texts[0]} == {*texts[1]} or force:
            tags = tags.with_block(_with_items(block, now, change.old))
        else:
            kept.append(ChangedKey(change.key, *texts))
    made = {block.form for block in changes.new_blocks} - {b.form for b in changes.old_blocks}
    for block in tags.blocks:
        if block.form in made and block.items:
            tags = tags.with_block(_with_taken_over(tags, block))
    blocks = tuple(block for block in tags.blocks if block.items or block.form not in made)
    return TagSet(tags.container, blocks), tuple(kept)


def _with_taken_over(tags: TagSet, block: Block) -> Block:
    """Return a tag that stays, for others have keys in it, with what it still hides in others."""
    keys = {item.key for item in block.items}
    taken = (item for item in new_block(tags).items if item.key not in keys)
    return Block(block.form, (*taken, *block.items), block.head)


def _items_of(block: Block, change: Change) -> Iterator[PlacedItem]:
    for at, item in enumerate(block.items):
        if is_same_key(block.form, item.key, change.key):
            yield PlacedItem(at, item)


def _with_items(block: Block, now: tuple[PlacedItem, ...], old: tuple[PlacedItem, ...]) -> Block:
    removed = {placed.at for placed in now}
    items = [item for at, item in enumerate(block.items) if at not in removed]
    end = sum(bool(item.key) for item in items)  # bytes that are no record stand behind the others
    for count, placed in enumerate(old):
        items.insert(min(placed.at, end + count), placed.item)
    in_order = asf.sorted_by_place(items) if block.form == "asf" else tuple(items)
    return Block(block.form, in_order, block.head)


class VerifyState(StrEnum):
    """How a file compares with the journal."""

    SAME = "same"
    PUT_BACK = "put back"
    IN_PART = "put back in part"
    UNRECORDED = "unrecorded"
    OPEN = "open"
    TAGS_DIFFER = "tags differ"
    AUDIO_DIFFERS = "audio differs"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Verification:
    """The finding for one file; `changes` lead from what was written, or what `undo` kept."""

    path: Path
    finding: VerifyState
    why: str | None = None
    changes: tuple[ChangedKey, ...] = ()
    write: WriteRecord | None = None


def verify(store: "Store", path: Path) -> Verification:
    """Compare a file's tags and audio with the journal. Raises `StoreError`; changes nothing."""
    writes = store.journal.of_path(path_bytes(path))
    write = next(only_done(writes), None)
    begun = next((each for each in writes if each.state is WriteState.INTENDED), None)
    if begun and (write is None or begun.id > write.id):
        why = "a run is writing it, or was cut short: the next run that writes records what it did"
        return Verification(path, VerifyState.OPEN, why, write=begun)
    try:
        write = write_of_file(store, path, last_done)
        if write is None:
            why = "no tags were written into it by canon"
            return Verification(path, VerifyState.UNRECORDED, why)
        found = _compare(path, write)
        if found.finding is VerifyState.SAME and is_undoing(store, write):
            found = _undone(store, found, write)
        is_moved = write.path != path_bytes(path)
        return replace(found, why=moved_text(write, found.why)) if is_moved else found
    except AudioError as error:
        return Verification(path, VerifyState.UNREADABLE, str(error), write=write)


def _undone(store: "Store", found: Verification, undoing: WriteRecord) -> Verification:
    """Return the finding for a file that is as an undo left it."""
    write = store.journal.get(undoing.undoes) if undoing.undoes else None
    kept: tuple[ChangedKey, ...] = ()
    if write and write.state is WriteState.DONE:
        kept = tags_put_back(write, read_tag_set(found.path)).kept
    if not kept:
        return replace(found, finding=VerifyState.PUT_BACK)
    return replace(found, finding=VerifyState.IN_PART, why=_IN_PART, changes=kept)


def _compare(path: Path, write: WriteRecord) -> Verification:
    if audio_hash(path) != write.audio_hash:
        why = "its audio is not that which the tags were written for: damaged, or another file"
        return Verification(path, VerifyState.AUDIO_DIFFERS, why, write=write)
    tags = read_tag_set(path)
    if has_written(tags, write):
        return Verification(path, VerifyState.SAME, write=write)
    found = changes_since_write(write, TagChanges.from_json(write.changes), tags)
    why = (
        "other tags than those that were written changed since"
        if found and all(each.before is None for each in found)
        else "its tags say something else than was written"
    )
    return Verification(path, VerifyState.TAGS_DIFFER, why, found, write)
