"""What a run that was killed has left is cleared up when the next one starts."""

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.temporaries import Swept, is_elsewhere, sweep
from chart_binder.domain.kept import KeptWrite, WriteState
from chart_binder.jobs.journalled import path_of, settled

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_LONGEST_SAVE = timedelta(hours=1)
_KILLED = "the run was cut short before the file was replaced"


def repaired(store: "Store") -> Iterator[str]:
    """Settle every intent that is open, after its left-over copy is removed; say so in sentences.

    What a living process is about to write is passed over; on another machine, where that cannot be
    told, what was begun within the hour. Raises `StoreError`.
    """
    intents = store.journal.open_intents()
    removed = set()
    for folder in dict.fromkeys(path_of(intent.path).parent for intent in intents):
        for found in sweep(folder):
            if not found.kept:
                removed.add(os.fsencode(found.path))
            yield _said(found)
    for intent in intents:
        if not os.path.lexists(intent.temporary) and not _may_go_on_elsewhere(intent):
            # A copy that was left over did not take the file's place.
            replaced = False if intent.temporary in removed else None
            yield from _settled(store, intent, replaced=replaced)


def _may_go_on_elsewhere(intent: KeptWrite) -> bool:
    """Say whether another machine may be at it, with files of its own or a slow disk between."""
    an_hour_ago = (datetime.now(UTC) - _LONGEST_SAVE).isoformat(timespec="microseconds")
    return is_elsewhere(path_of(intent.temporary).name) and intent.at_utc > an_hour_ago


def swept(folders: Iterable[Path]) -> Iterator[str]:
    """Remove the copies that killed saves left in folders, and say so in sentences."""
    for folder in folders:
        for found in sweep(folder):
            yield _said(found)


def _said(found: Swept) -> str:
    if found.kept:
        return f"{found.path}: left over by a save, and still there: {found.kept}"
    return f"{found.path}: left over by a save that was cut short, removed"


def _settled(store: "Store", intent: KeptWrite, *, replaced: bool | None) -> Iterator[str]:
    path = path_of(intent.path)
    match settled(store, intent, _KILLED, replaced=replaced):
        case WriteState.DONE:
            yield f"{path}: a run was cut short after it wrote the tags; the journal has them now"
        case WriteState.FAILED:
            yield f"{path}: a run was cut short before it wrote the tags, and did not change them"
        case None:
            yield f"{path}: whether a run that was cut short wrote its tags cannot be told yet"
