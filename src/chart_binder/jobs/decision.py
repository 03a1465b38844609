"""Decisions: their states, the causes of failures, and what a person can do about them."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

import msgspec
from msgspec import UNSET

from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.verdict import (
    FirstRelease,
    OverrideRecord,
    Question,
    SiblingLookup,
    Verdict,
)
from chart_binder.llm.result import AdjudicationResult

_YEAR = re.compile(r"[0-9]{4}(?![0-9])")


class State(StrEnum):
    """The outcome of deciding one file; an `error` is something that may succeed later."""

    DECIDED = "decided"
    REVIEW = "review"
    UNDECIDED = "undecided"
    UNMATCHED = "unmatched"
    UNREADABLE = "unreadable"
    ERROR = "error"


NOT_ATTEMPTED = (State.UNMATCHED, State.UNREADABLE, State.ERROR)
"""The states in which there was no evidence to decide on, or it was not looked into to its end."""
WAITING_STATES = (State.REVIEW, State.UNDECIDED, State.UNMATCHED, State.UNREADABLE)


def read_states(written: str, allowed: Collection[str] = tuple(State)) -> frozenset[str]:
    """Return the states that words with commas between them name. Raises `ValueError`."""
    names = {name.strip().casefold() for name in written.split(",")}
    if not names <= set(allowed):
        raise ValueError(f"{', '.join(allowed)} are allowed, several with commas")
    return frozenset(names)


class Cause(StrEnum):
    """Why nothing was decided: what to look at, and whether another try may help."""

    FILE = "file"
    UNIDENTIFIED = "unidentified"
    LOOKUP_FAILED = "lookup_failed"
    NOTHING_FOUND = "nothing_found"
    NOT_LOOKED_UP = "not_looked_up"
    EVIDENCE = "evidence"
    MODEL = "model"
    STORE = "store"
    FAULT = "fault"


NO_REASON = "no reason was given"
_TRY_AGAIN = "`canon decide` tries again"
_ADVICE = {
    Cause.FILE: f"mend or replace the file, then {_TRY_AGAIN}",
    Cause.UNIDENTIFIED: "give it tags (artist and title, or a recording id) or a name like"
    f" `Artist - Title`, then {_TRY_AGAIN}",
    Cause.LOOKUP_FAILED: f"{_TRY_AGAIN}; `canon doctor` says what answers",
    Cause.NOTHING_FOUND: "correct its tags, or add the recording to MusicBrainz; then"
    " `canon batch --refresh FOLDER` looks again",
    Cause.NOT_LOOKED_UP: "`canon batch` without `--frozen`, or `canon decide`, looks it up",
    Cause.EVIDENCE: f"correct the evidence, then {_TRY_AGAIN}",
    Cause.MODEL: f"{_TRY_AGAIN}; `canon doctor` says what answers",
    Cause.STORE: f"{_TRY_AGAIN}; `canon doctor` says what is wrong with the store",
    Cause.FAULT: f"report it, with the error; {_TRY_AGAIN}",
}


class Decision(msgspec.Struct, frozen=True):
    """The decision on one recording, made by rules, the adjudicator, a person, or not at all.

    An error has its text in `error`; `unmatched` and `unreadable` have theirs in `rationale`.
    `artist` and `title` are of the evidence, else of the file's tags. `hint` says why no model
    looked into an open case. `missing_facts` are the `questions` as sentences.
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
    questions: tuple[Question, ...] = ()
    evidence_hash: str | None = None
    trace: str | None = None
    adjudication: AdjudicationResult | None = None
    error: str | None = None
    cause: Cause | msgspec.UnsetType = UNSET
    first_release: FirstRelease | None = None
    artist: str | None = None
    title: str | None = None
    crg_title: str | None = None
    crg_type: str | None = None
    hint: str | msgspec.UnsetType = UNSET
    siblings: SiblingLookup | None = None
    overruled_at: str | msgspec.UnsetType = UNSET
    """When the override was set that it follows, if a person said anything."""
    year_answer: AdjudicationResult | msgspec.UnsetType = UNSET
    """The answer of a model that was asked for the year alone, because the group was decided."""

    @property
    def model_answer(self) -> AdjudicationResult | None:
        """What a model answered to the open case, or about the year."""
        return self.adjudication or self.year_answer or None

    @property
    def failure(self) -> str:
        """Why there was nothing to decide, or no end to it; empty for other states."""
        return (self.error or self.rationale or NO_REASON) if self.state in NOT_ATTEMPTED else ""


@dataclass(frozen=True, slots=True)
class Case:
    """A decision with the evidence and verdict behind it; without, with what the tags say."""

    decision: Decision
    bundle: EvidenceBundle | None = None
    verdict: Verdict | None = None
    artifact: Artifact | None = None
    override: OverrideRecord | None = None


def tagged_year(case: Case) -> int | None:
    """Return the year in the tags of a case's file, if there is one."""
    artifact = case.bundle.artifact if case.bundle else case.artifact
    return year_of(artifact)


def year_of(artifact: Artifact | None) -> int | None:
    """Return the year in a file's tags, if there is one: of the original date before the date."""
    tags = (artifact and artifact.tags) or {}
    written = tags.get("original_date") or tags.get("date") or ""
    found = _YEAR.match(written)
    return int(found[0]) if found else None


def advice_for(cause: Cause | msgspec.UnsetType | None) -> str:
    """Return what a user can do about an error of this cause, as half a sentence."""
    return _ADVICE[cause] if isinstance(cause, Cause) else _TRY_AGAIN
