"""What was decided is decided again by today's rules, to see what would now come out otherwise."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import write_bundle
from chart_binder.domain.records import (
    KeptDecision,
    KeptEvidence,
    KeptRun,
    KeptVerdict,
    VerdictKind,
    new_id,
    now_utc,
)
from chart_binder.errors import (
    CanonError,
    DamagedRecordError,
    LookupFailedError,
    NothingFoundError,
    StoreError,
)
from chart_binder.jobs.decide import Case, Decider, Decision, State, advice_for
from chart_binder.jobs.stored_decisions import (
    path_from_bytes,
    read_decision,
    rules_version,
    stored_bundle,
)
from chart_binder.jobs.write import verdict_on

if TYPE_CHECKING:
    from chart_binder.store.store import Store


MAX_FAILURES = 3
"""Look-ups that fail one after the other, each after tries of its own, before no more are made."""


class NotAskedError(LookupFailedError):
    """Nothing was asked: the look-ups before had failed."""


@dataclass(slots=True)
class EvidenceRefresher:
    """Gathers evidence by `gather`, and does not ask any more where that keeps failing."""

    gather: Callable[[Path], EvidenceBundle]
    in_a_row: int = 0
    why: str = ""

    def __call__(self, path: Path) -> EvidenceBundle:
        """Return the evidence for a file; raise as `gather` does, or `NotAskedError`."""
        if self.in_a_row >= MAX_FAILURES:
            raise NotAskedError(
                f"{MAX_FAILURES} look-ups in a row had failed, so no more were made: {self.why}"
            )
        try:
            found = self.gather(path)
        except LookupFailedError as error:
            self.in_a_row += 1
            self.why = str(error)
            raise
        except NothingFoundError:
            self.in_a_row = 0  # that, too, is an answer
            raise
        self.in_a_row = 0
        return found


_OPEN = (State.ERROR, State.INDETERMINATE)


class DriftCause(StrEnum):
    """Why a decision would now be another; both of the first two may hold."""

    EVIDENCE = "evidence"
    RULES = "rules"
    RULING = "ruling"


class DriftState(StrEnum):
    """How a decision stands beside what would be decided today."""

    STANDS = "stands"
    DIFFERS = "differs"
    KEPT = "kept"
    PINNED = "pinned"
    FAILED = "failed"
    NOT_ASKED = "not asked"
    """Its evidence was not asked for any more, for it could not be fetched for others."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How one kept decision stands: what it `was` and would be `now`, where either can be told."""

    kept: KeptDecision
    state: DriftState
    causes: tuple[DriftCause, ...] = ()
    now: Case | None = None
    why: str | None = None
    was: Decision | None = None

    @property
    def path(self) -> Path:
        """The file that was decided."""
        return path_from_bytes(self.kept.path)


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """Decides again, asking no model: what one said stands while the rules leave the case open.

    `gather` fetches evidence anew; without it, that which is kept is gone by.
    """

    store: "Store"
    decider: Decider
    gather: Callable[[Path], EvidenceBundle] | None = None

    def drift(self, kept: KeptDecision) -> Drift:
        """Hold one decision against today's. Raises `StoreError`."""
        if kept.pinned:
            return Drift(kept, DriftState.PINNED)
        ruled = verdict_on(self.store, kept)
        if ruled and ruled.verdict is VerdictKind.ACCEPT:
            return Drift(kept, DriftState.KEPT, why="a person accepted it")
        was = None
        try:
            was = read_decision(kept)
            return self._beside(kept, was)
        except DamagedRecordError as error:
            return Drift(kept, DriftState.FAILED, why=str(error), was=was)
        except StoreError:
            raise
        except NotAskedError as error:
            return Drift(kept, DriftState.NOT_ASKED, why=str(error), was=was)
        except CanonError as error:
            return Drift(kept, DriftState.FAILED, why=str(error), was=was)

    def _beside(self, kept: KeptDecision, was: Decision) -> Drift:
        bundle = stored_bundle(self.store, kept)
        before = self.decider.decide(bundle) if bundle else None
        now = (
            self.decider.decide(self.gather(path_from_bytes(kept.path))) if self.gather else before
        )
        if now is None:  # nothing was found then, and nothing was looked for now
            why = f"nothing was decided then ({was.error}); {advice_for(was.cause)}"
            return Drift(kept, DriftState.FAILED, why=why, was=was)
        if _outcome(was, now) == _outcome(was):
            return Drift(kept, DriftState.STANDS, now=now, was=was)
        causes = self._causes(kept, was, before, now)
        stand = DriftState.KEPT if self._is_left(kept, now) else DriftState.DIFFERS
        return Drift(kept, stand, causes, now, was=was)

    def _causes(
        self, kept: KeptDecision, was: Decision, before: Case | None, now: Case
    ) -> tuple[DriftCause, ...]:
        if "override" in (was.decided_by, now.decision.decided_by):
            return (DriftCause.RULING,)
        if before is None:
            same_rules = kept.rules_version == rules_version(self.decider.rules)
            return (DriftCause.EVIDENCE,) if same_rules else (DriftCause.EVIDENCE, DriftCause.RULES)
        moved = (
            (DriftCause.EVIDENCE, _outcome(was, now) != _outcome(was, before)),
            (DriftCause.RULES, _outcome(was, before) != _outcome(was)),
        )
        return tuple(cause for cause, is_so in moved if is_so)

    def _is_left(self, kept: KeptDecision, now: Case) -> bool:
        """Say whether a person left the decision as it is, knowing of this very outcome."""
        verdict = self.store.verdicts.latest(kept.id)
        left = verdict is not None and verdict.verdict is VerdictKind.KEEP
        return bool(left and verdict and verdict.reason == _known_as(now.decision))


