"""Decisions with their evidence and transcripts: added, never changed; the latest counts."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    bindparam,
    func,
    select,
    update,
)

from chart_binder.domain.records import KeptDecision, KeptEvidence, KeptTranscript, UnreadDecision
from chart_binder.errors import DamagedRecordError
from chart_binder.store.database import (
    Transactions,
    compress,
    decompress,
    insert_into,
    pages,
    path_key,
    read_row,
)
from chart_binder.store.schema import decisions, evidence, transcripts

UnreadHandler: TypeAlias = Callable[[UnreadDecision], None]
"""Is called with each decision that is skipped because its record is damaged."""

_log = logging.getLogger(__name__)


def _decision_or_problem(name: str, row: Row[Any]) -> KeptDecision | UnreadDecision:
    """Return the decision in a row of the store `name`, or why it cannot be read."""
    try:
        return read_row(name, KeptDecision, row)
    except DamagedRecordError as error:
        path = row.path if isinstance(row.path, bytes) else None
        return UnreadDecision(problem=str(error), path=path, pinned=row.pinned is True)


def readable(
    name: str, rows: Iterable[Row[Any]], unread: UnreadHandler | None = None
) -> Iterator[KeptDecision]:
    """Yield the decisions that can be read; pass the others to `unread`, or log them."""
    for row in rows:
        found = _decision_or_problem(name, row)
        if isinstance(found, KeptDecision):
            yield found
        else:
            (unread or _log_unread)(found)


def _log_unread(left_out: UnreadDecision) -> None:
    _log.warning("left out: %s", left_out.problem)


class EvidenceDocuments:
    """Evidence bundles by their evidence hash; every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def put(self, kept: KeptEvidence) -> None:
        """Save a bundle, unless its hash is there."""
        with self._database.writing() as connection:
            put_evidence(connection, [kept])

    def get(self, name: str) -> KeptEvidence | None:
        """Return the bundle with this evidence hash."""
        found = _document(self._database, evidence, name, KeptEvidence)
        return None if found is None else KeptEvidence(name, found)

    def of(self, names: Collection[str]) -> Mapping[str, KeptEvidence]:
        """Return the bundles with these evidence hashes, as far as they exist."""
        wanted = select(evidence.c.hash, evidence.c.document).where(evidence.c.hash.in_(names))
        with self._database.reading() as connection:
            rows = connection.execute(wanted).all() if names else ()
        return {
            row.hash: KeptEvidence(
                row.hash, decompress(self._database.name, KeptEvidence, row.document)
            )
            for row in rows
        }


