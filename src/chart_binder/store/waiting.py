"""What waits for a person: the latest decision of each file, if open and not ruled on."""

from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Executable, and_, case, func, or_, select

from chart_binder.domain.kept import KeptDecision
from chart_binder.store.schema import Bytes, decisions, overrides, verdicts
from chart_binder.store.transactions import Transactions
from chart_binder.store.unread import Unread, readable

_DECIDED, _REVIEW, _OPEN, _OVERRIDE = "decided", "review", "indeterminate", "override"
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Waits:
    """Files that share evidence: a decision on one of them, and how many wait.

    It is the last that is for review, for that has an answer; where none is, the last.

    `left` is how many cases there are from this one on, itself among them.
    """

    decision: KeptDecision
    files: int
    left: int


class Waiting:
    """Decisions that wait for a person; every method may raise `StoreError`.

    One waits if it is the latest of its file and in an open state, no decision of the file that is
    pinned says otherwise, nobody ruled on it or on the same decision made earlier, and no override
    for its recording was set since. What an override decided that is no more is open, too. An
    override for a recording that the decision does not name is not known of here.
    """

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def cases(
        self,
        states: Collection[str],
        under: Collection[bytes] = (),
        unread: Unread | None = None,
    ) -> Iterator[Waits]:
        """Yield a case for each evidence that waits, in the order in which they were last decided.

        `under` are files or folders; without any, all are meant. What comes to wait while this goes
        on is not yielded, and what was ruled on meanwhile is. One that cannot be read is left out,
        and told to `unread`.
        """
        last, files = self._numbers(states, under)
        for start in range(0, len(last), _PAGE):
            numbers = last[start : start + _PAGE]
            wanted = select(decisions).where(decisions.c.seq.in_(numbers))
            with self._database.reading() as connection:
                rows = {row.seq: row for row in connection.execute(wanted)}
            for place, number in enumerate(numbers, start):
                there = [rows[number]] if number in rows else []
                for decision in readable(self._database.name, there, unread):
                    yield Waits(decision, files[place], len(last) - place)

    def of_evidence(self, evidence_hash: str, states: Collection[str]) -> tuple[KeptDecision, ...]:
        """Return every decision on this evidence that waits, in the order they were made.

        One that cannot be read is left out.
        """
        wanted = select(decisions).where(decisions.c.evidence_hash == evidence_hash, _waits(states))
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(decisions.c.seq)).all()
        return tuple(readable(self._database.name, rows))

    def has(self, decision: str, states: Collection[str]) -> bool:
        """Tell whether that decision waits."""
        wanted = select(decisions.c.id).where(decisions.c.id == decision, _waits(states))
        with self._database.reading() as connection:
            return connection.execute(wanted).first() is not None

    def _numbers(
        self, states: Collection[str], under: Collection[bytes]
    ) -> tuple["array[int]", "array[int]"]:
        """Return the number of each case's last decision, and of its files: 16 bytes a case."""
        last, files = array("q"), array("q")
        with self._database.reading() as connection:
            for number, count in connection.execute(_grouped(states, under)):
                last.append(number)
                files.append(count)
        return last, files


def _grouped(states: Collection[str], under: Collection[bytes]) -> Executable:
    last = func.max(decisions.c.seq)
    with_answer = func.max(case((decisions.c.state == _REVIEW, decisions.c.seq)))
    named = [or_(*map(_is_under, under))] if under else []
    shown = func.coalesce(with_answer, last)
    wanted = select(shown, func.count()).where(_waits(states), *named)
    groups = wanted.group_by(func.coalesce(decisions.c.evidence_hash, decisions.c.id))
    return groups.order_by(last)


def _waits(states: Collection[str]) -> ColumnElement[bool]:
    is_open = decisions.c.state.in_(sorted(states))
    return and_(
        or_(is_open, _lapsed()) if _OPEN in states else is_open,
        ~superseded(),
        ~_pinned(),
        ~_ruled_on(),
        ~_overridden(),
    )


def _lapsed() -> ColumnElement[bool]:
    """Return whether an override decided it that is no more."""
    same = overrides.c.recording_mbid == decisions.c.recording_mbid
    stands = select(overrides.c.recording_mbid).where(same).exists()
    by_one = and_(decisions.c.state == _DECIDED, decisions.c.decided_by == _OVERRIDE)
    return and_(by_one, ~stands)


def superseded() -> ColumnElement[bool]:
    """Return whether there is a later decision of the same file."""
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
