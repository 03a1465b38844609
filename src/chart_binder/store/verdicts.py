"""People's verdicts on decisions are added, and the newest counts."""

import msgspec
from sqlalchemy import select

from chart_binder.domain.kept import KeptVerdict
from chart_binder.store.inserting import insert_into
from chart_binder.store.rows import read_row
from chart_binder.store.schema import verdicts
from chart_binder.store.transactions import Transactions


class Verdicts:
    """What people made of decisions; every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def put(self, verdict: KeptVerdict) -> None:
        """Keep a verdict, beside the earlier ones."""
        with self._database.writing() as connection:
            connection.execute(insert_into(connection, verdicts), msgspec.structs.asdict(verdict))

    def latest(self, decision: str) -> KeptVerdict | None:
        """Return the newest verdict on a decision."""
        return next(iter(self._found(decision, limit=1)), None)

    def history(self, decision: str) -> tuple[KeptVerdict, ...]:
        """Return every verdict on a decision, the newest first."""
        return self._found(decision)

    def _found(self, decision: str, limit: int | None = None) -> tuple[KeptVerdict, ...]:
        wanted = select(verdicts).where(verdicts.c.decision_id == decision)
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(verdicts.c.seq.desc()).limit(limit)).all()
        return tuple(read_row(self._database.name, KeptVerdict, row) for row in rows)
