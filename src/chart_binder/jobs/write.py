"""What is planned for files is written into them, or why it is not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.file_access import FileInUseError
from chart_binder.audio.save import SaveResult
from chart_binder.audio.tagset import TagSet
from chart_binder.config import AcceptanceConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.records import KeptDecision
from chart_binder.domain.tags import Chosen, Fields, Policy, wanted_fields
from chart_binder.domain.verdict import KeptOverride
from chart_binder.domain.vocabulary import bare_id
from chart_binder.errors import AudioError, CanonError, DamagedRecordError, StoreError
from chart_binder.jobs.decide import Decision, State
from chart_binder.jobs.journal import FieldChange, WritingRun, field_changes, field_values
from chart_binder.jobs.overrides import override_for
from chart_binder.jobs.stored_decisions import (
    advice_for,
    current_decision,
    identity_change,
    read_decision,
    stored_bundle,
    stored_names,
    verdict_on,
    writable_ids,
)

if TYPE_CHECKING:
    from chart_binder.store.store import Store


NO_TITLE = "(a release group that evidence has no title of)"
_TO_THE_MINUTE = len("2026-11-21T15:45")
NOT_DECIDED = "no decision on it is kept: `canon decide` makes one"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written into one file; `album` is what the release group is called.

    `is_changed` says whether any record of its tags would be another.
    """

    path: Path
    decision: KeptDecision
    chosen: Chosen
    album: str
    bundle: EvidenceBundle
    policy: Policy
    changes: tuple[FieldChange, ...]
    is_changed: bool

    def change(self, tags: TagSet) -> TagSet:
        """Return the tags with what is to be written; raise `AudioError`."""
        return with_fields(tags, self.fields(tags))

    def fields(self, tags: TagSet) -> Fields:
        """Return what the fields are to say."""
        return wanted_fields(self.chosen, self.bundle, self.policy, field_values(tags))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing may be written into a file."""

    path: Path
    why: str
    decision: KeptDecision | None = None


Planned: TypeAlias = Plan | Refusal


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans by what is kept in the store."""

    store: "Store"
    acceptance: AcceptanceConfig
    overrides: Mapping[str, KeptOverride]
    policy: Policy = Policy.IDS

    def plan(self, path: Path) -> Planned:
        """Plan for one file. Raises `AudioError` where it cannot be read, and `StoreError`."""
        kept = current_decision(self.store, *stored_names(path))
        if kept is None:
            return Refusal(path, NOT_DECIDED)
        return self.plan_by(path, kept, partial(stored_bundle, self.store, kept))

    def plan_by(
        self, path: Path, kept: KeptDecision, evidence: Callable[[], EvidenceBundle | None]
    ) -> Planned:
        """Plan for one file by a decision that need not be in the store; raise as `plan` does."""
        decision = read_decision(kept)
        chosen = writable_ids(decision, verdict_on(self.store, kept), self.acceptance)
        if isinstance(chosen, str):
            ruled = self._ruled_since(kept, evidence)
            return Refusal(path, ruled or _then(kept, decision, chosen), kept)
        bundle = evidence()
        if bundle is None:
            return Refusal(path, "what it was decided by is not in the store: decide again", kept)
        if why := self._overruled(kept, bundle, chosen):
            return Refusal(path, why, kept)
        tags = read_tag_set(path)
        if why := identity_change(self.store, path, kept, tags):
            how = ", and unpin what was decided before" if kept.pinned else ""
            return Refusal(path, f"{why}{how}", kept)
        fields = wanted_fields(chosen, bundle, self.policy, field_values(tags))
        new = with_fields(tags, fields)
        return Plan(
            path, kept, chosen, _album(bundle, chosen), bundle, self.policy,
            field_changes(tags, new), is_changed=new != tags,
        )  # fmt: skip

    def _ruled_since(
        self, kept: KeptDecision, evidence: Callable[[], EvidenceBundle | None]
    ) -> str | None:
        """Return that a person ruled where a decision alone may not be written."""
        bundle = evidence() if self.overrides and kept.state != State.ERROR else None
        if bundle is None or not override_for(bundle, self.overrides):
            return None
        return f"a person ruled on it since: {_unpinning(kept)}decide again"

    def _overruled(self, kept: KeptDecision, bundle: EvidenceBundle, chosen: Chosen) -> str | None:
        """Return how what people rule today speaks against a decision."""
        ruled = override_for(bundle, self.overrides)
        if ruled and _contradicts(ruled, chosen):
            return f"a person ruled otherwise since: {_unpinning(kept)}decide again"
        was_ruled = kept.decided_by == "override" and not kept.pinned
        if was_ruled and not ruled and not verdict_on(self.store, kept):
            return "the ruling of a person that decided it was removed since: decide again"
        return None


