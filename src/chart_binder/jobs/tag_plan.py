"""What the decision on a file would change in its tags, or why it may change nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from chart_binder.audio.packets import read_tag_set
from chart_binder.audio.tag_writing import with_fields
from chart_binder.audio.tagset import TagSet
from chart_binder.config import AcceptanceConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.ids import bare_id
from chart_binder.domain.kept import KeptDecision
from chart_binder.domain.overriding import KeptOverride
from chart_binder.domain.tagging import Chosen, Fields, Policy, wanted_fields
from chart_binder.jobs.advice import what_to_do
from chart_binder.jobs.decision import Decision, State
from chart_binder.jobs.file_names import names_of
from chart_binder.jobs.keeping import kept_bundle, kept_decision
from chart_binder.jobs.overrides import override_for
from chart_binder.jobs.same_file import why_another
from chart_binder.jobs.standing import chosen_by, ruled_on, standing_decision
from chart_binder.jobs.tag_changes import FieldChange, changes_of, texts_now

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
        return wanted_fields(self.chosen, self.bundle, self.policy, texts_now(tags))


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
        kept = standing_decision(self.store, *names_of(path))
        if kept is None:
            return Refusal(path, NOT_DECIDED)
        return self.plan_by(path, kept, partial(kept_bundle, self.store, kept))

    def plan_by(
        self, path: Path, kept: KeptDecision, evidence: Callable[[], EvidenceBundle | None]
    ) -> Planned:
        """Plan for one file by a decision that need not be in the store; raise as `plan` does."""
        decision = kept_decision(kept)
        chosen = chosen_by(decision, ruled_on(self.store, kept), self.acceptance)
        if isinstance(chosen, str):
            ruled = self._ruled_since(kept, evidence)
            return Refusal(path, ruled or _then(kept, decision, chosen), kept)
        bundle = evidence()
        if bundle is None:
            return Refusal(path, "what it was decided by is not in the store: decide again", kept)
        if why := self._overruled(kept, bundle, chosen):
            return Refusal(path, why, kept)
        tags = read_tag_set(path)
        if why := why_another(self.store, path, kept, tags):
            how = ", and unpin what was decided before" if kept.pinned else ""
            return Refusal(path, f"{why}{how}", kept)
        fields = wanted_fields(chosen, bundle, self.policy, texts_now(tags))
        new = with_fields(tags, fields)
        return Plan(
            path, kept, chosen, _album(bundle, chosen), bundle, self.policy,
            changes_of(tags, new), is_changed=new != tags,
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
        if was_ruled and not ruled and not ruled_on(self.store, kept):
            return "the ruling of a person that decided it was removed since: decide again"
        return None


def _then(kept: KeptDecision, decision: Decision, why: str) -> str:
    """Return why nothing was decided, with when that was: the cause may be gone by now."""
    if decision.state is not State.ERROR:
        return why
    when = kept.decided_at_utc[:_TO_THE_MINUTE].replace("T", " ")
    return f"when it was last decided, {when} UTC, {why}; {what_to_do(decision.cause)}"


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
