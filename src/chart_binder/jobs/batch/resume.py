"""A refresh that was cut short goes on where it stopped, when it is called again."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.domain.records import KeptDecision, KeptRun, Measures, UnreadDecision
from chart_binder.domain.verdict import KeptOverride
from chart_binder.errors import AudioError, DamagedRecordError
from chart_binder.files import quoted
from chart_binder.jobs.batch.work import FileOutcome
from chart_binder.jobs.decide import Cause, State, override_for
from chart_binder.jobs.stored_decisions import (
    RunVersions,
    current_decisions,
    file_status,
    read_decision,
    stored_bundle,
    stored_names,
)
from chart_binder.jobs.write import identity_change
from chart_binder.llm.recording import FAILED_SERVICE
from chart_binder.llm.result import AdjudicationResult, Outcome

if TYPE_CHECKING:
    from chart_binder.store.store import Store


_MOST_REMEMBERED = 500

_answered_log = logging.getLogger(__name__)


class AnswerCache:
    """Answers of this run, and of earlier ones in the store, by evidence hash.

    `adjudicator` is the `adjudicator_version` that an answer must have been given under. Where
    `runs` are given, only what they kept counts.
    """

    def __init__(
        self, store: "Store", adjudicator: str, runs: frozenset[str] = frozenset()
    ) -> None:
        self._store = store
        self._adjudicator = adjudicator
        self._runs = runs
        self._remembered: OrderedDict[str, AdjudicationResult] = OrderedDict()

    def known(self, evidence: str) -> AdjudicationResult | None:
        """Return what was answered of this evidence. Raises `StoreError`."""
        if evidence in self._remembered:
            return self._remembered[evidence]
        try:
            kept = self._store.decisions.by_evidence(evidence, self._adjudicator)
            if kept is None or (self._runs and kept.run_id not in self._runs):
                return None
            found = read_decision(kept).adjudication
        except DamagedRecordError as error:
            _answered_log.warning("asked again, for the answer cannot be read: %s", error)
            return None
        return found if is_answer(found) else None

    def learn(self, evidence: str, result: AdjudicationResult | None) -> None:
        """Remember an answer."""
        if result is None or not is_answer(result):
            return
        self._remembered[evidence] = result
        if len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)


def is_answer(result: AdjudicationResult | None) -> bool:
    """Say whether a case need not be asked about again, as far as its answer tells.

    A run that failed is no answer; nor one that came to nothing while a service failed.
    """
    if result is None:
        return True
    if result.outcome is Outcome.REJECTED:
        return all(check.passed or check.name != FAILED_SERVICE for check in result.checks)
    return result.outcome is not Outcome.ERROR


_log = logging.getLogger(__name__)


class Which(StrEnum):
    """Files that `--only` chooses, by how their last decision stands."""

    OPEN = "open"
    FAILED = "failed"
    REVIEW = "review"


_WHICH: Mapping[str, Which] = {
    State.INDETERMINATE: Which.OPEN,
    State.ERROR: Which.FAILED,
    State.REVIEW: Which.REVIEW,
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files are decided: by default those whose decision is not there, or not today's.

    `only` are those whose last decision stands so; without any, all. `anew` decides also what is
    decided already, unless one of `runs` did that.
    """

    only: frozenset[Which] = frozenset()
    anew: bool = False
    runs: frozenset[str] = frozenset()


class FileAction(StrEnum):
    """What is to happen with a file."""

    DECIDE = "decide"
    RESUME = "resume"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class ResumeCheck:
    """Holds files against what the store has of them; every method may raise `StoreError`."""

    store: "Store"
    choice: Selection
    under: RunVersions
    overrides: Callable[[], Mapping[str, KeptOverride]]

    def fates(self, paths: Sequence[Path]) -> Iterator[tuple[Path, FileAction, FileOutcome | None]]:
        """Yield what is to happen with files, and what they were settled as where that stands."""
        standing = current_decisions(self.store, [*map(stored_names, paths)])
        for path, kept in zip(paths, standing, strict=True):
            try:
                fate = self._fate(path, kept)
            except DamagedRecordError as error:
                fate = self._unread(path, error), None
            yield path, *fate

    def _unread(self, path: Path, error: DamagedRecordError) -> FileAction:
        """Say what is to happen with a file of whose decision nothing is known: it failed."""
        if self.choice.only and Which.FAILED not in self.choice.only:
            _log.warning("%s: left out: %s", quoted(path), error)
            return FileAction.LEAVE
        _log.warning("%s: decided again: %s", quoted(path), error)
        return FileAction.DECIDE

    def _fate(
        self, path: Path, kept: KeptDecision | UnreadDecision | None
    ) -> tuple[FileAction, FileOutcome | None]:
        if isinstance(kept, UnreadDecision):
            raise DamagedRecordError(kept.problem)
        if self.choice.only:
            which = _WHICH.get(kept.state) if kept else None
            if kept is None or kept.pinned or which not in self.choice.only:
                return FileAction.LEAVE, None
            if not self._is_done_anew(kept) or not self._stands(kept, path):
                return FileAction.DECIDE, None
        if kept is None or not (kept.pinned or self._stands(kept, path)):
            return FileAction.DECIDE, None
        settled = FileOutcome(path, read_decision(kept), is_resumed=True, is_pinned=kept.pinned)
        return FileAction.RESUME, settled

    def _stands(self, kept: KeptDecision, path: Path) -> bool:
        """Say whether a decision would be made again just so, as far as can be told at once."""
        return (
            (not self.choice.anew or self._is_done_anew(kept))
            and _is_result(kept)
            and kept.rules_version == self.under.rules
            and self._is_asked(kept)
            and self._is_ruled(kept)
            and _is_same_file(self.store, path, kept)
        )

    def _is_done_anew(self, kept: KeptDecision) -> bool:
        return kept.run_id in self.choice.runs

    def _is_asked(self, kept: KeptDecision) -> bool:
        """Say whether whoever would be asked now was asked, where the rules left it open.

        Where no model would be, what one answered before stands.
        """
        if kept.decided_by in ("rules", "override") or not self.under.adjudicator:
            return True
        return kept.adjudicator == self.under.adjudicator

    def _is_ruled(self, kept: KeptDecision) -> bool:
        """Say whether a person's verdict on the recording, or that there is none, is in it."""
        overrides = self.overrides()
        ruled = overrides.get(kept.recording_mbid or "")
        if ruled is None and overrides and kept.decided_by not in ("rules", "override"):
            # What was left open names no recording, and a model's answer perhaps another of them.
            bundle = stored_bundle(self.store, kept)
            ruled = override_for(bundle, overrides) if bundle else None
        if ruled is None:
            return kept.decided_by != "override"
        return kept.decided_by == "override" and kept.crg_mbid == ruled.crg_mbid


