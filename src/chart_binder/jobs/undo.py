"""Undo what was written into the tags of files, by the journal."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.file_access import FileInUseError
from chart_binder.audio.save import PreparedCopy
from chart_binder.audio.tagset import (
    TagChanges,
    TagSet,
    apply_changes,
    normalized_hash,
    with_recorded_names,
)
from chart_binder.domain.records import RunRecord, WriteRecord, WriteState, now_utc
from chart_binder.errors import CanonError, SaveError, StoreError
from chart_binder.jobs.journal import (
    FieldChange,
    WritingRun,
    changes_since_write,
    field_changes,
    moved_text,
    only_done,
)
from chart_binder.jobs.stored_decisions import path_bytes, path_from_bytes
from chart_binder.jobs.write import WriteReport, WriteStatus

if TYPE_CHECKING:
    from chart_binder.store.store import Store

UNDO = "undo"
_DIFFERS = (
    "its tags changed since they were written; here is what was written, and what it says now"
)
_OTHERS_DIFFER = "other tags than those that were written changed since they were written"
_GONE = "; if it was moved, `canon undo` with its path of today knows it again by its audio"


class _ChangedSinceError(SaveError):
    def __init__(self, why: str, changes: tuple[FieldChange, ...] = ()) -> None:
        super().__init__(why)
        self.changes = changes


def runs_to_undo(store: "Store") -> Iterator[RunRecord]:
    """Yield the runs with writes that can be undone, newest first; undoing runs do not count."""
    return (run for run in store.runs.iterate() if any(writes_to_undo(store, run)))


def writes_to_undo(store: "Store", run: RunRecord) -> Iterator[WriteRecord]:
    """Yield the writes of a run that can be undone; writes that undid others do not count."""
    writes = only_done(store.journal.of_run(run.id))
    if run.command != UNDO:
        return writes
    return (write for write in writes if not _is_undoing(store, write))


def last_write(store: "Store", path: Path) -> WriteRecord | None:
    """Return the last write of a file that can be undone; one that undid another does not count."""
    writes = only_done(store.journal.of_path(path_bytes(path)))
    return next((write for write in writes if not _is_undoing(store, write)), None)


def _is_undoing(store: "Store", write: WriteRecord) -> bool:
    """Return whether a write undid another; one that undid an undoing wrote the tags again."""
    run = store.runs.get(write.run_id)
    if run is None or run.command != UNDO:
        return False
    history = store.journal.of_path(write.path)
    older = history[[one.id for one in history].index(write.id) + 1 :]
    undone = next((one for one in older if _is_reverse(one, write)), None)
    return undone is None or not _is_undoing(store, undone)


def _is_reverse(one: WriteRecord, other: WriteRecord) -> bool:
    """Return whether a write was undone, and the other leads from its tags to those before."""
    hashes = (other.tags_after_hash, other.tags_before_hash)
    return one.state is WriteState.UNDONE and (one.tags_before_hash, one.tags_after_hash) == hashes


def undo_writes(
    writes: Iterable[WriteRecord], run: WritingRun, moved: Mapping[str, Path] | None = None
) -> Iterator[WriteReport]:
    """Undo writes, the newest first, and yield a report for each.

    Each undoing is a write in the journal, which can be undone itself. `moved` has the present
    paths of moved files, by the id of the write. Raises `StoreError`.
    """
    for write in writes:
        former = path_from_bytes(write.path)
        now = moved.get(write.id) if moved else None
        report = _undo(write, now or former, run)
        if now:
            report = replace(report, why=moved_text(write, report.why))
        elif report.status is WriteStatus.FAILED and not former.exists():
            report = replace(report, why=f"{report.why}{_GONE}")
        yield report


def _undo(write: WriteRecord, path: Path, run: WritingRun) -> WriteReport:
    report = partial(WriteReport, path, decision_id=write.decision_id)
    try:
        changes = TagChanges.from_json(write.changes)
        if read_tag_set(path).hash == write.tags_before_hash:
            run.store.journal.undone(write.id, now_utc())
            return report(WriteStatus.UNCHANGED, why="its tags are as they were already")
        restore, check = partial(_tags_before, write, changes), partial(_require_same_audio, write)
        saved, undoing = run.save(path, restore, write.decision_id, check)
        run.store.journal.undone(write.id, now_utc())
    except StoreError:
        raise
    except _ChangedSinceError as found:
        return report(WriteStatus.REFUSED, found.changes, str(found))
    except CanonError as error:
        is_busy = isinstance(error, FileInUseError)
        return report(WriteStatus.REFUSED if is_busy else WriteStatus.FAILED, why=str(error))
    return report(
        WriteStatus.UNDONE,
        field_changes(saved.before, saved.after),
        write_id=undoing.id if undoing else None,
        run_id=run.run.id,
        lost=saved.lost,
    )


def _tags_before(write: WriteRecord, changes: TagChanges, tags: TagSet) -> TagSet:
    """Return the tags from before a write. Raises `SaveError` if they cannot be restored."""
    is_exact = tags.hash == write.tags_after_hash
    if not is_exact and normalized_hash(tags) != changes.new_alike:
        found = changes_since_write(write, changes, tags)
        raise _ChangedSinceError(_DIFFERS if found else _OTHERS_DIFFER, found)
    now = tags if is_exact else with_recorded_names(tags, changes)
    before = apply_changes(now, changes.reversed)
    is_restored = before.hash == write.tags_before_hash
    if not is_restored and (is_exact or normalized_hash(before) != changes.old_alike):
        raise SaveError(
            f"{path_from_bytes(write.path)}: the journal does not lead back to the tags before"
        )
    return before


def _require_same_audio(write: WriteRecord, prepared: PreparedCopy) -> None:
    if prepared.audio_hash != write.audio_hash:
        raise _ChangedSinceError("its audio is not that which the tags were written for")
