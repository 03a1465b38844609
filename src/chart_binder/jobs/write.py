"""Write decisions into the tags of files, according to a plan for each album."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.field_table import written_keys
from chart_binder.audio.fields import all_fields, item_texts, not_copied, with_fields
from chart_binder.audio.locks import FileInUseError
from chart_binder.audio.reading import read_names
from chart_binder.audio.save import NotWritableError, check_tags
from chart_binder.audio.tagset import TagChanges, TagSet
from chart_binder.domain import records
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.tag_policies import (
    ChosenIds,
    DecidedTrack,
    Policy,
    WantedFields,
    WriteOptions,
    move,
    recordings_of,
)
from chart_binder.domain.tags import AlbumKey, Fields, WholeRelease, album_key
from chart_binder.domain.verdict import OverrideRecord, SaidBy
from chart_binder.domain.vocabulary import MBID, bare_id
from chart_binder.errors import CanonError, DamagedRecordError, LookupFailedError, StoreError
from chart_binder.files import absolute_path
from chart_binder.jobs import journal, stored_decisions
from chart_binder.jobs.decision import WAITING_STATES, Decision, State, advice_for
from chart_binder.jobs.pipeline import with_stated_date
from chart_binder.jobs.stored_decisions import RecordsOfFiles
from chart_binder.llm.result import why_not_written

if TYPE_CHECKING:
    from chart_binder.store import Store

_OPEN = "its release group is undecided, but its date does not depend on that"
_DATES = WriteOptions()
_NO_IDS = ChosenIds(None, None, None, None)

ReleaseLookup: TypeAlias = Callable[[str], WholeRelease | None]
WritesOf: TypeAlias = Callable[[Path], Sequence[records.WriteRecord]]
FieldEdit: TypeAlias = Callable[[Fields], WantedFields]
"""Takes the fields of a file, and returns those that it should have."""


class NeedsDecision(StrEnum):
    """Why a file is not written although a new decision would allow it."""

    NEVER_DECIDED = "not decided yet: `canon decide` decides it"
    NO_EVIDENCE = "its evidence is not in the store: decide again"
    OVERRIDE_REMOVED = "the override that decided it has been removed: decide again"
    OVERRIDE_NEW = "a person decided on it since: decide again"
    OVERRIDE_DIFFERS = "a person decided otherwise since: decide again"
    TAGS_CHANGED = (
        "its tags changed since it was decided, and may mean another recording: decide again"
    )


class WriteStatus(StrEnum):
    """The outcome of planning or writing the tags of one file."""

    PLANNED = "planned"
    WRITTEN = "written"
    UNDONE = "undone"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TaggedFile:
    """A file with the fields of its tags and their album, or the `problem` of reading it."""

    path: Path
    container: str
    fields: Fields
    album: AlbumKey
    problem: CanonError | OSError | None = None


@dataclass(frozen=True, slots=True)
class TagDraft:
    """A file with the decision to write, before the rest of its album is considered.

    If the decision may not be written, `withheld` says why; the file then only gets the fields that
    keep its album together.
    """

    file: TaggedFile
    decision: records.DecisionRecord
    track: DecidedTrack
    notes: tuple[str, ...] = ()
    own_dates: frozenset[str] = frozenset()
    withheld: str | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return self.file.path


@dataclass(frozen=True, slots=True)
class TagPlan:
    """The changes to one file; if `is_all_or_nothing`, its album is written whole or not at all.

    `changes` are for display, `after` has the fields after the write. `not_copied` has the texts of
    other tags that players no longer read, because the new tag hides them and cannot hold them.
    """

    draft: TagDraft
    policy: Policy
    edit: FieldEdit
    changes: tuple[journal.FieldChange, ...]
    is_changed: bool
    after: Fields
    notes: tuple[str, ...] = ()
    withheld: str | None = None
    is_all_or_nothing: bool = False
    not_copied: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file."""
        return self.draft.path

    def change(self, tags: TagSet) -> TagSet:
        """Return the tags with the planned values. Raises `AudioError`."""
        return with_fields(tags, self.edit(all_fields(tags)).fields)


