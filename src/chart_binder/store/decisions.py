"""Decisions, evidence, transcripts and cached answers; a decision is added, but never changed."""

import logging
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
import sqlalchemy as sa

from chart_binder.domain.records import (
    CachedAnswer,
    DecisionRecord,
    EvidenceRecord,
    StoredCase,
    TranscriptRecord,
    UnreadDecision,
)
from chart_binder.errors import DamagedRecordError
from chart_binder.store.database import (
    Database,
    StorePart,
    damaged_record,
    insert_into,
    path_key,
    short_key,
)
from chart_binder.store.schema import (
    Bytes,
    audits,
    cached_answers,
    decisions,
    evidence,
    rate_slots,
    transcripts,
    unwritten,
    verdicts,
)

UnreadHandler: TypeAlias = Callable[[UnreadDecision], None]

D = TypeVar("D", EvidenceRecord, TranscriptRecord)
_PATHS_AT_ONCE = 100
"""Paths in one statement: SQLite allows at most 1,000 levels in an expression."""
_log = logging.getLogger(__name__)


def _decision_in(database: Database, row: sa.Row[Any]) -> DecisionRecord | UnreadDecision:
    """Return the decision in a row, or why it cannot be read."""
    try:
        return database.read(DecisionRecord, row)
    except DamagedRecordError as error:
        path = row.path if isinstance(row.path, bytes) else None
        return UnreadDecision(problem=str(error), path=path)


def readable(
    database: Database, rows: Iterable[sa.Row[Any]], on_unread: UnreadHandler | None = None
) -> Iterator[DecisionRecord]:
    """Yield the decisions that can be read; pass the others to `on_unread`, or log them."""
    for row in rows:
        decision = _decision_in(database, row)
        if isinstance(decision, DecisionRecord):
            yield decision
        elif on_unread:
            on_unread(decision)
        else:
            _log.warning("skipped: %s", decision.problem)


class Documents(StorePart, Generic[D]):
    """Documents of one kind, by name."""

    def __init__(self, database: Database, table: sa.Table, kind: type[D]) -> None:
        super().__init__(database)
        key = table.c[kind.__struct_fields__[0]]
        is_named = key.in_(sa.bindparam("names", expanding=True))
        self._query = sa.select(key, table.c.document).where(is_named)
        self._kind: type[D] = kind

    def get(self, name: str) -> D | None:
        """Return the document with this name, or None."""
        return self.of([name]).get(name)

    def of(self, names: Collection[str]) -> Mapping[str, D]:
        """Return the stored documents among those with these names."""
        rows = self._database.rows(self._query, {"names": [*names]}) if names else ()
        try:
            return {name: self._kind(name, zlib.decompress(body)) for name, body in rows}
        except (zlib.error, TypeError) as error:  # SQLite stores values of any type
            raise damaged_record(self._database.name, self._kind, str(error)) from error


def _put_documents(
    connection: sa.Connection,
    table: sa.Table,
    records: Iterable[EvidenceRecord | TranscriptRecord | None],
) -> None:
    documents = dict(msgspec.structs.astuple(record) for record in records if record)
    if not documents:
        return
    key = table.primary_key.columns[0]
    # Most evidence is stored already, and compressing it again takes longer than finding it.
    stored = set(connection.execute(sa.select(key).where(key.in_(documents))).scalars())
    rows = [
        {key.name: name, "document": zlib.compress(document)}
        for name, document in documents.items()
        if name not in stored
    ]
    if rows:
        insertion = insert_into(connection, table).on_conflict_do_nothing(index_elements=[key.name])
        connection.execute(insertion, rows)


class ForgottenCounts(msgspec.Struct, frozen=True):
    """The number of deleted decisions, and of the files that they were about."""

    files: int
    decisions: int


