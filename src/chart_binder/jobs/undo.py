"""Undo what was written into files: the former file is made again, or its keys are put back."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.file_access import FileInUseError
from chart_binder.audio.restoration import Restoration
from chart_binder.audio.save import (
    ChangedSinceError,
    NotWritableError,
    PreparedCopy,
    SaveResult,
    require_writable,
)
from chart_binder.audio.tagset import TagChanges, TagSet
from chart_binder.domain.records import RunRecord, WriteRecord, now_utc
from chart_binder.errors import CanonError, SaveError, StoreError
from chart_binder.jobs.journal import (
    WritingRun,
    field_changes,
    is_undoing,
    only_done,
)
from chart_binder.jobs.moved_files import MovedFiles, moved_text
from chart_binder.jobs.put_back import PutBack, tags_put_back
from chart_binder.jobs.stored_decisions import path_bytes, path_from_bytes
from chart_binder.jobs.write import WriteReport, WriteStatus, read_file_tags

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_ALREADY = "its tags are as they were already"
_ALL_CHANGED = "all that was written changed since: --force puts it back"
_WRITTEN_SINCE = "run {run} wrote its tags since: `canon undo {run}` first, or --force"
_OTHER_AUDIO = "its audio is not that which the tags were written for"
_GONE = "; if it was moved, name the folder that it is in now: `canon undo FOLDER` finds it"


def runs_to_undo(store: "Store") -> Iterator[RunRecord]:
    """Yield the runs with writes that can be undone, newest first; undoing runs do not count."""
    return (run for run in store.runs.iterate() if any(writes_to_undo(store, run)))


def writes_to_undo(store: "Store", run: RunRecord) -> Iterator[WriteRecord]:
    """Yield the writes of a run that can be undone; writes that undid others do not count."""
    return _not_undoing(store, store.journal.of_run(run.id))


def writes_since(
    store: "Store", at_utc: str, moved: MovedFiles, paths: Iterable[Path] | None = None
) -> Iterator[WriteRecord]:
    """Yield the writes since a time that can be undone, of each file the newest first.

    Those of `paths` that were moved since are known by their last write, which `moved` finds.
    """
    if paths is None:
        return _not_undoing(store, store.journal.since(at_utc))
    names = (write.path for path in paths if (write := moved.last_write(path)))
    found = (write for name in names for write in store.journal.of_path(name))
    return _not_undoing(store, (write for write in found if write.at_utc >= at_utc))


def last_write(store: "Store", path: Path) -> WriteRecord | None:
    """Return the last write of a file that can be undone; one that undid another does not count."""
    return next(_not_undoing(store, store.journal.of_path(path_bytes(path))), None)


def _not_undoing(store: "Store", writes: Iterable[WriteRecord]) -> Iterator[WriteRecord]:
    return (write for write in only_done(writes) if not is_undoing(store, write))


def undo_writes(
    writes: Iterable[WriteRecord],
    run: WritingRun,
    moved: MovedFiles | None = None,
    *,
    force: bool = False,
) -> Iterator[WriteReport]:
    """Undo writes, of each file the newest first, and yield a report for each.

    A file that was not changed since is made again byte by byte. In another, the written keys are
    put back, and the rest stays; a written key that somebody changed since is kept unless `force`.
    Each undoing is a write in the journal, which can be undone itself. `moved` finds files that
    were moved since. Raises `StoreError`.
    """
    moved = moved or MovedFiles(run.store, last_write)
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
    moved = moved or MovedFiles(store, last_write)
    planned: dict[bytes, list[str]] = {}
    for write in writes:
        newer = planned.setdefault(write.path, [])
        earlier = [found for name in newer if (found := store.journal.get(name))]
        report = _report_on(write, moved, partial(_plan, store=store, newer=earlier, force=force))
        if report.status is WriteStatus.PLANNED:
            newer.append(write.id)
        yield report


def _report_on(write: WriteRecord, moved: MovedFiles, undo: "_Undo") -> WriteReport:
    """Return the report on one file; what went wrong is part of it. Raises `StoreError`."""
    former, path = path_from_bytes(write.path), moved.path_of(write)
    try:
        report = undo(write, path)
    except StoreError:
        raise
    except CanonError as error:
        is_left = isinstance(error, FileInUseError | NotWritableError | _LeftAloneError)
        status = WriteStatus.REFUSED if is_left else WriteStatus.FAILED
        why = error.why if isinstance(error, NotWritableError) else str(error)
        report = WriteReport(path, status, why=why, decision_id=write.decision_id)
    report = replace(report, file=read_file_tags(path))
    if path_bytes(path) != write.path:
        return replace(report, why=moved_text(write, report.why))
    if report.status is WriteStatus.FAILED and not former.exists():
        return replace(report, why=f"{report.why}{_GONE}")
    return report


_Undo = partial[WriteReport]


class _LeftAloneError(SaveError):
    """The file is not, or not any more, as this write left it."""


def _undo(write: WriteRecord, path: Path, *, run: WritingRun, force: bool) -> WriteReport:
    changes = TagChanges.from_json(write.changes)
    journal = run.store.journal
    now = read_tag_set(path)
    if now.hash == write.tags_before_hash:
        journal.undone(write.id, now_utc())
        return _report(write, path, WriteStatus.UNCHANGED, why=_ALREADY)
    if not force:
        _require_last(run.store, write, now)
    saved, undoing, back = _restored(write, path, run) or _put_back(
        write, path, run, partial(tags_put_back, write, changes, force=force)
    )
    if not back.kept:
        journal.undone(write.id, now_utc())
    if not saved.changed:
        status = WriteStatus.REFUSED if back.kept else WriteStatus.UNCHANGED
        why = _ALL_CHANGED if back.kept else _ALREADY
        return _report(write, path, status, back, why=why)
    report = _report(write, path, WriteStatus.UNDONE, back)
    return replace(
        report,
        changes=field_changes(saved.before, saved.after),
        write_id=undoing.id if undoing else None,
        run_id=run.run.id,
        lost=saved.lost,
    )


def _plan(
    write: WriteRecord, path: Path, *, store: "Store", newer: Iterable[WriteRecord], force: bool
) -> WriteReport:
    """Return what `_undo` would report, once newer writes of the file are undone."""
    now = read_tag_set(path)
    for each in newer:
        now = tags_put_back(each, TagChanges.from_json(each.changes), now, force=force).tags
    if now.hash == write.tags_before_hash:
        return _report(write, path, WriteStatus.UNCHANGED, why=_ALREADY)
    if not force:
        _require_last(store, write, now)
    back = tags_put_back(write, TagChanges.from_json(write.changes), now, force=force)
    if audio_hash(path) != write.audio_hash:
        raise _LeftAloneError(_OTHER_AUDIO)
    if back.tags == now:
        status = WriteStatus.REFUSED if back.kept else WriteStatus.UNCHANGED
        return _report(write, path, status, back, why=_ALL_CHANGED if back.kept else _ALREADY)
    require_writable(path)
    report = _report(write, path, WriteStatus.PLANNED, back)
    return replace(report, changes=field_changes(now, back.tags))


def _require_last(store: "Store", write: WriteRecord, now: TagSet) -> None:
    """Raise `SaveError` if a file's tags are, without any other change, those of a later write."""
    if now.hash == write.tags_after_hash:
        return
    since = takewhile(lambda each: each.id != write.id, store.journal.of_path(write.path))
    for later in _not_undoing(store, since):
        if later.tags_after_hash == now.hash:
            raise _LeftAloneError(_WRITTEN_SINCE.format(run=later.run_id))


