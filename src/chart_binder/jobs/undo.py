"""Tags are put back exactly as they were, where nobody has changed the file since."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from chart_binder.audio.alike import alike_hash, as_recorded
from chart_binder.audio.changes import TagChanges, changed
from chart_binder.audio.files import shown
from chart_binder.audio.held import HeldError
from chart_binder.audio.packets import read_tag_set
from chart_binder.audio.saving import Prepared
from chart_binder.audio.tagset import TagSet
from chart_binder.domain.kept import KeptRun, KeptWrite, WriteState, now_utc
from chart_binder.errors import CanonError, SaveError, StoreError
from chart_binder.jobs.file_names import kept_path
from chart_binder.jobs.journalled import WritingRun, path_of
from chart_binder.jobs.left_tags import changed_since
from chart_binder.jobs.moved import moved_write
from chart_binder.jobs.tag_changes import FieldChange, changes_of
from chart_binder.jobs.write import Fate, Told

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


def writing_runs(store: "Store") -> Iterator[KeptRun]:
    """Yield the runs, newest first, with tags that are not taken back, and that took none back."""
    return (run for run in store.runs.iterate() if any(standing_writes(store, run)))


def standing_writes(store: "Store", run: KeptRun) -> Iterator[KeptWrite]:
    """Yield what a run wrote and nobody took back, without its own taking back of writes."""
    writes = to_undo(store.journal.of_run(run.id))
    if run.command != UNDO:
        return writes
    return (write for write in writes if not _takes_back(store, write))


def last_write(store: "Store", path: Path) -> KeptWrite | None:
    """Return the last write of a file that is not taken back, and that took none back."""
    for write in to_undo(store.journal.of_path(kept_path(path))):
        if not _takes_back(store, write):
            return write
    return None


def write_of_moved(store: "Store", path: Path) -> KeptWrite | None:
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


def to_undo(writes: Iterable[KeptWrite]) -> Iterator[KeptWrite]:
    """Yield the writes that can be taken back, in the same order."""
    return (write for write in writes if write.state is WriteState.DONE)


def undone(
    writes: Iterable[KeptWrite], run: WritingRun, moved: Mapping[str, Path] = _NOT_MOVED
) -> Iterator[Told]:
    """Take writes back, the newest first, and yield what became of each.

    Taking back is a write of its own in the journal, so it can be taken back by its run. `moved`
    says where files are now, by the identifier of the write. Raises `StoreError`.
    """
    for write in writes:
        was = path_of(write.path)
        told = _undone(write, moved.get(write.id, was), run)
        if write.id in moved:
            why = f"it was {shown(was)} when its tags were written"
            told = replace(told, why=f"{why}; {told.why}" if told.why else why)
        elif told.fate is Fate.FAILED and not was.exists():
            told = replace(told, why=f"{told.why}{_GONE}")
        yield told


def _undone(write: KeptWrite, path: Path, run: WritingRun) -> Told:
    try:
        changes = TagChanges.from_json(write.changes)
        now = read_tag_set(path)
        if now.hash == write.tags_before_hash:
            run.store.journal.undone(write.id, now_utc())
            return Told(path, Fate.UNCHANGED, why="its tags are as they were already",
                        decision_id=write.decision_id)  # fmt: skip
        saved, back = run.save(
            path, lambda tags: _put_back(write, changes, tags), write.decision_id,
            lambda prepared: _require_same_audio(write, prepared),
        )  # fmt: skip
        run.store.journal.undone(write.id, now_utc())
    except StoreError:
        raise
    except HeldError as error:
        return Told(path, Fate.REFUSED, why=str(error), decision_id=write.decision_id)
    except _ChangedSinceError as found:
        return Told(path, Fate.REFUSED, found.changes, str(found), decision_id=write.decision_id)
    except CanonError as error:
        return Told(path, Fate.FAILED, why=str(error), decision_id=write.decision_id)
    return Told(
        path, Fate.UNDONE, changes_of(saved.before, saved.after), decision_id=write.decision_id,
        write_id=back.id if back else None, run_id=run.run.id, lost=saved.lost,
    )  # fmt: skip


def _put_back(write: KeptWrite, changes: TagChanges, tags: TagSet) -> TagSet:
    is_exact = tags.hash == write.tags_after_hash
    if not is_exact and alike_hash(tags) != changes.new_alike:
        found = changed_since(write, changes, tags)
        raise _ChangedSinceError(_DIFFERS if found else _OTHERS_DIFFER, found)
    now = tags if is_exact else as_recorded(tags, changes)
    before = changed(now, changes.reversed)
    is_back = before.hash == write.tags_before_hash
    if not is_back and (is_exact or alike_hash(before) != changes.old_alike):
        raise SaveError(f"{path_of(write.path)}: the journal does not lead back to the tags before")
    return before


def _require_same_audio(write: KeptWrite, prepared: Prepared) -> None:
    if prepared.audio_hash != write.audio_hash:
        raise _ChangedSinceError("its audio is not that which the tags were written for")