class TranscriptDocuments:
    """Recorded runs of the adjudicator by name; every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def put(self, kept: KeptTranscript) -> None:
        """Save a transcript, unless its name is there."""
        with self._database.writing() as connection:
            put_transcripts(connection, [kept])

    def get(self, name: str) -> KeptTranscript | None:
        """Return the transcript of this name."""
        found = _document(self._database, transcripts, name, KeptTranscript)
        return None if found is None else KeptTranscript(name, found)


def put_evidence(connection: Connection, kept: Iterable[KeptEvidence]) -> None:
    """Save bundles in an open transaction."""
    _put(connection, evidence, {each.hash: each.document for each in kept})


def put_transcripts(connection: Connection, kept: Iterable[KeptTranscript]) -> None:
    """Save transcripts in an open transaction."""
    _put(connection, transcripts, {each.id: each.document for each in kept})


def _put(connection: Connection, table: Table, documents: Mapping[str, bytes]) -> None:
    if not documents:
        return
    key = table.primary_key.columns[0]
    # Most evidence is there already: compressing it again costs more than looking for it.
    known = set(connection.execute(select(key).where(key.in_(documents))).scalars())
    rows = [
        {key.name: name, "document": compress(document)}
        for name, document in documents.items()
        if name not in known
    ]
    if rows:
        new = insert_into(connection, table).on_conflict_do_nothing(index_elements=[key.name])
        connection.execute(new, rows)


def _document(database: Transactions, table: Table, name: str, kind: type) -> bytes | None:
    wanted = select(table.c.document).where(table.primary_key.columns[0] == name)
    with database.reading() as connection:
        row = connection.execute(wanted).one_or_none()
    return None if row is None else decompress(database.name, kind, row.document)


StoredCase: TypeAlias = tuple[KeptDecision, KeptEvidence | None, KeptTranscript | None]
"""A decision with its evidence and transcript."""


class Decisions:
    """The decisions on files, with history. Every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database
        self._read = partial(read_row, database.name, KeptDecision)

    def put(
        self,
        decision: KeptDecision,
        evidence: KeptEvidence | None = None,
        transcript: KeptTranscript | None = None,
    ) -> None:
        """Save a decision with its evidence and transcript, unless its id is there."""
        self.put_all([(decision, evidence, transcript)])

    def put_all(self, kept: Iterable[StoredCase]) -> None:
        """Save several decisions in one transaction, which waits for the disk once."""
        whole = list(kept)
        made, evidence, transcripts = zip(*whole, strict=True) if whole else ((), (), ())
        with self._database.writing() as connection:
            put_evidence(connection, filter(None, evidence))
            put_transcripts(connection, filter(None, transcripts))
            if made:
                new = insert_into(connection, decisions)
                unless_there = new.on_conflict_do_nothing(index_elements=["id"])
                connection.execute(unless_there, list(map(_row, made)))

    def latest(self, path: bytes, states: Collection[str] = ()) -> KeptDecision | None:
        """Return the last decision on a file, or the last one in one of `states`."""
        wanted = _in_states(_LATEST, states) if states else _LATEST
        with self._database.reading() as connection:
            row = connection.execute(wanted, _path_parameters(path)).one_or_none()
        return None if row is None else self._read(row)

    def history(self, path: bytes) -> tuple[KeptDecision, ...]:
        """Return every decision on a file, the newest first."""
        with self._database.reading() as connection:
            rows = connection.execute(_OF_PATH, _path_parameters(path)).all()
        return tuple(map(self._read, rows))

    def histories(
        self, paths: Collection[bytes]
    ) -> Mapping[bytes, Sequence[KeptDecision | UnreadDecision]]:
        """Return every decision on several files that have any, the newest first."""
        found: dict[bytes, list[KeptDecision | UnreadDecision]] = {}
        wanted = set(paths)
        if not wanted:
            return found
        with self._database.reading() as connection:
            rows = connection.execute(_OF_PATHS, {"of_keys": [*map(path_key, wanted)]}).all()
        for row in rows:
            if row.path in wanted:
                one = _decision_or_problem(self._database.name, row)
                found.setdefault(row.path, []).append(one)
        return found

    def by_id(self, decision: str) -> KeptDecision | None:
        """Return the decision with this id."""
        with self._database.reading() as connection:
            row = connection.execute(
                select(decisions).where(decisions.c.id == decision)
            ).one_or_none()
        return None if row is None else self._read(row)

    def by_evidence(
        self, evidence_hash: str, adjudicator: str | None = None
    ) -> KeptDecision | None:
        """Return the last decision on this evidence, of any file, that a model answered.

        Failures of the model do not count. If `adjudicator` is given, it is its answer.
        """
        wanted = _BY_EVIDENCE.where(decisions.c.evidence_hash == evidence_hash)
        if adjudicator is not None:
            wanted = wanted.where(decisions.c.adjudicator == adjudicator)
        with self._database.reading() as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else self._read(row)

    def count_of_run(self, run: str) -> int:
        """Return how many decisions a run saved."""
        wanted = select(func.count()).where(decisions.c.run_id == run)
        with self._database.reading() as connection:
            return int(connection.execute(wanted).scalar_one())

    def iterate(
        self,
        states: Collection[str] = (),
        run_id: str | None = None,
        *,
        all_of_them: bool = False,
        unread: UnreadHandler | None = None,
    ) -> Iterator[KeptDecision]:
        """Yield the latest decision of every file, or all decisions, in the order they were made.

        Files are skipped whose latest decision is not in `states`, or not of the run. Decisions
        that are saved meanwhile are not yielded. One that cannot be read is passed to `unread`, or
        raised.
        """
        wanted = _in_states(select(decisions), states)
        if run_id is not None:
            wanted = wanted.where(decisions.c.run_id == run_id)
        with self._database.reading() as connection:
            last = connection.execute(select(func.max(decisions.c.seq))).scalar_one() or 0
        if not all_of_them:
            wanted = wanted.where(~_newer(last))
        if unread is None:
            return pages(self._database, decisions, wanted, self._read, last=last)
        rows = pages(self._database, decisions, wanted, lambda row: row, last=last)
        return readable(self._database.name, rows, unread)

    def pin(self, decision: str, *, pinned: bool = True) -> None:
        """Pin a decision, or unpin it; pinning it unpins the other decisions on its file."""
        named = decisions.c.id == decision
        with self._database.writing() as connection:
            file = select(decisions.c.path).where(named)
            found = connection.execute(file).one_or_none()
            if found and pinned:
                of_file = _OF_FILE.where(decisions.c.pinned)
                connection.execute(of_file.values(pinned=False), _path_parameters(found.path))
            connection.execute(update(decisions).where(named).values(pinned=pinned))


_OF_PATH = (
    select(decisions)
    .where(decisions.c.path_key == bindparam("of_key"), decisions.c.path == bindparam("of_path"))
    .order_by(decisions.c.seq.desc())
)
_OF_FILE = update(decisions).where(
    decisions.c.path_key == bindparam("of_key"), decisions.c.path == bindparam("of_path")
)
_OF_PATHS = (
    select(decisions)
    .where(decisions.c.path_key.in_(bindparam("of_keys", expanding=True)))
    .order_by(decisions.c.seq.desc())
)
_LATEST = _OF_PATH.limit(1)
"""Built once: SQLAlchemy takes longer to build a statement than SQLite to answer it."""

_BY_EVIDENCE = (
    select(decisions)
    .where(decisions.c.adjudicator.is_not(None))
    .order_by(decisions.c.seq.desc())
    .limit(1)
)


def _row(decision: KeptDecision) -> dict[str, object]:
    return msgspec.structs.asdict(decision) | {"path_key": path_key(decision.path)}


def _path_parameters(path: bytes) -> dict[str, bytes]:
    return {"of_key": path_key(path), "of_path": path}


def _in_states(wanted: Select[Any], states: Collection[str]) -> Select[Any]:
    return wanted.where(decisions.c.state.in_(sorted(states))) if states else wanted


def _newer(last: int) -> ColumnElement[bool]:
    newer = decisions.alias("newer")
    return (
        select(newer.c.seq)
        .where(
            newer.c.path_key == decisions.c.path_key,
            newer.c.path == decisions.c.path,
            newer.c.seq > decisions.c.seq,
            newer.c.seq <= last,
        )
        .exists()
    )
