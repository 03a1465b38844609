"""Verdicts of the rules: decided, or open with the questions that would settle it."""

from typing import Literal, TypeAlias

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
    """The rules found the canonical release group; `path` ends with those that decided.

    `rr` is `None` if no release of it with the recording is known, as `missing_facts` says. Rule
    codes have their family in front (`CRG:...`, `RR:...`).
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


QuestionKind: TypeAlias = Literal[
    "date", "status", "type", "which_copy", "contradiction", "missing_original", "tie"
]


class Possibility(msgspec.Struct, frozen=True):
    """An answer to a question, with the group that the rules then choose; None: still open."""

    answer: str
    crg: ReleaseGroupId | None


class Question(msgspec.Struct, frozen=True):
    """What would settle an open case, or a part of it; `about` has the ids of records.

    `possibilities` is empty where the answers cannot be listed, or none of them settles the case.
    """

    kind: QuestionKind
    text: str
    about: tuple[str, ...] = ()
    possibilities: tuple[Possibility, ...] = ()


class Open(msgspec.Struct, frozen=True, tag="open"):
    """The rules cannot decide; `proposal` is what they would decide by evidence cut short."""

    because: str
    questions: tuple[Question, ...]
    path: tuple[Considered, ...] = ()
    rivals: tuple[Rival, ...] = ()
    proposal: Decided | None = None

    @property
    def missing_facts(self) -> tuple[str, ...]:
        """The questions as sentences."""
        return tuple(one.text for one in self.questions)


Verdict: TypeAlias = Decided | Open


class FirstRelease(msgspec.Struct, frozen=True):
    """The earliest official release of a performance in the evidence, as precise as is known.

    Where several release groups may be the first, there is no group, release, title, type, country
    or label; where several recordings may be, no recording. `because` is about the year.
    """

    date: str
    year_certain: bool
    because: str
    release_mbid: ReleaseId | None = None
    release_group_mbid: ReleaseGroupId | None = None
    title: str | None = None
    country: str | None = None
    recording_mbid: RecordingId | None = None
    via_sibling: bool = False
    type: str | None = None
    label: str | None = None

    @property
    def year(self) -> int:
        """The year, which is always known."""
        return int(self.date[:4])


class SiblingLookup(msgspec.Struct, frozen=True):
    """Whether other recordings of the performance were looked up, and how many were found.

    `said` says the same for people, or why they were not looked up.
    """

    looked_up: bool
    found: int
    said: str


class OverrideRecord(msgspec.Struct, frozen=True):
    """A person's decision on a recording as it is stored; without `rr_mbid` the rules choose one.

    `set_at_utc` is ISO 8601 with microseconds, so that the newer of two sorts last.
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
