"""What the rules say of a bundle: decided, or open with the facts that would settle it."""

from typing import TypeAlias

import msgspec

from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId


class Override(msgspec.Struct, frozen=True):
    """What a person ruled, with their reason; without `rr` the rules name the release."""

    crg: ReleaseGroupId
    rr: ReleaseId | None = None
    reason: str = ""


class Considered(msgspec.Struct, frozen=True):
    """A rule that was asked, and what it said: the rule path is a sequence of these."""

    rule: str
    said: str


class Rival(msgspec.Struct, frozen=True, gc=False):
    """A candidate that was not chosen, and why, in one line."""

    release_group: ReleaseGroupId
    title: str
    why_not: str


class Decided(msgspec.Struct, frozen=True, tag="decided"):
    """The rules found the canonical release group.

    `rr` is `None` where no release of it that contains the recording is known; `missing_facts`
    then says so. Rule codes carry their family (`CRG:...`, `RR:...`). `path` ends with the rules
    that decided, `because` is their reason as one sentence.
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


class KeptOverride(msgspec.Struct, frozen=True):
    """What a person ruled on a recording, why, and when; the fields are the store's columns.

    Without `rr_mbid` the rules name the release. `set_at_utc` is ISO 8601 with microseconds, so
    that of two the newer sorts last.
    """

    recording_mbid: RecordingId
    crg_mbid: ReleaseGroupId
    rr_mbid: ReleaseId | None
    reason: str
    set_at_utc: str

    @property
    def ruling(self) -> Override:
        """What the rules are told."""
        return Override(self.crg_mbid, self.rr_mbid, self.reason)
