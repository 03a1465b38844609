"""The only way from a file to a stored decision; every command that decides uses it.

    read tags -> gather -> decide by rules -> adjudicate -> store -> write

`gather` has the first two stages, `write_albums` the last. The others are functions here: each
takes a value and the `Pipeline` with the rules, the adjudicator, the overrides and the source of
evidence, and returns the next value. Only `attempt` turns a failure into a decision.
"""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

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
    BY_PERSON,
    PERSON_SAYS,
    Decided,
    Open,
    OverrideRecord,
    Verdict,
)
from chart_binder.jobs.decision import (
    NO_REASON,
    Case,
    Cause,
    Decision,
    FileCase,
    FileOutcome,
    State,
    completed_case,
    tagged_year,
)
from chart_binder.jobs.stored_decisions import (
    NO_RUN,
    LazyRun,
    RunVersions,
    earlier_decision,
    file_status,
    is_to_be_stored,
    path_bytes,
    read_decision,
    stored_case,
)
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import with_override, year_case
from chart_binder.rules.recordings import sorted_recordings

if TYPE_CHECKING:
    from chart_binder.jobs.gather import EvidenceSource
    from chart_binder.store import Store

INDETERMINATE = "INDETERMINATE"
LLM_ADJUDICATION = "LLM_ADJUDICATION"

_NAMED_BY_FILE = "no model is asked about a file that only its name identifies: give it tags"
_NO_STORED_ANSWER = (
    "no model's answer to this evidence is stored: `canon decide` asks a model and stores the"
    " answer, `canon explain --again` asks one and stores nothing"
)
_log = logging.getLogger(__name__)

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


class OverrideLookup:
    """The overrides that `read_all` returns; their ids are not looked up."""

    def __init__(self, read_all: Callable[[], Mapping[str, OverrideRecord]] = dict) -> None:
        self.read_all = read_all

    def of_merged_recording(self, bundle: EvidenceBundle) -> OverrideRecord | None:
        """Return the override for a recording that was merged with one of the evidence.

        This class looks nothing up, so it returns None. Subclasses may raise `CanonError`.
        """
        del bundle
        return None

    def with_current_ids(
        self, override: OverrideRecord, bundle: EvidenceBundle
    ) -> tuple[OverrideRecord, EvidenceBundle]:
        """Return an override with the present ids of MusicBrainz, and the evidence for it.

        The evidence gains the recording that the override calls the same performance, and the
        release group that it names. This class changes neither. Subclasses may raise `CanonError`.
        """
        return override, bundle


NO_OVERRIDES = OverrideLookup()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What the stages work with; `why_not_asked` says why there is no adjudicator.

    Without `evidence`, only evidence bundles can be decided. `versions` are stored with decisions.
    If it `asks_years`, the adjudicator is also asked about a decided group with an uncertain year.
    """

    rules: RulesConfig
    adjudicator: Adjudicator | None = None
    why_not_asked: str = ""
    overrides: OverrideLookup = NO_OVERRIDES
    evidence: "EvidenceSource | None" = None
    versions: RunVersions = NO_RUN
    asks_years: bool = False


# The stages for one file or bundle.


def decide_file(pipeline: Pipeline, path: Path) -> FileCase:
    """Take a file through the stages up to `save`."""
    return file_case(path, lambda: decide_bundle(pipeline, _gather(pipeline, path)))


def explain_file(pipeline: Pipeline, path: Path, store: "Store") -> FileCase:
    """Decide a file with the model's stored answer to its evidence instead of a new answer."""

    def decide_by_stored_answer() -> Case:
        case = decide_by_rules(pipeline, _gather(pipeline, path))
        is_open = isinstance(case.verdict, Open) and case.verdict.proposal is None
        question = None if is_open else year_question(pipeline, case)
        if not (is_open or question):
            return case
        record = store.decisions.latest(path_bytes(path))
        is_same = record is not None and record.evidence_hash == case.decision.evidence_hash
        answer = read_decision(record).model_answer if record and is_same else None
        if answer and question:  # older rules may have asked about the group instead
            is_of_these_rules = record and record.rules_version == pipeline.versions.rules
            return with_year(pipeline, case, question, answer) if is_of_these_rules else case
        if answer:
            return apply_answer(pipeline, case, answer)
        if not needs_adjudicator(pipeline, case):
            return case
        return dataclasses.replace(case, decision=replace(case.decision, hint=_NO_STORED_ANSWER))

    return file_case(path, decide_by_stored_answer)