@dataclass(frozen=True, slots=True)
class WriteReport:
    """The outcome for one file; `why` says why it was not written.

    `notes` name fields that stay although the decision differs, `withheld` says why the decision
    was not written in full, `lost` names file attributes and times that could not be preserved.
    `in_review`: the file waits in `canon review` for another reason. `is_failed`: it could not
    be decided, but another try may succeed. After an undo, `kept_keys` are written keys and
    `other_keys` unwritten ones that were changed since the write, and stay.
    """

    path: Path
    status: WriteStatus
    changes: tuple[journal.FieldChange, ...] = ()
    why: str | None = None
    plan: TagPlan | None = None
    decision_id: str | None = None
    write_id: str | None = None
    run_id: str | None = None
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    withheld: str | None = None
    file: TaggedFile | None = None
    in_review: bool = False
    is_failed: bool = False
    kept_keys: tuple[journal.ChangedKey, ...] = ()
    other_keys: tuple[journal.ChangedKey, ...] = ()

    @property
    def not_copied(self) -> tuple[str, ...]:
        """The texts of other tags that the new tag hides and cannot hold."""
        return self.plan.not_copied if self.plan else ()

    @property
    def waits(self) -> bool:
        """Whether the file needs a person, even if something was written into it."""
        is_open = self.plan is not None and self.plan.draft.track.chosen.release_group is None
        return is_open or self.withheld is not None or bool(self.kept_keys)

    @property
    def is_dated(self) -> bool:
        """Whether it is written with a date that a person stated."""
        first = self.plan.draft.track.first if self.plan and not self.withheld else None
        return first is not None and first.by is SaidBy.PERSON


PlanOrReport: TypeAlias = TagPlan | WriteReport
"""A plan, or the report on a file that must not be written or could not be read."""


def refused(
    file: TaggedFile, why: str, decision: records.DecisionRecord | None = None
) -> WriteReport:
    """Return the report on a file that must not be written."""
    return WriteReport(
        file.path,
        WriteStatus.REFUSED,
        why=why,
        decision_id=decision.id if decision else None,
        file=file,
        in_review=decision is not None and decision.state in WAITING_STATES,
        is_failed=decision is not None and decision.state == State.ERROR,
    )


def why_text(error: CanonError) -> str:
    """Return the text of an error, without the path of the file if that can be left out."""
    return error.why if isinstance(error, NotWritableError) else str(error)


def read_file_tags(path: Path) -> TaggedFile:
    """Read the tags of a file; if that fails, the result has the error as its `problem`."""
    absolute = Path(absolute_path(path))
    try:
        tags = read_tag_set(path)
    except (CanonError, OSError) as error:
        return TaggedFile(path, "", {}, album_key(absolute, {}), error)
    fields = all_fields(tags)
    return TaggedFile(path, tags.container, fields, album_key(absolute, fields))


def write_planned(planned: PlanOrReport, run: journal.WritingRun | None) -> WriteReport:
    """Write a planned file, or without a `run` only report the plan; return a report unchanged.

    Raises `StoreError`.
    """
    if isinstance(planned, WriteReport):
        return planned
    report = WriteReport(
        planned.path,
        WriteStatus.PLANNED if planned.is_changed else WriteStatus.UNCHANGED,
        planned.changes,
        plan=planned,
        decision_id=planned.draft.decision.id,
        notes=planned.notes,
        withheld=planned.withheld,
        file=planned.draft.file,
        in_review=planned.draft.track.chosen.release_group is None,
    )
    if run is None:
        return report
    try:
        saved, write = run.save(planned.path, planned.change, planned.draft.decision.id)
    except (FileInUseError, NotWritableError) as error:
        return replace(report, status=WriteStatus.REFUSED, changes=(), why=why_text(error))
    except (CanonError, OSError) as error:
        if isinstance(error, StoreError) and not isinstance(error, DamagedRecordError):
            raise
        return replace(report, status=WriteStatus.FAILED, why=str(error))
    return replace(
        report,
        status=WriteStatus.WRITTEN if saved.changed else WriteStatus.UNCHANGED,
        changes=journal.field_changes(saved.before, saved.after) if saved.changed else (),
        write_id=write.id if write else None,
        run_id=run.run.id if write else None,
        lost=saved.lost,
    )


