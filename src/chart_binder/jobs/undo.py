"""Tags are put back exactly as they were, where nobody has changed the file since."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.changes import TagChanges, changed
from chart_binder.audio.packets import read_tag_set
from chart_binder.audio.saving import Prepared
from chart_binder.audio.tagset import TagSet
from chart_binder.domain.kept import KeptRun, KeptWrite, WriteState, now_utc
from chart_binder.errors import CanonError, SaveError, StoreError
from chart_binder.jobs.journalled import WritingRun, path_of
from chart_binder.jobs.raw_changes import raw_changes
from chart_binder.jobs.tag_plan import FieldChange, changes_of, journal_path
from chart_binder.jobs.write import Fate, Told

if TYPE_CHECKING:
    from chart_binder.store.store import Store

UNDO = "undo"


class _ChangedSinceError(SaveError):
    def __init__(self, why: str, changes: tuple[FieldChange, ...] = ()) -> None:
        super().__init__(why)
        self.changes = changes


def writing_runs(store: "Store") -> Iterator[KeptRun]:
    """Yield the runs, newest first, with tags that are not taken back, and that took none back."""
    runs = (run for run in store.runs.iterate() if run.command != UNDO)
    return (run for run in runs if to_undo(store.journal.of_run(run.id)))


def last_write(store: "Store", path: Path) -> KeptWrite | None:
    """Return the last write of a file that is not taken back, and that took none back."""
    for write in to_undo(store.journal.of_path(journal_path(path))):
        run = store.runs.get(write.run_id)
        if run is None or run.command != UNDO:
            return write
    return None


def to_undo(writes: Sequence[KeptWrite]) -> tuple[KeptWrite, ...]:
    """Return the writes that can be taken back, the newest first."""
    return tuple(write for write in writes if write.state is WriteState.DONE)


def undone(writes: Sequence[KeptWrite], run: WritingRun) -> Iterator[Told]:
    """Take writes back, the newest first, and yield what became of each.

    Taking back is a write of its own in the journal, so it can be taken back by its run. Raises
    `StoreError`.
    """
    for write in writes:
        yield _undone(write, run)


def _undone(write: KeptWrite, run: WritingRun) -> Told:
    path = path_of(write.path)
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
    except _ChangedSinceError as found:
        return Told(path, Fate.REFUSED, found.changes, str(found), decision_id=write.decision_id)
    except CanonError as error:
        return Told(path, Fate.FAILED, why=str(error), decision_id=write.decision_id)
    return Told(
        path, Fate.UNDONE, changes_of(saved.before, saved.after), decision_id=write.decision_id,
        write_id=back.id if back else None, run_id=run.run.id, lost=saved.lost,
    )  # fmt: skip


def _put_back(write: KeptWrite, changes: TagChanges, tags: TagSet) -> TagSet:
    if tags.hash != write.tags_after_hash:
        raise _ChangedSinceError(
            "its tags changed since they were written; here is what was written, and what it says"
            " now",
            raw_changes(changes, tags),
        )
    before = changed(tags, changes.reversed)
    if before.hash != write.tags_before_hash:
        raise SaveError(f"{path_of(write.path)}: the journal does not lead back to the tags before")
    return before


def _require_same_audio(write: KeptWrite, prepared: Prepared) -> None:
    if prepared.audio_hash != write.audio_hash:
        raise _ChangedSinceError("its audio is not that which the tags were written for")
