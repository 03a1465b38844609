"""Answers of services, kept with the time they were fetched."""

from dataclasses import dataclass

from sqlalchemy import delete, select, type_coerce
from sqlalchemy.types import NullType

from chart_binder.errors import StoreError
from chart_binder.store.inserting import insert_into
from chart_binder.store.keys import short_key
from chart_binder.store.schema import cached_answers
from chart_binder.store.transactions import Transactions


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
        columns = (cached_answers.c.body, cached_answers.c.fetched_at)
        as_they_are = (type_coerce(column, NullType()).label(column.name) for column in columns)
        wanted = select(*as_they_are).where(cached_answers.c.key == short_key(key))
        with self._database.reading() as connection:
            row = connection.execute(wanted).one_or_none()
        if row is None:
            return None
        # SQLite keeps any type in any column, whatever another program put there.
        if not isinstance(row.body, bytes) or not isinstance(row.fetched_at, float):
            raise StoreError(
                f"the store {self._database.name!r} is damaged: the answer kept under"
                f" {key[:200]!r} is not bytes with a time"
            )
        return Cached(row.body, row.fetched_at)

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Keep `body` under `key`, in place of an earlier one."""
        row = {"key": short_key(key), "body": body, "fetched_at": fetched_at}
        with self._database.writing() as connection:
            new = insert_into(connection, cached_answers)
            replacing = new.on_conflict_do_update(
                index_elements=["key"],
                set_={"body": new.excluded.body, "fetched_at": new.excluded.fetched_at},
            )
            connection.execute(replacing, row)

    def forget(self, key: str) -> None:
        """Keep nothing under `key` any more."""
        with self._database.writing() as connection:
            which = cached_answers.c.key == short_key(key)
            connection.execute(delete(cached_answers).where(which))
