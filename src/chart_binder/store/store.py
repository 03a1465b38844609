"""The open store, and two of its parts: cached answers of services, and rate slots."""

from dataclasses import dataclass
from typing import Self

import sqlalchemy as sa
from sqlalchemy.types import NullType

from chart_binder.domain.records import EvidenceRecord, TranscriptRecord
from chart_binder.errors import StoreError
from chart_binder.store.database import Database, insert_into, open_database, short_key
from chart_binder.store.decisions import Decisions, Documents
from chart_binder.store.reviews import Audits, Overrides, ReviewQueue, Verdicts
from chart_binder.store.runs import Journal, Runs, Unwritten
from chart_binder.store.schema import cached_answers, evidence, rate_slots, transcripts

QUEUE_LENGTH = 120
"""Requests that may wait at once. A slot further ahead than that many intervals was left by a
clock that has been set back since, and is ignored."""


class Store:
    """An open store, which threads may share; docs/store.md lists what each part does."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.name = database.name
        self.answers = CachedAnswers(database)
        self.slots = RateSlots(database)
        self.overrides = Overrides(database)
        self.runs = Runs(database)
        self.decisions = Decisions(database)
        self.evidence = Documents(database, evidence, EvidenceRecord)
        self.transcripts = Documents(database, transcripts, TranscriptRecord)
        self.verdicts = Verdicts(database)
        self.audits = Audits(database)
        self.waiting = ReviewQueue(database)
        self.journal = Journal(database)
        self.unwritten = Unwritten(database)

    @classmethod
    def open(cls, url: str) -> Self:
        """Open or create the store at `url`. Raises `StoreError`."""
        database = open_database(url)
        try:
            database.create_or_migrate()
        except StoreError:
            database.close()
            raise
        return cls(database)

    def close(self) -> None:
        """Close every connection."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """The body of an answer; `fetched_at` is in seconds since the epoch."""

    body: bytes
    fetched_at: float


class CachedAnswers:
    """The newest answer of a service for each key. Every method may raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> CachedAnswer | None:
        """Return the answer for `key`, however old."""
        columns = (cached_answers.c.body, cached_answers.c.fetched_at)
        unconverted = (sa.type_coerce(column, NullType()).label(column.name) for column in columns)
        wanted = sa.select(*unconverted).where(cached_answers.c.key == short_key(key))
        row = next(iter(self._database.rows(wanted)), None)
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
        """Keep an answer, in place of an earlier one for `key`."""
        row = {"key": short_key(key), "body": body, "fetched_at": fetched_at}
        with self._database.writing() as connection:
            new = insert_into(connection, cached_answers)
            replacing = new.on_conflict_do_update(
                index_elements=["key"],
                set_={"body": new.excluded.body, "fetched_at": new.excluded.fetched_at},
            )
            connection.execute(replacing, row)

    def forget(self, key: str) -> None:
        """Remove the answer for `key`, if there is one."""
        with self._database.writing() as connection:
            which = cached_answers.c.key == short_key(key)
            connection.execute(sa.delete(cached_answers).where(which))


class AnswersSince:
    """Cached answers that were fetched since a moment, in seconds since the epoch."""

    def __init__(self, answers: CachedAnswers, moment: float) -> None:
        self._answers = answers
        self._moment = moment
        self.put = answers.put
        self.forget = answers.forget

    def get(self, key: str) -> CachedAnswer | None:
        """Return the answer for `key`, if it is new enough. Raises `StoreError`."""
        kept = self._answers.get(key)
        return kept if kept and kept.fetched_at >= self._moment else None


class RateSlots:
    """The next free moment of each service, shared by all threads and processes of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Take the next free moment of `service`; return how many seconds after `now` it is.

        Moments are `interval_s` seconds apart; `now` is in seconds since the epoch, because other
        processes must mean the same by it. Raises `StoreError`.
        """
        next_slot = rate_slots.c.next_slot
        is_ahead = next_slot.between(now, now + QUEUE_LENGTH * interval_s)
        slot_after = sa.case((is_ahead, next_slot), else_=now) + interval_s
        with self._database.writing() as connection:
            reserving = (
                insert_into(connection, rate_slots)
                .values(service=service, next_slot=now + interval_s)
                .on_conflict_do_update(index_elements=["service"], set_={"next_slot": slot_after})
                .returning(next_slot)
            )
            following = connection.execute(reserving).scalar_one()
        return float(max(0.0, following - interval_s - now))
