"""Write what decisions say into the tags of files, by a plan for each album."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.field_table import written_keys
from chart_binder.audio.fields import all_fields, item_texts, not_copied, with_fields
from chart_binder.audio.file_access import FileInUseError
from chart_binder.audio.reading import read_names
from chart_binder.audio.save import NotWritableError, check_tags
from chart_binder.audio.tagset import TagChanges, TagSet
from chart_binder.domain import records
from chart_binder.domain.albums import AlbumKey, album_key
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.tags import (
    ChosenIds,
    DecidedTrack,
    Fields,
    Policy,
    WantedFields,
    WholeRelease,
    WriteOptions,
    move,
    recordings_of,
)
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import MBID, bare_id
from chart_binder.errors import CanonError, DamagedRecordError, LookupFailedError, StoreError
from chart_binder.files import absolute_path
from chart_binder.jobs import journal, stored_decisions
from chart_binder.jobs.decision import WAITING_STATES, Decision, State, advice_for
from chart_binder.jobs.pipeline import override_for
from chart_binder.jobs.stored_decisions import RecordsOfFiles
from chart_binder.llm.result import why_not_written
from chart_binder.rules.first_release import with_override

if TYPE_CHECKING:
    from chart_binder.store import Store

NOT_DECIDED = "no decision on it is kept: `canon decide` makes one"
_NO_EVIDENCE = "what it was decided by is not in the store: decide again"
_OPEN = (
    "its release group is undecided, and waits in `canon review`; its date does not depend on it"
)
_OVERRIDE_REMOVED = "the override that decided it was removed since: decide again"
_DATES = WriteOptions()
_NOTHING = EvidenceBundle(())

ReleaseLookup: TypeAlias = Callable[[str], WholeRelease | None]
WritesOf: TypeAlias = Callable[[Path], Sequence[records.WriteRecord]]


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
    """A file with the texts of its tags and its album by these, or the `problem` in reading."""

    path: Path
    container: str
    fields: Fields
    album: AlbumKey
    problem: CanonError | OSError | None = None


@dataclass(frozen=True, slots=True)
class TagDraft:
    """A file whose decision may be written, before its album is looked at.

    `withheld` says why not; such a file only gets what keeps its album whole.
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
    """The changes to one file; one `of_whole` is for all files of its album or for none.

    `changes` are what a person is shown, `after` has the fields after it, `not_copied` names what
    players no longer read, because the new tag hides it and cannot hold it.
    """

    draft: TagDraft
    policy: Policy
    wanted: Callable[[Fields], WantedFields]
    changes: tuple[journal.FieldChange, ...]
    is_changed: bool
    after: Fields
    notes: tuple[str, ...] = ()
    withheld: str | None = None
    of_whole: bool = False
    not_copied: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file."""
        return self.draft.path

    def change(self, tags: TagSet) -> TagSet:
        """Return the tags with the planned values. Raises `AudioError`."""
        return with_fields(tags, self.wanted(all_fields(tags)).fields)


@dataclass(frozen=True, slots=True)
class WriteReport:
    """The outcome for one file; `why` is there if nothing was written as expected.

    `notes` name what stays against the decision, `withheld` why its purpose was not met, `lost`
    attributes and times that could not be kept. `in_review`: it waits for a person anyhow. Of an
    undoing, `kept` are written and `others` not written keys that were changed since, and stay.
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
    kept_keys: tuple[journal.ChangedKey, ...] = ()
    other_keys: tuple[journal.ChangedKey, ...] = ()

    @property
    def not_copied(self) -> tuple[str, ...]:
        """What of other tags the new one hides and cannot hold."""
        return self.plan.not_copied if self.plan else ()

    @property
    def waits(self) -> bool:
        """Whether a person has to look at the file, although something may be written into it."""
        is_open = self.plan is not None and self.plan.draft.track.chosen.release_group is None
        return is_open or self.withheld is not None or bool(self.kept_keys)


PlanOrReport: TypeAlias = TagPlan | WriteReport
"""A plan, or the report of a file that nothing may be written into, or that could not be read."""


def refused(
    file: TaggedFile, why: str, decision: records.DecisionRecord | None = None
) -> WriteReport:
    """Return the report of a file that nothing may be written into."""
    return WriteReport(
        file.path,
        WriteStatus.REFUSED,
        why=why,
        decision_id=decision.id if decision else None,
        file=file,
        in_review=decision is not None and decision.state in WAITING_STATES,
    )


def why_text(error: CanonError) -> str:
    """Return why a file is not written, without its path where that is known."""
    return error.why if isinstance(error, NotWritableError) else str(error)


def read_file_tags(path: Path) -> TaggedFile:
    """Read the tags of a file, or note why they cannot be read."""
    try:
        tags = read_tag_set(path)
    except (CanonError, OSError) as error:
        return TaggedFile(path, "", {}, _album_key(path, {}), error)
    fields = all_fields(tags)
    return TaggedFile(path, tags.container, fields, _album_key(path, fields))


