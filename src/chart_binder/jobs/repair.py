"""What a run that was killed has left is cleared up when the next one starts."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.temporaries import sweep
from chart_binder.domain.kept import KeptWrite, WriteState
from chart_binder.jobs.journalled import path_of, settled

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_KILLED = "the run was cut short before the file was replaced"


def repaired(store: "Store") -> Iterator[str]:
    """Settle every intent that is open, after its left-over copy is removed; say so in sentences.

    What a living process is about to write is passed over. Raises `StoreError`.
    """
    intents = store.journal.open_intents()
    yield from swept(dict.fromkeys(path_of(intent.path).parent for intent in intents))
    for intent in intents:
        if not os.path.lexists(intent.temporary):  # else somebody is at it
            yield from _settled(store, intent)


def swept(folders: Iterable[Path]) -> Iterator[str]:
    """Remove the copies that killed saves left in folders, and say so in sentences."""
    for folder in folders:
        for found in sweep(folder):
            if found.kept:
                yield f"{found.path}: left over by a save, and still there: {found.kept}"
            else:
                yield f"{found.path}: left over by a save that was cut short, removed"


def _settled(store: "Store", intent: KeptWrite) -> Iterator[str]:
    path = path_of(intent.path)
    match settled(store, intent, _KILLED):
        case WriteState.DONE:
            yield f"{path}: a run was cut short after it wrote the tags; the journal has them now"
        case WriteState.FAILED:
            yield f"{path}: a run was cut short before it wrote the tags: they are as they were"
        case None:
            yield f"{path}: whether a run that was cut short wrote its tags cannot be told yet"
