"""The queue of cases that wait for a person, and the texts that are shown for each case."""

import dataclasses
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.dates import time_between
from chart_binder.domain.evidence import EvidenceBundle, Release
from chart_binder.domain.patches import DATE, FIRST_DATE, PREMIERE, PRIMARY_TYPE, SECONDARY_TYPES
from chart_binder.domain.records import (
    YEAR,
    DecisionRecord,
    UnreadDecision,
    UnwrittenRecord,
    VerdictKind,
)
from chart_binder.domain.tags import group_by_album
from chart_binder.domain.verdict import Decided, Open, OverrideRecord, Question, Verdict
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId, bare_id
from chart_binder.errors import CanonError, DamagedRecordError, StoreError
from chart_binder.files import path_text
from chart_binder.jobs.decision import WAITING_STATES, Decision, State, first_by_facts
from chart_binder.jobs.pipeline import (
    Pipeline,
    attempt,
    decide_bundle,
    override_for,
    possible_recordings,
)
from chart_binder.jobs.stored_decisions import (
    LazyRun,
    bundle_with_tags,
    current_decisions,
    is_below,
    path_bytes,
    path_from_bytes,
    read_decision,
    stored_artifact,
    stored_bundle,
    stored_case,
)
from chart_binder.jobs.wording import release_name
from chart_binder.jobs.write import TaggedFile, read_file_tags
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from chart_binder.rules.labels import Labels, labelled_candidates, labelled_releases

if TYPE_CHECKING:
    from chart_binder.store import Store
    from chart_binder.store.decisions import UnreadHandler

OPEN_STATES = tuple(state.value for state in WAITING_STATES)
QUEUED = (*OPEN_STATES, YEAR)
"""The states of the queue, and `YEAR` for decided files whose year a model proposes."""
_MAX_HELD = 200
"""The number of cases of one folder that are read at once, to group them by album."""
_NUMBERS = ("no", "one", "two", "three", "four", "five")
_FIELD_WORDS = {
    FIRST_DATE: "date",
    DATE: "date",
    PRIMARY_TYPE: "type",
    SECONDARY_TYPES: "type",
    PREMIERE: "first release",
}
_ASKED_BRIEFLY = {
    "date": "{}'s date",
    "status": "whether {} is official",
    "type": "the type of {}",
    "which_copy": "which recording it is",
    "contradiction": "which of two dates is right",
    "missing_original": "the original release was not found",
    "tie": "which came out first",
}
"""What each kind of question asks for, with a place for the name of its subject."""


class LabelledRelease(msgspec.Struct, frozen=True):
    """A release with its label, and a description that tells it from the others."""

    label: str
    release: ReleaseId
    description: str = msgspec.field(name="said")


class CandidateRow(msgspec.Struct, frozen=True):
    """A candidate with its label, and the date and countries where the recording appeared on it."""

    label: str
    release_group: ReleaseGroupId
    title: str
    kind: str
    appeared: str
    countries: tuple[str, ...]
    releases: tuple[LabelledRelease, ...]
    is_proposed: bool


class Proposal(msgspec.Struct, frozen=True):
    """The release group that the adjudicator named, or the rules chose on incomplete evidence.

    If only a date is proposed, that is `first_date`, and the group is the decided one.
    """

    crg_mbid: str
    rr_mbid: str | None
    confidence: float
    label: str | None
    """None if the release group is not in the evidence."""
    first_date: str | None = None


