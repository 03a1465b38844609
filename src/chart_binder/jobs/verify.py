"""A file is held against what the journal says was last written into it."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.alike import alike_hash
from chart_binder.audio.changes import TagChanges
from chart_binder.audio.packets import audio_hash, read_tag_set
from chart_binder.domain.kept import KeptWrite, WriteState
from chart_binder.errors import AudioError
from chart_binder.jobs.raw_changes import raw_changes
from chart_binder.jobs.tag_changes import FieldChange
from chart_binder.jobs.tag_plan import journal_path

if TYPE_CHECKING:
    from chart_binder.store.store import Store


class Finding(StrEnum):
    """How a file stands beside the journal."""

    SAME = "same"
    UNRECORDED = "unrecorded"
    OPEN = "open"
    TAGS_DIFFER = "tags differ"
    AUDIO_DIFFERS = "audio differs"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found of one file; `changes` are from what was written to what stands there."""

    path: Path
    finding: Finding
    why: str | None = None
    changes: tuple[FieldChange, ...] = ()
    write: KeptWrite | None = None


def verified(store: "Store", path: Path) -> Verified:
    """Read a file's tags and audio again, and compare. Raises `StoreError`; changes nothing."""
    writes = store.journal.of_path(journal_path(path))
    write = next((write for write in writes if write.state is WriteState.DONE), None)
    begun = next((write for write in writes if write.state is WriteState.INTENDED), None)
    try:
        if write is None and begun is None:
            return Verified(path, Finding.UNRECORDED, "no tags were written into it by canon")
        if write is None or (begun and begun.id > write.id):
            why = "a run is writing it, or was cut short: the next that writes settles that"
            return Verified(path, Finding.OPEN, why, write=begun)
        return _compared(path, write)
    except AudioError as error:
        return Verified(path, Finding.UNREADABLE, str(error), write=write)


def _compared(path: Path, write: KeptWrite) -> Verified:
    if audio_hash(path) != write.audio_hash:
        why = "its audio is not that which the tags were written for: damaged, or another file"
        return Verified(path, Finding.AUDIO_DIFFERS, why, write=write)
    tags = read_tag_set(path)
    changes = TagChanges.from_json(write.changes)
    if tags.hash == write.tags_after_hash or alike_hash(tags) == changes.new_alike:
        return Verified(path, Finding.SAME, write=write)
    found = raw_changes(changes, tags)
    why = (
        "its tags say something else than was written"
        if found
        else "other tags than those that were written changed since"
    )
    return Verified(path, Finding.TAGS_DIFFER, why, found, write)
