"""What a person ruled before is named before another ruling takes its place."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle, Release
from chart_binder.domain.records import KeptDecision, UnreadDecision
from chart_binder.domain.verdict import KeptOverride, Verdict
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId, bare_id
from chart_binder.errors import CanonError, DamagedRecordError, StoreError
from chart_binder.jobs.decide import Decision, State
from chart_binder.jobs.journal import path_from_bytes
from chart_binder.jobs.overrides import override_for
from chart_binder.jobs.stored_decisions import read_decision, stored_bundle, stored_names
from chart_binder.jobs.write import NOT_DECIDED
from chart_binder.llm.answer import Labels, labelled_candidates, labelled_releases
from chart_binder.llm.result import AdjudicationResult
from chart_binder.react.transcript import AnyEvent, TranscriptDefectError, read_transcript
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.decide import decide

if TYPE_CHECKING:
    from chart_binder.store.decisions import UnreadHandler
    from chart_binder.store.store import Store


OPEN_STATES = (State.REVIEW.value, State.INDETERMINATE.value)
"""What a person has to look at."""


class Edition(msgspec.Struct, frozen=True):
    """A release with its label, and what tells it from the others."""

    label: str
    release: ReleaseId
    said: str


class CandidateRow(msgspec.Struct, frozen=True):
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
        return path_from_bytes(self.kept.path)

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
    def rows(self) -> tuple[CandidateRow, ...]:
        """The candidates, by when the recording came out on them."""
        proposed = self.proposal.crg_mbid if self.proposal else None
        found = labelled_candidates(self.bundle) if self.bundle else ()
        return tuple(_row(label, one, proposed) for label, one in found)

    def question(self, knobs: RulesConfig) -> Verdict | None:
        """Return what today's rules say of the evidence: what is open, or that nothing is."""
        return decide(self.bundle, knobs) if self.bundle else None


def review_case(store: "Store", kept: KeptDecision, files: int = 1) -> ReviewCase:
    """Return a decision as a case, also where what is kept of it is damaged.

    Raises `StoreError`.
    """
    try:
        decision = read_decision(kept)
    except DamagedRecordError as error:
        unread = Decision(State(kept.state), kept.decided_by, error=str(error))
        return ReviewCase(kept, unread, None, files, str(error))
    try:
        return ReviewCase(kept, decision, stored_bundle(store, kept), files)
    except DamagedRecordError as error:
        return ReviewCase(kept, decision, None, files, str(error))


def find_case(store: "Store", name: str) -> ReviewCase:
    """Return the case of a file or of a decision's id, with all files of its evidence that wait.

    Raises `CanonError` where there is none, or a newer decision on the file, and `StoreError`.
    """
    found = None if Path(name).exists() else store.decisions.by_id(name)
    names = (found.path,) if found else stored_names(Path(name))
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


def override_removed(case: ReviewCase, overrides: Mapping[str, KeptOverride]) -> bool:
    """Tell whether a person's ruling decided it that is no more, so that it is to decide again."""
    was_ruled = case.kept.decided_by == "override" and not case.kept.pinned
    bundle, recording = case.bundle, case.kept.recording_mbid or ""
    ruled = override_for(bundle, overrides) if bundle else overrides.get(RecordingId(recording))
    return was_ruled and ruled is None


def read_case_transcript(store: "Store", case: ReviewCase) -> tuple[AnyEvent, ...]:
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