@dataclass(frozen=True)
class ReviewCase:
    """A decision with its evidence, the number of files with the same evidence, and any damage."""

    record: DecisionRecord
    decision: Decision
    bundle: EvidenceBundle | None
    files: int = 1
    damage: str | None = None

    @property
    def path(self) -> Path:
        """The file that was decided."""
        return path_from_bytes(self.record.path)

    @cached_property
    def file(self) -> TaggedFile:
        """The file with its present tags."""
        return read_file_tags(self.path)

    @property
    def album(self) -> str | None:
        """The title of the album in the present tags, or else in the tags of the evidence."""
        former = self.bundle.tags.get("album") if self.bundle else None
        return next(iter(self.file.fields.get("album", ())), former)

    @property
    def is_gone(self) -> bool:
        """Whether the file no longer exists."""
        return not os.path.lexists(self.record.path)

    @cached_property
    def labels(self) -> Labels:
        """The candidates by label."""
        return Labels.of(self.bundle) if self.bundle else Labels({}, {}, {}, {})

    @property
    def result(self) -> AdjudicationResult | None:
        """The adjudicator's result about the group or the year, if it was asked."""
        return self.decision.model_answer

    @property
    def problem(self) -> str | None:
        """Why the adjudicator's answer decides nothing, if it was asked."""
        return self.result.problem if self.result else None

    @cached_property
    def proposal(self) -> Proposal | None:
        """The release group that the adjudicator or the rules propose, if any."""
        is_by_rules = self.result is None and self.decision.state is State.REVIEW
        date = self._year_proposed()
        proposed = self.decision if is_by_rules or date else self.decision.adjudication
        if proposed is None or not proposed.crg_mbid:
            return None
        group = self.labels.id_of(proposed.crg_mbid) or proposed.crg_mbid
        release = self.labels.id_of(proposed.rr_mbid)
        confidence = (self.result or proposed).confidence or 0.0
        return Proposal(group, release, confidence, self.labels.label_of(group), date)

    @property
    def proposes_only_date(self) -> bool:
        """Whether the group is decided, and only a date is proposed."""
        return self.proposal is not None and self.proposal.first_date is not None

    def _year_proposed(self) -> str | None:
        """Return the first date that the verified facts of an answer about the year give."""
        answer = self.decision.year_answer
        return proposed_date(self, RulesConfig()) if answer and not answer.is_accepted else None

    @cached_property
    def rows(self) -> tuple[CandidateRow, ...]:
        """The candidates, sorted by the date on which the recording appeared on them."""
        proposed = self.proposal.crg_mbid if self.proposal else None
        candidates = labelled_candidates(self.bundle) if self.bundle else ()
        return tuple(_row(label, candidate, proposed) for label, candidate in candidates)

    def present_verdict(self, rules: RulesConfig) -> Verdict | None:
        """Return the verdict of the rules on the evidence, or None without evidence."""
        return decide(self.bundle, rules) if self.bundle else None


def proposed_date(case: ReviewCase, rules: RulesConfig) -> str | None:
    """Return the date that a proposal gives the first release, or None if that does not change.

    It comes from the verified facts, or from the recordings that the model added to the evidence,
    if the year is certain with these.
    """
    before = case.decision.first_release
    if case.bundle is None or case.result is None:
        return None
    with_added = case.result.added and first_release(case.bundle, decide(case.bundle, rules), rules)
    first = with_added if with_added and with_added.year_certain else before
    first = first_by_facts(case.bundle, first, case.result, rules, are_accepted=True)
    if first is None or "/" in first.date or (before and first.date == before.date):
        return None
    return first.date


def can_be_asked(case: ReviewCase) -> bool:
    """Return whether a model may be asked about a case: its group or its year is open."""
    can_search = case.bundle is not None and not case.bundle.is_named_by_file
    return can_search and (case.proposes_only_date or bool(case.decision.questions))


def ask_model(store: "Store", case: ReviewCase, pipeline: Pipeline, run: LazyRun) -> Decision:
    """Ask a model about a case, and store the decision for all files with its evidence.

    Raises `CanonError` for a failed run, and stores nothing then.
    """
    evidence = store.evidence.get(case.record.evidence_hash or "")
    if evidence is None:
        raise StoreError(f"{case.path}: its evidence is not stored: `canon decide` gathers it anew")
    gathered = bundle_with_tags(case.record, evidence)  # without the facts of an earlier answer
    decided = attempt(lambda: decide_bundle(pipeline, gathered))
    answer = decided.decision.model_answer
    is_failed = answer is not None and answer.outcome is Outcome.ERROR
    if problem := (answer.problem if answer and is_failed else decided.decision.failure):
        raise CanonError(problem)
    assert decided.bundle is not None
    run.begin()
    for record in same_evidence(store, case.record):
        bundle = msgspec.structs.replace(decided.bundle, artifact=stored_artifact(record))
        of_file = dataclasses.replace(decided, bundle=bundle)
        decision, stored_evidence, transcript = stored_case(
            of_file, case.path, None, pipeline.versions
        )
        decision = msgspec.structs.replace(
            decision,
            path=record.path,
            file_size=record.file_size,
            file_mtime_ns=record.file_mtime_ns,
        )
        store.decisions.put(decision, stored_evidence, transcript)
        run.counts[decided.decision.state] += 1
    run.end(0 if decided.decision.state is State.DECIDED else 3)
    return decided.decision