def _is_result(kept: KeptDecision) -> bool:
    """Say whether something came of it: a look-up that failed is made again."""
    match kept.state:
        case State.ERROR:
            return read_decision(kept).cause is Cause.NOTHING_FOUND
        case State.INDETERMINATE:
            return is_answer(read_decision(kept).adjudication)
    return True


def _is_same_file(store: "Store", path: Path, kept: KeptDecision) -> bool:
    status = file_status(path)
    if status is None:
        return False
    if (status.st_size, status.st_mtime_ns) == (kept.file_size, kept.file_mtime_ns):
        return True
    try:
        return identity_change(store, path, kept) is None
    except (AudioError, OSError):  # reading it anew says what is wrong
        return False


_INTERRUPTED = 130
_LONGEST_APART = timedelta(days=7)
"""Whoever refreshes after a longer time wants to know how things are today."""
_BESIDE_THE_POINT = frozenset({
    "--jobs", "--write", "--policy", "--keep-mtime", "--report", "--metrics", "--executor",
    "--scheduler", "--output", "--verbose",
})  # fmt: skip
"""Options that change nothing of which files are decided, and on what."""
_refreshing_log = logging.getLogger(__name__)
_LETTERS = len("2026-11-21T18:12:03")


@dataclass(frozen=True, slots=True)
class Refresh:
    """From when on what was found counts, in seconds since the epoch (0: from ever).

    `runs` are those whose decisions are of that refresh; `begun` is when it began, in UTC.
    """

    since: float = 0.0
    runs: frozenset[str] = frozenset()
    begun: str = ""


def interrupted_refresh(store: "Store", run: KeptRun) -> Refresh | None:
    """Return the refresh that a run goes on with; `None` where it begins anew.

    That is one that was called alike, ended before its time or has no end, and was heard of within
    a week. A call that names nothing, for it comes on standard input, never goes on. Raises
    `StoreError`.
    """
    wanted = _wanted(run)
    if not any(not argument.startswith("-") for argument in wanted):
        return None
    first = run
    found = {run.id}
    for before in store.runs.iterate(_left_out):
        if before.command != run.command or _wanted(before) != wanted:
            continue
        if not _is_cut_short(before) or _moment(first) - _last_heard(before) > _LONGEST_APART:
            break
        first = before
        found.add(before.id)
    if first is run:
        return None
    begun = first.started_at_utc[:_LETTERS].replace("T", " ")
    return Refresh(_moment(first).timestamp(), frozenset(found), begun)


def _left_out(problem: str) -> None:
    _refreshing_log.warning("a run is left out: %s", problem)


def _wanted(run: KeptRun) -> frozenset[str]:
    return frozenset(
        argument
        for argument in run.arguments
        if argument.partition("=")[0] not in _BESIDE_THE_POINT
    )


def _is_cut_short(run: KeptRun) -> bool:
    return run.status in (None, _INTERRUPTED) or _measures(run).stopped is not None


def _last_heard(run: KeptRun) -> datetime:
    if run.ended_at_utc:
        return datetime.fromisoformat(run.ended_at_utc)
    return _moment(run) + timedelta(seconds=_measures(run).seconds)


def _moment(run: KeptRun) -> datetime:
    return datetime.fromisoformat(run.started_at_utc)


def _measures(run: KeptRun) -> Measures:
    try:
        return msgspec.json.decode(run.measures or b"{}", type=Measures)
    except (msgspec.DecodeError, UnicodeDecodeError):  # as if it had cost nothing
        return Measures()
