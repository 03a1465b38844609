"""What the rules say of a bundle: decided, or open with the facts that would settle it."""

from dataclasses import dataclass
from typing import TypeAlias

from chart_binder.domain.ids import RecordingId, ReleaseGroupId, ReleaseId


@dataclass(frozen=True, slots=True)
class Considered:
    """A rule that was asked, and what it said: the rule path is a sequence of these."""

    rule: str
    said: str


@dataclass(frozen=True, slots=True)
class Rival:
    """A candidate that was not chosen, and why, in one line."""

    release_group: ReleaseGroupId
    title: str
    why_not: str


@dataclass(frozen=True, slots=True)
class Decided:
    """The rules found the canonical release group.

    `rr` is `None` where no release of it that contains the recording is known; `missing_facts`
    then says so. Rule codes carry their family (`CRG:...`, `RR:...`).
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


@dataclass(frozen=True, slots=True)
class Open:
    """The rules cannot decide; `missing_facts` names what would settle it, in plain words."""

    because: str
    missing_facts: tuple[str, ...]
    path: tuple[Considered, ...] = ()
    rivals: tuple[Rival, ...] = ()


Verdict: TypeAlias = Decided | Open