def reasons(case: ReviewCase, verdict: Verdict | None) -> Mapping[str, str]:
    """Return why each candidate leads or does not, by its release group; texts may be empty."""
    candidates = [item for _, item in labelled_candidates(case.bundle)] if case.bundle else []
    questions = verdict.questions if isinstance(verdict, Open) else ()
    chosen = verdict.proposal if isinstance(verdict, Open) else verdict
    lost = {rival.release_group: rival.reason for rival in verdict.rivals} if verdict else {}
    earliest = next((item for item in candidates if item.counts and item.is_dated), None)
    texts: dict[str, str] = {}
    for candidate in candidates:
        text = lost.get(candidate.id, "")
        if chosen and chosen.crg == candidate.id:
            text = "the rules choose it"
        texts[candidate.id] = (
            text or _condition(candidate, questions) or _distance(candidate, earliest)
        )
    return texts


def _condition(candidate: Candidate, questions: Sequence[Question]) -> str:
    """Return the first answer after which the rules choose a candidate, or empty text."""
    for question in questions:
        for possibility in question.possibilities:
            if possibility.crg == candidate.id:
                return f"if {possibility.answer}"
    ids = {candidate.id, *(release.mb_release_id for release in candidate.group.editions)}
    kinds = [question.kind for question in questions if not ids.isdisjoint(question.about)]
    return "its date is asked for" if "date" in kinds else ""


def _distance(candidate: Candidate, earliest: Candidate | None) -> str:
    """Return how much later than the earliest candidate the recording appeared on this one."""
    if earliest is None or not candidate.is_dated:
        return "no date"
    if candidate is earliest:
        return "the earliest that is listed"
    days = (candidate.first - earliest.last, candidate.last - earliest.first)
    return f"{time_between(*days)} later" if days[0] > 0 else "perhaps as early"


def missing_sources(case: ReviewCase, config: LLMConfig, rules: RulesConfig) -> str | None:
    """Return `one of two sources for the single's date`, if a proposal lacks only sources."""
    from chart_binder.llm.open_case import OpenCase  # its regular expressions compile for 0.1 s

    result = case.result
    if case.bundle is None or result is None or result.outcome is Outcome.ACCEPTED:
        return None
    failed = {check.name for check in result.checks if not check.passed}
    if "sources" not in failed or failed - {"sources", "fact"}:
        return None
    opened = OpenCase(case.bundle, case.labels, rules, config)
    weighed = opened.weigh(result.facts)
    if not isinstance(weighed.verdict, Decided) or not weighed.lacking:
        return None
    patch, lacking = weighed.lacking[0]
    is_cited = any(fact.cited for fact in opened.verified_patches(result.facts)[patch])
    least = opened.sources_needed(is_cited=is_cited)
    numbers = dict(enumerate(_NUMBERS))
    present, required = (numbers.get(count, str(count)) for count in (least - lacking, least))
    field = _FIELD_WORDS.get(patch.field, patch.field)
    return f"{present} of {required} sources for {_short_name(case, patch.about)}'s {field}"


def asked_briefly(case: ReviewCase) -> str | None:
    """Return in a few words what the first question of a case asks for, if it has any."""
    question = next(iter(case.decision.questions), None)
    if question is None:
        return None
    about = question.about[0] if question.about else ""
    return _ASKED_BRIEFLY[question.kind].format(_short_name(case, about))


def _short_name(case: ReviewCase, mbid: str) -> str:
    """Return `the single`, or the title if several candidates are of that kind."""
    group = case.labels.home.get(mbid, mbid)
    kind = case.labels.kinds.get(group)
    if kind is None:
        return "a record"
    is_only = [*case.labels.kinds.values()].count(kind) == 1
    return f"the {kind}" if is_only else f"'{case.labels.titles[group]}'"


