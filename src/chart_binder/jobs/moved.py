"""A file that was moved or renamed since its tags were written is known again by its audio."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.packets import audio_hash, read_tag_set
from chart_binder.audio.tag_writing import field_texts
from chart_binder.domain.kept import KeptWrite
from chart_binder.errors import AudioError
from chart_binder.jobs.file_names import kept_path
from chart_binder.jobs.journalled import path_of

if TYPE_CHECKING:
    from chart_binder.store.store import Store


def moved_write(
    store: "Store", path: Path, last: Callable[["Store", Path], KeptWrite | None]
) -> KeptWrite | None:
    """Return the newest write of the same audio by another name that is gone, as `last` finds it.

    Where the other name still has that audio, the file is a copy of it, and nothing was written
    into it. A file without the trace of a decision is not looked for: its audio need not be read.
    Nor is one that cannot be read, or is of no kind that is written. Raises `StoreError`.
    """
    try:
        if not field_texts(read_tag_set(path), "decision_trace"):
            return None
        sound = audio_hash(path)
    except AudioError:
        return None
    own = kept_path(path)
    names = dict.fromkeys(write.path for write in store.journal.of_audio(sound))
    for name in names:
        if name != own and not _has(path_of(name), sound) and (found := last(store, path_of(name))):
            return found
    return None


def _has(path: Path, sound: str) -> bool:
    try:
        return path.is_file() and audio_hash(path) == sound
    except AudioError:  # another file, or a damaged one
        return False