@dataclass(frozen=True, slots=True)
class TagPlanner:
    """Plans the tags of files from stored decisions.

    `Policy.MOVE` needs `releases`, which looks up the tracks of a release. With `copy_links`, files
    with several names (hard links) may be written.
    """

    store: "Store"
    overrides: Mapping[str, OverrideRecord]
    options: WriteOptions = _DATES
    releases: ReleaseLookup | None = None
    copy_links: bool = False

    def draft(self, file: TaggedFile, stored: RecordsOfFiles) -> TagDraft | WriteReport:
        """Return a file with the decision to write, or a report that says why there is none."""
        record = stored.decision(file.path)
        if record is None:
            return refused(file, NeedsDecision.NEVER_DECIDED)
        decision = stored_decisions.read_decision(record)
        override, decision = self._with_override(file.path, record, decision, stored)
        verdict = stored.verdict(record)
        chosen = self._writable(decision, verdict)
        withheld = chosen if isinstance(chosen, str) else None
        if isinstance(chosen, str):
            if not self.options.also_date or file.album.release or file.problem:
                reason = _reason(record, decision, chosen, override)
                if not file.problem:  # the reason may be about tags that are corrected by now
                    changed = identity_change(self.store, file.path, record, stored.writes)
                    reason = changed or reason
                return refused(file, reason, record)
            chosen = _NO_IDS
        if file.problem:
            raise file.problem
        bundle = stored.bundle(file.path, record)
        if bundle is None and not withheld:
            return refused(file, NeedsDecision.NO_EVIDENCE, record)
        bundle = bundle or EvidenceBundle(())
        why = _contradiction(override, decision, bundle, chosen) if override else None
        is_overridden = record.decided_by == "override" or decision.overruled_at
        if is_overridden and not override and not verdict:
            why = NeedsDecision.OVERRIDE_REMOVED
        if why := why or identity_change(self.store, file.path, record, stored.writes):
            return refused(file, why, record)
        notes = () if chosen.release_group or withheld else (_OPEN,)
        own_dates = _written_dates(file, stored.writes)
        track = DecidedTrack(chosen, bundle, None if withheld else decision.first_release)
        return TagDraft(file, record, track, notes, own_dates, withheld)

    def plan(self, draft: TagDraft, edit: FieldEdit) -> TagPlan:
        """Return the plan for a file; `edit` chooses its fields.

        Raises the `AudioError` or `SaveError` that saving it would raise.
        """
        edits: list[tuple[Fields, WantedFields]] = []

        def change(tags: TagSet) -> TagSet:
            before = all_fields(tags)
            edits.append((before, edit(before)))
            return with_fields(tags, edits[-1][1].fields)

        tags, new = check_tags(draft.path, change, copy_links=self.copy_links)
        ((before, result),) = edits
        after = all_fields(new) if new != tags else before
        return TagPlan(
            draft=draft,
            policy=self.options.policy,
            edit=edit,
            changes=journal.field_changes(tags, new),
            is_changed=new != tags,
            after=after,
            notes=(*draft.notes, *result.notes),
            withheld=draft.withheld or result.withheld,
            not_copied=not_copied(tags) if new != tags else (),
        )

    def move(self, draft: TagDraft) -> FieldEdit | WriteReport:
        """Return the edit that makes a file a track of the representative release.

        Returns a report if that is impossible.
        """
        refusal = partial(refused, draft.file, decision=draft.decision)
        track = draft.track
        if not track.chosen.release:
            return refusal("no release of its group was chosen, so it cannot be moved to one")
        try:
            release = self.releases(track.chosen.release) if self.releases else None
        except LookupFailedError as error:
            return refusal(f"the tracks of its release are not known: {error}")
        if release is None:
            return refusal("MusicBrainz does not have the chosen release any more: decide again")
        length = track.bundle.artifact.duration_ms if track.bundle.artifact else None
        place = release.track_of(recordings_of(track), length)
        if place is None:
            return refusal(
                f"the recording is not among the tracks of {release.title!r}: decide again"
            )
        return partial(move, track, release=release, place=place, own_dates=draft.own_dates)

    def _writable(
        self, decision: Decision, verdict: records.VerdictRecord | None
    ) -> ChosenIds | str:
        """Return the ids to write (no ids for an open case with a certain year), or why not."""
        chosen = writable_ids(decision, verdict)
        is_open = decision.state in (State.UNDECIDED, State.REVIEW)
        is_dated = decision.first_release is not None and decision.first_release.year_certain
        is_date_asked = self.options.policy is Policy.DATES and not verdict
        if isinstance(chosen, str) and is_open and is_dated and is_date_asked:
            return ChosenIds(None, None, None, decision.trace)
        return chosen

    def _with_override(
        self, path: Path, record: records.DecisionRecord, decision: Decision, stored: RecordsOfFiles
    ) -> tuple[OverrideRecord | None, Decision]:
        """Return the override for a file, and its decision with the first release it states."""
        may_apply = self.overrides and not decision.failure
        bundle = stored.bundle(path, record) if may_apply else None
        if bundle is None:
            return None, decision
        return with_stated_date(decision, record, bundle, self.overrides)


def _reason(
    record: records.DecisionRecord, decision: Decision, why: str, override: OverrideRecord | None
) -> str:
    """Return why a decision is not written: a newer override, or `why`, perhaps with advice."""
    if override and override.set_at_utc != decision.overruled_at:
        return NeedsDecision.OVERRIDE_NEW
    if decision.failure:  # the cause may be gone by now
        when = records.local_time(record.decided_at_utc)
        return f"{why} (looked at {when}); {advice_for(decision.cause)}"
    return why


