"""A file is held against what the journal says was last written into it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.alike import alike_hash
from chart_binder.audio.changes import TagChanges
from chart_binder.audio.files import shown
from chart_binder.audio.packets import audio_hash, read_tag_set
from chart_binder.domain.kept import KeptWrite, WriteState
from chart_binder.errors import AudioError
from chart_binder.jobs.file_names import kept_path
from chart_binder.jobs.journalled import path_of
from chart_binder.jobs.left_tags import changed_since
from chart_binder.jobs.moved import moved_write
from chart_binder.jobs.tag_changes import FieldChange

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
    writes = store.journal.of_path(kept_path(path))
    write = _done(writes)
    begun = next((write for write in writes if write.state is WriteState.INTENDED), None)
    try:
        if write is None and begun is None:
            write = moved_write(store, path, _last_done)
            if write is None:
                return Verified(path, Finding.UNRECORDED, "no tags were written into it by canon")
            return _known_again(_compared(path, write))
        if write is None or (begun and begun.id > write.id):
            why = "a run is writing it, or was cut short: the next that writes settles that"
            return Verified(path, Finding.OPEN, why, write=begun)
        return _compared(path, write)
    except AudioError as error:
        return Verified(path, Finding.UNREADABLE, str(error), write=write)


def _done(writes: Sequence[KeptWrite]) -> KeptWrite | None:
    return next((write for write in writes if write.state is WriteState.DONE), None)


def _last_done(store: "Store", path: Path) -> KeptWrite | None:
    return _done(store.journal.of_path(kept_path(path)))


def _known_again(found: Verified) -> Verified:
    if found.write is None:
        return found
    was = f"it was {shown(path_of(found.write.path))} when its tags were written"
    return replace(found, why=f"{was}; {found.why}" if found.why else was)


def _compared(path: Path, write: KeptWrite) -> Verified:
    if audio_hash(path) != write.audio_hash:
        why = "its audio is not that which the tags were written for: damaged, or another file"
        return Verified(path, Finding.AUDIO_DIFFERS, why, write=write)
    tags = read_tag_set(path)
    changes = TagChanges.from_json(write.changes)
    if tags.hash == write.tags_after_hash or alike_hash(tags) == changes.new_alike:
        return Verified(path, Finding.SAME, write=write)
    found = changed_since(write, changes, tags)
    why = (
        "its tags say something else than was written"
        if found
        else "other tags than those that were written changed since"
    )
    return Verified(path, Finding.TAGS_DIFFER, why, found, write)
