"""Undo tag writes exactly, and verify files against the journal."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.file_access import FileInUseError
from chart_binder.audio.save import PreparedCopy
from chart_binder.audio.tagset import (
    TagChanges,
    TagSet,
    apply_changes,
    normalized_hash,
    with_recorded_names,
)
from chart_binder.domain.records import KeptRun, KeptWrite, WriteState, now_utc
from chart_binder.errors import AudioError, CanonError, SaveError, StoreError
from chart_binder.files import quoted
from chart_binder.jobs.journal import (
    FieldChange,
    WritingRun,
    changes_since_write,
    field_changes,
    moved_write,
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
_NOT_MOVED: Mapping[str, Path] = MappingProxyType({})


class _ChangedSinceError(SaveError):
    def __init__(self, why: str, changes: tuple[FieldChange, ...] = ()) -> None:
        super().__init__(why)
        self.changes = changes


def runs_to_undo(store: "Store") -> Iterator[KeptRun]:
    """Yield the runs with writes that can be undone, newest first; undoing runs do not count."""
    return (run for run in store.runs.iterate() if any(writes_to_undo(store, run)))


def writes_to_undo(store: "Store", run: KeptRun) -> Iterator[KeptWrite]:
    """Yield the writes of a run that can be undone; writes that undid others do not count."""
    writes = only_done(store.journal.of_run(run.id))
    if run.command != UNDO:
        return writes
    return (write for write in writes if not _is_undoing(store, write))


def last_write(store: "Store", path: Path) -> KeptWrite | None:
    """Return the last write of a file that can be undone; one that undid another does not count."""
    writes = only_done(store.journal.of_path(path_bytes(path)))
    return next((write for write in writes if not _is_undoing(store, write)), None)


def last_write_of_moved_file(store: "Store", path: Path) -> KeptWrite | None:
    """Return the last write, as `last_write` does, of a file under its former name."""
    return moved_write(store, path, last_write)


def only_done(writes: Iterable[KeptWrite]) -> Iterator[KeptWrite]:
    """Yield the writes that are done and not undone."""
    return (write for write in writes if write.state is WriteState.DONE)


def _is_undoing(store: "Store", write: KeptWrite) -> bool:
    """Return whether a write undid another; one that undid an undoing wrote the tags again."""
    run = store.runs.get(write.run_id)
    if run is None or run.command != UNDO:
        return False
    history = store.journal.of_path(write.path)
    older = history[[one.id for one in history].index(write.id) + 1 :]
    undone = next((one for one in older if _is_reverse(one, write)), None)
    return undone is None or not _is_undoing(store, undone)


def _is_reverse(one: KeptWrite, other: KeptWrite) -> bool:
    """Return whether a write was undone, and the other leads from its tags to those before."""
    hashes = (other.tags_after_hash, other.tags_before_hash)
    return one.state is WriteState.UNDONE and (one.tags_before_hash, one.tags_after_hash) == hashes


def undo_writes(
    writes: Iterable[KeptWrite], run: WritingRun, moved: Mapping[str, Path] = _NOT_MOVED
) -> Iterator[WriteReport]:
    """Undo writes, the newest first, and yield a report for each.

    Each undoing is a write in the journal, which can be undone itself. `moved` has the present
    paths of moved files, by the id of the write. Raises `StoreError`.
    """
    for write in writes:
        former = path_from_bytes(write.path)
        report = _undo(write, moved.get(write.id, former), run)
        if write.id in moved:
            report = replace(report, why=_moved_text(write, report.why))
        elif report.status is WriteStatus.FAILED and not former.exists():
            report = replace(report, why=f"{report.why}{_GONE}")
        yield report


def _moved_text(write: KeptWrite, why: str | None) -> str:
    moved = f"it was {quoted(path_from_bytes(write.path))} when its tags were written"
    return f"{moved}; {why}" if why else moved


def _undo(write: KeptWrite, path: Path, run: WritingRun) -> WriteReport:
    def report(
        status: WriteStatus, why: str | None = None, changes: tuple[FieldChange, ...] = ()
    ) -> WriteReport:
        return WriteReport(path, status, changes, why, decision_id=write.decision_id)

    try:
        changes = TagChanges.from_json(write.changes)
        if read_tag_set(path).hash == write.tags_before_hash:
            run.store.journal.undone(write.id, now_utc())
            return report(WriteStatus.UNCHANGED, "its tags are as they were already")
        saved, undoing = run.save(
            path,
            lambda tags: _tags_before(write, changes, tags),
            write.decision_id,
            lambda prepared: _require_same_audio(write, prepared),
        )
        run.store.journal.undone(write.id, now_utc())
    except StoreError:
        raise
    except FileInUseError as error:
        return report(WriteStatus.REFUSED, str(error))
    except _ChangedSinceError as found:
        return report(WriteStatus.REFUSED, str(found), found.changes)
    except CanonError as error:
        return report(WriteStatus.FAILED, str(error))
    return replace(
        report(WriteStatus.UNDONE, changes=field_changes(saved.before, saved.after)),
        write_id=undoing.id if undoing else None,
        run_id=run.run.id,
        lost=saved.lost,
    )


def _tags_before(write: KeptWrite, changes: TagChanges, tags: TagSet) -> TagSet:
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


def _require_same_audio(write: KeptWrite, prepared: PreparedCopy) -> None:
    if prepared.audio_hash != write.audio_hash:
        raise _ChangedSinceError("its audio is not that which the tags were written for")


class Finding(StrEnum):
    """The result of comparing a file with the journal."""

    SAME = "same"
    UNRECORDED = "unrecorded"
    OPEN = "open"
    TAGS_DIFFER = "tags differ"
    AUDIO_DIFFERS = "audio differs"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Verification:
    """The finding for one file; `changes` lead from what was written to what is there now."""

    path: Path
    finding: Finding
    why: str | None = None
    changes: tuple[FieldChange, ...] = ()
    write: KeptWrite | None = None


def verify(store: "Store", path: Path) -> Verification:
    """Compare a file's tags and audio with the journal. Raises `StoreError`; changes nothing."""
    writes = store.journal.of_path(path_bytes(path))
    write = next(only_done(writes), None)
    begun = next((each for each in writes if each.state is WriteState.INTENDED), None)
    try:
        if write is None and begun is None:
            write = moved_write(store, path, _last_done)
            if write is None:
                why = "no tags were written into it by canon"
                return Verification(path, Finding.UNRECORDED, why)
            found = _compare(path, write)
            return replace(found, why=_moved_text(write, found.why))
        if write is None or (begun and begun.id > write.id):
            why = "a run is writing it, or was cut short: the next that writes settles that"
            return Verification(path, Finding.OPEN, why, write=begun)
        return _compare(path, write)
    except AudioError as error:
        return Verification(path, Finding.UNREADABLE, str(error), write=write)


def _last_done(store: "Store", path: Path) -> KeptWrite | None:
    return next(only_done(store.journal.of_path(path_bytes(path))), None)


def _compare(path: Path, write: KeptWrite) -> Verification:
    if audio_hash(path) != write.audio_hash:
        why = "its audio is not that which the tags were written for: damaged, or another file"
        return Verification(path, Finding.AUDIO_DIFFERS, why, write=write)
    tags = read_tag_set(path)
    changes = TagChanges.from_json(write.changes)
    if tags.hash == write.tags_after_hash or normalized_hash(tags) == changes.new_alike:
        return Verification(path, Finding.SAME, write=write)
    found = changes_since_write(write, changes, tags)
    why = (
        "its tags say something else than was written"
        if found
        else "other tags than those that were written changed since"
    )
    return Verification(path, Finding.TAGS_DIFFER, why, found, write)
