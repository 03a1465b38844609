"""Tags are put back exactly as they were, where nobody has changed the file since."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """Yield the runs, newest first, with tags that are not taken back, and that took none back."""
    return (run for run in store.runs.iterate() if any(writes_to_undo(store, run)))


def writes_to_undo(store: "Store", run: KeptRun) -> Iterator[KeptWrite]:
    """Yield what a run wrote and nobody took back, without its own taking back of writes."""
    writes = only_done(store.journal.of_run(run.id))
    if run.command != UNDO:
        return writes
    return (write for write in writes if not _takes_back(store, write))


def last_write(store: "Store", path: Path) -> KeptWrite | None:
    """Return the last write of a file that is not taken back, and that took none back."""
    for write in only_done(store.journal.of_path(path_bytes(path))):
        if not _takes_back(store, write):
            return write
    return None


def last_write_of_moved_file(store: "Store", path: Path) -> KeptWrite | None:
    """Return the last write, as of `last_write`, of a file that had another name then."""
    return moved_write(store, path, last_write)


def _takes_back(store: "Store", write: KeptWrite) -> bool:
    """Say whether a write took another back; one that took such a write back wrote anew."""
    if not _is_by_undo(store, write):
        return False
    history = store.journal.of_path(write.path)
    older = history[[one.id for one in history].index(write.id) + 1 :]
    taken = next((one for one in older if _is_reverse(one, write)), None)
    return taken is None or not _takes_back(store, taken)


def _is_by_undo(store: "Store", write: KeptWrite) -> bool:
    run = store.runs.get(write.run_id)
    return run is not None and run.command == UNDO


def _is_reverse(one: KeptWrite, other: KeptWrite) -> bool:
    """Say whether a write was undone, and the other leads back from its tags."""
    return one.state is WriteState.UNDONE and (one.tags_before_hash, one.tags_after_hash) == (
        other.tags_after_hash, other.tags_before_hash,
    )  # fmt: skip


def only_done(writes: Iterable[KeptWrite]) -> Iterator[KeptWrite]:
    """Yield the writes that can be taken back, in the same order."""
    return (write for write in writes if write.state is WriteState.DONE)


def undo_writes(
    writes: Iterable[KeptWrite], run: WritingRun, moved: Mapping[str, Path] = _NOT_MOVED
) -> Iterator[WriteReport]:
    """Take writes back, the newest first, and yield what became of each.

    Taking back is a write of its own in the journal, so it can be taken back by its run. `moved`
    says where files are now, by the identifier of the write. Raises `StoreError`.
    """
    for write in writes:
        was = path_from_bytes(write.path)
        told = _undone(write, moved.get(write.id, was), run)
        if write.id in moved:
            why = f"it was {quoted(was)} when its tags were written"
            told = replace(told, why=f"{why}; {told.why}" if told.why else why)
        elif told.status is WriteStatus.FAILED and not was.exists():
            told = replace(told, why=f"{told.why}{_GONE}")
        yield told


def _undone(write: KeptWrite, path: Path, run: WritingRun) -> WriteReport:
    try:
        changes = TagChanges.from_json(write.changes)
        now = read_tag_set(path)
        if now.hash == write.tags_before_hash:
            run.store.journal.undone(write.id, now_utc())
            why = "its tags are as they were already"
            return WriteReport(path, WriteStatus.UNCHANGED, why=why, decision_id=write.decision_id)
        saved, back = run.save(
            path, lambda tags: _put_back(write, changes, tags), write.decision_id,
            lambda prepared: _require_same_audio(write, prepared),
        )  # fmt: skip
        run.store.journal.undone(write.id, now_utc())
    except StoreError:
        raise
    except FileInUseError as error:
        return WriteReport(path, WriteStatus.REFUSED, why=str(error), decision_id=write.decision_id)
    except _ChangedSinceError as found:
        return WriteReport(
            path, WriteStatus.REFUSED, found.changes, str(found), decision_id=write.decision_id
        )
    except CanonError as error:
        return WriteReport(path, WriteStatus.FAILED, why=str(error), decision_id=write.decision_id)
    return WriteReport(
        path,
        WriteStatus.UNDONE,
        field_changes(saved.before, saved.after),
        decision_id=write.decision_id,
        write_id=back.id if back else None,
        run_id=run.run.id,
        lost=saved.lost,
    )


def _put_back(write: KeptWrite, changes: TagChanges, tags: TagSet) -> TagSet:
    is_exact = tags.hash == write.tags_after_hash
    if not is_exact and normalized_hash(tags) != changes.new_alike:
        found = changes_since_write(write, changes, tags)
        raise _ChangedSinceError(_DIFFERS if found else _OTHERS_DIFFER, found)
    now = tags if is_exact else with_recorded_names(tags, changes)
    before = apply_changes(now, changes.reversed)
    is_back = before.hash == write.tags_before_hash
    if not is_back and (is_exact or normalized_hash(before) != changes.old_alike):
        raise SaveError(
            f"{path_from_bytes(write.path)}: the journal does not lead back to the tags before"
        )
    return before


def _require_same_audio(write: KeptWrite, prepared: PreparedCopy) -> None:
    if prepared.audio_hash != write.audio_hash:
        raise _ChangedSinceError("its audio is not that which the tags were written for")


class Finding(StrEnum):
    """How a file stands beside the journal."""

    SAME = "same"
    UNRECORDED = "unrecorded"
    OPEN = "open"
    TAGS_DIFFER = "tags differ"
    AUDIO_DIFFERS = "audio differs"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found of one file; `changes` are from what was written to what stands there."""

    path: Path
    finding: Finding
    why: str | None = None
    changes: tuple[FieldChange, ...] = ()
    write: KeptWrite | None = None


def verify(store: "Store", path: Path) -> Verification:
    """Read a file's tags and audio again, and compare. Raises `StoreError`; changes nothing."""
    writes = store.journal.of_path(path_bytes(path))
    write = _done(writes)
    begun = next((write for write in writes if write.state is WriteState.INTENDED), None)
    try:
        if write is None and begun is None:
            write = moved_write(store, path, _last_done)
            if write is None:
                return Verification(
                    path, Finding.UNRECORDED, "no tags were written into it by canon"
                )
            return _known_again(_compared(path, write))
        if write is None or (begun and begun.id > write.id):
            why = "a run is writing it, or was cut short: the next that writes settles that"
            return Verification(path, Finding.OPEN, why, write=begun)
        return _compared(path, write)
    except AudioError as error:
        return Verification(path, Finding.UNREADABLE, str(error), write=write)


def _done(writes: Sequence[KeptWrite]) -> KeptWrite | None:
    return next((write for write in writes if write.state is WriteState.DONE), None)


def _last_done(store: "Store", path: Path) -> KeptWrite | None:
    return _done(store.journal.of_path(path_bytes(path)))


def _known_again(found: Verification) -> Verification:
    if found.write is None:
        return found
    was = f"it was {quoted(path_from_bytes(found.write.path))} when its tags were written"
    return replace(found, why=f"{was}; {found.why}" if found.why else was)


def _compared(path: Path, write: KeptWrite) -> Verification:
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