def _report(
    write: WriteRecord,
    path: Path,
    status: WriteStatus,
    back: PutBack | None = None,
    why: str | None = None,
) -> WriteReport:
    report = WriteReport(path, status, why=why, decision_id=write.decision_id)
    return replace(report, kept=back.kept, others=back.others) if back else report


_Saved = tuple[SaveResult, WriteRecord | None, PutBack]


def _restored(write: WriteRecord, path: Path, run: WritingRun) -> _Saved | None:
    """Make the former file again; return `None` if the file was changed since."""
    if write.restoration is None:
        return None
    try:
        saved, undoing = run.restore(path, Restoration.from_document(write.restoration), write)
    except ChangedSinceError:
        return None
    return saved, undoing, PutBack(saved.after)


def _put_back(
    write: WriteRecord, path: Path, run: WritingRun, put_back: "partial[PutBack]"
) -> _Saved:
    found: list[PutBack] = []

    def change(tags: TagSet) -> TagSet:
        found.append(put_back(tags))
        return found[-1].tags

    def require_same_audio(prepared: PreparedCopy) -> None:
        if prepared.audio_hash != write.audio_hash:
            raise _LeftAloneError(_OTHER_AUDIO)

    saved, undoing = run.save(path, change, write.decision_id, require_same_audio, write.id)
    return saved, undoing, found[-1]
