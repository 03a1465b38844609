"""Undo writes of tags, and verify files against the journal.

A file that did not change since the write gets its former bytes; in a changed file, the written
keys are put back one by one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.locks import FileInUseError
from chart_binder.audio.save import (
    ChangedSinceError,
    NotWritableError,
    PreparedCopy,
    Restoration,
    SaveResult,
    check_restore,
    check_tags,
)
from chart_binder.audio.tagset import TagChanges, TagSet
from chart_binder.domain.records import RunRecord, WriteRecord, WriteState, now_utc
from chart_binder.errors import AudioError, CanonError, SaveError, StoreError
from chart_binder.jobs.journal import (
    ChangedKey,
    MovedFiles,
    WritingRun,
    changes_since_write,
    field_changes,
    has_written,
    is_undoing,
    last_done,
    moved_text,
    not_undoing,
    only_done,
    write_of_file,
)
from chart_binder.jobs.put_back import PutBackResult, tags_put_back
from chart_binder.jobs.stored_decisions import path_bytes
from chart_binder.jobs.write import WriteReport, WriteStatus, read_file_tags, why_text

if TYPE_CHECKING:
    from chart_binder.store import Store


_ALREADY = "its tags are already as they were before"
_ALL_CHANGED = "everything that was written has changed since: --force puts it back"
_WRITTEN_SINCE = "run {run} has written its tags since: `canon undo {run}` first, or --force"
_OTHER_AUDIO = "its audio is not the audio that the tags were written for"
_GONE = "; if it was moved, name the folder that it is in now: `canon undo FOLDER` finds it"
_IN_PART = "`canon undo` kept what somebody changed since: with --force it puts that back, too"


def runs_to_undo(store: "Store") -> Iterator[RunRecord]:
    """Yield the runs with writes that can be undone, newest first, not those that undid some."""
    return (run for run in store.runs.iterate() if any(writes_to_undo(store, run)))


def writes_to_undo(store: "Store", run: RunRecord) -> Iterator[WriteRecord]:
    """Yield the writes of a run that can be undone, without those that undid others."""
    return not_undoing(store, store.journal.of_run(run.id))


def writes_since(
    store: "Store", at_utc: str, moved: MovedFiles, paths: Iterable[Path] | None = None
) -> Iterator[WriteRecord]:
    """Yield the writes since `at_utc` that can be undone, newest first: of `paths`, or of all."""
    if paths is None:
        return not_undoing(store, store.journal.since(at_utc))
    names = (write.path for path in paths if (write := moved.last_write(path)))
    writes = (write for name in names for write in store.journal.of_path(name))
    return not_undoing(store, (write for write in writes if write.at_utc >= at_utc))


def undo_writes(
    writes: Iterable[WriteRecord],
    run: WritingRun,
    moved: MovedFiles | None = None,
    *,
    force: bool = False,
) -> Iterator[WriteReport]:
    """Undo writes, those of one file from newest to oldest, and yield a report on each write.

    Keys that somebody changed since the write stay, unless `force`. Raises `StoreError`.
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
    copy_links: bool = False,
) -> Iterator[WriteReport]:
    """Yield the reports that `undo_writes` would yield; change nothing. Raises `StoreError`."""
    moved = moved or MovedFiles(store)
    planned: dict[bytes, list[WriteRecord]] = {}
    for write in writes:
        newer = planned.setdefault(write.path, [])
        plan = partial(_plan, store=store, newer=newer, force=force, copy_links=copy_links)
        report = _report_on(write, moved, plan)
        if report.status is WriteStatus.PLANNED:
            newer.append(write)
        yield report


def _report_on(
    write: WriteRecord, moved: MovedFiles, undo: Callable[[WriteRecord, Path], WriteReport]
) -> WriteReport:
    """Return the report of `undo` on a file, or a report on its error. Raises `StoreError`."""
    path = moved.path_of(write)
    try:
        report = undo(write, path)
    except StoreError:
        raise
    except CanonError as error:
        is_refused = isinstance(error, FileInUseError | NotWritableError | _UndoRefusedError)
        status = WriteStatus.REFUSED if is_refused else WriteStatus.FAILED
        report = WriteReport(path, status, why=why_text(error))
    why = report.why
    if path_bytes(path) != write.path:
        why = moved_text(write, why)
    elif report.status is WriteStatus.FAILED and not path.exists():
        why = f"{why}{_GONE}"
    return replace(report, why=why, decision_id=write.decision_id, file=read_file_tags(path))


class _UndoRefusedError(SaveError):
    """The file is not as the write left it, so the write must not be undone."""


def _undo(write: WriteRecord, path: Path, *, run: WritingRun, force: bool) -> WriteReport:
    journal = run.store.journal
    tags = read_tag_set(path)
    if tags.hash == write.tags_before_hash:
        journal.undone(write.id, now_utc())
        return WriteReport(path, WriteStatus.UNCHANGED, why=_ALREADY)
    if not force:
        _require_last(run.store, write, tags)
    try:
        saved, undoing = run.restore(path, Restoration.from_document(write.restoration), write)
        back = PutBackResult(saved.after)
    except ChangedSinceError:
        saved, undoing, back = _put_back(write, path, run, force=force)
    if not back.kept_keys:
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
        kept_keys=back.kept_keys,
        other_keys=back.other_keys,
    )