def review_case(store: "Store", record: DecisionRecord, files: int = 1) -> ReviewCase:
    """Return a decision as a case, with any damage to its records. Raises `StoreError`."""
    try:
        return ReviewCase(record, read_decision(record), stored_bundle(store, record), files)
    except DamagedRecordError as error:
        unreadable = Decision(State(record.state), record.decided_by, error=str(error))
        return ReviewCase(record, unreadable, None, files, str(error))


def find_case(store: "Store", name: str) -> ReviewCase:
    """Return the case of a file, or of a decision's id. Raises `CanonError`, also for an old id."""
    decision = None if Path(name).exists() else store.decisions.by_id(name)
    latest = store.decisions.latest(decision.path if decision else path_bytes(name))
    if latest is None:
        raise CanonError(
            f"{path_text(name)!r} is not decided yet: canon decide decides it"
            if Path(name).exists()
            else f"{path_text(name)!r} is neither a file nor the id of a decision"
        )
    if decision and decision.id != latest.id:
        raise CanonError(
            f"{name}: the file was decided again since: {latest.id} is its last decision"
        )
    return review_case(store, latest, len(same_evidence(store, latest)))


def same_evidence(store: "Store", record: DecisionRecord) -> tuple[DecisionRecord, ...]:
    """Return a decision and the waiting ones on the same evidence. Raises `StoreError`."""
    states = (YEAR,) if _is_by_rules(record) else OPEN_STATES
    waiting = record.evidence_hash and store.waiting.of_evidence(record.evidence_hash, states)
    return (record, *(item for item in waiting or () if item.id != record.id))


def is_waiting(store: "Store", case: ReviewCase, states: Collection[str] = QUEUED) -> bool:
    """Return whether a case waits, disregarding overrides. Raises `StoreError`."""
    return (case.proposes_only_date or not _is_by_rules(case.record)) and store.waiting.has(
        case.record.id, states
    )


def _is_by_rules(record: DecisionRecord) -> bool:
    return record.state == State.DECIDED and record.decided_by == "rules"


def overrides_near(store: "Store", case: ReviewCase) -> Mapping[str, OverrideRecord]:
    """Return the overrides for the recordings that a case may be about. Raises `StoreError`."""
    recordings = possible_recordings(case.bundle) if case.bundle else set()
    return store.overrides.of(recordings | {case.record.recording_mbid or ""})


def is_overridden(case: ReviewCase, overrides: Mapping[str, OverrideRecord]) -> bool:
    """Return whether an override settles the case."""
    override = override_for(case.bundle, overrides) if case.bundle else None
    return override is not None and override.settles


