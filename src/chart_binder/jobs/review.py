"""The cases that wait for a person: their queue, and what is shown of each."""

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
from chart_binder.domain.albums import group_by_album
from chart_binder.domain.evidence import EvidenceBundle, Release
from chart_binder.domain.patches import (
    DATE,
    FIRST_DATE,
    PREMIERE,
    PRIMARY_TYPE,
    SECONDARY_TYPES,
)
from chart_binder.domain.records import (
    YEAR,
    DecisionRecord,
    UnreadDecision,
    UnwrittenRecord,
    VerdictKind,
)
from chart_binder.domain.verdict import Decided, Open, OverrideRecord, Question, Verdict
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId, bare_id
from chart_binder.errors import CanonError, DamagedRecordError, StoreError
from chart_binder.jobs.decision import WAITING_STATES, Decision, State, first_by_facts
from chart_binder.jobs.explain import reason_alone
from chart_binder.jobs.pipeline import Pipeline, attempt, decide_bundle, override_for
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
from chart_binder.jobs.write import TaggedFile, read_file_tags
from chart_binder.llm.events import read_run
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.react.transcript import AnyEvent, TranscriptDefectError
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.contest import time_between
from chart_binder.rules.decide import decide
from chart_binder.rules.labels import Labels, labelled_candidates, labelled_releases

if TYPE_CHECKING:
    from chart_binder.store import Store
    from chart_binder.store.decisions import UnreadHandler

OPEN_STATES = tuple(state.value for state in WAITING_STATES)
QUEUED = (*OPEN_STATES, YEAR)
"""The states of the queue, and `YEAR` for decided files whose year a model proposes."""
_MAX_HELD = 200
"""Cases of one folder that are read at once, to bring those of an album together."""
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
    "missing_original": "the original, which is not listed",
    "tie": "which came out first",
}
"""What each kind of question asks for, about a record."""


class LabelledRelease(msgspec.Struct, frozen=True):
    """A release with its label, and a text that tells it from the others."""

    label: str
    release: ReleaseId
    said: str


class CandidateRow(msgspec.Struct, frozen=True):
    """A candidate with its label, and when and where the recording appeared on it."""

    label: str
    release_group: ReleaseGroupId
    title: str
    kind: str
    appeared: str
    countries: tuple[str, ...]
    releases: tuple[LabelledRelease, ...]
    is_proposed: bool


class Proposal(msgspec.Struct, frozen=True):
    """The answer of the adjudicator, however sure, or what the rules say of cut evidence.

    If only the year is proposed, `first_date` is that, and the group is the decided one.
    """

    crg_mbid: str
    rr_mbid: str | None
    confidence: float
    label: str | None
    """Absent if the evidence does not have the release group."""
    first_date: str | None = None


@dataclass(frozen=True)
class ReviewCase:
    """A decision, `files` with the same evidence, and what is damaged of its records."""

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
        """The tags of the file as they are now, and its album by these."""
        return read_file_tags(self.path)

    @property
    def album(self) -> str | None:
        """The title of its album in its tags, else in those that it was decided by."""
        before = self.bundle.tags.get("album") if self.bundle else None
        return next(iter(self.file.fields.get("album", ())), before)

    @property
    def is_gone(self) -> bool:
        """Whether the file does not exist any more."""
        return not os.path.lexists(self.record.path)

    @cached_property
    def labels(self) -> Labels:
        """The candidates by label."""
        return Labels.of(self.bundle) if self.bundle else Labels({}, {}, {}, {})

    @property
    def result(self) -> AdjudicationResult | None:
        """The adjudicator's result, if one was asked, be it about the year alone."""
        return self.decision.model_answer

    @property
    def problem(self) -> str | None:
        """Why the adjudicator's answer decides nothing."""
        return self.result.problem if self.result else None

    @cached_property
    def proposal(self) -> Proposal | None:
        """The release group that the adjudicator named, or the rules by cut evidence, if any."""
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
    def is_year(self) -> bool:
        """Whether the group is decided, and a year is proposed."""
        return self.proposal is not None and self.proposal.first_date is not None

    def _year_proposed(self) -> str | None:
        """Return the first date by the verified facts of an answer about the year."""
        answer = self.decision.year_answer
        return date_by_facts(self, RulesConfig()) if answer and not answer.is_accepted else None

    @cached_property
    def rows(self) -> tuple[CandidateRow, ...]:
        """The candidates, by when the recording appeared on them."""
        proposed = self.proposal.crg_mbid if self.proposal else None
        found = labelled_candidates(self.bundle) if self.bundle else ()
        return tuple(_row(label, one, proposed) for label, one in found)

    def question(self, rules: RulesConfig) -> Verdict | None:
        """Return today's verdict of the rules on the evidence, if there is evidence."""
        return decide(self.bundle, rules) if self.bundle else None


