"""A case as a person looks at it: what waits, the question, the candidates, what was proposed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle, Release
from chart_binder.domain.ids import RecordingId, ReleaseGroupId, ReleaseId, bare_id
from chart_binder.domain.kept import KeptDecision
from chart_binder.domain.overriding import KeptOverride
from chart_binder.domain.verdict import Verdict
from chart_binder.errors import CanonError, DamagedRecordError, StoreError
from chart_binder.jobs.decision import Decision, State
from chart_binder.jobs.file_names import names_of
from chart_binder.jobs.journalled import path_of
from chart_binder.jobs.keeping import kept_bundle, kept_decision
from chart_binder.jobs.overrides import override_for
from chart_binder.jobs.tag_plan import NOT_DECIDED
from chart_binder.llm.labels import Labels, labelled, labelled_releases
from chart_binder.llm.result import AdjudicationResult
from chart_binder.react.transcript import AnyEvent, TranscriptDefectError, read_transcript
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.decide import decide

if TYPE_CHECKING:
    from chart_binder.store.store import Store

OPEN_STATES = (State.REVIEW.value, State.INDETERMINATE.value)
"""What a person has to look at."""


class Edition(msgspec.Struct, frozen=True):
    """A release with its label, and what tells it from the others."""

    label: str
    release: ReleaseId
    said: str


class Row(msgspec.Struct, frozen=True):
    """A candidate: its label, and when and where the recording came out on it."""

    label: str
    release_group: ReleaseGroupId
    title: str
    kind: str
    appeared: str
    countries: tuple[str, ...]
    releases: tuple[Edition, ...]
    """Those that have the recording, by date; the official ones first."""
    is_proposed: bool


class Proposal(msgspec.Struct, frozen=True):
    """What the adjudicator would say, however sure it was; a release only where it names one."""

    crg_mbid: str
    rr_mbid: str | None
    confidence: float
    label: str | None
    """Absent where the evidence does not have that release group."""


@dataclass(frozen=True)
class ReviewCase:
    """One decision with what a person needs to rule on it; `files` wait on the same evidence."""

    kept: KeptDecision
    decision: Decision
    bundle: EvidenceBundle | None
    files: int = 1
    damage: str | None = None
    """What cannot be read of it in the store."""

    @property
    def path(self) -> Path:
        """The file that was decided."""
        return path_of(self.kept.path)

    @property
    def is_gone(self) -> bool:
        """Whether nothing has the file's name any more; what may not be looked at is no such."""
        try:
            self.path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError):
            return False
        return False

    @cached_property
    def labels(self) -> Labels:
        """The candidates by label."""
        return Labels.of(self.bundle) if self.bundle else Labels({}, {}, {})

    @property
    def result(self) -> AdjudicationResult | None:
        """What the adjudicator came to, where one was asked."""
        return self.decision.adjudication

    @cached_property
    def proposal(self) -> Proposal | None:
        """What can be accepted, if the adjudicator named a release group."""
        result = self.result
        if result is None or not result.crg_mbid:
            return None
        group = self.labels.id_of(result.crg_mbid) or result.crg_mbid
        release = self.labels.id_of(result.rr_mbid)
        named = {known: label for label, known in self.labels.ids.items()}
        return Proposal(group, release, result.confidence, named.get(group))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The candidates, by when the recording came out on them."""
        proposed = self.proposal.crg_mbid if self.proposal else None
        found = labelled(self.bundle) if self.bundle else ()
        return tuple(_row(label, one, proposed) for label, one in found)

    def question(self, knobs: RulesConfig) -> Verdict | None:
        """Return what today's rules say of the evidence: what is open, or that nothing is."""
        return decide(self.bundle, knobs) if self.bundle else None