def _album_key(path: Path, fields: Fields) -> AlbumKey:
    return album_key(Path(absolute_path(path)), fields)


def write_planned(planned: PlanOrReport, run: journal.WritingRun | None) -> WriteReport:
    """Write a plan if there is a `run`; a report is returned as it is. Raises `StoreError`."""
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
    """Plans tags by what is in the store; `releases` has tracks, which `Policy.MOVE` needs.

    With `copy_links` a file with other names (hard links) may be written, too.
    """

    store: "Store"
    overrides: Mapping[str, OverrideRecord]
    options: WriteOptions = _DATES
    releases: ReleaseLookup | None = None
    copy_links: bool = False

    def draft(self, file: TaggedFile, stored: RecordsOfFiles) -> TagDraft | WriteReport:
        """Return what may be written of the decision on a file, or why nothing may."""
        kept = stored.decision(file.path)
        if kept is None:
            return refused(file, NOT_DECIDED)
        decision = stored_decisions.read_decision(kept)
        override, decision = self._overruled(file.path, kept, decision, stored)
        verdict = stored.verdict(kept)
        chosen = self._writable(decision, verdict)
        withheld = chosen if isinstance(chosen, str) else None
        if isinstance(chosen, str):
            if not self.options.also_date or file.album.release or file.problem:
                return self._refusal(file, kept, decision, chosen, override)
            chosen = ChosenIds(None, None, None, None)
        if file.problem:
            raise file.problem
        bundle = stored.bundle(file.path, kept)
        if bundle is None and withheld:
            bundle = _NOTHING
        if bundle is None:
            return refused(file, _NO_EVIDENCE, kept)
        why = _contradiction(decision, bundle, chosen, override)
        if not why and not override and not verdict and _was_overridden(kept, decision):
            why = _OVERRIDE_REMOVED
        if why := why or identity_change(self.store, file.path, kept, stored.writes):
            return refused(file, why, kept)
        notes = () if chosen.release_group or withheld else (_OPEN,)
        own_dates = _written_dates(file, stored.writes)
        track = DecidedTrack(chosen, bundle, None if withheld else decision.first_release)
        return TagDraft(file, kept, track, notes, own_dates, withheld)

    def plan(self, draft: TagDraft, wanted: Callable[[Fields], WantedFields]) -> TagPlan:
        """Return the plan of a file by what its fields should be.

        Raises `AudioError` and `SaveError` where saving it would.
        """
        planned: list[tuple[Fields, WantedFields]] = []

        def change(tags: TagSet) -> TagSet:
            before = all_fields(tags)
            planned.append((before, wanted(before)))
            return with_fields(tags, planned[-1][1].fields)

        tags, new = check_tags(draft.path, change, copy_links=self.copy_links)
        ((before, wish),) = planned
        after = all_fields(new) if new != tags else before
        return TagPlan(
            draft=draft,
            policy=self.options.policy,
            wanted=wanted,
            changes=journal.field_changes(tags, new, (before, after)),
            is_changed=new != tags,
            after=after,
            notes=(*draft.notes, *wish.notes),
            withheld=draft.withheld or wish.withheld,
            not_copied=not_copied(tags) if new != tags else (),
        )

    def move(self, draft: TagDraft) -> Callable[[Fields], WantedFields] | WriteReport:
        """Return what makes a file a track of the representative release, or why nothing does."""
        refusal = partial(refused, draft.file, decision=draft.decision)
        track = draft.track
        if not track.chosen.release:
            return refusal("no release of its group was decided for, so there is none to move to")
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
        """Return the ids to write (none for an open case that is dated), or why none."""
        chosen = writable_ids(decision, verdict)
        is_open = decision.state in (State.UNDECIDED, State.REVIEW)
        is_dated = decision.first_release is not None and decision.first_release.year_certain
        is_date_asked = self.options.policy is Policy.DATES and not verdict
        if isinstance(chosen, str) and is_open and is_dated and is_date_asked:
            return ChosenIds(None, None, None, decision.trace)
        return chosen

    def _overruled(
        self, path: Path, kept: records.DecisionRecord, decision: Decision, stored: RecordsOfFiles
    ) -> tuple[OverrideRecord | None, Decision]:
        """Return the override for a file, and its decision with the date that a person said."""
        is_asked = self.overrides and not decision.failure
        bundle = stored.bundle(path, kept) if is_asked else None
        override = override_for(bundle, self.overrides, kept) if bundle else None
        if bundle is None or override is None:
            return None, decision
        first = with_override(decision.first_release, override, bundle)
        return override, msgspec.structs.replace(decision, first_release=first)

    def _refusal(
        self,
        file: TaggedFile,
        kept: records.DecisionRecord,
        decision: Decision,
        why: str,
        override: OverrideRecord | None,
    ) -> WriteReport:
        if override and override.set_at_utc != decision.overruled_at:
            why = "a person decided on it since: decide again"
        elif decision.failure:  # what failed then may be well by now
            when = records.local_time(kept.decided_at_utc)
            why = f"{why} (looked at {when}); {advice_for(decision.cause)}"
        return refused(file, why, kept)


