"""People's verdicts on decisions are added, and the newest counts."""

from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import msgspec
from sqlalchemy import ColumnElement, Connection, Executable, and_, case, delete, func, or_, select

from chart_binder.domain.records import KeptDecision, KeptVerdict, VerdictKind
from chart_binder.domain.verdict import KeptOverride
from chart_binder.domain.vocabulary import RecordingId
from chart_binder.store.database import Transactions, insert_into, pages, path_key, read_row
from chart_binder.store.decisions import UnreadHandler, readable
from chart_binder.store.schema import Bytes, decisions, overrides, verdicts


class Overrides:
    """One override for each recording; every method may raise `StoreError`.

    `reading.kept_overrides` reads them too; it makes no store where there is none.
    """

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def put(self, override: KeptOverride) -> None:
        """Keep an override, in place of an earlier one for the same recording."""
        with self._database.writing() as connection:
            put_override(connection, override)

    def all(self) -> Mapping[str, KeptOverride]:
        """Return every override, by recording."""
        with self._database.reading() as connection:
            rows = connection.execute(select(overrides)).all()
        kept = (read_row(self._database.name, KeptOverride, row) for row in rows)
        return {override.recording_mbid: override for override in kept}

    def remove(self, recording: RecordingId) -> None:
        """Forget the override for a recording, if there is one."""
        with self._database.writing() as connection:
            remove_override(connection, recording)


def put_override(connection: Connection, override: KeptOverride) -> None:
    """Keep an override in a transaction that has begun."""
    remove_override(connection, override.recording_mbid)
    row = msgspec.structs.asdict(override)
    new = insert_into(connection, overrides)
    replacing = new.on_conflict_do_update(  # another process may be putting one just now
        index_elements=["recording_mbid"],
        set_={name: new.excluded[name] for name in row if name != "recording_mbid"},
    )
    connection.execute(replacing, row)


def remove_override(connection: Connection, recording: str) -> None:
    """Forget an override, with the verdicts it came with, in a transaction that has begun."""
    same = (
        select(overrides.c.recording_mbid)
        .where(
            overrides.c.recording_mbid == recording,
            overrides.c.set_at_utc == verdicts.c.at_utc,
            overrides.c.crg_mbid == verdicts.c.crg_mbid,
        )
        .exists()
    )
    connection.execute(delete(verdicts).where(same))
    connection.execute(delete(overrides).where(overrides.c.recording_mbid == recording))


_DECIDED, _REVIEW, _OPEN, _OVERRIDE = "decided", "review", "indeterminate", "override"
_PAGE = 100


@dataclass(frozen=True, slots=True)
class WaitingCase:
    """Files that share evidence: a decision on one of them, and how many wait.

    It is the last that is for review, for that has an answer; where none is, the last.

    `left` is how many cases there are from this one on, itself among them.
    """

    decision: KeptDecision
    files: int
    left: int


class ReviewQueue:
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
        unread: UnreadHandler | None = None,
    ) -> Iterator[WaitingCase]:
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
                    yield WaitingCase(decision, files[place], len(last) - place)

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


_SPOKEN = (VerdictKind.ACCEPT.value, VerdictKind.REJECT.value)


class SavedVerdicts(msgspec.Struct, frozen=True):
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
    ) -> SavedVerdicts:
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
        return SavedVerdicts(tuple(given), override, before, with_it)

    def take_back(self, ruling: SavedVerdicts) -> None:
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
