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