def writable_ids(decision: Decision, verdict: records.VerdictRecord | None) -> ChosenIds | str:
    """Return the ids that may be written of a decision, or the reason why none may."""
    accepted = verdict if verdict and verdict.verdict is records.VerdictKind.ACCEPT else None
    if not accepted and (why_not := _why_not(decision, verdict)):
        return why_not
    named = accepted if accepted and accepted.crg_mbid else decision
    if not named.crg_mbid:
        return f"nothing was decided: {decision.failure or decision.rationale or decision.state}"
    ids = (decision.recording_mbid, named.crg_mbid, named.rr_mbid)
    odd = next((one for one in ids if one and not MBID.fullmatch(one)), None)
    if odd:
        return f"{odd!r} is no MusicBrainz id (a UUID)"
    return ChosenIds(decision.recording_mbid, named.crg_mbid, named.rr_mbid, decision.trace)


def _why_not(decision: Decision, verdict: records.VerdictRecord | None) -> str | None:
    if verdict is not None:
        return f"a person rejected it{f': {verdict.reason}' if verdict.reason else ''}"
    match decision.state:
        case State.UNMATCHED | State.UNREADABLE | State.ERROR:
            return f"{decision.state}: {decision.failure}"
        case State.UNDECIDED:
            return f"undecided: {decision.rationale or 'the facts do not decide it'}"
    if decision.adjudication is not None:
        unseen = why_not_written(decision.adjudication)
        return f"a person has to look at it: {unseen}" if unseen else None
    return None if decision.state is State.DECIDED else f"it is for {decision.state}"


def identity_change(
    store: "Store", path: Path, kept: records.DecisionRecord, writes: WritesOf | None = None
) -> str | None:
    """Return why a file may be another recording than the one decided, else `None`."""
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) == (kept.file_size, kept.file_mtime_ns):
        return None
    of_file = writes(path) if writes else store.journal.of_path(stored_decisions.path_bytes(path))
    if _are_written_tags(store, path, kept, next(journal.only_done(of_file), None)):
        return None
    now = read_names(path)
    if now.recording_mbid and now.recording_mbid == kept.recording_mbid:
        return None
    then = (stored_decisions.stored_artifact(kept) or Artifact()).tags or {}
    identity = (now.recording_mbid, "; ".join(now.isrcs) or None, now.artist, now.title)
    if identity == tuple(then.get(name) for name in ("recording_mbid", "isrc", "artist", "title")):
        return None
    return "its tags changed since it was decided, and may mean another recording: decide again"


def _are_written_tags(
    store: "Store", path: Path, kept: records.DecisionRecord, done: records.WriteRecord | None
) -> bool:
    """Return whether the tags are those that canon wrote last into the file that was decided."""
    if done is None or done.decision_id is None:
        return False
    if done.tags_after_hash != read_tag_set(path).hash:
        return False
    try:
        is_same = done.decision_id == kept.id
        by = kept if is_same else store.decisions.by_id(done.decision_id)
    except DamagedRecordError:  # then the tags are compared
        return False
    file = (kept.file_size, kept.file_mtime_ns, kept.artifact)
    return by is not None and (by.file_size, by.file_mtime_ns, by.artifact) == file


def _written_dates(file: TaggedFile, writes: WritesOf) -> frozenset[str]:
    """Return the original dates that this program last wrote into a file that has any."""
    names = ("original_date", "original_year")
    if not file.fields.keys() & {*names}:
        return frozenset()
    keys = {key.casefold() for name in names for key in written_keys(name)}
    for write in journal.only_done(writes(file.path)):
        found = frozenset(
            text
            for change in TagChanges.from_json(write.changes).changes
            if change.key.casefold() in keys
            for placed in change.new
            for text in item_texts(change.form, placed.item) or ()
        )
        if found:
            return found
    return frozenset()


def _was_overridden(kept: records.DecisionRecord, decision: Decision) -> bool:
    return kept.decided_by == "override" or bool(decision.overruled_at)


def _contradiction(
    decision: Decision, bundle: EvidenceBundle, chosen: ChosenIds, override: OverrideRecord | None
) -> str | None:
    if override and override.crg_mbid and chosen.release_group is None:
        return "a person decided on it since: decide again"
    if override and _contradicts(override, decision, bundle, chosen):
        return "a person decided otherwise since: decide again"
    return None


def _contradicts(
    override: OverrideRecord, decision: Decision, bundle: EvidenceBundle, chosen: ChosenIds
) -> bool:
    """Return whether a decision follows another override, or one says what it does not."""
    if decision.overruled_at and decision.overruled_at != override.set_at_utc:
        return True
    if override.same_as and override.same_as not in map(bare_id, bundle.all_ids.ids):
        return True
    if override.crg_mbid and bare_id(override.crg_mbid) != bare_id(chosen.release_group or ""):
        return True
    release = bare_id(chosen.release) if chosen.release else None
    return override.rr_mbid is not None and bare_id(override.rr_mbid) != release
