"""Undo what was written into files, and verify what is there against the journal.

The former file is made again byte by byte; tags that changed since are put back key by key.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.file_access import FileInUseError
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
from chart_binder.jobs.stored_decisions import path_bytes, path_from_bytes
from chart_binder.jobs.write import WriteReport, WriteStatus, read_file_tags, why_text

if TYPE_CHECKING:
    from chart_binder.store import Store


_ALREADY = "its tags are as they were already"
_ALL_CHANGED = "all that was written changed since: --force puts it back"
_WRITTEN_SINCE = "run {run} wrote its tags since: `canon undo {run}` first, or --force"
_GONE = "; if it was moved, name the folder that it is in now: `canon undo FOLDER` finds it"
_IN_PART = "`canon undo` kept what somebody changed since: with --force it puts that back, too"


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
    copy_links: bool = False,
) -> Iterator[WriteReport]:
    """Yield what `undo_writes` would report, and change nothing. Raises `StoreError`."""
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
    """Return the report on one file; what went wrong is part of it. Raises `StoreError`."""
    former, path = path_from_bytes(write.path), moved.path_of(write)
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
    elif report.status is WriteStatus.FAILED and not former.exists():
        why = f"{why}{_GONE}"
    return replace(report, why=why, decision_id=write.decision_id, file=read_file_tags(path))


class _UndoRefusedError(SaveError):
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
    """Return what `_undo` would report, once newer writes of the file are undone.

    All that the save would ask is asked.
    """

    def with_newer_undone(tags: TagSet) -> TagSet:
        for each in newer:
            tags = tags_put_back(each, tags, force=force).tags
        return tags

    def change(tags: TagSet) -> TagSet:
        return tags_put_back(write, with_newer_undone(tags), force=force).tags

    now = with_newer_undone(read_tag_set(path))
    if now.hash == write.tags_before_hash:
        return WriteReport(path, WriteStatus.UNCHANGED, why=_ALREADY)
    if not force:
        _require_last(store, write, now)
    back = tags_put_back(write, now, force=force)
    if back.tags == now:
        return _unchanged(path, back)
    try:
        former = [Restoration.from_document(each.restoration) for each in (*newer, write)]
        check_restore(path, former, copy_links=copy_links)
    except ChangedSinceError:
        check_tags(path, change, copy_links=copy_links, is_undo=True)
        _require_audio(write, audio_hash(path))
    changes = field_changes(now, back.tags)
    return WriteReport(
        path, WriteStatus.PLANNED, changes, kept_keys=back.kept_keys, other_keys=back.other_keys
    )


def _unchanged(path: Path, back: PutBackResult) -> WriteReport:
    status = WriteStatus.REFUSED if back.kept_keys else WriteStatus.UNCHANGED
    why = _ALL_CHANGED if back.kept_keys else _ALREADY
    return WriteReport(path, status, why=why, kept_keys=back.kept_keys, other_keys=back.other_keys)


def _require_last(store: "Store", write: WriteRecord, now: TagSet) -> None:
    """Raise `SaveError` if a file's tags are, without any other change, those of a later write."""
    if now.hash == write.tags_after_hash:
        return
    since = takewhile(lambda each: each.id != write.id, store.journal.of_path(write.path))
    for later in not_undoing(store, since):
        if later.tags_after_hash == now.hash:
            raise _UndoRefusedError(_WRITTEN_SINCE.format(run=later.run_id))


def _require_audio(write: WriteRecord, found: str) -> None:
    if found != write.audio_hash:
        raise _UndoRefusedError("its audio is not that which the tags were written for")


_Saved = tuple[SaveResult, WriteRecord | None, PutBackResult]


def _restored(write: WriteRecord, path: Path, run: WritingRun) -> _Saved | None:
    """Make the former file again; return `None` if the file was changed since."""
    try:
        saved, undoing = run.restore(path, Restoration.from_document(write.restoration), write)
    except ChangedSinceError:
        return None
    return saved, undoing, PutBackResult(saved.after)


def _put_back(write: WriteRecord, path: Path, run: WritingRun, *, force: bool) -> _Saved:
    found: list[PutBackResult] = []

    def change(tags: TagSet) -> TagSet:
        found.append(tags_put_back(write, tags, force=force))
        return found[-1].tags

    def check(prepared: PreparedCopy) -> None:
        _require_audio(write, prepared.audio_hash)

    saved, undoing = run.save(path, change, write.decision_id, check, write.id)
    return saved, undoing, found[-1]


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
        kept = tags_put_back(write, read_tag_set(found.path)).kept_keys
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