def _plan(
    write: WriteRecord,
    path: Path,
    *,
    store: "Store",
    newer: Sequence[WriteRecord],
    force: bool,
    copy_links: bool,
) -> WriteReport:
    """Return the report that `_undo` would return after the `newer` writes of the file are undone.

    The file is checked as if it was saved.
    """

    def with_newer_undone(tags: TagSet) -> TagSet:
        for newer_write in newer:
            tags = tags_put_back(newer_write, tags, force=force).tags
        return tags

    def change(tags: TagSet) -> TagSet:
        return tags_put_back(write, with_newer_undone(tags), force=force).tags

    tags = with_newer_undone(read_tag_set(path))
    if tags.hash == write.tags_before_hash:
        return WriteReport(path, WriteStatus.UNCHANGED, why=_ALREADY)
    if not force:
        _require_last(store, write, tags)
    back = tags_put_back(write, tags, force=force)
    if back.tags == tags:
        return _unchanged(path, back)
    try:
        former = [Restoration.from_document(undone.restoration) for undone in (*newer, write)]
        check_restore(path, former, copy_links=copy_links)
    except ChangedSinceError:
        check_tags(path, change, copy_links=copy_links, is_undo=True)
        _require_audio(write, audio_hash(path))
    changes = field_changes(tags, back.tags)
    return WriteReport(
        path, WriteStatus.PLANNED, changes, kept_keys=back.kept_keys, other_keys=back.other_keys
    )


def _unchanged(path: Path, back: PutBackResult) -> WriteReport:
    status = WriteStatus.REFUSED if back.kept_keys else WriteStatus.UNCHANGED
    why = _ALL_CHANGED if back.kept_keys else _ALREADY
    return WriteReport(path, status, why=why, kept_keys=back.kept_keys, other_keys=back.other_keys)


def _require_last(store: "Store", write: WriteRecord, tags: TagSet) -> None:
    """Raise `_UndoRefusedError` if `tags` are exactly those that a later write left."""
    if tags.hash == write.tags_after_hash:
        return
    writes = takewhile(lambda later: later.id != write.id, store.journal.of_path(write.path))
    for later in not_undoing(store, writes):
        if later.tags_after_hash == tags.hash:
            raise _UndoRefusedError(_WRITTEN_SINCE.format(run=later.run_id))


def _require_audio(write: WriteRecord, present_hash: str) -> None:
    if present_hash != write.audio_hash:
        raise _UndoRefusedError(_OTHER_AUDIO)


def _put_back(
    write: WriteRecord, path: Path, run: WritingRun, *, force: bool
) -> tuple[SaveResult, WriteRecord | None, PutBackResult]:
    results: list[PutBackResult] = []

    def change(tags: TagSet) -> TagSet:
        results.append(tags_put_back(write, tags, force=force))
        return results[-1].tags

    def check(prepared: PreparedCopy) -> None:
        _require_audio(write, prepared.audio_hash)

    saved, undoing = run.save(path, change, write.decision_id, check, write.id)
    return saved, undoing, results[-1]


class VerifyState(StrEnum):
    """The result of comparing a file with the journal."""

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
    """The result for one file; `changes` are those since the write, or the keys that undo kept."""

    path: Path
    state: VerifyState
    why: str | None = None
    changes: tuple[ChangedKey, ...] = ()
    write: WriteRecord | None = None


def verify(store: "Store", path: Path) -> Verification:
    """Compare a file's tags and audio with the journal; change nothing. Raises `StoreError`."""
    writes = store.journal.of_path(path_bytes(path))
    write = next(only_done(writes), None)
    intent = next((begun for begun in writes if begun.state is WriteState.INTENDED), None)
    if intent and (write is None or intent.id > write.id):
        why = "a run is writing it, or was cut short: the next run that writes records what it did"
        return Verification(path, VerifyState.OPEN, why, write=intent)
    try:
        write = write_of_file(store, path, last_done)
        if write is None:
            return Verification(path, VerifyState.UNRECORDED, "canon wrote no tags into it")
        result = _compare(path, write)
        if result.state is VerifyState.SAME and is_undoing(store, write):
            result = _compare_undone(store, result, write)
        is_moved = write.path != path_bytes(path)
        return replace(result, why=moved_text(write, result.why)) if is_moved else result
    except AudioError as error:
        return Verification(path, VerifyState.UNREADABLE, str(error), write=write)


def _compare_undone(store: "Store", result: Verification, undoing: WriteRecord) -> Verification:
    """Return the result for a file that still has the tags from when a write was undone."""
    write = store.journal.get(undoing.undoes) if undoing.undoes else None
    kept_keys: tuple[ChangedKey, ...] = ()
    if write and write.state is WriteState.DONE:
        kept_keys = tags_put_back(write, read_tag_set(result.path)).kept_keys
    if not kept_keys:
        return replace(result, state=VerifyState.PUT_BACK)
    return replace(result, state=VerifyState.IN_PART, why=_IN_PART, changes=kept_keys)


def _compare(path: Path, write: WriteRecord) -> Verification:
    if audio_hash(path) != write.audio_hash:
        why = f"{_OTHER_AUDIO}: it is damaged, or another file"
        return Verification(path, VerifyState.AUDIO_DIFFERS, why, write=write)
    tags = read_tag_set(path)
    if has_written(tags, write):
        return Verification(path, VerifyState.SAME, write=write)
    changes = changes_since_write(write, TagChanges.from_json(write.changes), tags)
    why = (
        "only tags that were not written have changed since"
        if changes and all(key.before is None for key in changes)
        else "they are not the tags that were written"
    )
    return Verification(path, VerifyState.TAGS_DIFFER, why, changes, write)