def _then(kept: KeptDecision, decision: Decision, why: str) -> str:
    """Return why nothing was decided, with when that was: the cause may be gone by now."""
    if decision.state is not State.ERROR:
        return why
    when = kept.decided_at_utc[:_TO_THE_MINUTE].replace("T", " ")
    return f"when it was last decided, {when} UTC, {why}; {advice_for(decision.cause)}"


def _unpinning(kept: KeptDecision) -> str:
    return "unpin it, then " if kept.pinned else ""


def _contradicts(ruled: KeptOverride, chosen: Chosen) -> bool:
    """Say whether a person names another release group, or another release of it."""
    if bare_id(ruled.crg_mbid) != bare_id(chosen.release_group):
        return True
    release = bare_id(chosen.release) if chosen.release else None
    return ruled.rr_mbid is not None and bare_id(ruled.rr_mbid) != release


def _album(bundle: EvidenceBundle, chosen: Chosen) -> str:
    groups = (group for one in bundle.recording_candidates for group in one.groups)
    found = next((group for group in groups if group.mb_rg_id == chosen.release_group), None)
    if found is None:
        return NO_TITLE
    return found.title or next((one.title for one in found.editions if one.title), NO_TITLE)


class WriteStatus(StrEnum):
    """How it went with the tags of one file."""

    PLANNED = "planned"
    WRITTEN = "written"
    UNDONE = "undone"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What became of one file; `why` where nothing was written that somebody may have expected."""

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
    planner: Planner,
    path: Path,
    run: WritingRun | None,
    plan: Callable[[], Planned] | None = None,
) -> WriteReport:
    """Plan for one file, and write it where there is a run to write in.

    `plan` plans for it otherwise than by what is kept.

    Raises `StoreError`: without a store nothing can be planned, nor journalled.
    """
    try:
        planned = plan() if plan else planner.plan(path)
        return _told(planned) if run is None else _applied(planned, run)
    except DamagedRecordError as error:
        return WriteReport(path, WriteStatus.FAILED, why=str(error))
    except StoreError:
        raise
    except (CanonError, OSError) as error:
        return WriteReport(path, WriteStatus.FAILED, why=str(error))


def _told(planned: Planned) -> WriteReport:
    if isinstance(planned, Refusal):
        known = planned.decision.id if planned.decision else None
        return WriteReport(planned.path, WriteStatus.REFUSED, why=planned.why, decision_id=known)
    fate = WriteStatus.PLANNED if planned.is_changed else WriteStatus.UNCHANGED
    return WriteReport(
        planned.path, fate, planned.changes, plan=planned, decision_id=planned.decision.id
    )


def _applied(planned: Planned, run: WritingRun) -> WriteReport:
    if isinstance(planned, Refusal):
        return _told(planned)
    try:
        saved, write = run.save(planned.path, planned.change, planned.decision.id)
    except FileInUseError as error:
        return WriteReport(
            planned.path, WriteStatus.REFUSED, why=str(error), plan=planned,
            decision_id=planned.decision.id,
        )  # fmt: skip
    except AudioError as error:
        return WriteReport(planned.path, WriteStatus.FAILED, planned.changes, str(error), planned)
    return WriteReport(
        planned.path,
        WriteStatus.WRITTEN if saved.changed else WriteStatus.UNCHANGED,
        _changes(saved),
        plan=planned,
        decision_id=planned.decision.id,
        write_id=write.id if write else None,
        run_id=run.run.id if write else None,
        lost=saved.lost,
    )


def _changes(saved: SaveResult) -> tuple[FieldChange, ...]:
    return field_changes(saved.before, saved.after) if saved.changed else ()
