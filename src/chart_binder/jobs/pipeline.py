"""Decide one recording: by a person's override, else by rules, else by the adjudicator."""

import dataclasses
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from chart_binder import errors
from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, with_recordings
from chart_binder.domain.records import DecisionRecord
from chart_binder.domain.tags import artifact_of
from chart_binder.domain.verdict import (
    PERSON_SAYS,
    Decided,
    FirstRelease,
    Open,
    OverrideRecord,
    SaidBy,
    SiblingLookup,
    Verdict,
)
from chart_binder.jobs.decision import NO_REASON, Case, Cause, Decision, State
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release, with_override, year_case
from chart_binder.rules.recordings import sorted_recordings

INDETERMINATE = "INDETERMINATE"
LLM_ADJUDICATION = "LLM_ADJUDICATION"
Overrides: TypeAlias = Callable[[], Mapping[str, OverrideRecord]]
MergedLookup: TypeAlias = Callable[
    [EvidenceBundle, Mapping[str, OverrideRecord]], OverrideRecord | None
]

_NAMED = "no model is asked about a file that only its name identifies: give it tags"
_DOUBTS = ("contradiction", "evidence")
"""Checks of an answer that fail if something contradicts its facts."""
_BY_NAME = "only the file's name says which recording it is"
_log = logging.getLogger(__name__)
_NOT_A_WORD = re.compile(r"[^\w-]+")


_STATES = {
    Outcome.ACCEPTED: State.DECIDED,
    Outcome.REVIEW: State.REVIEW,
    Outcome.REJECTED: State.UNDECIDED,
    Outcome.ERROR: State.ERROR,
}
_FAILURES: dict[type[errors.CanonError], tuple[State, Cause | msgspec.UnsetType]] = {
    errors.NoAudioError: (State.UNREADABLE, Cause.FILE),
    errors.FileError: (State.ERROR, Cause.FILE),
    errors.AudioError: (State.ERROR, Cause.FILE),
    errors.UnidentifiedError: (State.UNMATCHED, Cause.UNIDENTIFIED),
    errors.NothingFoundError: (State.UNMATCHED, Cause.NOTHING_FOUND),
    errors.LookupFailedError: (State.ERROR, Cause.LOOKUP_FAILED),
    errors.NotLookedUpError: (State.ERROR, Cause.NOT_LOOKED_UP),
    errors.EvidenceError: (State.ERROR, Cause.EVIDENCE),
    errors.StoreError: (State.ERROR, Cause.STORE),
    errors.CanonError: (State.ERROR, UNSET),
}
"""The state and cause of each kind of failure; the first row that fits counts."""


class Adjudicator(Protocol):
    """Answers cases that the rules leave open."""

    def adjudicate(
        self, evidence_bundle: EvidenceBundle, decision_trace: Verdict | None = None
    ) -> AdjudicationResult:
        """Return an answer of any outcome; failures of models and networks are answers, too."""


def no_overrides() -> Mapping[str, OverrideRecord]:
    """Return no overrides."""
    return {}


def as_stored(
    override: OverrideRecord, bundle: EvidenceBundle
) -> tuple[OverrideRecord, EvidenceBundle]:
    """Return an override under the ids that it was set with, and the evidence as it is."""
    return override, bundle


def none_merged(_: EvidenceBundle, __: Mapping[str, OverrideRecord]) -> None:
    """Return no override, because nothing is known of merged recordings."""