def _row(label: str, one: Candidate, proposed: str | None) -> CandidateRow:
    releases = (*one.official, *one.unofficial)
    return CandidateRow(
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


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A case in the queue; `left` are from it on, that a person's override may settle included."""

    case: ReviewCase
    left: int


def review_queue(
    store: "Store",
    overrides: Mapping[str, KeptOverride],
    states: Collection[str],
    paths: Collection[Path] = (),
    unread: "UnreadHandler | None" = None,
) -> Iterator[QueueEntry]:
    """Return the queue, or what of it is in files and folders, by when it was last decided.

    A case of which what it rests on is damaged is one, too, and says so; a decision that cannot be
    read itself is left out, and told to `unread`.

    Raises `StoreError`, and `CanonError` for a path that is not there and of which nothing waits.
    """
    under = {path: stored_names(path) for path in paths}
    for path, names in under.items():
        if not path.exists() and _is_nothing(store, states, names):
            raise CanonError(f"{path}: no such file or folder, and nothing of that name waits")
    named = [name for names in under.values() for name in names]
    return _queued(store, overrides, states, named, unread)


def _is_nothing(store: "Store", states: Collection[str], names: Collection[bytes]) -> bool:
    return next(store.waiting.cases(states, names, _ignored), None) is None


def is_queue_empty(
    store: "Store",
    overrides: Mapping[str, KeptOverride],
    states: Collection[str],
    paths: Collection[Path] = (),
) -> bool:
    """Tell whether nothing waits, of all or of files and folders. Raises `StoreError`."""
    names = [name for path in paths for name in stored_names(path)]
    return next(_queued(store, overrides, states, names, _ignored), None) is None


def _ignored(left_out: UnreadDecision) -> None:
    """Say nothing: whoever lists the queue is told."""


def _queued(
    store: "Store",
    overrides: Mapping[str, KeptOverride],
    states: Collection[str],
    under: Collection[bytes],
    unread: "UnreadHandler | None" = None,
) -> Iterator[QueueEntry]:
    for waits in store.waiting.cases(states, under, unread):
        case = review_case(store, waits.decision, waits.files)
        if not is_overridden(case, overrides):
            yield QueueEntry(case, waits.left)


DECIDE_AGAIN = "to be decided again: canon decide, or canon batch"
_FEW = 3


def own_overrides(store: "Store", case: ReviewCase) -> tuple[KeptOverride, ...]:
    """Return the overrides that came with earlier verdicts on the decision.

    One that was set since, by itself, is none. Raises `StoreError`.
    """
    given = {(each.at_utc, each.crg_mbid) for each in store.verdicts.history(case.kept.id)}
    everything = store.overrides.all().values() if given else ()
    return tuple(each for each in everything if (each.set_at_utc, each.crg_mbid) in given)


def replaced_overrides(
    store: "Store",
    case: ReviewCase,
    new: KeptOverride,
    before: Collection[KeptOverride],
    *,
    replaces: bool,
) -> Iterator[str]:
    """Yield what another ruling on a case puts aside, and which other files that reaches.

    Raises `CanonError` where that is what a person said elsewhere of the recording, and the new
    one speaks against it, unless it `replaces` that; and `StoreError`.
    """
    standing = store.overrides.all().get(new.recording_mbid)
    if standing is None or standing in before:
        replaced = tuple(before)
    else:
        replaced = (*before, standing)
        if _speaks_against(new, standing) and not replaces:
            raise CanonError(
                f"{case.path}: a person ruled otherwise on its recording:"
                f" {describe_override(case, standing)}{_files(store, case, standing)}; --replace"
                " rules so for all of them"
            )
    for each in replaced:
        others = _files(store, case, each) if _speaks_against(new, each) else ""
        yield f"in place of {describe_override(case, each)}{others}"


def describe_override(case: ReviewCase, ruled: KeptOverride) -> str:
    """Return what a person ruled, by name, with when and why."""
    known = next((one for one in case.labels.titles if bare_id(one) == ruled.crg_mbid), None)
    named = case.labels.name_of(known) if known else f"release group {ruled.crg_mbid}"
    return f"{named}, said {ruled.set_at_utc} ({ruled.reason})"


def decisions_by_override(store: "Store", ruled: KeptOverride) -> tuple[KeptDecision, ...]:
    """Return the last decisions of files that an override made. Raises `StoreError`."""
    reached = store.verdicts.reached_by(ruled)
    return tuple(each for each in reached if each.decided_by == "override" and not each.pinned)


def list_files(kept: Iterable[KeptDecision]) -> str:
    """Return the files of decisions, the first few by name."""
    paths = [each.path.decode("utf-8", "replace") for each in kept]
    more = len(paths) - _FEW
    named = ", ".join(paths[: _FEW if more > 0 else None])
    return f"{named} and {more} more" if more > 0 else named


def _speaks_against(new: KeptOverride, old: KeptOverride) -> bool:
    releases = {each.rr_mbid for each in (new, old) if each.rr_mbid}
    return new.crg_mbid != old.crg_mbid or len(releases) > 1


def _files(store: "Store", case: ReviewCase, ruled: KeptOverride) -> str:
    reached = store.verdicts.reached_by(ruled)
    named = list_files(each for each in reached if each.path != case.kept.path)
    return f", which holds for {named} too" if named else ""