def date_by_facts(case: ReviewCase, rules: RulesConfig) -> str | None:
    """Return the first date by the verified facts of a proposal, if they change it."""
    before = case.decision.first_release
    if case.bundle is None or case.result is None:
        return None
    first = first_by_facts(case.bundle, before, case.result, rules, are_accepted=True)
    if first is None or "/" in first.date or (before and first.date == before.date):
        return None
    return first.date


def can_be_asked(case: ReviewCase) -> bool:
    """Return whether a model may look into a case: it is open, or its year is."""
    is_named = case.bundle is None or case.bundle.is_named_by_file
    return not is_named and (case.is_year or bool(case.decision.questions))


def ask_model(store: "Store", case: ReviewCase, pipeline: Pipeline, run: LazyRun) -> Decision:
    """Ask a model about a case, and store what comes of it for all files with its evidence.

    Raises `CanonError` for a failed run, of which nothing is stored.
    """
    evidence = store.evidence.get(case.record.evidence_hash or "")
    if evidence is None:
        raise StoreError(f"{case.path}: its evidence is not stored: `canon decide` gathers it anew")
    gathered = bundle_with_tags(case.record, evidence)  # without what an earlier answer brought in
    made = attempt(lambda: decide_bundle(pipeline, gathered))
    answer = made.decision.model_answer
    is_failed = answer is not None and answer.outcome is Outcome.ERROR
    if problem := (answer.problem if answer and is_failed else made.decision.failure):
        raise CanonError(problem)
    assert made.bundle is not None
    run.begin()
    for kept in same_evidence(store, case.record):
        bundle = msgspec.structs.replace(made.bundle, artifact=stored_artifact(kept))
        of_file = dataclasses.replace(made, bundle=bundle)
        record, found, transcript = stored_case(of_file, case.path, None, pipeline.versions)
        read = {"path": kept.path, "file_size": kept.file_size, "file_mtime_ns": kept.file_mtime_ns}
        store.decisions.put(msgspec.structs.replace(record, **read), found, transcript)
        run.counts[made.decision.state] += 1
    run.end(0 if made.decision.state is State.DECIDED else 3)
    return made.decision


def reasons(case: ReviewCase, verdict: Verdict | None) -> Mapping[str, str]:
    """Return why each candidate leads or does not, by its release group; some have no reason."""
    found = [one for _, one in labelled_candidates(case.bundle)] if case.bundle else []
    questions = verdict.questions if isinstance(verdict, Open) else ()
    by_rules = verdict.proposal if isinstance(verdict, Open) else verdict
    said = {rival.release_group: rival.why_not for rival in verdict.rivals} if verdict else {}
    leader = next((one for one in found if one.counts and one.is_dated), None)
    texts: dict[str, str] = {}
    for one in found:
        text = reason_alone(one.kind, said.get(one.id, ""))
        if by_rules and by_rules.crg == one.id:
            text = "the rules choose it"
        texts[one.id] = text or _conditions(one, questions) or _place(one, leader)
    return texts


def _conditions(one: Candidate, questions: Sequence[Question]) -> str:
    """Return by which answers a candidate would be chosen, or what is asked about it."""
    answers = (
        answer.answer.partition(" on the ")[0]
        for question in questions
        for answer in question.possibilities
        if answer.crg == one.id
    )
    if answer := next(answers, None):
        return f"if {answer.removeprefix('on ')}".replace("first came out", "first came out there")
    mine = {one.id, *(release.mb_release_id for release in one.group.editions)}
    kinds = [question.kind for question in questions if not mine.isdisjoint(question.about)]
    return "its date is asked for" if "date" in kinds else ""


def _place(one: Candidate, leader: Candidate | None) -> str:
    """Return how a candidate stands to the earliest one by its date."""
    if leader is None or not one.is_dated:
        return "no date"
    if one is leader:
        return "the earliest that is listed"
    days = (one.first - leader.last, one.last - leader.first)
    return f"{time_between(*days)} later" if days[0] > 0 else "perhaps as early"


def sources_short(case: ReviewCase, config: LLMConfig, rules: RulesConfig) -> str | None:
    """Return which sources are all that a proposal lacks: `one of two sources for ...`."""
    from chart_binder.llm.open_case import OpenCase  # compiles 0.1 s of expressions

    result = case.result
    if case.bundle is None or result is None or result.outcome is Outcome.ACCEPTED:
        return None
    failed = {check.name for check in result.checks if not check.passed}
    if "sources" not in failed or failed - {"sources", "fact"}:
        return None
    opened = OpenCase(case.bundle, case.labels, rules, config)
    weighed = opened.weigh(result.facts)
    if not isinstance(weighed.verdict, Decided) or not weighed.short:
        return None
    patch, lacking = weighed.short[0]
    is_cited = any(fact.cited for fact in opened.verified_patches(result.facts)[patch])
    least = opened.sources_needed(is_cited=is_cited)
    numbers = dict(enumerate(_NUMBERS))
    there, wanted = (numbers.get(count, str(count)) for count in (least - lacking, least))
    field = _FIELD_WORDS.get(patch.field, patch.field)
    return f"{there} of {wanted} sources for {_short_name(case, patch.about)}'s {field}"