@dataclass(frozen=True, slots=True)
class Decider:
    """The pipeline from evidence to a decision; `why_not` says why no adjudicator is asked."""

    rules: RulesConfig
    adjudicator: Adjudicator | None = None
    why_not: str = ""
    overrides: Overrides = no_overrides
    current: Callable[[OverrideRecord, EvidenceBundle], tuple[OverrideRecord, EvidenceBundle]] = (
        as_stored
    )
    """Returns an override under the ids that MusicBrainz has now, and the evidence with the
    recording that it says is the same performance."""
    merged: MergedLookup = none_merged
    """Returns the override whose recording was merged with one of the evidence, if there is one."""
    asks_years: bool = False
    """Whether the adjudicator is asked for the year, too, if the group is decided."""

    def attempt(self, gather: Callable[[], EvidenceBundle]) -> Case:
        """Decide the evidence that `gather` returns; any exception becomes an error case."""
        return case_or_error(lambda: self.decide(gather()))

    def decide(self, bundle: EvidenceBundle) -> Case:
        """Decide by override, rules or the adjudicator, or leave it open. Raises `StoreError`."""
        case = self.decide_by_rules(bundle)
        if self.needs_adjudicator(case):
            return self.adjudicate(case)
        return self.ask_year(case) if self.asks_years else case

    def year_question(self, case: Case) -> Open | None:
        """Return the question of the year if the rules decided, and the year is not certain."""
        decision, bundle, verdict = case.decision, case.bundle, case.verdict
        if bundle is None or verdict is None or decision.decided_by != "rules" or case.override:
            return None
        return None if bundle.is_named_by_file else year_case(bundle, verdict, self.rules)

    def ask_year(self, case: Case) -> Case:
        """Let the adjudicator look for the year of a decided case if that is not certain."""
        question = self.year_question(case)
        if question is None or self.adjudicator is None or case.bundle is None:
            return case
        return self.with_year(case, question, self.adjudicator.adjudicate(case.bundle, question))

    def with_year(self, case: Case, question: Open, result: AdjudicationResult) -> Case:
        """Return a decided case with an answer about its year.

        If the rules decide for another group with the verified facts in, that group is taken.
        """
        assert case.bundle is not None
        assert case.verdict is not None
        if result.is_accepted and result.crg_mbid != case.decision.crg_mbid:
            return self.apply_answer(dataclasses.replace(case, verdict=question), result)
        decision = replace(case.decision, year_answer=result)
        bundle = with_recordings(case.bundle, result.added)
        return self._case(decision, bundle, case.verdict, case.override)

    def decide_by_rules(self, bundle: EvidenceBundle) -> Case:
        """Decide by override, else by rules, or leave the case open. Raises `StoreError`."""
        overrides = self.overrides()
        override = override_for(bundle, overrides) or self.merged(bundle, overrides)
        bundle = _without_said(bundle, override.same_as if override else None)
        if override:
            override, bundle = self.current(override, bundle)
        ruling = override.ruling if override else None
        verdict = decide(bundle, self.rules, ruling)
        if override and isinstance(verdict, Decided):
            verdict = replace(verdict, recording=override.recording_mbid)
        is_decided = isinstance(verdict, Decided)
        proposal = verdict if isinstance(verdict, Decided) else verdict.proposal
        by = "override" if ruling else "rules"
        meant = override.recording_mbid if override else None
        left_open = State.REVIEW if proposal else State.UNDECIDED
        hint = _NAMED if bundle.is_named_by_file else self.why_not
        decision = Decision(
            state=State.DECIDED if is_decided else left_open,
            decided_by=by if proposal else None,
            crg_mbid=proposal.crg if proposal else None,
            rr_mbid=proposal.rr if proposal else None,
            recording_mbid=meant or (proposal.recording if proposal else None),
            crg_rule=proposal.crg_rule if proposal else f"CRG:{INDETERMINATE}",
            rr_rule=proposal.rr_rule if proposal else f"RR:{INDETERMINATE}",
            confidence=1.0 if is_decided else 0.0,
            rationale=verdict.because,
            hint=hint if hint and not proposal else UNSET,
            missing_facts=verdict.missing_facts,
            questions=() if isinstance(verdict, Decided) else verdict.questions,
            evidence_hash=evidence_hash(bundle),
        )
        return self._case(decision, bundle, verdict, override)

    def needs_adjudicator(self, case: Case) -> bool:
        """Return whether there is an adjudicator to ask about a case.

        It can neither complete evidence that is cut short nor tell whether a file's name is right.
        """
        is_open = isinstance(case.verdict, Open) and case.verdict.proposal is None
        is_named = case.bundle is not None and case.bundle.is_named_by_file
        return self.adjudicator is not None and is_open and not is_named

    def adjudicate(self, case: Case) -> Case:
        """Let the adjudicator answer an open case."""
        assert self.adjudicator is not None
        assert case.bundle is not None
        return self.apply_answer(case, self.adjudicator.adjudicate(case.bundle, case.verdict))

    def apply_answer(self, case: Case, result: AdjudicationResult) -> Case:
        """Decide an open case by an answer to its evidence, and what that brought in."""
        assert case.bundle is not None
        assert isinstance(case.verdict, Open)
        bundle = with_recordings(case.bundle, result.added)
        state = _STATES[result.outcome]
        is_answer = state in (State.DECIDED, State.REVIEW)
        crg, rr = (result.crg_mbid, result.rr_mbid) if is_answer else (None, None)
        because = NO_REASON if crg else case.verdict.because
        recordings = (
            one
            for one in bundle.recording_candidates
            if any(group.mb_rg_id == crg for group in one.groups)
        )
        decision = Decision(
            state=state,
            decided_by="llm" if crg else None,
            crg_mbid=crg,
            rr_mbid=rr,
            recording_mbid=next((one.mb_recording_id for one in recordings), None),
            crg_rule=f"CRG:{LLM_ADJUDICATION if crg else INDETERMINATE}",
            rr_rule=f"RR:{LLM_ADJUDICATION if rr else INDETERMINATE}",
            confidence=result.confidence,
            rationale=result.rationale or because,
            missing_facts=() if state is State.DECIDED else case.verdict.missing_facts,
            questions=() if state is State.DECIDED else case.verdict.questions,
            evidence_hash=result.evidence_hash,
            adjudication=result,
            error=result.problem if state is State.ERROR else None,
            cause=Cause.MODEL if state is State.ERROR else UNSET,
        )
        return self._case(decision, bundle, case.verdict, case.override)

    def _case(
        self,
        decision: Decision,
        bundle: EvidenceBundle,
        verdict: Verdict,
        override: OverrideRecord | None,
    ) -> Case:
        """Return the case of a decision, which gets its first release and its trace."""
        used = (bundle.provenance and bundle.provenance.sources_used) or ("bundle",)
        parts = {
            "evh": (decision.evidence_hash or "")[:8],
            "crg": (decision.crg_rule or "").removeprefix("CRG:"),
            "rr": (decision.rr_rule or "").removeprefix("RR:"),
            "src": "+".join(sorted(_NOT_A_WORD.sub("", source.casefold()) for source in used)),
            "cfg": f"lw{self.rules.lead_window_days},rg{self.rules.reissue_long_gap_years}",
        }
        trace = ";".join(f"{key}={value}" for key, value in parts.items())
        first = _first_release(decision, bundle, verdict, self.rules)
        if override:
            first = with_override(first, override, bundle)
        decision = replace(
            decision,
            trace=trace,
            first_release=first,
            overruled_at=override.set_at_utc if override else UNSET,
        )
        return Case(_with_names(decision, bundle), bundle, verdict, override=override)


