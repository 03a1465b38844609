"""Plan what decisions change in the tags of files, and write it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.file_access import FileInUseError
from chart_binder.audio.reading import read_tags
from chart_binder.audio.tagset import (
    TagSet,
)
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.records import (
    DecisionRecord,
    VerdictKind,
    VerdictRecord,
    WriteState,
)
from chart_binder.domain.tags import Chosen, Policy, wanted_fields
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import MBID, bare_id
from chart_binder.errors import AudioError, CanonError, DamagedRecordError, StoreError
from chart_binder.jobs.decide import Decision, State, advice_for, override_for
from chart_binder.jobs.journal import (
    FieldChange,
    WritingRun,
    field_changes,
    field_values,
)
from chart_binder.jobs.stored_decisions import (
    current_decision,
    path_bytes,
    read_decision,
    stored_bundle,
    stored_names,
)
from chart_binder.llm.result import why_not_written
from chart_binder.typed_json import decode_json

if TYPE_CHECKING:
    from chart_binder.store.store import Store

NO_TITLE = "(a release group that evidence has no title of)"
NOT_DECIDED = "no decision on it is kept: `canon decide` makes one"
_MINUTES_LENGTH = len("2026-11-21T15:45")


class WriteStatus(StrEnum):
    """The outcome of planning or writing the tags of one file."""

    PLANNED = "planned"
    WRITTEN = "written"
    UNDONE = "undone"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes to one file; `album` is the title of the release group.

    `is_changed` says whether any raw tag would differ, `changes` what a person is shown of it.
    """

    path: Path
    decision: DecisionRecord
    chosen: Chosen
    album: str
    bundle: EvidenceBundle
    policy: Policy
    changes: tuple[FieldChange, ...]
    is_changed: bool

    def change(self, tags: TagSet) -> TagSet:
        """Return the tags with the planned values. Raises `AudioError`."""
        fields = wanted_fields(self.chosen, self.bundle, self.policy, field_values(tags))
        return with_fields(tags, fields)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why nothing may be written into a file."""

    path: Path
    why: str
    decision: DecisionRecord | None = None


Planned: TypeAlias = Plan | Refusal


@dataclass(frozen=True, slots=True)
class WriteReport:
    """The outcome for one file; `why` is there if nothing was written as expected.

    `lost` are extended attributes that the file could not keep.
    """

    path: Path
    status: WriteStatus
    changes: tuple[FieldChange, ...] = ()
    why: str | None = None
    plan: Plan | None = None
    decision_id: str | None = None
    write_id: str | None = None
    run_id: str | None = None
    lost: tuple[str, ...] = ()

    @property
    def fate(self) -> WriteStatus:
        """Return `status`, under the name that docs/batch.md gave it until version 0.1."""
        return self.status


def write_tags(
    planner: "Planner",
    path: Path,
    run: WritingRun | None,
    plan: Callable[[], Planned] | None = None,
) -> WriteReport:
    """Plan the tags of one file, and write them if there is a `run` to write in.

    `plan` replaces the plan by the stored decision. Raises `StoreError`, without which nothing
    can be planned or journalled.
    """
    try:
        planned = plan() if plan else planner.plan(path)
        if isinstance(planned, Refusal):
            known = planned.decision.id if planned.decision else None
            return WriteReport(path, WriteStatus.REFUSED, why=planned.why, decision_id=known)
        if run:
            return _write(planned, run)
        status = WriteStatus.PLANNED if planned.is_changed else WriteStatus.UNCHANGED
        known = planned.decision.id
        return WriteReport(path, status, planned.changes, plan=planned, decision_id=known)
    except (CanonError, OSError) as error:
        if isinstance(error, StoreError) and not isinstance(error, DamagedRecordError):
            raise
        return WriteReport(path, WriteStatus.FAILED, why=str(error))


def _write(plan: Plan, run: WritingRun) -> WriteReport:
    report = partial(WriteReport, plan.path, plan=plan, decision_id=plan.decision.id)
    try:
        saved, write = run.save(plan.path, plan.change, plan.decision.id)
    except FileInUseError as error:
        return report(WriteStatus.REFUSED, why=str(error))
    except AudioError as error:
        return report(WriteStatus.FAILED, plan.changes, str(error))
    return report(
        WriteStatus.WRITTEN if saved.changed else WriteStatus.UNCHANGED,
        field_changes(saved.before, saved.after) if saved.changed else (),
        write_id=write.id if write else None,
        run_id=run.run.id if write else None,
        lost=saved.lost,
    )


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans tags by the decisions, verdicts and overrides of people in the store."""

    store: "Store"
    overrides: Mapping[str, OverrideRecord]
    policy: Policy = Policy.IDS

    def plan(self, path: Path) -> Planned:
        """Plan the tags of one file. Raises `AudioError` if it cannot be read, and `StoreError`."""
        kept = current_decision(self.store, *stored_names(path))
        if kept is None:
            return Refusal(path, NOT_DECIDED)
        return self.plan_by(path, kept, partial(stored_bundle, self.store, kept))

    def plan_by(
        self, path: Path, kept: DecisionRecord, evidence: Callable[[], EvidenceBundle | None]
    ) -> Planned:
        """Plan by a decision that need not be in the store. Raises as `plan` does."""
        decision = read_decision(kept)
        chosen = writable_ids(decision, verdict_on(self.store, kept))
        if isinstance(chosen, str):
            bundle = evidence() if self.overrides and not decision.failure else None
            if bundle and override_for(bundle, self.overrides):
                chosen = f"a person ruled on it since: {_unpin_first(kept)}decide again"
            elif decision.failure:  # what failed then may be well by now
                when = kept.decided_at_utc[:_MINUTES_LENGTH].replace("T", " ")
                advice = advice_for(decision.cause)
                chosen = f"when it was last decided, {when} UTC, {chosen}; {advice}"
            return Refusal(path, chosen, kept)
        bundle = evidence()
        if bundle is None:
            return Refusal(path, "what it was decided by is not in the store: decide again", kept)
        if contradiction := self._contradiction(kept, bundle, chosen):
            return Refusal(path, contradiction, kept)
        tags = read_tag_set(path)
        if changed := identity_change(self.store, path, kept, tags):
            how = ", and unpin what was decided before" if kept.pinned else ""
            return Refusal(path, f"{changed}{how}", kept)
        fields = wanted_fields(chosen, bundle, self.policy, field_values(tags))
        new = with_fields(tags, fields)
        return Plan(
            path=path,
            decision=kept,
            chosen=chosen,
            album=_album_title(bundle, chosen),
            bundle=bundle,
            policy=self.policy,
            changes=field_changes(tags, new),
            is_changed=new != tags,
        )

    def _contradiction(
        self, kept: DecisionRecord, bundle: EvidenceBundle, chosen: Chosen
    ) -> str | None:
        override = override_for(bundle, self.overrides)
        if override and _contradicts(override, chosen):
            return f"a person ruled otherwise since: {_unpin_first(kept)}decide again"
        was_overridden = kept.decided_by == "override" and not kept.pinned
        if was_overridden and not override and not verdict_on(self.store, kept):
            return "the ruling of a person that decided it was removed since: decide again"
        return None