def asked_briefly(case: ReviewCase) -> str | None:
    """Return what the first open question of a decision asks for, in a few words."""
    question = next(iter(case.decision.questions), None)
    if question is None:
        return None
    about = question.about[0] if question.about else ""
    return _ASKED_BRIEFLY[question.kind].format(_short_name(case, about))


def _short_name(case: ReviewCase, mbid: str) -> str:
    """Return `the single`, or a title where several candidates are of that kind."""
    group = case.labels.home.get(mbid, mbid)
    kind = case.labels.kinds.get(group)
    if kind is None:
        return "a record"
    is_only = [*case.labels.kinds.values()].count(kind) == 1
    return f"the {kind}" if is_only else f"'{case.labels.titles[group]}'"


def review_case(store: "Store", kept: DecisionRecord, files: int = 1) -> ReviewCase:
    """Return a decision as a case; damage of its records is in it. Raises `StoreError`."""
    decision = None
    try:
        decision, bundle = read_decision(kept), stored_bundle(store, kept)
        return ReviewCase(kept, decision, bundle, files)
    except DamagedRecordError as error:
        unread = Decision(State(kept.state), kept.decided_by, error=str(error))
        return ReviewCase(kept, decision or unread, None, files, str(error))


def find_case(store: "Store", name: str) -> ReviewCase:
    """Return the case of a file or a decision's id. Raises `CanonError` if it is not the latest."""
    found = None if Path(name).exists() else store.decisions.by_id(name)
    latest = store.decisions.latest(found.path if found else path_bytes(name))
    if latest is None:
        raise CanonError(
            f"{name}: no decision on a file of this name, or with this id, is stored;"
            " `canon decide` makes one"
        )
    if found and found.id != latest.id:
        raise CanonError(
            f"{name}: the file was decided again since: {latest.id} is its last decision"
        )
    return review_case(store, latest, len(same_evidence(store, latest)))


def same_evidence(store: "Store", kept: DecisionRecord) -> tuple[DecisionRecord, ...]:
    """Return a decision and the waiting ones on the same evidence. Raises `StoreError`."""
    states = (YEAR,) if _is_by_rules(kept) else OPEN_STATES
    found = kept.evidence_hash and store.waiting.of_evidence(kept.evidence_hash, states)
    return (kept, *(each for each in found or () if each.id != kept.id))


def is_waiting(store: "Store", case: ReviewCase, states: Collection[str] = QUEUED) -> bool:
    """Return whether a case waits, overrides aside. Raises `StoreError`."""
    return (case.is_year or not _is_by_rules(case.record)) and store.waiting.has(
        case.record.id, states
    )


def _is_by_rules(kept: DecisionRecord) -> bool:
    return kept.state == State.DECIDED and kept.decided_by == "rules"


def is_overridden(case: ReviewCase, overrides: Mapping[str, OverrideRecord]) -> bool:
    """Return whether an override applies to the case after which nobody has to look at it."""
    override = override_for(case.bundle, overrides) if case.bundle else None
    return override is not None and override.settles


def override_removed(case: ReviewCase, overrides: Mapping[str, OverrideRecord]) -> bool:
    """Return whether the case follows an override that was removed since."""
    if case.record.decided_by != "override" and not case.decision.overruled_at:
        return False
    if case.bundle:
        return override_for(case.bundle, overrides, case.record) is None
    return RecordingId(case.record.recording_mbid or "") not in overrides


