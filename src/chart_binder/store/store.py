"""Everything that is kept between runs, behind one door."""

from typing import Self

from chart_binder.errors import StoreError
from chart_binder.store.answers import CachedAnswers, RateSlots
from chart_binder.store.database import Database, open_database
from chart_binder.store.decisions import Decisions, EvidenceDocuments, TranscriptDocuments
from chart_binder.store.reviews import Overrides, ReviewQueue, Verdicts
from chart_binder.store.runs import Journal, Runs


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
        self.evidence = EvidenceDocuments(database)
        self.transcripts = TranscriptDocuments(database)
        self.verdicts = Verdicts(database)
        self.waiting = ReviewQueue(database)
        self.journal = Journal(database)

    @classmethod
    def open(cls, url: str) -> Self:
        """Open or make the store at `url`, or raise `StoreError`."""
        database = open_database(url)
        try:
            database.settle()
        except StoreError:
            database.close()
            raise
        return cls(database)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