def verdict_on(store: "Store", decision: DecisionRecord) -> VerdictRecord | None:
    """Return the newest acceptance or rejection of a decision, if any.

    A rejection also holds for an equal decision that was made again by the same evidence and
    rules. Raises `StoreError`.
    """
    history = store.verdicts.history(decision.id)
    found = next((each for each in history if each.verdict is not VerdictKind.KEEP), None)
    if found or history or decision.adjudicator is None:
        return found
    before = store.verdicts.on_the_same(decision)
    return before if before and before.verdict is VerdictKind.REJECT else None


def writable_ids(decision: Decision, verdict: VerdictRecord | None) -> Chosen | str:
    """Return the ids that may be written of a decision, or the reason why none may."""
    accepted = verdict if verdict and verdict.verdict is VerdictKind.ACCEPT else None
    if not accepted and (why_not := _why_not(decision, verdict)):
        return why_not
    named = accepted if accepted and accepted.crg_mbid else decision
    if not named.crg_mbid:
        return f"nothing was decided: {decision.failure or decision.rationale or decision.state}"
    ids = (decision.recording_mbid, named.crg_mbid, named.rr_mbid)
    odd = next((one for one in ids if one and not MBID.fullmatch(one)), None)
    if odd:
        return f"{odd!r} is no MusicBrainz id (a UUID)"
    return Chosen(decision.recording_mbid, named.crg_mbid, named.rr_mbid, decision.trace)


