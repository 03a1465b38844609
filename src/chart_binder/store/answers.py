"""Answers of services, kept with the time they were fetched."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from chart_binder.store.schema import cached_answers


class Transactions(Protocol):
    """Where to read and write; leaving a block may raise `StoreError`."""

    def reading(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that changes nothing."""
        ...

    def writing(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that is kept if the block ends well."""
        ...


@dataclass(frozen=True, slots=True)
class Cached:
    """An answer as it was received; `fetched_at` is in seconds since the epoch."""

    body: bytes
    fetched_at: float


class CachedAnswers:
    """Answers by key; the newest is kept. Every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def get(self, key: str) -> Cached | None:
        """Return the answer kept under `key`, however old."""
        wanted = select(cached_answers.c.body, cached_answers.c.fetched_at).where(
            cached_answers.c.key == key
        )
        with self._database.reading() as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else Cached(row.body, row.fetched_at)

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Keep `body` under `key`, in place of an earlier one."""
        new = insert(cached_answers).values(key=key, body=body, fetched_at=fetched_at)
        replacing = new.on_conflict_do_update(
            index_elements=["key"],
            set_={"body": new.excluded.body, "fetched_at": new.excluded.fetched_at},
        )
        with self._database.writing() as connection:
            connection.execute(replacing)
