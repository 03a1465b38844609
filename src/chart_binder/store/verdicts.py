"""People's verdicts on decisions are added, and the newest counts."""

from collections.abc import Collection, Iterator
from functools import partial

import msgspec
from sqlalchemy import ColumnElement, Connection, Executable, and_, delete, func, or_, select

from chart_binder.domain.kept import KeptDecision, KeptVerdict, VerdictKind
from chart_binder.domain.overriding import KeptOverride
from chart_binder.store.inserting import insert_into
from chart_binder.store.keys import path_key
from chart_binder.store.overrides import put_override, remove_override
from chart_binder.store.rows import pages, read_row
from chart_binder.store.schema import decisions, overrides, verdicts
from chart_binder.store.transactions import Transactions
from chart_binder.store.unread import readable
from chart_binder.store.waiting import superseded

_SPOKEN = (VerdictKind.ACCEPT.value, VerdictKind.REJECT.value)


class Ruling(msgspec.Struct, frozen=True):
    """What a person ruled at once: verdicts, perhaps with an override.

    `before` are the overrides that went for it, `with_it` the verdicts that went with those.
    """

    verdicts: tuple[KeptVerdict, ...]
    override: KeptOverride | None = None
    before: tuple[KeptOverride, ...] = ()
    with_it: tuple[KeptVerdict, ...] = ()


class Verdicts:
    """What people made of decisions; every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database
        self._read = partial(read_row, database.name, KeptVerdict)

    def put(self, verdict: KeptVerdict) -> None:
        """Keep a verdict, beside the earlier ones."""
        with self._database.writing() as connection:
            _put(connection, (verdict,))

    def rule(
        self,
        given: Collection[KeptVerdict],
        override: KeptOverride | None = None,
        without: Collection[KeptOverride] = (),
    ) -> Ruling:
        """Keep verdicts with the override they came with, all or nothing.

        It takes the place of an earlier one for its recording, and of those in `without`. A verdict
        that names the override's release group, of the same time, goes when that goes.
        """
        recordings = {each.recording_mbid for each in (*without, *filter(None, (override,)))}
        with self._database.writing() as connection:
            before, with_it = self._standing(connection, recordings)
            for recording in recordings:
                remove_override(connection, recording)
            if override:
                put_override(connection, override)
            _put(connection, given)
        return Ruling(tuple(given), override, before, with_it)

    def take_back(self, ruling: Ruling) -> None:
        """Put everything back as it was before a ruling, all or nothing."""
        with self._database.writing() as connection:
            for verdict in ruling.verdicts:
                connection.execute(delete(verdicts).where(_is(verdict)))
            if ruling.override:
                remove_override(connection, ruling.override.recording_mbid)
            for override in ruling.before:
                put_override(connection, override)
            _put(connection, ruling.with_it)

    def given_with(self, override: KeptOverride) -> tuple[KeptVerdict, ...]:
        """Return the verdicts that an override came with, which go when it goes."""
        with self._database.reading() as connection:
            return self._given_with(connection, override)

    def reached_by(self, override: KeptOverride) -> tuple[KeptDecision, ...]:
        """Return the last decisions of files that an override holds for, as far as is told.

        Those name its recording, or got a verdict with it. What was left open and waits names none.
        One that cannot be read is left out.
        """
        came_with = select(verdicts.c.decision_id).where(_came_with(override))
        is_reached = or_(
            decisions.c.recording_mbid == override.recording_mbid, decisions.c.id.in_(came_with)
        )
        wanted = select(decisions).where(is_reached, ~superseded()).order_by(decisions.c.seq)
        with self._database.reading() as connection:
            rows = connection.execute(wanted).all()
        return tuple(readable(self._database.name, rows))

    def latest(self, decision: str) -> KeptVerdict | None:
        """Return the newest verdict on a decision."""
        return next(iter(self._found(decision, limit=1)), None)

    def history(self, decision: str) -> tuple[KeptVerdict, ...]:
        """Return every verdict on a decision, the newest first."""
        return self._found(decision)

    def on_the_same(self, decision: KeptDecision) -> KeptVerdict | None:
        """Return the newest verdict on a decision, or on the same one made of the file before.

        The same has the release group, the evidence and the rules in common.
        """
        with self._database.reading() as connection:
            row = connection.execute(_on_the_same(decision)).first()
        return None if row is None else self._read(row)

    def spoken(self) -> Iterator[KeptVerdict]:
        """Yield the newest yes or no to every decision that has one, the oldest first."""
        newer = verdicts.alias("newer")
        is_said_again = (
            select(newer.c.seq)
            .where(
                newer.c.decision_id == verdicts.c.decision_id,
                newer.c.seq > verdicts.c.seq,
                newer.c.verdict.in_(_SPOKEN),
            )
            .exists()
        )
        wanted = select(verdicts).where(verdicts.c.verdict.in_(_SPOKEN), ~is_said_again)
        with self._database.reading() as connection:
            last = connection.execute(select(func.max(verdicts.c.seq))).scalar_one() or 0
        return pages(self._database, verdicts, wanted, self._read, last=last)

    def _found(self, decision: str, limit: int | None = None) -> tuple[KeptVerdict, ...]:
        wanted = select(verdicts).where(verdicts.c.decision_id == decision)
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(verdicts.c.seq.desc()).limit(limit)).all()
        return tuple(map(self._read, rows))

    def _standing(
        self, connection: Connection, recordings: Collection[str]
    ) -> tuple[tuple[KeptOverride, ...], tuple[KeptVerdict, ...]]:
        """Return the overrides for recordings, and the verdicts they came with."""
        wanted = select(overrides).where(overrides.c.recording_mbid.in_(recordings))
        found = [
            read_row(self._database.name, KeptOverride, row)
            for row in connection.execute(wanted).all()
        ]
        given = [each for one in found for each in self._given_with(connection, one)]
        return tuple(found), tuple(given)

    def _given_with(
        self, connection: Connection, override: KeptOverride
    ) -> tuple[KeptVerdict, ...]:
        wanted = select(verdicts).where(_came_with(override)).order_by(verdicts.c.seq)
        return tuple(map(self._read, connection.execute(wanted)))


def _came_with(override: KeptOverride) -> ColumnElement[bool]:
    return and_(verdicts.c.at_utc == override.set_at_utc, verdicts.c.crg_mbid == override.crg_mbid)


def _put(connection: Connection, given: Collection[KeptVerdict]) -> None:
    if given:
        rows = [msgspec.structs.asdict(verdict) for verdict in given]
        connection.execute(insert_into(connection, verdicts), rows)


def _is(verdict: KeptVerdict) -> ColumnElement[bool]:
    return and_(
        verdicts.c.decision_id == verdict.decision_id,
        verdicts.c.at_utc == verdict.at_utc,
        verdicts.c.verdict == verdict.verdict.value,
    )


def _on_the_same(decision: KeptDecision) -> Executable:
    same = and_(
        decisions.c.evidence_hash == decision.evidence_hash,
        decisions.c.rules_version == decision.rules_version,
        decisions.c.crg_mbid.is_not_distinct_from(decision.crg_mbid),
    )
    return (
        select(verdicts)
        .join(decisions, decisions.c.id == verdicts.c.decision_id)
        .where(
            decisions.c.path_key == path_key(decision.path),
            decisions.c.path == decision.path,
            or_(decisions.c.id == decision.id, same),
        )
        .order_by(verdicts.c.seq.desc())
        .limit(1)
    )
