"""Answers of services, kept with the time they were fetched."""

from dataclasses import dataclass

from sqlalchemy import case, delete, select, type_coerce
from sqlalchemy.types import NullType

from chart_binder.errors import StoreError
from chart_binder.store.database import Transactions, insert_into, short_key
from chart_binder.store.schema import cached_answers, rate_slots


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """An answer as it was received; `fetched_at` is in seconds since the epoch."""

    body: bytes
    fetched_at: float


class CachedAnswers:
    """Answers by key; the newest is kept. Every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def get(self, key: str) -> CachedAnswer | None:
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
        return CachedAnswer(row.body, row.fetched_at)

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


QUEUE_LENGTH = 120
"""Requests that may wait at once. A slot further ahead than that many intervals was left by a
clock that has been set back since: it is forgotten rather than waited for."""


class RateSlots:
    """The next free moment of each service, shared by all threads and processes of a store."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Take the next free moment of `service`; return how many seconds after `now` it is.

        Moments are `interval_s` seconds apart; `now` is in seconds since the epoch, because other
        processes must mean the same by it. Raises `StoreError`.
        """
        standing = rate_slots.c.next_slot
        is_ahead = standing.between(now, now + QUEUE_LENGTH * interval_s)
        following_now = case((is_ahead, standing), else_=now) + interval_s
        with self._database.writing() as connection:
            reserving = (
                insert_into(connection, rate_slots)
                .values(service=service, next_slot=now + interval_s)
                .on_conflict_do_update(
                    index_elements=["service"], set_={"next_slot": following_now}
                )
                .returning(rate_slots.c.next_slot)
            )
            following = connection.execute(reserving).scalar_one()
        return float(max(0.0, following - interval_s - now))


class AnswersSince:
    """Answers that were fetched since a moment, in seconds since the epoch; new ones are kept."""

    def __init__(self, answers: CachedAnswers, moment: float) -> None:
        self._answers = answers
        self._moment = moment
        self.put = answers.put
        self.forget = answers.forget

    def get(self, key: str) -> CachedAnswer | None:
        """Return the answer kept under `key`, if it is new enough. Raises `StoreError`."""
        kept = self._answers.get(key)
        return kept if kept and kept.fetched_at >= self._moment else None