def decide_bundle(pipeline: Pipeline, bundle: EvidenceBundle) -> Case:
    """Decide by override, rules or the adjudicator, or leave it open. Raises `CanonError`."""
    case = decide_by_rules(pipeline, bundle)
    if needs_adjudicator(pipeline, case):
        return adjudicate(pipeline, case)
    return ask_year(pipeline, case) if pipeline.asks_years else case


def _gather(pipeline: Pipeline, path: Path) -> EvidenceBundle:
    assert pipeline.evidence is not None
    return pipeline.evidence.of([path])(path)


def file_case(path: Path, make_case: Callable[[], Case]) -> FileCase:
    """Return a file with the case that `make_case` returns, or with the reason why it failed."""
    status_before = file_status(path)  # before its tags are read
    return FileCase(path, status_before, with_tags(attempt(make_case), path))


def decide_by_rules(pipeline: Pipeline, bundle: EvidenceBundle) -> Case:
    """Decide by override, else by rules, or leave the case open. Raises `CanonError`."""
    override, bundle = _apply_override(pipeline.overrides, bundle)
    ruling = override.ruling if override else None
    verdict = decide(bundle, pipeline.rules, ruling)
    if override and isinstance(verdict, Decided):
        verdict = replace(verdict, recording=override.recording_mbid)
    is_decided = isinstance(verdict, Decided)
    proposal = verdict if isinstance(verdict, Decided) else verdict.proposal
    by = "override" if ruling else "rules"
    overridden = override.recording_mbid if override else None
    open_state = State.REVIEW if proposal else State.UNDECIDED
    hint = _NAMED_BY_FILE if bundle.is_named_by_file else pipeline.why_not_asked
    is_hint_shown = hint and not (proposal or (override and override.first_date))
    decision = Decision(
        state=State.DECIDED if is_decided else open_state,
        decided_by=by if proposal else None,
        crg_mbid=proposal.crg if proposal else None,
        rr_mbid=proposal.rr if proposal else None,
        recording_mbid=overridden or (proposal.recording if proposal else None),
        crg_rule=proposal.crg_rule if proposal else f"CRG:{INDETERMINATE}",
        rr_rule=proposal.rr_rule if proposal else f"RR:{INDETERMINATE}",
        confidence=1.0 if is_decided else 0.0,
        rationale=verdict.because,
        hint=hint if is_hint_shown else UNSET,
        missing_facts=verdict.missing_facts,
        questions=() if isinstance(verdict, Decided) else verdict.questions,
        evidence_hash=evidence_hash(bundle),
    )
    return completed_case(Case(decision, bundle, verdict, override=override), pipeline.rules)


def needs_adjudicator(pipeline: Pipeline, case: Case) -> bool:
    """Return whether there is an adjudicator, and the case is one that it can answer.

    It can neither complete evidence that was cut short nor tell whether a file's name is right.
    """
    is_open = isinstance(case.verdict, Open) and case.verdict.proposal is None
    is_named = case.bundle is not None and case.bundle.is_named_by_file
    return pipeline.adjudicator is not None and is_open and not is_named


def adjudicate(pipeline: Pipeline, case: Case) -> Case:
    """Let the adjudicator answer an open case."""
    assert pipeline.adjudicator is not None
    assert case.bundle is not None
    result = pipeline.adjudicator.adjudicate(case.bundle, case.verdict)
    return apply_answer(pipeline, case, result)


