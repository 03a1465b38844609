"""Compare stored decisions with those that `canon batch --frozen` would replace them with."""

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.records import DecisionRecord, UnreadDecision
from chart_binder.errors import DamagedRecordError
from chart_binder.jobs.batch import Album, Worker
from chart_binder.jobs.batch.resume import AdjudicationCache, ResumeCheck, is_answer
from chart_binder.jobs.decision import FAILED_STATES, Cause, Decision, FileOutcome, State
from chart_binder.jobs.stored_decisions import bundle_with_tags, earlier_decision, read_decision

if TYPE_CHECKING:
    from chart_binder.store import Store

_OPEN = (*FAILED_STATES, State.UNDECIDED)


class DriftCause(StrEnum):
    """Why a new decision differs from the stored one.

    `DAMAGE`: the stored one cannot be read. `MODEL`: a model with other settings answered since.
    """

    DAMAGE = "damage"
    EVIDENCE = "evidence"
    RULES = "rules"
    MODEL = "model"
    OVERRIDE = "override"


class DriftState(StrEnum):
    """How a stored decision compares with the one that the batch would make."""

    UNCHANGED = "unchanged"
    DIFFERS = "differs"
    TO_ASK = "for the model"
    FAILED = "failed"
    NEVER = "never decided"


@dataclass(frozen=True, slots=True)
class Drift:
    """A file with its stored decision, `before`, and the new one, `after`, on `evidence`.

    `why` says what failed or is damaged; `record` and `before` may be absent then.
    """

    path: Path
    state: DriftState
    record: DecisionRecord | None = None
    before: Decision | None = None
    after: Decision | None = None
    causes: tuple[DriftCause, ...] = ()
    evidence: EvidenceBundle | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """Decides files again as a frozen dry batch does, but with stored `answers` instead of a model.

    `resume` tells which files the batch would skip.
    """

    store: "Store"
    worker: Worker
    resume: ResumeCheck
    answers: AdjudicationCache

    def compare(self, path: Path, latest: DecisionRecord | UnreadDecision) -> Drift:
        """Compare the latest decision on an existing file. Raises `StoreError`."""
        record = latest if isinstance(latest, DecisionRecord) else None
        stored = Drift(path, DriftState.UNCHANGED, record)
        try:
            _, resumed = self.resume.check_file(path, latest)
            if resumed:
                is_never = resumed.decision.state in FAILED_STATES
                state = DriftState.NEVER if is_never else DriftState.UNCHANGED
                return replace(stored, state=state, before=resumed.decision)
            stored = replace(stored, before=read_decision(record) if record else None)
        except DamagedRecordError as error:
            stored = replace(stored, why=str(error))
        outcome = self._decide_again(stored)
        if outcome is None:
            return replace(stored, state=DriftState.TO_ASK)
        if outcome.decision.state is not State.ERROR:
            return self._compare(stored, outcome)
        has_no_evidence = outcome.decision.cause is Cause.NOT_LOOKED_UP
        if has_no_evidence and stored.before and stored.before.state in FAILED_STATES:
            return replace(stored, state=DriftState.NEVER)
        problems = dict.fromkeys(filter(None, (stored.why, outcome.decision.failure)))
        return replace(stored, state=DriftState.FAILED, why="; ".join(problems))

    def _compare(self, stored: Drift, outcome: FileOutcome) -> Drift:
        after, evidence = outcome.decision, None
        if outcome.stored:
            new, stored_evidence, _ = outcome.stored
            after = earlier_decision(self.store, new, after) or after
            evidence = bundle_with_tags(new, stored_evidence) if stored_evidence else None
        record, before = stored.record, stored.before
        causes: tuple[DriftCause, ...] = (DriftCause.DAMAGE,)
        if record and before:
            if _result(after) == _result(before):
                return replace(stored, after=after)
            causes = self._causes(record, before, after)
        return replace(
            stored, state=DriftState.DIFFERS, after=after, causes=causes, evidence=evidence
        )

    def _decide_again(self, stored: Drift) -> FileOutcome | None:
        """Return the outcome that the batch would have, or None if it would ask a model."""
        album = self.worker.gather(Album((stored.path,)))
        for case in album.open_cases:
            answer = stored.before.adjudication if stored.before else None
            adjudicator = stored.record.adjudicator if stored.record else None
            is_current = adjudicator == self.worker.pipeline.versions.adjudicator
            if not (is_current and answer and is_answer(answer)):
                answer = self.answers.get(case.evidence_hash)
            return self.worker.apply_answer(case, answer) if answer else None
        return album.outcomes[0]

    def _causes(
        self, record: DecisionRecord, before: Decision, after: Decision
    ) -> tuple[DriftCause, ...]:
        is_by_override = "override" in (before.decided_by, after.decided_by)
        if is_by_override or before.overruled_at != after.overruled_at:
            return (DriftCause.OVERRIDE,)
        causes = []
        if before.evidence_hash != after.evidence_hash:
            causes.append(DriftCause.EVIDENCE)
        if record.rules_version != self.worker.pipeline.versions.rules:
            causes.append(DriftCause.RULES)
        if not causes:
            causes.append(DriftCause.MODEL if after.adjudication else DriftCause.RULES)
        return tuple(causes)


def _result(decision: Decision) -> tuple[object, ...]:
    """Return the parts of a decision that are compared."""
    state = "open" if decision.state in _OPEN else decision.state.value
    first = decision.first_release
    dated = (first.date, first.year_certain) if first else None
    return state, decision.crg_mbid, decision.rr_mbid, dated
