"""Compare stored decisions with those that `canon batch --frozen` would store in their place."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.records import DecisionRecord
from chart_binder.errors import DamagedRecordError
from chart_binder.jobs.batch import Album, FileOutcome, Worker
from chart_binder.jobs.batch.resume import AdjudicationCache, is_answer
from chart_binder.jobs.decide import NOT_ATTEMPTED, Cause, Decision, State
from chart_binder.jobs.stored_decisions import (
    bundle_with_tags,
    earlier_decision,
    path_from_bytes,
    read_decision,
)

if TYPE_CHECKING:
    from chart_binder.store import Store

_NO_EVIDENCE = "the evidence that it was made by is not stored: `canon decide` gathers it again"
_OPEN = (*NOT_ATTEMPTED, State.INDETERMINATE)


class DriftCause(StrEnum):
    """Why a decision would differ; `MODEL`: a model with other settings answered since."""

    EVIDENCE = "evidence"
    RULES = "rules"
    MODEL = "model"
    OVERRIDE = "override"


class DriftState(StrEnum):
    """How a decision compares with a batch's, which may ask a model or lack evidence."""

    UNCHANGED = "unchanged"
    DIFFERS = "differs"
    TO_ASK = "for the model"
    FAILED = "failed"
    NEVER = "never decided"


@dataclass(frozen=True, slots=True)
class Drift:
    """A stored decision, `before` and `after` by `evidence`; `why` says why it failed."""

    record: DecisionRecord
    state: DriftState
    before: Decision | None = None
    after: Decision | None = None
    causes: tuple[DriftCause, ...] = ()
    evidence: EvidenceBundle | None = None
    why: str | None = None

    @property
    def path(self) -> Path:
        """The file that was decided."""
        return path_from_bytes(self.record.path)


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """Decides files again as a frozen, dry batch does, but asks no model: `answers` are kept."""

    store: "Store"
    worker: Worker
    answers: AdjudicationCache

    def compare(self, record: DecisionRecord) -> Drift:
        """Compare the latest decision on a file that exists. Raises `StoreError`."""
        before = None
        try:
            before = read_decision(record)
            return self._compare(record, before)
        except DamagedRecordError as error:
            return Drift(record, DriftState.FAILED, before, why=str(error))

    def _compare(self, record: DecisionRecord, before: Decision) -> Drift:
        outcome = self._decide_again(record, before)
        if outcome is None:
            return Drift(record, DriftState.TO_ASK, before)
        after = outcome.decision
        if after.state is State.ERROR:
            has_none = after.cause is Cause.NOT_LOOKED_UP
            if has_none and before.state in NOT_ATTEMPTED:
                return Drift(record, DriftState.NEVER, before, why=before.failure)
            why = _NO_EVIDENCE if has_none else after.failure
            return Drift(record, DriftState.FAILED, before, why=why)
        evidence = None
        if outcome.stored:
            new, stored_evidence, _ = outcome.stored
            if earlier_decision(self.store, new, after):
                after = before
            evidence = bundle_with_tags(new, stored_evidence) if stored_evidence else None
        if _result(after) == _result(before):
            return Drift(record, DriftState.UNCHANGED, before, after)
        causes = self._causes(record, before, after)
        return Drift(record, DriftState.DIFFERS, before, after, causes, evidence)

    def _decide_again(self, record: DecisionRecord, before: Decision) -> FileOutcome | None:
        """Return what the batch would come to, `None` if it would ask a model first."""
        album = self.worker.gather(Album((path_from_bytes(record.path),)))
        for case in album.open_cases:
            answer = before.adjudication
            is_of_today = record.adjudicator == self.worker.versions.adjudicator
            if not (is_of_today and answer and is_answer(answer)):
                answer = self.answers.get(case.evidence_hash)
            return self.worker.apply_answer(case, answer) if answer else None
        return album.outcomes[0]

    def _causes(
        self, record: DecisionRecord, before: Decision, after: Decision
    ) -> tuple[DriftCause, ...]:
        if "override" in (before.decided_by, after.decided_by):
            return (DriftCause.OVERRIDE,)
        causes = []
        if before.evidence_hash != after.evidence_hash:
            causes.append(DriftCause.EVIDENCE)
        if record.rules_version != self.worker.versions.rules:
            causes.append(DriftCause.RULES)
        if not causes:
            causes.append(DriftCause.MODEL if after.adjudication else DriftCause.RULES)
        return tuple(causes)


def _result(decision: Decision) -> tuple[object, ...]:
    """Return what is compared of a decision."""
    state = "open" if decision.state in _OPEN else decision.state.value
    first = decision.first_release
    dated = (first.date, first.year_certain) if first else None
    return state, decision.crg_mbid, decision.rr_mbid, dated