def keep_old_decision(store: "Store", drift: Drift) -> None:
    """Keep that a person leaves a decision, knowing what it would be now. Raises `StoreError`."""
    if drift.now:
        reason = _known_as(drift.now.decision)
        store.verdicts.put(
            KeptVerdict(
                decision_id=drift.kept.id, verdict=VerdictKind.KEEP, reason=reason, at_utc=now_utc()
            )
        )


def accept_new_decision(drifting: DriftCheck, drift: Drift, run: KeptRun) -> KeptDecision | None:
    """Keep today's decision as the file's own. Raises `StoreError`."""
    if drift.now is None or drift.now.bundle is None:
        return None
    decision, bundle, kept = drift.now.decision, drift.now.bundle, drift.kept
    new = msgspec.structs.replace(
        kept, id=new_id(), run_id=run.id, recording_mbid=decision.recording_mbid,
        state=decision.state, decided_by=decision.decided_by, crg_mbid=decision.crg_mbid,
        rr_mbid=decision.rr_mbid, evidence_hash=decision.evidence_hash,
        rules_version=rules_version(drifting.decider.rules), trace=decision.trace,
        document=msgspec.json.encode(decision), decided_at_utc=now_utc(), transcript_id=None,
        artifact=msgspec.json.encode(bundle.artifact) if bundle.artifact else None,
        adjudicator=None,
    )  # fmt: skip
    if drifting.gather:  # the file was read again
        status = drift.path.stat()
        new = msgspec.structs.replace(
            new, file_size=status.st_size, file_mtime_ns=status.st_mtime_ns
        )
    facts = write_bundle(msgspec.structs.replace(bundle, artifact=None))
    known = decision.evidence_hash
    drifting.store.decisions.put(new, KeptEvidence(known, facts) if known else None)
    return new


def _outcome(was: Decision, now: Case | None = None) -> tuple[str | None, ...]:
    """Return what counts as the same: whether it is decided, and where it belongs.

    What a model answered stands as long as the rules leave the case open, and what it named is
    among the candidates.
    """
    decision = now.decision if now else was
    if now and was.decided_by == "llm" and decision.state in _OPEN and _has(now, was.crg_mbid):
        decision = was
    state = "open" if decision.state in _OPEN else decision.state.value
    return state, decision.crg_mbid, decision.rr_mbid


def _has(case: Case, group: str | None) -> bool:
    candidates = case.bundle.recording_candidates if case.bundle else ()
    return any(each.mb_rg_id == group for one in candidates for each in one.groups)


def _known_as(decision: Decision) -> str:
    return " ".join(("now", *(part or "none" for part in _outcome(decision))))
