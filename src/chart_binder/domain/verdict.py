"""Verdicts of the rules on a bundle: decided, or open with the facts that would settle it."""

from typing import TypeAlias

import msgspec

from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId


class Override(msgspec.Struct, frozen=True):
    """A person's decision with their reason; without `rr` the rules choose the release."""

    crg: ReleaseGroupId
    rr: ReleaseId | None = None
    reason: str = ""


class Considered(msgspec.Struct, frozen=True):
    """A step of the rule path: a rule and what it said."""

    rule: str
    said: str


class Rival(msgspec.Struct, frozen=True, gc=False):
    """A candidate that was not chosen, with the reason in one line."""

    release_group: ReleaseGroupId
    title: str
    why_not: str


class Decided(msgspec.Struct, frozen=True, tag="decided"):
    """The rules found the canonical release group.

    `rr` is `None` if no release of it with the recording is known, which `missing_facts` then says.
    Rule codes have their family in front (`CRG:...`, `RR:...`). `path` ends with the rules that
    decided; `because` is their reason as one sentence.
    """

    crg: ReleaseGroupId
    rr: ReleaseId | None
    recording: RecordingId
    crg_rule: str
    rr_rule: str
    because: str
    path: tuple[Considered, ...] = ()
    rivals: tuple[Rival, ...] = ()
    missing_facts: tuple[str, ...] = ()


class Open(msgspec.Struct, frozen=True, tag="open"):
    """The rules cannot decide; `missing_facts` names what would settle it, in plain words."""

    because: str
    missing_facts: tuple[str, ...]
    path: tuple[Considered, ...] = ()
    rivals: tuple[Rival, ...] = ()


Verdict: TypeAlias = Decided | Open


class OverrideRecord(msgspec.Struct, frozen=True):
    """A person's decision on a recording as it is stored; the fields are the store's columns.

    Without `rr_mbid` the rules choose the release. `set_at_utc` is ISO 8601 with microseconds, so
    that the newer of two sorts last.
    """

    recording_mbid: RecordingId
    crg_mbid: ReleaseGroupId
    rr_mbid: ReleaseId | None
    reason: str
    set_at_utc: str

    @property
    def ruling(self) -> Override:
        """The override for the rules."""
        return Override(self.crg_mbid, self.rr_mbid, self.reason)


KeptOverride = OverrideRecord