def apply_answer(pipeline: Pipeline, case: Case, result: AdjudicationResult) -> Case:
    """Decide an open case by an answer, and by the recordings that the answer added.

    The added recordings count for the first release only if the answer is accepted.
    """
    assert case.bundle is not None
    assert isinstance(case.verdict, Open)
    if result.outcome is Outcome.ERROR and case.override and case.override.first_date:
        return unanswered_case(case, result.problem or NO_REASON)
    bundle = with_recordings(case.bundle, result.added)
    state = _STATES[result.outcome]
    is_answer = state in (State.DECIDED, State.REVIEW)
    crg, rr = (result.crg_mbid, result.rr_mbid) if is_answer else (None, None)
    because = NO_REASON if crg else case.verdict.because
    recordings = (
        recording.mb_recording_id
        for recording in bundle.recording_candidates
        if any(group.mb_rg_id == crg for group in recording.groups)
    )
    decision = Decision(
        state=state,
        decided_by="llm" if crg else None,
        crg_mbid=crg,
        rr_mbid=rr,
        recording_mbid=next(recordings, None),
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
    proposed = dataclasses.replace(case, decision=decision, bundle=bundle)
    return completed_case(proposed, pipeline.rules, bundle if result.is_accepted else case.bundle)


def year_question(pipeline: Pipeline, case: Case) -> Open | None:
    """Return the question of the year if the rules decided, and the year is not certain."""
    bundle, verdict = case.bundle, case.verdict
    if bundle is None or verdict is None or case.decision.decided_by != "rules" or case.override:
        return None
    return None if bundle.is_named_by_file else year_case(bundle, verdict, pipeline.rules)


def ask_year(pipeline: Pipeline, case: Case) -> Case:
    """Let the adjudicator look for the year of a decided case, unless the year is certain."""
    question = year_question(pipeline, case)
    if question is None or pipeline.adjudicator is None or case.bundle is None:
        return case
    result = pipeline.adjudicator.adjudicate(case.bundle, question)
    return with_year(pipeline, case, question, result)


def with_year(pipeline: Pipeline, case: Case, question: Open, result: AdjudicationResult) -> Case:
    """Return a decided case with an answer about its year.

    If the rules choose another group with the verified facts, the decision changes to that group.
    The recordings that an answer added become evidence only if it is accepted.
    """
    assert case.bundle is not None
    if result.is_accepted and result.crg_mbid != case.decision.crg_mbid:
        return apply_answer(pipeline, dataclasses.replace(case, verdict=question), result)
    bundle = with_recordings(case.bundle, result.added if result.is_accepted else ())
    decision = replace(case.decision, year_answer=result)
    return completed_case(
        dataclasses.replace(case, decision=decision, bundle=bundle), pipeline.rules
    )


def finish(pipeline: Pipeline, file: FileCase) -> FileOutcome:
    """Return the outcome of a case, with the records to save if it is about a file."""
    decision, status = file.case.decision, file.status_before
    is_saved = decision.cause is not Cause.NOT_LOOKED_UP and is_to_be_stored(file.path, decision)
    stored = None
    if status and is_saved:
        stored = stored_case(file.case, file.path, status, pipeline.versions)
    return FileOutcome(
        file.path,
        decision,
        stored,
        file.seconds,
        is_given=file.is_given,
        tagged_year=tagged_year(file.case),
    )


def save(store: "Store", outcomes: Sequence[FileOutcome]) -> Sequence[FileOutcome]:
    """Save outcomes, all or none, and return them as they are in the store. Raises `StoreError`."""
    outcomes = [_with_earlier_decision(store, outcome) for outcome in outcomes]
    records = [outcome.stored for outcome in outcomes if outcome.stored and not outcome.is_unsaved]
    if records:
        store.decisions.put_all(records)
    return outcomes


def _with_earlier_decision(store: "Store", outcome: FileOutcome) -> FileOutcome:
    """Return an outcome, with the file's earlier decision if that stays the latest one."""
    if outcome.stored is None:
        return outcome
    earlier = earlier_decision(store, outcome.stored[0], outcome.decision)
    if earlier is None:
        return outcome
    if outcome.decision.failure:
        return dataclasses.replace(outcome, is_unsaved=True)
    return dataclasses.replace(outcome, decision=earlier, is_answered_before=True, is_unsaved=True)


def save_file(pipeline: Pipeline, file: FileCase, run: LazyRun) -> Case:
    """Save the decision on one file, and return its case as it is in the store.

    If saving fails, the returned case has the state `error`, and the rest of the decision.
    """
    outcome, case = finish(pipeline, file), file.case
    try:
        if outcome.stored:
            run.begin()
            outcome = save(run.store, [outcome])[0]
            case = dataclasses.replace(case, decision=outcome.decision)
    except errors.StoreError as error:
        failure = case.decision.failure
        problem = f"{failure}; this cannot be saved" if failure else "decided, but not saved"
        case = failed_case(case, f"{problem}: {error}", Cause.STORE)
    run.counts[case.decision.state] += 1
    return case


# Failures.


def attempt(make: Callable[[], Case]) -> Case:
    """Return the case that `make` returns, or one that says why it failed; faults are logged."""
    try:
        return make()
    except errors.CanonError as error:
        state, cause = next(row for kind, row in _FAILURES.items() if isinstance(error, kind))
        field = "error" if state is State.ERROR else "rationale"
        return Case(replace(Decision(state, cause=cause), **{field: str(error)}))
    except BrokenPipeError:  # the reader of the output has ended
        raise
    except Exception as error:  # noqa: BLE001 (one file of many: the others go on)
        _log.exception("a fault of canon, or of a plug-in")
        problem = f"a fault of canon, or of a plug-in: {type(error).__name__}: {error}"
        return Case(Decision(State.ERROR, error=problem, cause=Cause.FAULT))


def failed_case(case: Case, error: str | None, cause: Cause | msgspec.UnsetType) -> Case:
    """Return a case whose decision is an error; everything else in it stays."""
    decision = replace(case.decision, state=State.ERROR, error=error, cause=cause)
    return dataclasses.replace(case, decision=decision)


def unanswered_case(case: Case, problem: str) -> Case:
    """Return a case that no model could be asked about: an error, unless a person dated it."""
    if case.override and case.override.first_date:
        return dataclasses.replace(case, decision=replace(case.decision, hint=problem))
    return failed_case(case, problem, Cause.MODEL)


def unreadable_case(path: Path, problem: object) -> FileCase:
    """Return the case of a file or folder that cannot be read."""
    decision = Decision(State.ERROR, error=str(problem), cause=Cause.FILE)
    return FileCase(path, file_status(path), with_tags(Case(decision), path))


def with_tags(case: Case, path: Path) -> Case:
    """Return a case without evidence with the names in the file's tags, if they can be read."""
    if case.bundle is not None:
        return case
    from chart_binder.audio.reading import read_tags  # slow, and needed only for failures

    try:
        tags = read_tags(path)
    except (errors.AudioError, OSError):
        return case
    decision = replace(case.decision, artist=tags.artist, title=tags.title)
    return dataclasses.replace(case, decision=decision, artifact=artifact_of(tags))


# Overrides.


def _apply_override(
    overrides: OverrideLookup, bundle: EvidenceBundle
) -> tuple[OverrideRecord | None, EvidenceBundle]:
    """Return the override for the recording of a bundle, and the bundle changed by it.

    A recording that a person added is removed unless the override still calls it the same.
    """
    override = override_for(bundle, overrides.read_all()) or overrides.of_merged_recording(bundle)
    same_as = override.same_as if override else None
    recordings = tuple(
        recording
        for recording in bundle.recording_candidates
        if recording.because not in BY_PERSON
        or (recording.because == PERSON_SAYS and recording.mb_recording_id == same_as)
    )
    if len(recordings) < len(bundle.recording_candidates):
        bundle = replace(bundle, recording_candidates=recordings)
    return overrides.with_current_ids(override, bundle) if override else (None, bundle)


def override_for(
    bundle: EvidenceBundle,
    overrides: Mapping[str, OverrideRecord],
    record: DecisionRecord | None = None,
) -> OverrideRecord | None:
    """Return the newest override for a recording that a bundle may be about, or None.

    An override for the recording in the decision `record` counts, too.
    """
    if not overrides:
        return None
    ids = possible_recordings(bundle)
    if record:
        ids.add(record.recording_mbid or "")
    matches = [overrides[mbid] for mbid in ids if mbid in overrides]
    return max(
        matches, key=lambda override: (override.set_at_utc, override.recording_mbid), default=None
    )


def with_stated_date(
    decision: Decision,
    record: DecisionRecord,
    bundle: EvidenceBundle,
    overrides: Mapping[str, OverrideRecord],
) -> tuple[OverrideRecord | None, Decision]:
    """Return the override for a decided file, and the decision with the first release it states."""
    override = override_for(bundle, overrides, record)
    if override is None:
        return None, decision
    first = with_override(decision.first_release, override, bundle)
    return override, replace(decision, first_release=first)


def is_to_decide_again(decision: Decision, override: OverrideRecord) -> bool:
    """Return whether an override says more than a date, and the decision does not follow it."""
    if decision.overruled_at == override.set_at_utc:
        return False
    is_of_group = decision.state is State.DECIDED and decision.crg_mbid == override.crg_mbid
    is_chosen = override.crg_mbid is not None and not is_of_group
    return is_chosen or bool(override.same_as or decision.overruled_at)


def possible_recordings(bundle: EvidenceBundle) -> set[str]:
    """Return the ids of the recordings that a file may have.

    Recordings that the rules exclude or that a person added are not among them. The id in the
    file's tags is, because that recording may have been merged into another.
    """
    candidates = (
        recording.mb_recording_id
        for recording in sorted_recordings(bundle).possible
        if recording.because not in BY_PERSON
    )
    ids = (*candidates, bundle.tags.get("recording_mbid"))
    return {mbid.strip().casefold() for mbid in ids if mbid}