def writable_ids(decision: Decision, verdict: records.VerdictRecord | None) -> ChosenIds | str:
    """Return the ids of a decision that may be written, or the reason why they may not."""
    accepted = verdict if verdict and verdict.verdict is records.VerdictKind.ACCEPT else None
    if not accepted and (why_not := _why_not(decision, verdict)):
        return why_not
    choice = accepted if accepted and accepted.crg_mbid else decision
    if not choice.crg_mbid:
        return f"nothing was decided: {decision.failure or decision.rationale or decision.state}"
    for mbid in (decision.recording_mbid, choice.crg_mbid, choice.rr_mbid):
        if mbid and not MBID.fullmatch(mbid):
            return f"{mbid!r} is not a MusicBrainz id (a UUID)"
    return ChosenIds(decision.recording_mbid, choice.crg_mbid, choice.rr_mbid, decision.trace)


def _why_not(decision: Decision, verdict: records.VerdictRecord | None) -> str | None:
    if verdict is not None:
        return f"a person rejected it{f': {verdict.reason}' if verdict.reason else ''}"
    match decision.state:
        case State.UNMATCHED | State.UNREADABLE | State.ERROR:
            return f"{decision.state}: {decision.failure}"
        case State.UNDECIDED:
            return f"undecided: {decision.rationale or 'the facts do not decide it'}"
    if decision.adjudication is not None:
        why_not = why_not_written(decision.adjudication)
        return f"a person has to look at it: {why_not}" if why_not else None
    return None if decision.state is State.DECIDED else f"it is for {decision.state}"


def identity_change(
    store: "Store", path: Path, record: records.DecisionRecord, writes: WritesOf | None = None
) -> str | None:
    """Return why a file may hold another recording than the decided one, or None if it does not."""
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) == (record.file_size, record.file_mtime_ns):
        return None
    of_file = writes(path) if writes else store.journal.of_path(stored_decisions.path_bytes(path))
    if _has_last_written_tags(store, path, record, next(journal.only_done(of_file), None)):
        return None
    names = read_names(path)
    if names.recording_mbid and names.recording_mbid == record.recording_mbid:
        return None
    stored_tags = (stored_decisions.stored_artifact(record) or Artifact()).tags or {}
    identity = (names.recording_mbid, "; ".join(names.isrcs) or None, names.artist, names.title)
    if identity == tuple(
        stored_tags.get(name) for name in ("recording_mbid", "isrc", "artist", "title")
    ):
        return None
    return NeedsDecision.TAGS_CHANGED


def _has_last_written_tags(
    store: "Store", path: Path, record: records.DecisionRecord, write: records.WriteRecord | None
) -> bool:
    """Return whether the tags are those that the last write left in the file that was decided."""
    if write is None or write.decision_id is None:
        return False
    if write.tags_after_hash != read_tag_set(path).hash:
        return False
    try:
        is_same = write.decision_id == record.id
        decided = record if is_same else store.decisions.by_id(write.decision_id)
    except DamagedRecordError:  # the tags are compared instead
        return False
    file = (record.file_size, record.file_mtime_ns, record.artifact)
    return decided is not None and file == (
        decided.file_size,
        decided.file_mtime_ns,
        decided.artifact,
    )


def _written_dates(file: TaggedFile, writes: WritesOf) -> frozenset[str]:
    """Return the original dates that the last write put into a file that still has any."""
    names = ("original_date", "original_year")
    if not file.fields.keys() & {*names}:
        return frozenset()
    keys = {key.casefold() for name in names for key in written_keys(name)}
    for write in journal.only_done(writes(file.path)):
        dates = frozenset(
            text
            for change in TagChanges.from_json(write.changes).changes
            if change.key.casefold() in keys
            for placed in change.new
            for text in item_texts(change.form, placed.item) or ()
        )
        if dates:
            return dates
    return frozenset()


def _contradiction(
    override: OverrideRecord, decision: Decision, bundle: EvidenceBundle, chosen: ChosenIds
) -> str | None:
    """Return how an override contradicts a decision, or None if the decision agrees with it."""
    if override.crg_mbid and chosen.release_group is None:
        return NeedsDecision.OVERRIDE_NEW
    release = bare_id(chosen.release) if chosen.release else None
    differs = (
        (decision.overruled_at and decision.overruled_at != override.set_at_utc)
        or (override.same_as and override.same_as not in map(bare_id, bundle.all_ids.ids))
        or (override.crg_mbid and bare_id(override.crg_mbid) != bare_id(chosen.release_group or ""))
        or (override.rr_mbid is not None and bare_id(override.rr_mbid) != release)
    )
    return NeedsDecision.OVERRIDE_DIFFERS if differs else None