def _why_not(decision: Decision, verdict: VerdictRecord | None) -> str | None:
    if verdict is not None:
        return f"a person rejected it{f': {verdict.reason}' if verdict.reason else ''}"
    match decision.state:
        case State.UNMATCHED | State.UNREADABLE | State.ERROR:
            return f"{decision.state}: {decision.failure}"
        case State.INDETERMINATE:
            return f"undecided: {decision.rationale or 'the facts do not tell'}"
    if decision.adjudication is not None:
        unseen = why_not_written(decision.adjudication)
        is_for_person = unseen and not decision.is_stale
        return f"a person has to look at it: {unseen}" if is_for_person else unseen
    return None if decision.state is State.DECIDED else f"it is for {decision.state}"


def identity_change(
    store: "Store", path: Path, kept: DecisionRecord, tags: TagSet | None = None
) -> str | None:
    """Return why a file may be another recording than the one decided, `None` if it is the same.

    `tags` are the file's present tags, if they were read. Raises `AudioError`, `OSError` and
    `StoreError`.
    """
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) == (kept.file_size, kept.file_mtime_ns):
        return None
    if _are_written_tags(store, path, kept, tags or read_tag_set(path)):
        return None
    now = read_tags(path)
    if now.recording_mbid and now.recording_mbid == kept.recording_mbid:
        return None
    then = _tags_when_decided(kept)
    identity = (now.recording_mbid, "; ".join(now.isrcs) or None, now.artist, now.title)
    if identity == tuple(then.get(name) for name in ("recording_mbid", "isrc", "artist", "title")):
        return None
    return "its tags changed since it was decided, and may mean another recording: decide again"


def _are_written_tags(store: "Store", path: Path, kept: DecisionRecord, tags: TagSet) -> bool:
    """Return whether the tags are those last written by canon into the file that was decided.

    Another file may have had this path since, and have been written by a decision of its own.
    """
    writes = store.journal.of_path(path_bytes(path))
    done = next((write for write in writes if write.state is WriteState.DONE), None)
    if done is None or done.tags_after_hash != tags.hash or done.decision_id is None:
        return False
    try:
        by = store.decisions.by_id(done.decision_id)
    except DamagedRecordError:  # then the tags are compared
        return False
    file = (kept.file_size, kept.file_mtime_ns, kept.artifact)
    return by is not None and (by.file_size, by.file_mtime_ns, by.artifact) == file


def _tags_when_decided(kept: DecisionRecord) -> Mapping[str, str | None]:
    try:
        then = decode_json(kept.artifact, Artifact) if kept.artifact else Artifact()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedRecordError(
            f"what the file said when {kept.id} was decided is damaged in the store: {error}"
        ) from error
    return then.tags or {}


def _unpin_first(kept: DecisionRecord) -> str:
    return "unpin it, then " if kept.pinned else ""


def _contradicts(override: OverrideRecord, chosen: Chosen) -> bool:
    """Return whether an override names another release group, or another release of it."""
    if bare_id(override.crg_mbid) != bare_id(chosen.release_group):
        return True
    release = bare_id(chosen.release) if chosen.release else None
    return override.rr_mbid is not None and bare_id(override.rr_mbid) != release


def _album_title(bundle: EvidenceBundle, chosen: Chosen) -> str:
    groups = (group for one in bundle.recording_candidates for group in one.groups)
    found = next((group for group in groups if group.mb_rg_id == chosen.release_group), None)
    if found is None:
        return NO_TITLE
    return found.title or next((one.title for one in found.editions if one.title), NO_TITLE)
