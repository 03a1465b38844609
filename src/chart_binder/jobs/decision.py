"""What was decided for one recording, as it is printed, stored and written into tags."""

from enum import StrEnum

import msgspec

from chart_binder.llm.result import AdjudicationResult

INDETERMINATE = "INDETERMINATE"
LLM_ADJUDICATION = "LLM_ADJUDICATION"


class State(StrEnum):
    """Where a file stands after a run."""

    DECIDED = "decided"
    REVIEW = "review"
    INDETERMINATE = "indeterminate"
    ERROR = "error"


class Decision(msgspec.Struct, frozen=True):
    """One decision, by rules, the adjudicator, a person or nobody yet (CONTRACTS, section 5)."""

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
