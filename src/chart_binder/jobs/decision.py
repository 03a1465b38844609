"""Decisions: their states, the causes of failures, and what a person can do about them."""

import dataclasses
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.records import StoredCase
from chart_binder.domain.verdict import (
    FirstRelease,
    OverrideRecord,
    Question,
    SaidBy,
    SiblingLookup,
    Verdict,
)
from chart_binder.llm.result import AdjudicationResult
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release, with_override

_YEAR = re.compile(r"[0-9]{4}(?![0-9])")
_NOT_A_WORD = re.compile(r"[^\w-]+")
_CONTRADICTION_CHECKS = ("contradiction", "evidence")
"""Checks of an answer that fail if something contradicts its facts."""
_BY_NAME = "only the file's name says which recording it is"


class State(StrEnum):
    """The outcome of deciding one file; after an `error`, another try may succeed."""

    DECIDED = "decided"
    REVIEW = "review"
    UNDECIDED = "undecided"
    UNMATCHED = "unmatched"
    UNREADABLE = "unreadable"
    ERROR = "error"


FAILED_STATES = (State.UNMATCHED, State.UNREADABLE, State.ERROR)
"""The states of files without evidence, and of those whose evidence could not be decided on."""
WAITING_STATES = (State.REVIEW, State.UNDECIDED, State.UNMATCHED, State.UNREADABLE)
"""The states of files that wait for a person."""
EXIT_STATUS = dict.fromkeys(WAITING_STATES, 3) | {State.DECIDED: 0, State.ERROR: 1}
"""The exit status of a command that decided one file."""


def read_states(text: str, allowed: Collection[str] = tuple(State)) -> frozenset[str]:
    """Return the states in a comma-separated list. Raises `ValueError`."""
    names = {name.strip().casefold() for name in text.split(",")}
    if not names <= set(allowed):
        raise ValueError(f"give one of {', '.join(allowed)}, or several with commas")
    return frozenset(names)


class Cause(StrEnum):
    """Why nothing was decided; `advice_for` tells what a person can do about it."""

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
    Cause.NOTHING_FOUND: "correct artist and title in its tags, or tag its recording id; then"
    " `canon decide` looks again. If you add the recording to MusicBrainz, `canon batch --refresh`"
    " does",
    Cause.NOT_LOOKED_UP: "`canon batch` without `--frozen`, or `canon decide`, looks it up",
    Cause.EVIDENCE: f"correct the evidence, then {_TRY_AGAIN}",
    Cause.MODEL: f"{_TRY_AGAIN}; `canon doctor` says what answers",
    Cause.STORE: f"{_TRY_AGAIN}; `canon doctor` says what is wrong with the store",
    Cause.FAULT: f"report it, with the error; {_TRY_AGAIN}",
}


class Decision(msgspec.Struct, frozen=True):
    """What the rules, the adjudicator or a person decided on one recording, if anything.

    `error` says why the state is `error`, `rationale` why it is `unmatched` or `unreadable`.
    `artist` and `title` come from the evidence, else from the file's tags. `hint` says why no model
    was asked about an open case, or why it did not answer, if a person gave the first date.
    `missing_facts` are the `questions` as sentences.
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
    """The time at which the override was set that the decision follows, if there is one."""
    year_answer: AdjudicationResult | msgspec.UnsetType = UNSET
    """The answer of a model that was asked for the year alone, because the group was decided."""

    @property
    def model_answer(self) -> AdjudicationResult | None:
        """The model's answer to the open case, or about the year."""
        return self.adjudication or self.year_answer or None

    @property
    def failure(self) -> str:
        """Why the state is one of `FAILED_STATES`; empty for other states."""
        return (self.error or self.rationale or NO_REASON) if self.state in FAILED_STATES else ""


@dataclass(frozen=True, slots=True)
class Case:
    """A decision with evidence and the rules' verdict; without evidence, with the tags."""

    decision: Decision
    bundle: EvidenceBundle | None = None
    verdict: Verdict | None = None
    artifact: Artifact | None = None
    override: OverrideRecord | None = None


class Stage(StrEnum):
    """The stages of a file, in their order."""

    READ = "read"
    EVIDENCE = "evidence"
    RULES = "rules"
    ADJUDICATE = "adjudicate"
    STORE = "store"
    WRITE = "write"


StageSeconds = Mapping[Stage, float]


