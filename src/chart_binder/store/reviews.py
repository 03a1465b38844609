"""Overrides, people's verdicts on decisions and samples, and the queue of waiting decisions."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from chart_binder.domain.records import YEAR, AuditRecord, DecisionRecord, VerdictRecord
from chart_binder.domain.tags import album_folder
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import RecordingId
from chart_binder.store.database import StorePart, insert_into, path_key
from chart_binder.store.decisions import UnreadHandler, is_same_file, is_under, readable, superseded
from chart_binder.store.schema import audits, decisions, overrides, verdicts


class Overrides(StorePart):
    """The overrides by recording; `store.read_overrides` reads them without opening a store."""

    def put(self, override: OverrideRecord) -> None:
        """Save an override, replacing an earlier one for the same recording."""
        with self._database.writing() as connection:
            remove_override(connection, override.recording_mbid)
            _insert_override(connection, override)

    def rename(self, old: OverrideRecord, new: OverrideRecord) -> None:
        """Replace an override, and the ids in the verdicts that were saved with it.

        If a newer override is stored for the recording of `new`, only delete `old`.
        """
        with self._database.writing() as connection:
            of_either = overrides.c.recording_mbid.in_([old.recording_mbid, new.recording_mbid])
            rows = connection.execute(sa.select(overrides).where(of_either))
            set_at = {row.recording_mbid: row.set_at_utc for row in rows}
            if set_at.get(old.recording_mbid) != old.set_at_utc:
                return
            if set_at.get(new.recording_mbid, "") > old.set_at_utc:
                remove_override(connection, old.recording_mbid)
                return
            ids = {"crg_mbid": new.crg_mbid, "rr_mbid": new.rr_mbid}
            connection.execute(sa.update(verdicts).where(_saved_with(old)).values(ids))
            stored = overrides.c.recording_mbid == old.recording_mbid
            connection.execute(sa.delete(overrides).where(stored))
            remove_override(connection, new.recording_mbid)
            _insert_override(connection, new)

    def all(self) -> Mapping[str, OverrideRecord]:
        """Return every override, by recording."""
        records = self._database.records(OverrideRecord, sa.select(overrides))
        return {override.recording_mbid: override for override in records}

    def of(self, recordings: Collection[str]) -> Mapping[str, OverrideRecord]:
        """Return the overrides for some recordings."""
        query = sa.select(overrides).where(overrides.c.recording_mbid.in_(recordings))
        records = self._database.records(OverrideRecord, query)
        return {override.recording_mbid: override for override in records}

    def remove(self, recording: RecordingId) -> None:
        """Remove the override for a recording, if there is one."""
        with self._database.writing() as connection:
            remove_override(connection, recording)


def _insert_override(connection: sa.Connection, override: OverrideRecord) -> None:
    row = msgspec.structs.asdict(override)
    insertion = insert_into(connection, overrides)
    replacing = insertion.on_conflict_do_update(  # another process may be saving one
        index_elements=["recording_mbid"],
        set_={name: insertion.excluded[name] for name in row if name != "recording_mbid"},
    )
    connection.execute(replacing, row)


def remove_override(connection: sa.Connection, recording: str) -> None:
    """Remove an override, and the verdicts that were saved with it, in an open transaction."""
    same = (
        sa.select(overrides.c.recording_mbid)
        .where(
            overrides.c.recording_mbid == recording,
            overrides.c.set_at_utc == verdicts.c.at_utc,
            overrides.c.crg_mbid.is_not_distinct_from(verdicts.c.crg_mbid),
        )
        .exists()
    )
    connection.execute(sa.delete(verdicts).where(same))
    connection.execute(sa.delete(overrides).where(overrides.c.recording_mbid == recording))


_DECIDED, _REVIEW, _OPEN, _OVERRIDE = "decided", "review", "undecided", "override"
_PAGE = 100


@dataclass(frozen=True, slots=True)
class WaitingCase:
    """A waiting decision, and how many files with the same evidence wait.

    The decision is the last one in state review among those of the files, else the last one.
    `cases_left` is the number of cases from this one on.
    """

    decision: DecisionRecord
    files: int
    cases_left: int


class ReviewQueue(StorePart):
    """The decisions that wait for a person.

    A decision waits if it is the latest of its file and in an open state, and if there is neither a
    verdict on it (or on an equal earlier decision) nor a newer override for its recording. So does
    a decision by an override that was removed. The state `YEAR` means decisions of the rules about
    which a model was asked. Overrides for recordings that a decision does not name do not count.
    """

    def cases(
        self,
        states: Collection[str],
        under: Collection[bytes] = (),
        on_unread: UnreadHandler | None = None,
    ) -> Iterator[WaitingCase]:
        """Yield a case for each evidence that waits now, sorted by album, then by last decision.

        Pass a decision that cannot be read to `on_unread`.
        """
        cases = self._rows_of_cases(states, under)
        for start in range(0, len(cases), _PAGE):
            page = cases[start : start + _PAGE]
            query = sa.select(decisions).where(decisions.c.seq.in_([case[1] for case in page]))
            rows = {row.seq: row for row in self._database.rows(query)}
            for place, (_, number, files) in enumerate(page, start):
                row = [rows[number]] if number in rows else []
                for decision in readable(self._database, row, on_unread):
                    yield WaitingCase(decision, files, len(cases) - place)

    def of_evidence(
        self, evidence_hash: str, states: Collection[str]
    ) -> tuple[DecisionRecord, ...]:
        """Return the waiting decisions from this evidence that can be read, the oldest first."""
        number = sa.select(decisions.c.seq).where(decisions.c.evidence_hash == evidence_hash)
        is_waiting = _waits(frozenset(states))
        query = sa.select(decisions).where(decisions.c.seq.in_(number), is_waiting)
        rows = self._database.rows(query.order_by(decisions.c.seq))
        return tuple(readable(self._database, rows))

    def stamp(self) -> tuple[object, ...]:
        """Return a value that differs after decisions, verdicts or overrides were added."""
        newest = (sa.func.max(column) for column in (decisions.c.seq, verdicts.c.seq))
        counts = (sa.func.count(verdicts.c.seq), sa.func.max(overrides.c.set_at_utc))
        selects = (sa.select(value).scalar_subquery() for value in (*newest, *counts))
        return tuple(self._database.rows(sa.select(*selects))[0])

    def has(self, decision: str, states: Collection[str]) -> bool:
        """Return whether a decision waits."""
        is_waiting = _waits(frozenset(states))
        query = sa.select(decisions.c.id).where(decisions.c.id == decision, is_waiting)
        return bool(self._database.rows(query))

    def _rows_of_cases(
        self, states: Collection[str], under: Collection[bytes]
    ) -> list[tuple[int, int, int]]:
        """Return for each case its album's number, its decision's `seq` and its number of files."""
        newest = sa.func.max(decisions.c.seq)
        with_answer = sa.func.max(sa.case((decisions.c.state == _REVIEW, decisions.c.seq)))
        number, files = sa.func.coalesce(with_answer, newest), sa.func.count()
        conditions = [sa.or_(*(is_under(decisions, path) for path in under))] if under else []
        of_evidence = sa.func.coalesce(decisions.c.evidence_hash, decisions.c.id)
        groups = sa.select(number.label("number"), files.label("files"), newest.label("newest"))
        grouped = (
            groups.where(_waits(frozenset(states)), *conditions).group_by(of_evidence).subquery()
        )
        shown_decisions = decisions.alias("shown")
        query = sa.select(shown_decisions.c.seq, grouped.c.files, shown_decisions.c.path).join(
            grouped, shown_decisions.c.seq == grouped.c.number
        )
        folders: dict[bytes, int] = {}
        albums: dict[Path, int] = {}
        cases: list[tuple[int, int, int]] = []
        with self._database.reading() as connection:
            for seq, count, path in connection.execute(query.order_by(grouped.c.newest)):
                folder = path.rpartition(b"/")[0] if isinstance(path, bytes) else b""
                if folder not in folders:
                    album = album_folder(Path(os.fsdecode(folder), "a file"))
                    folders[folder] = albums.setdefault(album, len(albums))
                cases.append((folders[folder], seq, count))
        return sorted(cases, key=lambda case: case[0])


@cache  # SQLAlchemy takes longer to build it than SQLite to execute it
def _waits(states: frozenset[str]) -> sa.ColumnElement[bool]:
    """Match decisions that wait; `ReviewQueue` says which do."""
    of_recording = sa.select(overrides.c.recording_mbid).where(
        overrides.c.recording_mbid == decisions.c.recording_mbid
    )
    is_open: sa.ColumnElement[bool] = decisions.c.state.in_(sorted(states))
    if _OPEN in states:  # a decision by an override waits if the override was removed
        by_override = sa.and_(decisions.c.state == _DECIDED, decisions.c.decided_by == _OVERRIDE)
        is_open = sa.or_(is_open, sa.and_(by_override, ~of_recording.exists()))
    if YEAR in states:
        by_rules = sa.and_(decisions.c.state == _DECIDED, decisions.c.decided_by == "rules")
        is_open = sa.or_(is_open, sa.and_(by_rules, decisions.c.adjudicator.is_not(None)))
    is_overridden = of_recording.where(overrides.c.set_at_utc >= decisions.c.decided_at_utc)
    return sa.and_(is_open, ~superseded(), ~_has_verdict(), ~is_overridden.exists())


def _has_verdict() -> sa.ColumnElement[bool]:
    """Match decisions with a verdict on them, or on an equal earlier decision on the same file."""
    earlier = decisions.alias("earlier")
    same = (
        is_same_file(earlier),
        earlier.c.seq <= decisions.c.seq,
        verdicts.c.decision_id == earlier.c.id,
    )
    is_it = earlier.c.seq == decisions.c.seq
    is_equal = _is_equal(earlier.c, decisions.c)
    return sa.select(earlier.c.seq).where(*same, sa.or_(is_it, is_equal)).exists()


def _is_equal(decision: Any, compared: Any) -> sa.ColumnElement[bool]:
    """Match decisions for the same group from the same evidence by the same rules."""
    return sa.and_(
        decision.evidence_hash == compared.evidence_hash,
        decision.rules_version == compared.rules_version,
        decision.crg_mbid.is_not_distinct_from(compared.crg_mbid),
    )


def _has_newer(connection: sa.Connection, records: Sequence[VerdictRecord]) -> bool:
    """Return whether the store has a newer verdict on one of the decisions of `records`."""
    decided = verdicts.c.decision_id.in_({record.decision_id for record in records})
    newest = connection.scalar(sa.select(sa.func.max(verdicts.c.at_utc)).where(decided))
    return newest is not None and newest > max(record.at_utc for record in records)


class SavedVerdicts(msgspec.Struct, frozen=True):
    """Saved verdicts and override, and what they replaced: `before` and `verdicts_before`."""

    verdicts: tuple[VerdictRecord, ...]
    override: OverrideRecord | None = None
    before: tuple[OverrideRecord, ...] = ()
    verdicts_before: tuple[VerdictRecord, ...] = ()


class Verdicts(StorePart):
    """The verdicts of people on decisions."""

    def save(
        self,
        records: Collection[VerdictRecord],
        override: OverrideRecord | None = None,
        outdated: Collection[OverrideRecord] = (),
        *,
        is_dry: bool = False,
    ) -> SavedVerdicts:
        """Save verdicts, and the override that they set, in one transaction.

        Remove the `outdated` overrides, and an earlier one for the same recording. If `is_dry`,
        change nothing.
        """
        replaced = (*outdated, override) if override else outdated
        recordings = {record.recording_mbid for record in replaced}
        query = sa.select(overrides).where(overrides.c.recording_mbid.in_(recordings))
        with self._database.writing() as connection:
            rows = connection.execute(query).all()
            before = tuple(self._database.read(OverrideRecord, row) for row in rows)
            verdicts_before = tuple(
                self._database.read(VerdictRecord, row)
                for earlier in before
                for row in connection.execute(_verdicts_with(earlier))
            )
            if not is_dry:
                for earlier in before:
                    remove_override(connection, earlier.recording_mbid)
                if override:
                    _insert_override(connection, override)
                _put(connection, records)
        return SavedVerdicts(tuple(records), override, before, verdicts_before)

    def take_back(self, saved: SavedVerdicts) -> bool:
        """Restore in one transaction what was stored before `save`.

        If an override was changed or a newer verdict saved since, change nothing and return false.
        """
        expected = {saved.override.recording_mbid: saved.override} if saved.override else {}
        recordings = {*expected, *(override.recording_mbid for override in saved.before)}
        query = sa.select(overrides).where(overrides.c.recording_mbid.in_(recordings))
        with self._database.writing() as connection:
            rows = connection.execute(query).all()
            current = [self._database.read(OverrideRecord, row) for row in rows]
            if current != [*expected.values()] or _has_newer(connection, saved.verdicts):
                return False
            for verdict in saved.verdicts:
                same = (
                    verdicts.c.decision_id == verdict.decision_id,
                    verdicts.c.at_utc == verdict.at_utc,
                    verdicts.c.verdict == verdict.verdict.value,
                )
                connection.execute(sa.delete(verdicts).where(*same))
            connection.execute(sa.delete(overrides).where(overrides.c.recording_mbid.in_(expected)))
            for override in saved.before:
                _insert_override(connection, override)
            _put(connection, saved.verdicts_before)
        return True

    def newest(self, limit: int) -> tuple[VerdictRecord, ...]:
        """Return the last verdicts, the newest first."""
        query = sa.select(verdicts).order_by(verdicts.c.seq.desc()).limit(limit)
        return self._database.records(VerdictRecord, query)

    def saved_with(self, verdict: VerdictRecord) -> SavedVerdicts:
        """Return what was saved together with a verdict, to take it back.

        An earlier override that it replaced is not in the store any more, and so not in the result.
        """
        together = sa.select(verdicts).where(
            verdicts.c.at_utc == verdict.at_utc, verdicts.c.verdict == verdict.verdict.value
        )
        of_verdict = sa.select(overrides).where(
            overrides.c.set_at_utc == verdict.at_utc,
            overrides.c.crg_mbid.is_not_distinct_from(verdict.crg_mbid),
        )
        records = self._database.records(VerdictRecord, together.order_by(verdicts.c.seq))
        return SavedVerdicts(records, self._database.record(OverrideRecord, of_verdict))

    def of_override(self, override: OverrideRecord) -> tuple[VerdictRecord, ...]:
        """Return the verdicts that were saved with an override."""
        return self._database.records(VerdictRecord, _verdicts_with(override))

    def affected_by(self, override: OverrideRecord) -> tuple[DecisionRecord, ...]:
        """Return the latest decisions that an override affects, if they can be read.

        Such a decision names its recording, or has a verdict that was saved with the override.
        """
        saved_with = sa.select(verdicts.c.decision_id).where(_saved_with(override))
        is_affected = sa.or_(
            decisions.c.recording_mbid == override.recording_mbid, decisions.c.id.in_(saved_with)
        )
        query = sa.select(decisions).where(is_affected, ~superseded()).order_by(decisions.c.seq)
        return tuple(readable(self._database, self._database.rows(query)))

    def history(self, decision: str) -> tuple[VerdictRecord, ...]:
        """Return every verdict on a decision, the newest first."""
        return tuple(self.histories([decision]).get(decision, ()))

    def histories(self, ids: Collection[str]) -> Mapping[str, Sequence[VerdictRecord]]:
        """Return the verdicts on the decisions with these ids that have any, the newest first."""
        by_decision: dict[str, list[VerdictRecord]] = {}
        for verdict in self._database.records(VerdictRecord, _OF_DECISIONS, {"ids": [*ids]}):
            by_decision.setdefault(verdict.decision_id, []).append(verdict)
        return by_decision

    def on_equal(self, decision: DecisionRecord) -> VerdictRecord | None:
        """Return the newest verdict on a decision, or on an equal decision on the same file."""
        query = (
            sa.select(verdicts)
            .join(decisions, decisions.c.id == verdicts.c.decision_id)
            .where(
                decisions.c.path_key == path_key(decision.path),
                decisions.c.path == decision.path,
                sa.or_(decisions.c.id == decision.id, _is_equal(decisions.c, decision)),
            )
            .order_by(verdicts.c.seq.desc())
            .limit(1)
        )
        return self._database.record(VerdictRecord, query)


_OF_DECISIONS = (
    sa.select(verdicts)
    .where(verdicts.c.decision_id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(verdicts.c.seq.desc())
)


class Audits(StorePart):
    """The verdicts of people on samples of decisions."""

    def put(self, audit: AuditRecord) -> None:
        """Save a verdict, and keep the earlier ones."""
        with self._database.writing() as connection:
            connection.execute(insert_into(connection, audits), [msgspec.structs.asdict(audit)])

    def take_back(self, decision_id: str) -> None:
        """Delete the newest verdict on a decision."""
        newest = sa.select(sa.func.max(audits.c.seq)).where(audits.c.decision_id == decision_id)
        with self._database.writing() as connection:
            connection.execute(sa.delete(audits).where(audits.c.seq == newest.scalar_subquery()))

    def latest(self) -> Mapping[str, AuditRecord]:
        """Return the newest verdict on each decision, by the decision's id."""
        records = self._database.records(AuditRecord, sa.select(audits).order_by(audits.c.seq))
        return {audit.decision_id: audit for audit in records}


def _verdicts_with(override: OverrideRecord) -> sa.Select[tuple[Any, ...]]:
    """Select the verdicts that were saved with an override, the oldest first."""
    return sa.select(verdicts).where(_saved_with(override)).order_by(verdicts.c.seq)


def _saved_with(override: OverrideRecord) -> sa.ColumnElement[bool]:
    return sa.and_(
        verdicts.c.at_utc == override.set_at_utc,
        verdicts.c.crg_mbid.is_not_distinct_from(override.crg_mbid),
    )


def _put(connection: sa.Connection, records: Collection[VerdictRecord]) -> None:
    if records:
        rows = [msgspec.structs.asdict(verdict) for verdict in records]
        connection.execute(insert_into(connection, verdicts), rows)
