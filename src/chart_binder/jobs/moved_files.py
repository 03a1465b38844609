"""Files that were moved, renamed or swapped since their tags were written, found again.

The journal knows a file by the path that it had. A file at another path is the same if it has the
same audio, and the tags that were written.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import field_texts
from chart_binder.audio.tagset import TagChanges, TagSet, normalized_hash
from chart_binder.domain.records import WriteRecord
from chart_binder.errors import AudioError
from chart_binder.files import quoted
from chart_binder.jobs.stored_decisions import path_bytes, path_from_bytes

if TYPE_CHECKING:
    from chart_binder.store.store import Store

LastWrite = Callable[["Store", Path], WriteRecord | None]
"""Returns the last write under a path that counts."""


def write_of_file(store: "Store", path: Path, last: LastWrite) -> WriteRecord | None:
    """Return the write that a file's tags are of, under its path or a former one.

    A write under another path with this audio counts if the file has exactly the tags that were
    written and the other path has not, so that names that were swapped are not mixed up; else a
    write under its own path; else the only one under a path that has not this audio any more.
    Files without a write of their own and without a decision's trace are not looked up, which saves
    hashing their audio; nor are files that cannot be read. Raises `StoreError`.
    """
    own = last(store, path)
    try:
        tags = read_tag_set(path)
        is_known = _has_written(tags, own) if own else not field_texts(tags, "decision_trace")
        if is_known:
            return own
        sound = audio_hash(path)
    except AudioError:
        return own
    paths = dict.fromkeys(write.path for write in store.journal.of_audio(sound))
    former = [path_from_bytes(name) for name in paths if name != path_bytes(path)]
    writes = [(each, write) for each in former if (write := last(store, each))]
    same = [
        write for each, write in writes if _has_written(tags, write) and not _is_at(each, write)
    ]
    if len(same) == 1 or own:
        return same[0] if len(same) == 1 else own
    gone = [write for each, write in writes if not _has_audio(each, sound)]
    return gone[0] if len(gone) == 1 else None


@dataclass
class MovedFiles:
    """Finds where files are now, by the paths under which their tags were written."""

    store: "Store"
    last: LastWrite
    _found: dict[bytes, Path] = field(default_factory=dict)
    _folders: dict[Path, dict[str, list[Path]]] = field(default_factory=dict)

    def last_write(self, path: Path) -> WriteRecord | None:
        """Return the last write of a file, whose path is remembered. Raises `StoreError`."""
        write = write_of_file(self.store, path, self.last)
        if write:
            self._found[write.path] = path
        return write

    def path_of(self, write: WriteRecord) -> Path:
        """Return where the file of a write is now, its former path if that is unknown.

        It is looked for under paths that the journal has of its audio; if no file has its path, in
        the same folder and where a file was decided by the same evidence, too. Raises `StoreError`.
        """
        former = path_from_bytes(write.path)
        if write.path not in self._found:
            is_there = _is_at(former, write)
            now = None if is_there else next(self._candidates(write, former), None)
            self._found[write.path] = now or former
        return self._found[write.path]

    def _candidates(self, write: WriteRecord, former: Path) -> Iterator[Path]:
        """Yield the files that have the audio and the tags of a write, and none of their own."""
        for path in dict.fromkeys(self._known_paths(write, former)):
            if path == former or not _is_at(path, write):
                continue
            own = self.last(self.store, path)
            if not (own and _is_at(path, own)) and _has_audio(path, write.audio_hash):
                yield path

    def _known_paths(self, write: WriteRecord, former: Path) -> Iterator[Path]:
        for one in self.store.journal.of_audio(write.audio_hash):
            yield path_from_bytes(one.path)
        if former.exists():
            return
        yield from self._in_folder(former.parent).get(write.tags_after_hash, ())
        decision = self.store.decisions.by_id(write.decision_id) if write.decision_id else None
        if decision and decision.evidence_hash:
            yield from map(path_from_bytes, self.store.decisions.paths_of(decision.evidence_hash))

    def _in_folder(self, folder: Path) -> dict[str, list[Path]]:
        """Return the audio files of a folder by the hash of their tags, read once."""
        if folder not in self._folders:
            found = self._folders.setdefault(folder, {})
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                try:
                    found.setdefault(read_tag_set(path).hash, []).append(path)
                except AudioError:
                    continue
        return self._folders[folder]


def _is_at(path: Path, write: WriteRecord) -> bool:
    """Return whether a file has the tags that were written."""
    try:
        return os.path.lexists(path) and _has_written(read_tag_set(path), write)
    except AudioError:
        return False


def _has_written(tags: TagSet, write: WriteRecord) -> bool:
    if tags.hash == write.tags_after_hash:
        return True
    return normalized_hash(tags) == TagChanges.from_json(write.changes).new_alike


def _has_audio(path: Path, sound: str) -> bool:
    try:
        return path.is_file() and audio_hash(path) == sound
    except AudioError:  # another file, or a damaged one
        return False


def moved_text(write: WriteRecord, why: str | None) -> str:
    """Return the remark that a file was moved since a write, with what else is to say."""
    moved = f"it was {quoted(path_from_bytes(write.path))} when its tags were written"
    return f"{moved}; {why}" if why else moved