class Decisions(StorePart):
    """The decisions on files, the earlier ones included."""

    def put(
        self,
        decision: DecisionRecord,
        evidence: EvidenceRecord | None = None,
        transcript: TranscriptRecord | None = None,
    ) -> None:
        """Save a decision with its evidence and transcript unless its id is stored already."""
        self.put_all([(decision, evidence, transcript)])

    def put_all(self, cases: Iterable[StoredCase]) -> None:
        """Save several decisions in one transaction, so that they wait for the disk only once."""
        cases = list(cases)
        rows = [
            msgspec.structs.asdict(decision) | {"path_key": path_key(decision.path)}
            for decision, _, _ in cases
        ]
        with self._database.writing() as connection:
            _put_documents(connection, evidence, (bundle for _, bundle, _ in cases))
            _put_documents(connection, transcripts, (transcript for _, _, transcript in cases))
            if rows:
                insertion = insert_into(connection, decisions)
                connection.execute(insertion.on_conflict_do_nothing(index_elements=["id"]), rows)

    def latest(self, path: bytes) -> DecisionRecord | None:
        """Return the last decision on a file, or None."""
        return self._database.record(DecisionRecord, _LATEST, _path_parameters(path))

    def history(self, path: bytes) -> tuple[DecisionRecord, ...]:
        """Return every decision on a file, the newest first."""
        return self._database.records(DecisionRecord, _OF_PATH, _path_parameters(path))

    def histories(
        self, paths: Collection[bytes]
    ) -> Mapping[bytes, Sequence[DecisionRecord | UnreadDecision]]:
        """Return the decisions on each file that has any, the newest first."""
        by_path: dict[bytes, list[DecisionRecord | UnreadDecision]] = {}
        keys = {path: path_key(path) for path in paths}
        rows = self._database.rows(_OF_PATHS, {"of_keys": [*keys.values()]}) if keys else ()
        for row in rows:
            if row.path in keys:
                by_path.setdefault(row.path, []).append(_decision_in(self._database, row))
        return by_path

    def by_id(self, decision: str) -> DecisionRecord | None:
        """Return the decision with this id, or None."""
        query = sa.select(decisions).where(decisions.c.id == decision)
        return self._database.record(DecisionRecord, query)

    def by_model(self, limit: int) -> tuple[DecisionRecord, ...]:
        """Return the last decisions that have a transcript of a model, the newest last."""
        query = sa.select(decisions).where(decisions.c.transcript_id.is_not(None))
        newest = query.order_by(decisions.c.seq.desc()).limit(limit)
        return tuple(reversed(self._database.records(DecisionRecord, newest)))

    def paths_of(self, evidence_hash: str) -> tuple[bytes, ...]:
        """Return the paths of the files that were decided from this evidence."""
        query = sa.select(decisions.c.path).where(decisions.c.evidence_hash == evidence_hash)
        return tuple(row.path for row in self._database.rows(query.distinct()))

    def by_evidence(self, evidence_hash: str, adjudicator: str) -> DecisionRecord | None:
        """Return the last decision of this adjudicator on this evidence, for any file, or None."""
        query = (
            sa.select(decisions)
            .where(decisions.c.evidence_hash == evidence_hash)
            .where(decisions.c.adjudicator == adjudicator)
            .order_by(decisions.c.seq.desc())
            .limit(1)
        )
        return self._database.record(DecisionRecord, query)

    def count_of_run(self, run: str) -> int:
        """Return how many decisions a run saved."""
        query = sa.select(sa.func.count()).where(decisions.c.run_id == run)
        return int(self._database.rows(query)[0][0])

    def state(self) -> tuple[int, int]:
        """Return numbers that differ once a decision is added or deleted."""
        query = sa.select(sa.func.count(), sa.func.max(decisions.c.seq))
        count, last = self._database.rows(query)[0]
        return count, last or 0

    def forget(self, named_paths: Sequence[bytes], *, is_dry: bool = False) -> ForgottenCounts:
        """Delete all decisions on files at or below paths, and everything that only they need.

        These are verdicts, audits, reasons why tags were not written, evidence and transcripts. The
        journal stays, because it is needed to restore tags.
        """
        files: set[bytes] = set()
        count = 0
        with self._database.writing() as connection:
            for start in range(0, len(named_paths), _PATHS_AT_ONCE):
                paths = named_paths[start : start + _PATHS_AT_ONCE]
                is_named = sa.or_(*(is_under(decisions, path) for path in paths))
                rows = connection.execute(sa.select(decisions.c.path).where(is_named)).all()
                files.update(row.path for row in rows)
                count += len(rows)
                if rows and not is_dry:
                    ids = sa.select(decisions.c.id).where(is_named)
                    for table in (verdicts, audits):
                        connection.execute(sa.delete(table).where(table.c.decision_id.in_(ids)))
                    is_listed = sa.or_(*(is_under(unwritten, path) for path in paths))
                    connection.execute(sa.delete(unwritten).where(is_listed))
                    connection.execute(sa.delete(decisions).where(is_named))
            if count and not is_dry:
                for key, name in (
                    (evidence.c.hash, decisions.c.evidence_hash),
                    (transcripts.c.id, decisions.c.transcript_id),
                ):
                    used = sa.select(name).where(name.is_not(None))
                    connection.execute(sa.delete(key.table).where(key.not_in(used)))
        return ForgottenCounts(len(files), count)

    def iterate(
        self, states: Collection[str] = (), on_unread: UnreadHandler | None = None
    ) -> Iterator[DecisionRecord]:
        """Yield the latest decision of every file, as of now, if it is in one of `states`.

        Without `states`, yield all. Pass a decision that cannot be read to `on_unread`, or raise.
        """
        last = self._database.last(decisions)
        query = sa.select(decisions).where(~superseded(last))
        if states:
            query = query.where(decisions.c.state.in_(sorted(states)))
        rows = self._database.pages(decisions, query, last)
        if on_unread is None:
            return (self._database.read(DecisionRecord, row) for row in rows)
        return readable(self._database, rows, on_unread)