def _without_said(bundle: EvidenceBundle, same_as: str | None) -> EvidenceBundle:
    """Return evidence without the recordings that a person added and says no more to be the same.

    They are in stored evidence.
    """
    recordings = bundle.recording_candidates
    left = tuple(
        one for one in recordings if one.because != PERSON_SAYS or one.mb_recording_id == same_as
    )
    return bundle if len(left) == len(recordings) else replace(bundle, recording_candidates=left)


def _with_names(decision: Decision, bundle: EvidenceBundle) -> Decision:
    """Return a decision with the names of what it is about."""
    group = next((one for one in bundle.groups if one.mb_rg_id == decision.crg_mbid), None)
    primary, secondary = group.types if group else (None, ())
    return replace(
        decision,
        artist=bundle.performer.name,
        title=bundle.recording_title
        or next((one.title for one in bundle.recording_candidates), None),
        crg_title=group.title if group else None,
        crg_type=" + ".join(filter(None, (primary, *secondary))) or None,
        siblings=SiblingLookup(
            looked_up=bundle.siblings == "looked_up",
            found=sum(one.is_sibling for one in bundle.recording_candidates),
            said=bundle.sibling_lookup,
        ),
    )


def _first_release(
    decision: Decision, bundle: EvidenceBundle, verdict: Verdict, rules: RulesConfig
) -> FirstRelease | None:
    """Return the first release, by the verified facts too unless something contradicts them."""
    result = decision.model_answer
    is_taken = not decision.year_answer or decision.year_answer.is_accepted
    first = first_release(bundle, verdict, rules)
    is_doubted = result and any(not one.passed and one.name in _DOUBTS for one in result.checks)
    if result and is_taken and not is_doubted:
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
    """Return the first release with the verified facts of an answer that change it.

    They need sources enough, unless a person accepted them.
    """
    if not any(fact.verified for fact in result.facts):
        return first
    from chart_binder.llm.open_case import with_facts  # compiles 0.1 s of expressions

    patched = with_facts(bundle, result.facts, rules, are_accepted=are_accepted)
    if patched is bundle:
        return first
    found = first_release(patched, decide(patched, rules), rules)
    if found is None or found == first:
        return first
    suffix = "" if patched.stated_first else ", with the verified facts in"
    return replace(found, because=f"{found.because}{suffix}", by=SaidBy.FACTS)


