"""Decide stored cases again by today's rules or evidence, and report decisions that differ."""

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.domain import records
from chart_binder.errors import CanonError, DamagedRecordError, StoreError
from chart_binder.jobs import decide, stored_decisions
from chart_binder.jobs.write import verdict_on

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_OPEN = (*decide.NOT_ATTEMPTED, decide.State.INDETERMINATE)


class DriftCause(StrEnum):
    """Why a decision would differ today; several may apply.

    `ACCEPTANCE` is a model's answer that was accepted under an earlier acceptance.
    """

    ACCEPTANCE = "acceptance"
    EVIDENCE = "evidence"
    RULES = "rules"
    OVERRIDE = "override"


class DriftState(StrEnum):
    """How a stored decision compares with today's; `NOT_ASKED` if no evidence was fetched.

    `NEVER` is a file that never was decided: nothing was found, read or gathered for it.
    """

    UNCHANGED = "unchanged"
    DIFFERS = "differs"
    KEPT = "kept"
    PINNED = "pinned"
    FAILED = "failed"
    NOT_ASKED = "not asked"
    NEVER = "never decided"


@dataclass(frozen=True, slots=True)
class Drift:
    """The comparison of a stored decision `was` with today's case `now`, if both are known."""

    kept: records.DecisionRecord
    state: DriftState
    causes: tuple[DriftCause, ...] = ()
    now: decide.Case | None = None
    why: str | None = None
    was: decide.Decision | None = None

    @property
    def path(self) -> Path:
        """The file that was decided."""
        return stored_decisions.path_from_bytes(self.kept.path)


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """Decides stored cases again, without a model.

    A model's answer stands while the rules leave the case open, unless it was accepted under an
    earlier acceptance. `gather` fetches new evidence; without it, the stored evidence is used.
    """

    store: "Store"
    decider: decide.Decider
    gather: decide.EvidenceLookup | None = None

    def drift(self, kept: records.DecisionRecord) -> Drift:
        """Compare one decision with today's. Raises `StoreError`."""
        if kept.pinned:
            return Drift(kept, DriftState.PINNED)
        verdict = verdict_on(self.store, kept)
        if verdict and verdict.verdict is records.VerdictKind.ACCEPT:
            return Drift(kept, DriftState.KEPT, why="a person accepted it")
        was = None
        try:
            was = stored_decisions.read_decision(kept)
            return replace(self._compare(kept, was), was=was)
        except CanonError as error:
            if isinstance(error, StoreError) and not isinstance(error, DamagedRecordError):
                raise
            is_not_asked = isinstance(error, decide.NotAskedError)
            state = DriftState.NOT_ASKED if is_not_asked else DriftState.FAILED
            return Drift(kept, state, why=str(error), was=was)

    def _compare(self, kept: records.DecisionRecord, was: decide.Decision) -> Drift:
        bundle = stored_decisions.gathered_bundle(self.store, kept)
        if bundle is None and was.state in decide.NOT_ATTEMPTED:
            return Drift(kept, DriftState.NEVER, why=was.failure)
        before = self.decider.decide(bundle) if bundle else None
        path = stored_decisions.path_from_bytes(kept.path)
        now = self.decider.decide(self.gather(path)) if self.gather else before
        if now is None:
            why = "the evidence that it was made by is not stored: `canon decide` gathers it again"
            return Drift(kept, DriftState.FAILED, why=why)
        if _outcome(was, now) == _outcome(was) and not was.is_stale:
            return Drift(kept, DriftState.UNCHANGED, now=now)
        stale = (DriftCause.ACCEPTANCE,) if was.is_stale else ()
        causes = (*stale, *self._causes(kept, was, before, now))
        verdict = self.store.verdicts.latest(kept.id)
        is_kept = (
            verdict is not None
            and verdict.verdict is records.VerdictKind.KEEP
            and verdict.reason == _outcome_text(now.decision)
        )
        return Drift(kept, DriftState.KEPT if is_kept else DriftState.DIFFERS, causes, now)

    def _causes(
        self,
        kept: records.DecisionRecord,
        was: decide.Decision,
        before: decide.Case | None,
        now: decide.Case,
    ) -> tuple[DriftCause, ...]:
        """Return the causes; `before` is today's decision on the stored evidence."""
        if "override" in (was.decided_by, now.decision.decided_by):
            return (DriftCause.OVERRIDE,)
        if before is None:
            same_rules = kept.rules_version == stored_decisions.rules_version(self.decider.rules)
            return (DriftCause.EVIDENCE,) if same_rules else (DriftCause.EVIDENCE, DriftCause.RULES)
        changed = (
            (DriftCause.EVIDENCE, _outcome(was, now) != _outcome(was, before)),
            (DriftCause.RULES, _outcome(was, before) != _outcome(was)),
        )
        return tuple(cause for cause, is_so in changed if is_so)


def gather_while_it_answers(gather: decide.EvidenceLookup) -> decide.EvidenceLookup:
    """Return a look-up that raises `NotAskedError` after three failures of `gather` in a row."""
    why_not = "{count} look-ups in a row had failed, so no more were made: {last}"
    return decide.limited_lookup(gather, why_not)


def keep_old_decision(store: "Store", drift: Drift) -> None:
    """Save that a person keeps a decision, knowing today's. Raises `StoreError`."""
    if drift.now:
        verdict = records.VerdictRecord(
            decision_id=drift.kept.id,
            verdict=records.VerdictKind.KEEP,
            reason=_outcome_text(drift.now.decision),
            at_utc=records.now_utc(),
        )
        store.verdicts.put(verdict)


def accept_new_decision(
    check: DriftCheck, drift: Drift, run: records.RunRecord
) -> records.DecisionRecord | None:
    """Save today's decision as the file's own, and return it. Raises `StoreError`."""
    if drift.now is None or drift.now.bundle is None:
        return None
    status = drift.path.stat() if check.gather else None  # then the file was read again
    versions = stored_decisions.RunVersions(
        run.id, stored_decisions.rules_version(check.decider.rules)
    )
    new, evidence, _ = stored_decisions.stored_case(drift.now, drift.path, status, versions)
    new = msgspec.structs.replace(new, path=drift.kept.path)
    if status is None:
        size, mtime = drift.kept.file_size, drift.kept.file_mtime_ns
        new = msgspec.structs.replace(new, file_size=size, file_mtime_ns=mtime)
    check.store.decisions.put(new, evidence)
    return new


def _outcome(was: decide.Decision, now: decide.Case | None = None) -> tuple[str | None, ...]:
    """Return what is compared: whether it is decided, the release group and the release.

    A model's answer stands as long as the rules leave the case open and its release group is among
    the candidates, or was brought in by it.
    """
    decision = now.decision if now else was
    if now and was.decided_by == "llm" and decision.state in _OPEN:
        added = was.adjudication.added if was.adjudication else ()
        recordings = (*now.bundle.recording_candidates, *added) if now.bundle else ()
        if any(group.mb_rg_id == was.crg_mbid for one in recordings for group in one.groups):
            decision = was
    state = "open" if decision.state in _OPEN else decision.state.value
    return state, decision.crg_mbid, decision.rr_mbid


def _outcome_text(decision: decide.Decision) -> str:
    return " ".join(("now", *(part or "none" for part in _outcome(decision))))