_IS_OF_PATH = sa.and_(
    decisions.c.path_key == sa.bindparam("of_key"), decisions.c.path == sa.bindparam("of_path")
)
_OF_PATH = sa.select(decisions).where(_IS_OF_PATH).order_by(decisions.c.seq.desc())
_OF_PATHS = (
    sa.select(decisions)
    .where(decisions.c.path_key.in_(sa.bindparam("of_keys", expanding=True)))
    .order_by(decisions.c.seq.desc())
)
_LATEST = _OF_PATH.limit(1)
"""Built once, because SQLAlchemy takes longer to build a statement than SQLite to execute it."""


def _path_parameters(path: bytes) -> dict[str, bytes]:
    return {"of_key": path_key(path), "of_path": path}


def is_under(table: sa.Table, path: bytes) -> sa.ColumnElement[bool]:
    """Match rows about the file at `path`, or about the files in that folder."""
    folder = path.rstrip(b"/") + b"/"
    head = sa.func.substr(table.c.path, 1, len(folder), type_=Bytes())
    return sa.or_(table.c.path == path, head == folder)


def is_same_file(alias: sa.FromClause) -> sa.ColumnElement[bool]:
    """Match rows of an alias of `decisions` that are about the same file as a decision."""
    return sa.and_(alias.c.path_key == decisions.c.path_key, alias.c.path == decisions.c.path)


def superseded(last: int | None = None) -> sa.ColumnElement[bool]:
    """Match decisions that are not the latest of their file; ignore those after number `last`."""
    newer = decisions.alias("newer")
    until = () if last is None else (newer.c.seq <= last,)
    is_newer = (is_same_file(newer), newer.c.seq > decisions.c.seq, *until)
    return sa.select(newer.c.seq).where(*is_newer).exists()


class CachedAnswers(StorePart):
    """The newest answer of a service for each key."""

    def get(self, key: str) -> CachedAnswer | None:
        """Return the answer for `key`, however old, or None."""
        query = sa.select(cached_answers).where(cached_answers.c.key == short_key(key))
        return self._database.record(CachedAnswer, query)

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Store an answer, replacing an earlier one for `key`."""
        row = {"key": short_key(key), "body": body, "fetched_at": fetched_at}
        with self._database.writing() as connection:
            insertion = insert_into(connection, cached_answers)
            replacing = insertion.on_conflict_do_update(
                index_elements=["key"],
                set_={"body": insertion.excluded.body, "fetched_at": insertion.excluded.fetched_at},
            )
            connection.execute(replacing, row)

    def forget(self, key: str) -> None:
        """Remove the answer for `key`, if there is one."""
        with self._database.writing() as connection:
            is_key = cached_answers.c.key == short_key(key)
            connection.execute(sa.delete(cached_answers).where(is_key))


class AnswersSince:
    """Cached answers that were fetched at `moment`, in seconds since the epoch, or later."""

    def __init__(self, answers: CachedAnswers, moment: float) -> None:
        self._answers = answers
        self._moment = moment
        self.put = answers.put
        self.forget = answers.forget

    def get(self, key: str) -> CachedAnswer | None:
        """Return the answer for `key` if it is new enough, else None. Raises `StoreError`."""
        answer = self._answers.get(key)
        return answer if answer and answer.fetched_at >= self._moment else None


QUEUE_LENGTH = 120
"""The most requests that may wait. A slot that is further ahead is ignored: the clock was set back
after the slot was reserved."""


class RateSlots(StorePart):
    """The time of the next request to each service, for all threads and processes of a store."""

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Reserve the next free time of `service`; return how many seconds after `now` it is.

        `now` is in seconds since the epoch, because all processes must use the same clock.
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
