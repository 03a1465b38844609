"""What waits for a person: the latest decision of each file, if open and not ruled on."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Executable, and_, func, or_, select

from chart_binder.domain.kept import KeptDecision
from chart_binder.store.rows import read_row
from chart_binder.store.schema import Bytes, decisions, overrides, verdicts
from chart_binder.store.transactions import Transactions

_DECIDED = "decided"
_PAGE = 2_000
_ROWS = 100


@dataclass(frozen=True, slots=True)
class Waits:
    """Files that share evidence: the last decision on one of them, and how many wait.

    `left` is how many cases there are from this one on, itself among them.
    """

    decision: KeptDecision
    files: int
    left: int


class Waiting:
    """Decisions that wait for a person; every method may raise `StoreError`.

    One waits if it is the latest of its file and in an open state, no decision of the file that is
    pinned says otherwise, nobody ruled on it or on the same decision made earlier, and no override
    for its recording was set since. An override for a recording that the decision does not name is
    not known of here.
    """

    def __init__(self, database: Transactions) -> None:
        self._database = database
        self._read = partial(read_row, database.name, KeptDecision)

    def cases(
        self, states: Collection[str], under: Collection[bytes] = (), at_once: int = _PAGE
    ) -> Iterator[Waits]:
        """Yield a case for each evidence that waits, in the order in which they were last decided.

        `under` are files or folders; without any, all are meant. `at_once` are looked up together.
        """
        last = 0
        while True:
            page = self._page(states, under, last, at_once)
            for start in range(0, len(page), _ROWS):
                yield from self._waits(page[start : start + _ROWS], start)
            if len(page) < at_once:
                return
            last = page[-1].last

    def of_evidence(self, evidence_hash: str, states: Collection[str]) -> tuple[KeptDecision, ...]:
        """Return every decision on this evidence that waits, in the order they were made."""
        wanted = select(decisions).where(decisions.c.evidence_hash == evidence_hash, _waits(states))
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(decisions.c.seq)).all()
        return tuple(map(self._read, rows))

    def has(self, decision: str, states: Collection[str]) -> bool:
        """Tell whether that decision waits."""
        wanted = select(decisions.c.id).where(decisions.c.id == decision, _waits(states))
        with self._database.reading() as connection:
            return connection.execute(wanted).first() is not None

    def _page(
        self, states: Collection[str], under: Collection[bytes], after: int, at_once: int
    ) -> Sequence[Any]:
        wanted = _grouped(states, under, after, at_once)
        with self._database.reading() as connection:
            return connection.execute(wanted).all()

    def _waits(self, page: Sequence[Any], before: int) -> Iterator[Waits]:
        wanted = select(decisions).where(decisions.c.seq.in_([group.last for group in page]))
        with self._database.reading() as connection:
            rows = {row.seq: row for row in connection.execute(wanted)}
        for passed, group in enumerate(page, start=before):
            if group.last in rows:
                yield Waits(self._read(rows[group.last]), group.files, group.remaining - passed)


def _grouped(
    states: Collection[str], under: Collection[bytes], after: int, at_once: int
) -> Executable:
    last = func.max(decisions.c.seq)
    remaining = func.count().over().label("remaining")
    wanted = select(last.label("last"), func.count().label("files"), remaining)
    wanted = wanted.where(_waits(states))
    if under:
        wanted = wanted.where(or_(*map(_is_under, under)))
    groups = wanted.group_by(func.coalesce(decisions.c.evidence_hash, decisions.c.id))
    return groups.having(last > after).order_by(last).limit(at_once)


def _waits(states: Collection[str]) -> ColumnElement[bool]:
    return and_(
        decisions.c.state.in_(sorted(states)),
        ~_newer(),
        ~_pinned(),
        ~_ruled_on(),
        ~_overridden(),
    )


def _newer() -> ColumnElement[bool]:
    newer = decisions.alias("newer")
    same = (newer.c.path_key == decisions.c.path_key, newer.c.path == decisions.c.path)
    return select(newer.c.seq).where(*same, newer.c.seq > decisions.c.seq).exists()


def _pinned() -> ColumnElement[bool]:
    pinned = decisions.alias("pinned")
    same = (pinned.c.path_key == decisions.c.path_key, pinned.c.path == decisions.c.path)
    # SQLite would take the index of states else, and go through all that is decided for each.
    is_decided = func.coalesce(pinned.c.state, "") == _DECIDED
    return select(pinned.c.seq).where(*same, pinned.c.pinned, is_decided).exists()


def _ruled_on() -> ColumnElement[bool]:
    """Return whether a person ruled on a decision, or on the same one made earlier."""
    earlier = decisions.alias("earlier")
    same = (
        earlier.c.path_key == decisions.c.path_key,
        earlier.c.path == decisions.c.path,
        earlier.c.seq <= decisions.c.seq,
        verdicts.c.decision_id == earlier.c.id,
    )
    nothing_else = and_(
        earlier.c.evidence_hash == decisions.c.evidence_hash,
        earlier.c.rules_version == decisions.c.rules_version,
        earlier.c.crg_mbid.is_not_distinct_from(decisions.c.crg_mbid),
    )
    is_it = earlier.c.seq == decisions.c.seq
    return select(earlier.c.seq).where(*same, or_(is_it, nothing_else)).exists()


def _overridden() -> ColumnElement[bool]:
    since = overrides.c.set_at_utc >= decisions.c.decided_at_utc
    same = overrides.c.recording_mbid == decisions.c.recording_mbid
    return select(overrides.c.recording_mbid).where(same, since).exists()


def _is_under(path: bytes) -> ColumnElement[bool]:
    folder = path.rstrip(b"/") + b"/"
    head = func.substr(decisions.c.path, 1, len(folder), type_=Bytes())
    return or_(decisions.c.path == path, head == folder)