def review_case(store: "Store", kept: KeptDecision, files: int = 1) -> ReviewCase:
    """Return a decision as a case, also where what is kept of it is damaged.

    Raises `StoreError`.
    """
    try:
        decision = kept_decision(kept)
    except DamagedRecordError as error:
        unread = Decision(State(kept.state), kept.decided_by, error=str(error))
        return ReviewCase(kept, unread, None, files, str(error))
    try:
        return ReviewCase(kept, decision, kept_bundle(store, kept), files)
    except DamagedRecordError as error:
        return ReviewCase(kept, decision, None, files, str(error))


def case_named(store: "Store", name: str) -> ReviewCase:
    """Return the case of a file or of a decision's id, with all files of its evidence that wait.

    Raises `CanonError` where there is none, or a newer decision on the file, and `StoreError`.
    """
    found = None if Path(name).exists() else store.decisions.by_id(name)
    names = (found.path,) if found else names_of(Path(name))
    latest = next(filter(None, map(store.decisions.latest, names)), None)
    if latest is None:
        raise CanonError(f"{name}: no file with a decision, nor the id of one; {NOT_DECIDED}")
    if found and found.id != latest.id:
        raise CanonError(
            f"{name}: the file was decided again since: {latest.id} is its last decision"
        )
    return review_case(store, latest, len(same_evidence(store, latest)))


def same_evidence(store: "Store", kept: KeptDecision) -> tuple[KeptDecision, ...]:
    """Return a decision with the others on its evidence that wait. Raises `StoreError`."""
    found = kept.evidence_hash and store.waiting.of_evidence(kept.evidence_hash, OPEN_STATES)
    return (kept, *(each for each in found or () if each.id != kept.id))


def is_overridden(case: ReviewCase, overrides: Mapping[str, KeptOverride]) -> bool:
    """Tell whether a person ruled on the recording since, so that deciding again settles it."""
    return bool(case.bundle and override_for(case.bundle, overrides))


def has_lapsed(case: ReviewCase, overrides: Mapping[str, KeptOverride]) -> bool:
    """Tell whether a person's ruling decided it that is no more, so that it is to decide again."""
    was_ruled = case.kept.decided_by == "override" and not case.kept.pinned
    bundle, recording = case.bundle, case.kept.recording_mbid or ""
    ruled = override_for(bundle, overrides) if bundle else overrides.get(RecordingId(recording))
    return was_ruled and ruled is None


def transcript_of(store: "Store", case: ReviewCase) -> tuple[AnyEvent, ...]:
    """Return the adjudicator's run as it is kept. Raises `CanonError` where none is."""
    known = case.kept.transcript_id
    kept = store.transcripts.get(known) if known else None
    if kept is None:
        raise CanonError(f"no transcript is kept of {case.kept.id}: no model was asked, or it was"
                         " not recorded")  # fmt: skip
    try:
        return tuple(read_transcript(kept.document.splitlines(keepends=True)))
    except TranscriptDefectError as error:
        raise StoreError(f"the transcript {known} in the store is damaged: {error}") from error


def _row(label: str, one: Candidate, proposed: str | None) -> Row:
    releases = (*one.official, *one.aside)
    return Row(
        label,
        one.group.mb_rg_id,
        one.title,
        one.kind,
        one.when if one.counts else "nothing official",
        tuple(dict.fromkeys(_places(releases))),
        tuple(
            Edition(name, each.mb_release_id, _said(each))
            for name, each in labelled_releases(label, one)
        ),
        is_proposed=proposed is not None and bare_id(one.group.mb_rg_id) == bare_id(proposed),
    )


def _places(releases: tuple[Release, ...]) -> Iterator[str]:
    ordered = sorted(releases, key=lambda each: (each.when.last, each.mb_release_id))
    return (each.place for each in ordered if each.place)


def _said(one: Release) -> str:
    status = None if one.is_official else (one.standing or "of unknown status")
    parts = (one.when.text, one.place, one.label, one.catno, one.format, one.disambiguation, status)
    return " ".join(filter(None, parts))
