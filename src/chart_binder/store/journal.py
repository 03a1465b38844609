"""The journal of tags: an intent before a file is touched, and what became of it."""

from collections.abc import Iterator
from functools import partial

import msgspec
from sqlalchemy import ColumnElement, func, select, update

from chart_binder.domain.kept import KeptWrite, WriteState
from chart_binder.errors import StoreError
from chart_binder.store.inserting import insert_into
from chart_binder.store.keys import path_key
from chart_binder.store.rows import read_row
from chart_binder.store.schema import writes
from chart_binder.store.transactions import Transactions

_PAGE = 100
_BEFORE = {
    # Who wrote knows better than who found the intent open, on another machine say.
    WriteState.DONE: (WriteState.INTENDED, WriteState.FAILED, WriteState.DONE),
    WriteState.FAILED: (WriteState.INTENDED, WriteState.FAILED),
    WriteState.UNDONE: (WriteState.DONE, WriteState.UNDONE),
}
"""From which states a write may come to another; to where it stands already is no change."""


class Journal:
    """Every change of a file's tags; every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database
        self._read = partial(read_row, database.name, KeptWrite)

    def intend(self, write: KeptWrite) -> None:
        """Commit an intent; when this returns, it survives a crash. One that is kept stays."""
        row = msgspec.structs.asdict(write) | {"path_key": path_key(write.path)}
        with self._database.writing() as connection:
            new = insert_into(connection, writes)
            connection.execute(new.on_conflict_do_nothing(index_elements=["id"]), row)

    def done(self, write: str, at_utc: str) -> None:
        """Say that the file has the new tags."""
        self._move(write, WriteState.DONE, {"done_at_utc": at_utc})

    def failed(self, write: str, at_utc: str, problem: str) -> None:
        """Say that the file was left as it was, and why."""
        self._move(write, WriteState.FAILED, {"done_at_utc": at_utc, "problem": problem})

    def undone(self, write: str, at_utc: str) -> None:
        """Say that the tags from before were put back."""
        self._move(write, WriteState.UNDONE, {"done_at_utc": at_utc})

    def get(self, write: str) -> KeptWrite | None:
        """Return the write of that identifier."""
        return next(iter(self._found(writes.c.id == write)), None)

    def open_intents(self) -> tuple[KeptWrite, ...]:
        """Return what was begun and neither done nor failed, the oldest first."""
        return self._found(writes.c.state == WriteState.INTENDED)[::-1]

    def of_run(self, run: str) -> Iterator[KeptWrite]:
        """Yield every write of a run, the newest first, read by the page: it may have very many."""
        wanted = select(writes).where(writes.c.run_id == run).order_by(writes.c.seq.desc())
        page = wanted.limit(_PAGE)
        while True:
            with self._database.reading() as connection:
                found = connection.execute(page).all()
            yield from map(self._read, found)
            if len(found) < _PAGE:
                return
            page = wanted.where(writes.c.seq < found[-1].seq).limit(_PAGE)

    def counts(self, run: str) -> dict[WriteState, int]:
        """Return how many writes of a run stand how."""
        wanted = select(writes.c.state, func.count()).where(writes.c.run_id == run)
        with self._database.reading() as connection:
            found = connection.execute(wanted.group_by(writes.c.state)).all()
        return {WriteState(state): count for state, count in found}

    def of_path(self, path: bytes) -> tuple[KeptWrite, ...]:
        """Return every write of a file, the newest first."""
        return self._found(writes.c.path_key == path_key(path), writes.c.path == path)

    def of_audio(self, audio_hash: str) -> tuple[KeptWrite, ...]:
        """Return every write of a file with this audio, whatever its name, the newest first."""
        return self._found(writes.c.audio_hash == audio_hash)

    def _move(self, write: str, state: WriteState, changes: dict[str, str]) -> None:
        moved = (
            update(writes)
            .where(writes.c.id == write, writes.c.state.in_(_BEFORE[state]))
            .values(state=state, **changes)
        )
        with self._database.writing() as connection:
            if connection.execute(moved).rowcount:
                return
        kept = self.get(write)
        found = f"is {kept.state}" if kept else "is not kept"
        raise StoreError(
            f"the journal in {self._database.name!r} cannot call the write {write!r} {state}:"
            f" it {found}"
        )

    def _found(self, *which: ColumnElement[bool]) -> tuple[KeptWrite, ...]:
        with self._database.reading() as connection:
            wanted = select(writes).where(*which).order_by(writes.c.seq.desc())
            return tuple(map(self._read, connection.execute(wanted).all()))