def case_or_error(make: Callable[[], Case]) -> Case:
    """Return the case that `make` returns, or one that says why it failed; faults are logged."""
    try:
        return make()
    except errors.CanonError as error:
        state, cause = next(row for kind, row in _FAILURES.items() if isinstance(error, kind))
        field = "error" if state is State.ERROR else "rationale"
        return Case(replace(Decision(state, cause=cause), **{field: str(error)}))
    except BrokenPipeError:  # nobody reads what is printed meanwhile
        raise
    except Exception as error:  # noqa: BLE001 (one item of many: the next must not suffer)
        _log.exception("a fault of canon, or of a plug-in")
        problem = f"a fault of canon, or of a plug-in: {type(error).__name__}: {error}"
        return Case(Decision(State.ERROR, error=problem, cause=Cause.FAULT))


def with_tags(case: Case, path: Path) -> Case:
    """Return a case without evidence with the names in the file's tags, if they can be read."""
    if case.bundle is not None:
        return case
    from chart_binder.audio.reading import read_tags  # slow, and needed for failures alone

    try:
        tags = read_tags(path)
    except (errors.AudioError, OSError):
        return case
    decision = replace(case.decision, artist=tags.artist, title=tags.title)
    return dataclasses.replace(case, decision=decision, artifact=artifact_of(tags))


def override_for(
    bundle: EvidenceBundle,
    overrides: Mapping[str, OverrideRecord],
    decided: DecisionRecord | None = None,
) -> OverrideRecord | None:
    """Return the override for the recording in a bundle, of several that may be meant the newest.

    That of the recording that it was `decided` for counts too.
    """
    if not overrides:
        return None
    ids = recordings_meant(bundle)
    if decided:
        ids.add(decided.recording_mbid or "")
    found = [overrides[recording] for recording in ids if recording in overrides]
    return max(found, key=lambda one: (one.set_at_utc, one.recording_mbid), default=None)


def recordings_meant(bundle: EvidenceBundle) -> set[str]:
    """Return the ids of the recordings that a file may have.

    Those that the rules leave out do not count, nor does one that a person says is the same. That
    of the file's tags does, because it may have been merged into another.
    """
    candidates = (
        one.mb_recording_id
        for one in sorted_recordings(bundle).possible
        if one.because != PERSON_SAYS
    )
    known = (*candidates, bundle.tags.get("recording_mbid"))
    return {one.strip().casefold() for one in known if one}