def override_removed(case: ReviewCase, overrides: Mapping[str, OverrideRecord]) -> bool:
    """Return whether the case follows an override that was removed since."""
    if case.record.decided_by != "override" and not case.decision.overruled_at:
        return False
    if case.bundle:
        return override_for(case.bundle, overrides, case.record) is None
    return RecordingId(case.record.recording_mbid or "") not in overrides


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A case in the queue, and the number of cases from it on, also those that overrides settle."""

    case: ReviewCase
    cases_left: int


def review_queue(
    store: "Store",
    overrides: Mapping[str, OverrideRecord],
    states: Collection[str],
    paths: Collection[Path] = (),
    on_unread: "UnreadHandler | None" = None,
) -> Iterator[QueueEntry]:
    """Return the waiting cases of all files or of `paths`, in the order of their decisions.

    Cases of one folder are together. Decided files with a proposed year follow, then files that are
    gone or unreadable. Decisions that cannot be read are passed to `on_unread`. Raises
    `StoreError`, and `CanonError` for an absent path.
    """
    names = {path: path_bytes(path) for path in paths}
    for path, name in names.items():
        if not path.exists() and next(store.waiting.cases(states, [name], _ignore), None) is None:
            raise CanonError(f"{path}: no such file or folder, and nothing of that name waits")
    return _entries(store, overrides, states, [*names.values()], on_unread)


def queue_by_album(queue: Iterable[QueueEntry]) -> Iterator[Sequence[QueueEntry]]:
    """Yield the cases of each album together; in `queue`, those of a folder must be consecutive."""
    for _, of_folder in groupby(queue, lambda entry: entry.case.file.album.folder):
        while held := list(islice(of_folder, _MAX_HELD)):
            numbers_left = iter([entry.cases_left for entry in held])
            for _, entries in group_by_album(held, lambda entry: entry.case.file.album):
                yield [QueueEntry(entry.case, next(numbers_left)) for entry in entries]


def is_queue_empty(
    store: "Store",
    overrides: Mapping[str, OverrideRecord],
    states: Collection[str],
    paths: Collection[Path] = (),
) -> bool:
    """Return whether no file waits, or none below `paths`. Raises `StoreError`."""
    names = [*map(path_bytes, paths)]
    return next(_entries(store, overrides, states, names, _ignore), None) is None


def _ignore(unread: UnreadDecision) -> None:
    """Report nothing, because listing the queue reports it."""


def _entries(
    store: "Store",
    overrides: Mapping[str, OverrideRecord],
    states: Collection[str],
    under: Collection[bytes],
    on_unread: "UnreadHandler | None",
) -> Iterator[QueueEntry]:
    # Only ids are held, because all files of a library may be gone, or have a proposed year.
    unanswerable: list[tuple[str, int]] = []
    years = [
        (waiting.decision.id, waiting.files)
        for waiting in store.waiting.cases({YEAR} & {*states}, under, _ignore)
        if review_case(store, waiting.decision).proposes_only_date
    ]
    for waiting in store.waiting.cases({*states} - {YEAR}, under, on_unread):
        case = review_case(store, waiting.decision, waiting.files)
        if is_overridden(case, overrides):
            continue
        if case.is_gone or case.record.state == State.UNREADABLE:
            unanswerable.append((case.record.id, waiting.files))
        else:
            yield QueueEntry(case, waiting.cases_left + len(unanswerable) + len(years))
    last = [*years, *unanswerable]
    for number, (decision_id, files) in enumerate(last):
        if record := store.decisions.by_id(decision_id):
            case = review_case(store, record, files)
            if not (case.proposes_only_date and is_overridden(case, overrides)):
                yield QueueEntry(case, len(last) - number)


def _row(label: str, candidate: Candidate, proposed: str | None) -> CandidateRow:
    releases = sorted(
        (*candidate.official, *candidate.unofficial),
        key=lambda release: (release.when.last, release.mb_release_id),
    )
    return CandidateRow(
        label,
        candidate.id,
        candidate.title,
        candidate.kind,
        candidate.when if candidate.counts else "nothing official",
        tuple(dict.fromkeys(release.place for release in releases if release.place)),
        tuple(
            LabelledRelease(name, release.mb_release_id, _release_text(release))
            for name, release in labelled_releases(label, candidate)
        ),
        is_proposed=proposed is not None and bare_id(candidate.id) == bare_id(proposed),
    )


def _release_text(release: Release) -> str:
    status = None if release.is_official else (release.standing or "of unknown status")
    return ", ".join(filter(None, (release_name(release), status)))


def unwritten_files(
    store: "Store", paths: Collection[Path] = ()
) -> Iterator[tuple[str, Sequence[UnwrittenRecord]]]:
    """Yield each reason why files were not written, with the files; all, or those below `paths`.

    Files are left out if they are gone, were decided again since, or a person wants no change.
    """
    names = [*map(path_bytes, paths)]
    for why, files in groupby(store.unwritten.all(), lambda file: file.why):
        listed = [
            file for file in files if not names or any(is_below(file.path, name) for name in names)
        ]
        decisions = current_decisions(store, [file.path for file in listed])
        present = [
            file
            for file, decision in zip(listed, decisions, strict=True)
            if isinstance(decision, DecisionRecord | None)
            and (decision.id if decision else None) == file.decision_id
            and path_from_bytes(file.path).exists()
            and not (decision and _is_left_alone(store, decision))
        ]
        if present:
            yield why, present


def _is_left_alone(store: "Store", decision: DecisionRecord) -> bool:
    """Return whether a person rejected the decision, or took it out of the queue."""
    verdict = store.verdicts.on_equal(decision)
    return verdict is not None and verdict.verdict is not VerdictKind.ACCEPT