def read_case_transcript(store: "Store", case: ReviewCase) -> tuple[AnyEvent, ...]:
    """Return the events of the adjudicator's run. Raises `CanonError` if none was recorded."""
    known = case.record.transcript_id
    kept = store.transcripts.get(known) if known else None
    if kept is None:
        raise CanonError(
            f"no transcript is kept of {case.record.id}: no model was asked, or it was not recorded"
        )
    try:
        return tuple(read_run(kept.document.splitlines(keepends=True)))
    except TranscriptDefectError as error:
        raise StoreError(f"the transcript {known} in the store is damaged: {error}") from error


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A case in the queue, with how many are left, those that an override decides included."""

    case: ReviewCase
    left: int


def review_queue(
    store: "Store",
    overrides: Mapping[str, OverrideRecord],
    states: Collection[str],
    paths: Collection[Path] = (),
    unread: "UnreadHandler | None" = None,
) -> Iterator[QueueEntry]:
    """Return the waiting cases, of all files or of `paths`, by when they were last decided.

    Those of one folder are together; then come decided files whose year is proposed, then files
    that are gone. Decisions that cannot be read are passed to `unread`. Raises `StoreError`, and
    `CanonError` for an absent path.
    """
    under = {path: path_bytes(path) for path in paths}
    for path, name in under.items():
        if not path.exists() and next(store.waiting.cases(states, [name], _ignore), None) is None:
            raise CanonError(f"{path}: no such file or folder, and nothing of that name waits")
    return _entries(store, overrides, states, [*under.values()], unread)


def queue_by_album(queue: Iterable[QueueEntry]) -> Iterator[Sequence[QueueEntry]]:
    """Yield the cases of each album together, where a queue has those of a folder together."""
    for _, of_folder in groupby(queue, lambda entry: entry.case.file.album.folder):
        while some := list(islice(of_folder, _MAX_HELD)):
            lefts = iter([entry.left for entry in some])
            for _, entries in group_by_album(some, lambda entry: entry.case.file.album):
                yield [QueueEntry(entry.case, next(lefts)) for entry in entries]


def is_queue_empty(
    store: "Store",
    overrides: Mapping[str, OverrideRecord],
    states: Collection[str],
    paths: Collection[Path] = (),
) -> bool:
    """Return whether nothing waits, of all files or of `paths`. Raises `StoreError`."""
    names = [*map(path_bytes, paths)]
    return next(_entries(store, overrides, states, names, _ignore), None) is None


def _ignore(unread: UnreadDecision) -> None:
    """Report nothing: listing the queue does."""


def _entries(
    store: "Store",
    overrides: Mapping[str, OverrideRecord],
    states: Collection[str],
    under: Collection[bytes],
    unread: "UnreadHandler | None",
) -> Iterator[QueueEntry]:
    # Ids alone: a whole library may be out of reach, or have years that a model proposes.
    gone: list[tuple[str, int]] = []
    years = [
        (waiting.decision.id, waiting.files)
        for waiting in store.waiting.cases({YEAR} & {*states}, under, _ignore)
        if review_case(store, waiting.decision).is_year
    ]
    for waiting in store.waiting.cases({*states} - {YEAR}, under, unread):
        case = review_case(store, waiting.decision, waiting.files)
        if is_overridden(case, overrides):
            continue
        if case.is_gone:
            gone.append((case.record.id, waiting.files))
        else:
            yield QueueEntry(case, waiting.left + len(gone) + len(years))
    left = [*years, *gone]
    for number, (name, files) in enumerate(left):
        if kept := store.decisions.by_id(name):
            case = review_case(store, kept, files)
            if not (case.is_year and is_overridden(case, overrides)):
                yield QueueEntry(case, len(left) - number)


def _row(label: str, one: Candidate, proposed: str | None) -> CandidateRow:
    releases = sorted(
        (*one.official, *one.unofficial), key=lambda each: (each.when.last, each.mb_release_id)
    )
    return CandidateRow(
        label,
        one.id,
        one.title,
        one.kind,
        one.when if one.counts else "nothing official",
        tuple(dict.fromkeys(each.place for each in releases if each.place)),
        tuple(
            LabelledRelease(name, each.mb_release_id, _release_text(each))
            for name, each in labelled_releases(label, one)
        ),
        is_proposed=proposed is not None and bare_id(one.id) == bare_id(proposed),
    )


def _release_text(one: Release) -> str:
    status = None if one.is_official else (one.standing or "of unknown status")
    parts = (one.when.text, one.place, one.label, one.catno, one.format, one.disambiguation, status)
    return " ".join(filter(None, parts))


def unwritten_files(
    store: "Store", paths: Collection[Path] = ()
) -> Iterator[tuple[str, Sequence[UnwrittenRecord]]]:
    """Yield each reason why files were not written, with the files, of all or below `paths`.

    Files that are gone, decided again since, or to be left as they are, are left out.
    """
    names = [*map(path_bytes, paths)]
    for why, files in groupby(store.unwritten.all(), lambda one: one.why):
        found = [
            one for one in files if not names or any(is_below(one.path, name) for name in names)
        ]
        kept = current_decisions(store, [one.path for one in found])
        there = [
            one
            for one, decision in zip(found, kept, strict=True)
            if isinstance(decision, DecisionRecord | None)
            and (decision.id if decision else None) == one.decision_id
            and path_from_bytes(one.path).exists()
            and not (decision and _is_rejected_or_kept(store, decision))
        ]
        if there:
            yield why, there


def _is_rejected_or_kept(store: "Store", decision: DecisionRecord) -> bool:
    verdict = store.verdicts.on_the_same(decision)
    return verdict is not None and verdict.verdict is not VerdictKind.ACCEPT
