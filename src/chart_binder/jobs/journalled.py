"""A change of tags is committed to the journal before the file is touched."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.audio.alike import alike_hash
from chart_binder.audio.changes import TagChanges, changes_between
from chart_binder.audio.files import shown
from chart_binder.audio.packets import read_tag_set
from chart_binder.audio.saving import Prepared, Saved, UnconfirmedError, nothing, safely_saved
from chart_binder.audio.tagset import TagSet
from chart_binder.domain.kept import KeptRun, KeptWrite, WriteState, new_id, now_utc
from chart_binder.errors import AudioError, CanonError, StoreError
from chart_binder.jobs.file_names import kept_path
from chart_binder.jobs.left_tags import left_by

if TYPE_CHECKING:
    from chart_binder.store.store import Store


@dataclass(slots=True)
class WritingRun:
    """A run that changes tags; it is kept when its first file is."""

    store: "Store"
    run: KeptRun
    keep_mtime: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    has_begun: bool = False

    @classmethod
    def of(
        cls, store: "Store", command: str, arguments: tuple[str, ...], *, keep_mtime: bool
    ) -> "WritingRun":
        """Return a run that begins now."""
        run = KeptRun(id=new_id(), command=command, arguments=arguments, started_at_utc=now_utc())
        return cls(store, run, keep_mtime)

    def save(
        self,
        path: Path,
        change: Callable[[TagSet], TagSet],
        decision_id: str | None,
        check: Callable[[Prepared], None] = nothing,
    ) -> tuple[Saved, KeptWrite | None]:
        """Change the tags of a file, with an entry in the journal unless nothing changes.

        `check` may refuse what is about to happen. Raises `AudioError`, `SaveError`, `StoreError`;
        where the file's fate is known then, the journal has it.
        """
        intents: list[KeptWrite] = []

        def intend(prepared: Prepared) -> None:
            check(prepared)
            if not self.has_begun:
                self.store.runs.begin(self.run)
                self.has_begun = True
            intent = self._intent(prepared, decision_id)
            intents.append(intent)
            self.store.journal.intend(intent)

        try:
            saved = safely_saved(path, change, keep_mtime=self.keep_mtime, before_replace=intend)
        except CanonError as error:
            replaced = isinstance(error, UnconfirmedError)
            for intent in intents:
                settled(self.store, intent, str(error), replaced=replaced)
            raise
        for intent in intents:
            self._told(saved.path, intent)
        return saved, next(iter(intents), None)

    def _told(self, path: Path, intent: KeptWrite) -> None:
        try:
            self.store.journal.done(intent.id, now_utc())
        except StoreError as error:
            raise StoreError(
                f"{shown(path)} has its new tags, which the next run that writes tells the journal,"
                f" for now {error}"
            ) from error

    def end(self, status: int) -> None:
        """Keep how the run ended, if it changed anything. Raises `StoreError`."""
        if self.has_begun:
            self.store.runs.end(self.run.id, now_utc(), status, self.counts)

    def _intent(self, prepared: Prepared, decision_id: str | None) -> KeptWrite:
        return KeptWrite(
            id=new_id(),
            run_id=self.run.id,
            path=kept_path(prepared.path),
            decision_id=decision_id,
            audio_hash=prepared.audio_hash,
            tags_before_hash=prepared.before.hash,
            tags_after_hash=prepared.after.hash,
            changes=_changes(prepared).json,
            tags_left=left_by(prepared.after),
            at_utc=now_utc(),
            temporary=kept_path(prepared.temporary),
        )


def _changes(prepared: Prepared) -> TagChanges:
    return msgspec.structs.replace(
        changes_between(prepared.before, prepared.after),
        old_alike=alike_hash(prepared.before),
        new_alike=alike_hash(prepared.after),
    )


def settled(
    store: "Store", intent: KeptWrite, problem: str, *, replaced: bool | None = None
) -> WriteState | None:
    """Hold an intent against its file, and say in the journal what became of it.

    `problem` is why, where the file was left as it was. `replaced` says whether the copy took the
    file's place, where that is known: another run may have written the same tags. `None` is
    returned where the file cannot be looked at, so the intent stays open. Raises `StoreError`.
    """
    if replaced:
        store.journal.done(intent.id, now_utc())
        return WriteState.DONE
    path = path_of(intent.path)
    try:
        found = read_tag_set(path).hash
    except AudioError as error:
        if path.parent.is_dir() and not path.exists():
            store.journal.failed(intent.id, now_utc(), f"{problem}; the file is gone: {error}")
            return WriteState.FAILED
        if replaced is None:
            return None
        found = intent.tags_before_hash
    if found == intent.tags_after_hash and replaced is None:
        store.journal.done(intent.id, now_utc())
        return WriteState.DONE
    if found == intent.tags_after_hash:
        problem += "; the file has the tags that were meant: another run wrote them"
    elif found != intent.tags_before_hash:
        problem += "; the file has other tags than before or after: another program wrote them"
    store.journal.failed(intent.id, now_utc(), problem)
    return WriteState.FAILED


def path_of(kept: bytes) -> Path:
    """Return a path as it is kept in the store."""
    return Path(os.fsdecode(kept))
