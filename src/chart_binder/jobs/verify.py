"""Compare the tags and the audio of files with what the journal says was written."""

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.tagset import TagChanges, normalized_hash
from chart_binder.domain.records import WriteRecord, WriteState
from chart_binder.errors import AudioError
from chart_binder.jobs import journal
from chart_binder.jobs.moved_files import moved_text, write_of_file
from chart_binder.jobs.put_back import tags_put_back
from chart_binder.jobs.stored_decisions import path_bytes

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_IN_PART = "`canon undo` kept what somebody changed since: with --force it puts that back, too"


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
    """The finding for one file; `changes` lead from what was written to what is there now.

    Where a write was put back in part, they are the written keys that `undo` kept.
    """

    path: Path
    finding: VerifyState
    why: str | None = None
    changes: tuple[journal.ChangedKey, ...] = ()
    write: WriteRecord | None = None


def verify(store: "Store", path: Path) -> Verification:
    """Compare a file's tags and audio with the journal. Raises `StoreError`; changes nothing."""
    writes = store.journal.of_path(path_bytes(path))
    write = next(journal.only_done(writes), None)
    begun = next((each for each in writes if each.state is WriteState.INTENDED), None)
    if begun and (write is None or begun.id > write.id):
        why = "a run is writing it, or was cut short: the next run that writes records what it did"
        return Verification(path, VerifyState.OPEN, why, write=begun)
    try:
        write = write_of_file(store, path, _last_done)
        if write is None:
            why = "no tags were written into it by canon"
            return Verification(path, VerifyState.UNRECORDED, why)
        found = _compare(path, write)
        if found.finding is VerifyState.SAME and journal.is_undoing(store, write):
            found = _undone(store, found, write)
        is_moved = write.path != path_bytes(path)
        return replace(found, why=moved_text(write, found.why)) if is_moved else found
    except AudioError as error:
        return Verification(path, VerifyState.UNREADABLE, str(error), write=write)


def _last_done(store: "Store", path: Path) -> WriteRecord | None:
    return next(journal.only_done(store.journal.of_path(path_bytes(path))), None)


def _undone(store: "Store", found: Verification, undoing: WriteRecord) -> Verification:
    """Return the finding for a file that is as an undo left it."""
    write = store.journal.get(undoing.undoes) if undoing.undoes else None
    if write and write.state is WriteState.DONE:
        changes = TagChanges.from_json(write.changes)
        if kept := tags_put_back(write, changes, read_tag_set(found.path)).kept:
            return replace(found, finding=VerifyState.IN_PART, why=_IN_PART, changes=kept)
    return replace(found, finding=VerifyState.PUT_BACK)


def _compare(path: Path, write: WriteRecord) -> Verification:
    if audio_hash(path) != write.audio_hash:
        why = "its audio is not that which the tags were written for: damaged, or another file"
        return Verification(path, VerifyState.AUDIO_DIFFERS, why, write=write)
    tags = read_tag_set(path)
    changes = TagChanges.from_json(write.changes)
    if tags.hash == write.tags_after_hash or normalized_hash(tags) == changes.new_alike:
        return Verification(path, VerifyState.SAME, write=write)
    found = journal.changes_since_write(write, changes, tags)
    why = (
        "its tags say something else than was written"
        if any(each.before is not None for each in found)
        else "other tags than those that were written changed since"
    )
    return Verification(path, VerifyState.TAGS_DIFFER, why, found, write)
