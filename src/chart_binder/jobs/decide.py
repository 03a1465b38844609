"""Decide one recording: a person's verdict, else rules, else the adjudicator."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import msgspec
from msgspec import UNSET

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.verdict import Decided, Open, Verdict
from chart_binder.errors import (
    AudioError,
    CanonError,
    EvidenceError,
    FileError,
    LookupFailedError,
    NothingFoundError,
    NotLookedUpError,
    StoreError,
    UnidentifiedError,
)
from chart_binder.jobs.overrides import Overrides, no_overrides, override_for
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.rules.decide import decide

INDETERMINATE = "INDETERMINATE"
LLM_ADJUDICATION = "LLM_ADJUDICATION"


class State(StrEnum):
    """Where a file stands after a run."""

    DECIDED = "decided"
    REVIEW = "review"
    INDETERMINATE = "indeterminate"
    ERROR = "error"


class Cause(StrEnum):
    """Why no decision was come to: what to look at, and whether another try may help."""

    FILE = "file"
    UNIDENTIFIED = "unidentified"
    LOOKUP_FAILED = "lookup_failed"
    NOTHING_FOUND = "nothing_found"
    NOT_LOOKED_UP = "not_looked_up"
    EVIDENCE = "evidence"
    MODEL = "model"
    STORE = "store"
    FAULT = "fault"


class Decision(msgspec.Struct, frozen=True):
    """One decision, by rules, the adjudicator, a person or nobody yet.

    `cause` is there for an error alone, and says in one word what `error` says in a sentence.
    """

    state: State
    decided_by: str | None = None
    crg_mbid: str | None = None
    rr_mbid: str | None = None
    recording_mbid: str | None = None
    crg_rule: str | None = None
    rr_rule: str | None = None
    confidence: float | None = None
    rationale: str | None = None
    missing_facts: tuple[str, ...] = ()
    evidence_hash: str | None = None
    trace: str | None = None
    adjudication: AdjudicationResult | None = None
    error: str | None = None
    cause: Cause | msgspec.UnsetType = msgspec.UNSET


_log = logging.getLogger(__name__)
_NOT_A_WORD = re.compile(r"[^\w-]+")

_STATES = {
    Outcome.ACCEPTED: State.DECIDED,
    Outcome.REVIEW: State.REVIEW,
    Outcome.REJECTED: State.INDETERMINATE,
    Outcome.ERROR: State.ERROR,
}
_CAUSES: dict[type[CanonError], Cause] = {
    FileError: Cause.FILE,
    AudioError: Cause.FILE,
    UnidentifiedError: Cause.UNIDENTIFIED,
    LookupFailedError: Cause.LOOKUP_FAILED,
    NothingFoundError: Cause.NOTHING_FOUND,
    NotLookedUpError: Cause.NOT_LOOKED_UP,
    EvidenceError: Cause.EVIDENCE,
    StoreError: Cause.STORE,
}


class EvidenceSource(Protocol):
    """Where the facts about a recording come from."""

    def gather(self, tags: TrackTags) -> EvidenceBundle:
        """Return the evidence, or raise `LookupFailedError` or `NothingFoundError`."""
        ...


class Adjudicator(Protocol):
    """What looks into a case that the rules leave open."""

    def adjudicate(
        self, evidence_bundle: EvidenceBundle, decision_trace: Verdict | None = None
    ) -> AdjudicationResult:
        """Return an answer of any outcome; raises nothing for what the world did."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """A decision with what it was made from; absent is what was not come by."""

    decision: Decision
    bundle: EvidenceBundle | None = None
    verdict: Verdict | None = None


def case_or_error(make: Callable[[], Case]) -> Case:
    """Return the case that is made; whatever keeps it from being made makes an error case.

    So does a fault of the program itself or of a plug-in: it is logged with its traceback, and the
    run goes on with the next file.
    """
    try:
        return make()
    except CanonError as error:
        cause = next((cause for kind, cause in _CAUSES.items() if isinstance(error, kind)), UNSET)
        return Case(Decision(State.ERROR, error=str(error), cause=cause))
    except Exception as error:  # noqa: BLE001 (one item of many: the next must not suffer)
        _log.exception("a fault of canon, or of a plug-in")
        told = f"a fault of canon, or of a plug-in: {type(error).__name__}: {error}"
        return Case(Decision(State.ERROR, error=told, cause=Cause.FAULT))


@dataclass(frozen=True, slots=True)
class Decider:
    """The pipeline from evidence to a decision.

    `adjudicator` is absent where none may be asked; `why_not` then says why, and what to do.
    """

    knobs: RulesConfig
    adjudicator: Adjudicator | None = None
    why_not: str = ""
    overrides: Overrides = no_overrides

    def attempt(self, gather: Callable[[], EvidenceBundle]) -> Case:
        """Decide what `gather` finds; whatever keeps it from finding makes an error case."""
        return case_or_error(lambda: self.decide(gather()))

    def decide(self, bundle: EvidenceBundle) -> Case:
        """Decide by a person's verdict, else by rules, else by the adjudicator, or leave it open.

        Raises `StoreError` if it cannot be told what people ruled.
        """
        case = self.by_rules(bundle)
        return self.looked_into(case) if self.is_for_adjudicator(case) else case

    def by_rules(self, bundle: EvidenceBundle) -> Case:
        """Decide by a person's verdict, else by rules, or leave it open. Raises `StoreError`."""
        ruled = override_for(bundle, self.overrides())
        verdict = decide(bundle, self.knobs, ruled.ruling if ruled else None)
        if ruled and isinstance(verdict, Decided):
            verdict = msgspec.structs.replace(verdict, recording=ruled.recording_mbid)
        if isinstance(verdict, Decided):
            decision = self._by_rules(bundle, verdict, "override" if ruled else "rules")
        else:
            decision = self._still_open(bundle, verdict)
        return Case(decision, bundle, verdict)

    def is_for_adjudicator(self, case: Case) -> bool:
        """Say whether a case is open that somebody is there to look into."""
        return self.adjudicator is not None and isinstance(case.verdict, Open)

    def looked_into(self, case: Case) -> Case:
        """Let the adjudicator look into a case that is open."""
        assert self.adjudicator is not None
        assert case.bundle is not None
        return self.answered(case, self.adjudicator.adjudicate(case.bundle, case.verdict))

    def answered(self, case: Case, result: AdjudicationResult) -> Case:
        """Decide an open case by what an adjudicator said of the same evidence."""
        assert case.bundle is not None
        assert isinstance(case.verdict, Open)
        decision = self._by_adjudicator(case.bundle, case.verdict, result)
        return Case(decision, case.bundle, case.verdict)

    def _by_rules(self, bundle: EvidenceBundle, verdict: Decided, decided_by: str) -> Decision:
        known = evidence_hash(bundle)
        return Decision(
            state=State.DECIDED,
            decided_by=decided_by,
            crg_mbid=verdict.crg,
            rr_mbid=verdict.rr,
            recording_mbid=verdict.recording,
            crg_rule=verdict.crg_rule,
            rr_rule=verdict.rr_rule,
            confidence=1.0,
            rationale=verdict.because,
            missing_facts=verdict.missing_facts,
            evidence_hash=known,
            trace=self._trace(bundle, known, verdict.crg_rule, verdict.rr_rule),
        )

    def _still_open(self, bundle: EvidenceBundle, verdict: Open) -> Decision:
        told = (verdict.because, self.why_not)
        return self._open(bundle, verdict, ". ".join(filter(None, told)))

    def _open(self, bundle: EvidenceBundle, verdict: Open, rationale: str) -> Decision:
        known = evidence_hash(bundle)
        crg_rule, rr_rule = f"CRG:{INDETERMINATE}", f"RR:{INDETERMINATE}"
        return Decision(
            state=State.INDETERMINATE,
            crg_rule=crg_rule,
            rr_rule=rr_rule,
            confidence=0.0,
            rationale=rationale,
            missing_facts=verdict.missing_facts,
            evidence_hash=known,
            trace=self._trace(bundle, known, crg_rule, rr_rule),
        )

    def _by_adjudicator(
        self, bundle: EvidenceBundle, verdict: Open, result: AdjudicationResult
    ) -> Decision:
        state = _STATES[result.outcome]
        is_answer = state in (State.DECIDED, State.REVIEW)
        crg = result.crg_mbid if is_answer else None
        rr = result.rr_mbid if is_answer else None
        crg_rule = f"CRG:{LLM_ADJUDICATION if crg else INDETERMINATE}"
        rr_rule = f"RR:{LLM_ADJUDICATION if rr else INDETERMINATE}"
        return Decision(
            state=state,
            decided_by="llm" if crg else None,
            crg_mbid=crg,
            rr_mbid=rr,
            recording_mbid=_recording_in(bundle, crg),
            crg_rule=crg_rule,
            rr_rule=rr_rule,
            confidence=result.confidence,
            rationale=result.rationale or ("no reason was given" if crg else verdict.because),
            missing_facts=() if state is State.DECIDED else verdict.missing_facts,
            evidence_hash=result.evidence_hash,
            trace=self._trace(bundle, result.evidence_hash, crg_rule, rr_rule),
            adjudication=result,
            error=result.problem if state is State.ERROR else None,
            cause=Cause.MODEL if state is State.ERROR else UNSET,
        )

    def _trace(self, bundle: EvidenceBundle, known: str, crg_rule: str, rr_rule: str) -> str:
        used = (bundle.provenance and bundle.provenance.sources_used) or ("bundle",)
        parts = {
            "evh": known[:8],
            "crg": crg_rule.removeprefix("CRG:"),
            "rr": rr_rule.removeprefix("RR:"),
            "src": "+".join(sorted(_NOT_A_WORD.sub("", source.casefold()) for source in used)),
            "cfg": f"lw{self.knobs.lead_window_days},rg{self.knobs.reissue_long_gap_years}",
        }
        return ";".join(f"{key}={value}" for key, value in parts.items())


def _recording_in(bundle: EvidenceBundle, release_group: str | None) -> str | None:
    return next(
        (
            recording.mb_recording_id
            for recording in bundle.recording_candidates
            if any(group.mb_rg_id == release_group for group in recording.groups)
        ),
        None,
    )
