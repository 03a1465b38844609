"""Runs of commands, the journal of tag writes, and the files that were not written."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec
import sqlalchemy as sa

from chart_binder.domain.records import RunRecord, UnwrittenRecord, WriteRecord, WriteState
from chart_binder.errors import DamagedRecordError, StoreError
from chart_binder.store.database import StorePart, damaged_record, insert_into, path_key
from chart_binder.store.schema import runs, unwritten, writes

UnreadRunHandler: TypeAlias = Callable[[str], None]


class Runs(StorePart):
    """Runs of commands; a run that was killed has no end time."""

    def begin(self, run: RunRecord) -> None:
        """Save a run unless its id is stored already."""
        row = msgspec.structs.asdict(run) | {
            # JSON escapes arguments, because databases do not take every byte in text.
            "arguments": json.dumps(run.arguments),
            "counts": json.dumps(dict(run.counts)),
        }
        self._database.insert_new(runs, row)

    def end(self, run: str, ended_at_utc: str, status: int, counts: Mapping[str, int]) -> None:
        """Save how a run ended."""
        self._change(run, counts, {"ended_at_utc": ended_at_utc, "status": status})

    def measure(self, run: str, counts: Mapping[str, int], measures: bytes) -> None:
        """Save the counts and measures of a run so far."""
        self._change(run, counts, {"measures": measures})

    def get(self, run: str) -> RunRecord | None:
        """Return the run with this id, or None."""
        rows = self._database.rows(sa.select(runs).where(runs.c.id == run))
        return next(map(self._read, rows), None)

    def beginning_with(self, letters: str) -> tuple[RunRecord, ...]:
        """Return the newest two runs whose ids begin with these letters."""
        has_prefix = runs.c.id.startswith(letters, autoescape=True)
        query = sa.select(runs).where(has_prefix).order_by(runs.c.seq.desc()).limit(2)
        return tuple(map(self._read, self._database.rows(query)))

    def latest(self) -> RunRecord | None:
        """Return the run that began last."""
        return next(iter(self.newest(1)), None)

    def newest(
        self, count: int, command: str | None = None, on_unread: UnreadRunHandler | None = None
    ) -> tuple[RunRecord, ...]:
        """Return the last `count` runs (of `command`), newest first; see also `iterate`."""
        query = sa.select(runs).order_by(runs.c.seq.desc()).limit(count)
        if command is not None:
            query = query.where(runs.c.command == command)
        return tuple(self._readable(self._database.rows(query), on_unread))

    def iterate(self, on_unread: UnreadRunHandler | None = None) -> Iterator[RunRecord]:
        """Yield every run, newest first; pass the problem of a damaged one to `on_unread`."""
        return self._readable(self._database.pages(runs, sa.select(runs)), on_unread)

    def _change(self, run: str, counts: Mapping[str, int], columns: Mapping[str, object]) -> None:
        changed = sa.update(runs).where(runs.c.id == run)
        with self._database.writing() as connection:
            connection.execute(changed.values(counts=json.dumps(dict(counts)), **columns))

    def _readable(
        self, rows: Iterable[sa.Row[Any]], on_unread: UnreadRunHandler | None
    ) -> Iterator[RunRecord]:
        for row in rows:
            try:
                run = self._read(row)
            except DamagedRecordError as error:
                if on_unread is None:
                    raise
                on_unread(str(error))
            else:
                yield run

    def _read(self, row: sa.Row[Any]) -> RunRecord:
        columns = dict(row._mapping)  # noqa: SLF001 - its public name
        try:
            columns |= {name: json.loads(columns[name]) for name in ("arguments", "counts")}
            for moment in (columns["started_at_utc"], columns["ended_at_utc"]):
                if isinstance(moment, str) and datetime.fromisoformat(moment).tzinfo is None:
                    raise ValueError(f"{moment[:40]!r} is a time without a zone")  # noqa: TRY301
        except (ValueError, TypeError) as error:
            name = self._database.name
            raise damaged_record(name, RunRecord, str(error), columns["id"]) from error
        return self._database.read(RunRecord, columns)


_STATES_BEFORE = {
    # A write that another program marked as failed in a repair may still be finished.
    WriteState.DONE: (WriteState.INTENDED, WriteState.FAILED, WriteState.DONE),
    WriteState.FAILED: (WriteState.INTENDED, WriteState.FAILED),
    WriteState.UNDONE: (WriteState.DONE, WriteState.UNDONE),
}
"""The states from which a write may change to each state."""


class Journal(StorePart):
    """Every write of a file's tags."""

    def intend(self, write: WriteRecord) -> None:
        """Commit an intent unless its id is stored; once this returns, it survives a crash."""
        row = msgspec.structs.asdict(write) | {"path_key": path_key(write.path)}
        self._database.insert_new(writes, row)

    def done(self, write: str, at_utc: str) -> None:
        """Mark a write as done: the file has the new tags."""
        self._set_state(write, WriteState.DONE, {"done_at_utc": at_utc})

    def failed(self, write: str, at_utc: str, problem: str) -> None:
        """Mark a write as failed: the file was left as it was."""
        self._set_state(write, WriteState.FAILED, {"done_at_utc": at_utc, "problem": problem})

    def undone(self, write: str, at_utc: str) -> None:
        """Mark a write as undone: the file has its former tags."""
        self._set_state(write, WriteState.UNDONE, {"done_at_utc": at_utc})

    def get(self, write: str) -> WriteRecord | None:
        """Return the write with this id, or None."""
        return next(iter(self._all(writes.c.id == write)), None)

    def open_intents(self) -> tuple[WriteRecord, ...]:
        """Return the writes that were begun and are neither done nor failed, the oldest first."""
        return self._all(writes.c.state == WriteState.INTENDED)[::-1]

    def of_run(self, run: str) -> Iterator[WriteRecord]:
        """Yield every write of a run, the newest first, in pages because there may be many."""
        return self._in_pages(writes.c.run_id == run)

    def since(self, at_utc: str) -> Iterator[WriteRecord]:
        """Yield every write begun at this time or later, the newest first, in pages."""
        return self._in_pages(writes.c.at_utc >= at_utc)

    def counts(self, run: str) -> dict[WriteState, int]:
        """Return how many writes of a run are in each state."""
        query = sa.select(writes.c.state, sa.func.count()).where(writes.c.run_id == run)
        rows = self._database.rows(query.group_by(writes.c.state))
        return {WriteState(state): count for state, count in rows}

    def of_path(self, path: bytes) -> tuple[WriteRecord, ...]:
        """Return every write of a file, the newest first."""
        return tuple(self.of_paths([path]).get(path, ()))

    def of_paths(self, paths: Collection[bytes]) -> Mapping[bytes, Sequence[WriteRecord]]:
        """Return the writes of each file that has any, the newest first."""
        by_path: dict[bytes, list[WriteRecord]] = {}
        keys = {"of_keys": [path_key(path) for path in paths]}
        for write in self._database.records(WriteRecord, _OF_PATHS, keys):
            if write.path in paths:
                by_path.setdefault(write.path, []).append(write)
        return by_path

    def of_audio(self, audio_hash: str) -> tuple[WriteRecord, ...]:
        """Return every write of files with this audio, the newest first."""
        return self._all(writes.c.audio_hash == audio_hash)

    def _set_state(self, write: str, state: WriteState, changes: dict[str, str]) -> None:
        change = (
            sa.update(writes)
            .where(writes.c.id == write, writes.c.state.in_(_STATES_BEFORE[state]))
            .values(state=state, **changes)
        )
        with self._database.writing() as connection:
            if connection.execute(change).rowcount:
                return
        stored = self.get(write)
        actual = f"is {stored.state}" if stored else "is not stored"
        raise StoreError(
            f"the journal in {self._database.name!r} cannot mark the write {write!r} as {state}:"
            f" it {actual}"
        )

    def _in_pages(self, condition: sa.ColumnElement[bool]) -> Iterator[WriteRecord]:
        rows = self._database.pages(writes, sa.select(writes).where(condition))
        return (self._database.read(WriteRecord, row) for row in rows)

    def _all(self, condition: sa.ColumnElement[bool]) -> tuple[WriteRecord, ...]:
        query = sa.select(writes).where(condition).order_by(writes.c.seq.desc())
        return self._database.records(WriteRecord, query)


_OF_PATHS = (
    sa.select(writes)
    .where(writes.c.path_key.in_(sa.bindparam("of_keys", expanding=True)))
    .order_by(writes.c.seq.desc())
)


class UnwrittenFiles(StorePart):
    """The files whose tags were not written, with the reason."""

    def update(self, refused: Collection[UnwrittenRecord], done: Collection[bytes]) -> None:
        """Replace the reasons of `refused` files, and delete those of the files `done`."""
        rows = [
            msgspec.structs.asdict(file) | {"path_key": path_key(file.path)} for file in refused
        ]
        keys = [*(row["path_key"] for row in rows), *map(path_key, done)]
        with self._database.writing() as connection:
            connection.execute(sa.delete(unwritten).where(unwritten.c.path_key.in_(keys)))
            if rows:
                insertion = insert_into(connection, unwritten)
                connection.execute(insertion.on_conflict_do_nothing(), rows)

    def all(self) -> Iterator[UnwrittenRecord]:
        """Return the files that were not written, sorted by reason and path."""
        columns = (unwritten.c[name] for name in UnwrittenRecord.__struct_fields__)
        query = sa.select(*columns).order_by(unwritten.c.why, unwritten.c.path)
        return iter(self._database.records(UnwrittenRecord, query))