@dataclass(frozen=True, slots=True)
class FileCase:
    """A file, or a bundle from standard input (`is_given`), with its case so far.

    `status_before` has the size and time of the file from before its tags were read.
    """

    path: Path
    status_before: os.stat_result | None
    case: Case
    seconds: StageSeconds = field(default_factory=dict)
    is_given: bool = False

    @property
    def evidence_hash(self) -> str:
        """The hash of its evidence; only one case of each hash is adjudicated."""
        return self.case.decision.evidence_hash or ""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The decision on a file, or on a bundle from standard input (`is_given`).

    `stored` are the records to save. If it `is_resumed`, an earlier run decided it. If it
    `is_answered_before`, an earlier answer to the same evidence was used. If it `is_unsaved`, the
    decision is not saved, because an earlier one stays the latest.
    """

    path: Path
    decision: Decision
    stored: StoredCase | None = None
    seconds: StageSeconds = field(default_factory=dict)
    is_resumed: bool = False
    is_given: bool = False
    is_answered_before: bool = False
    is_unsaved: bool = False
    tagged_year: int | None = None


def completed_case(case: Case, rules: RulesConfig, dated_by: EvidenceBundle | None = None) -> Case:
    """Return a case whose decision has a trace, a first release, and names.

    `dated_by` is the evidence for the first release, by default the evidence of the case.
    """
    decision, bundle, verdict = case.decision, case.bundle, case.verdict
    assert bundle is not None
    assert verdict is not None
    used = (bundle.provenance and bundle.provenance.sources_used) or ("bundle",)
    parts = {
        "evh": (decision.evidence_hash or "")[:8],
        "crg": (decision.crg_rule or "").removeprefix("CRG:"),
        "rr": (decision.rr_rule or "").removeprefix("RR:"),
        "src": "+".join(sorted(_NOT_A_WORD.sub("", source.casefold()) for source in used)),
        "cfg": f"lw{rules.lead_window_days},rg{rules.reissue_long_gap_years}",
    }
    first = _first_release(decision, dated_by or bundle, verdict, rules)
    if case.override:
        first = with_override(first, case.override, bundle)
    decision = replace(
        decision,
        trace=";".join(f"{key}={value}" for key, value in parts.items()),
        first_release=first,
        overruled_at=case.override.set_at_utc if case.override else UNSET,
    )
    return dataclasses.replace(case, decision=_with_names(decision, bundle))


def _with_names(decision: Decision, bundle: EvidenceBundle) -> Decision:
    """Return a decision with the names of artist, recording and release group."""
    groups = (group for group in bundle.groups if group.mb_rg_id == decision.crg_mbid)
    group = next(groups, None)
    primary, secondary = group.types if group else (None, ())
    return replace(
        decision,
        artist=bundle.performer.name,
        title=bundle.recording_title
        or next((recording.title for recording in bundle.recording_candidates), None),
        crg_title=group.title if group else None,
        crg_type=" + ".join(filter(None, (primary, *secondary))) or None,
        siblings=SiblingLookup(
            looked_up=bundle.siblings == "looked_up",
            found=sum(recording.is_sibling for recording in bundle.recording_candidates),
            said=bundle.sibling_lookup,
        ),
    )


def _first_release(
    decision: Decision, bundle: EvidenceBundle, verdict: Verdict, rules: RulesConfig
) -> FirstRelease | None:
    """Return the first release; verified facts count unless something contradicts them."""
    result = decision.model_answer
    may_date = not decision.year_answer or decision.year_answer.is_accepted
    first = first_release(bundle, verdict, rules)
    is_doubted = result and any(
        not check.passed and check.name in _CONTRADICTION_CHECKS for check in result.checks
    )
    if result and may_date and not is_doubted:
        first = first_by_facts(bundle, first, result, rules)
    if first and bundle.is_named_by_file and decision.state is not State.DECIDED:
        return replace(first, year_certain=False, because=_BY_NAME)
    return first


def first_by_facts(
    bundle: EvidenceBundle,
    first: FirstRelease | None,
    result: AdjudicationResult,
    rules: RulesConfig,
    *,
    are_accepted: bool = False,
) -> FirstRelease | None:
    """Return the first release after the verified facts of an answer were applied.

    A fact needs enough sources, unless a person accepted the facts (`are_accepted`).
    """
    if not any(fact.verified for fact in result.facts):
        return first
    from chart_binder.llm.open_case import with_facts  # its regular expressions compile for 0.1 s

    patched = with_facts(bundle, result.facts, rules, are_accepted=are_accepted)
    if patched is bundle:
        return first
    by_facts = first_release(patched, decide(patched, rules), rules)
    if by_facts is None or by_facts == first:
        return first
    suffix = "" if patched.stated_first else ", counting the verified facts"
    return replace(by_facts, because=f"{by_facts.because}{suffix}", by=SaidBy.FACTS)


def tagged_year(case: Case) -> int | None:
    """Return the year in the tags of a case's file, if there is one."""
    artifact = case.bundle.artifact if case.bundle else case.artifact
    return year_of(artifact)


def year_of(artifact: Artifact | None, *, of_album: bool = False) -> int | None:
    """Return the year of the original date in a file's tags, else of the date, if there is one.

    The year `of_album` is that of the date, else of the original date, which canon may have
    written.
    """
    tags = (artifact and artifact.tags) or {}
    original_date, date = tags.get("original_date"), tags.get("date")
    text = (date or original_date) if of_album else (original_date or date)
    year = _YEAR.match(text or "")
    return int(year[0]) if year else None


def advice_for(cause: Cause | msgspec.UnsetType | None) -> str:
    """Return what a user can do about an error with this cause, as part of a sentence."""
    return _ADVICE[cause] if isinstance(cause, Cause) else _TRY_AGAIN
