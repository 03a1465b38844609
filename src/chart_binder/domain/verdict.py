"""Verdicts of the rules: decided, or open with the questions whose answers would settle it."""

from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId


class Override(msgspec.Struct, frozen=True):
    """A person's decision with its reason; without `rr` the rules choose the release."""

    crg: ReleaseGroupId
    rr: ReleaseId | None = None
    reason: str = ""


class RuleStep(msgspec.Struct, frozen=True):
    """A step of the rule path: a rule and its result in words."""

    rule: str
    said: str


class Rival(msgspec.Struct, frozen=True, gc=False):
    """A candidate that was not chosen, with the reason in one line."""

    release_group: ReleaseGroupId
    title: str
    why_not: str
    reason: str
    """The same without the kind and the date of the candidate, which may be shown beside it."""

    def adding(self, text: str) -> "Rival":
        """Return a copy with a text after the reason."""
        reason = self.reason or self.why_not
        return replace(self, why_not=f"{self.why_not}{text}", reason=f"{reason}{text}")


class Decided(msgspec.Struct, frozen=True, tag="decided"):
    """The rules found the canonical release group; `path` ends with the rules that decided.

    `rr` is None if no release of the group with the recording is known; `missing_facts` then says
    so. Rule codes begin with their family (`CRG:...`, `RR:...`).
    """

    crg: ReleaseGroupId
    rr: ReleaseId | None
    recording: RecordingId
    crg_rule: str
    rr_rule: str
    because: str
    path: tuple[RuleStep, ...] = ()
    rivals: tuple[Rival, ...] = ()
    missing_facts: tuple[str, ...] = ()


QuestionKind: TypeAlias = Literal[
    "date", "status", "type", "which_copy", "contradiction", "missing_original", "tie", "year"
]


class Possibility(msgspec.Struct, frozen=True):
    """An answer to a question, with the group that the rules then choose, or None if still open."""

    answer: str
    crg: ReleaseGroupId | None


class Question(msgspec.Struct, frozen=True):
    """A question that would settle an open case, or a part of it; `about` has its subjects' ids.

    `possibilities` is empty if the answers cannot be listed, or if none of them settles the case.
    If the text also says what the answers lead to, `without_answers` is the question alone.
    """

    kind: QuestionKind
    text: str
    about: tuple[str, ...] = ()
    possibilities: tuple[Possibility, ...] = ()
    without_answers: str = ""

    @property
    def brief(self) -> str:
        """The text, without the answers if the possibilities list them."""
        return (self.possibilities and self.without_answers) or self.text


class Open(msgspec.Struct, frozen=True, tag="open"):
    """The rules cannot decide; `proposal` is their decision if incomplete evidence is accepted."""

    because: str
    questions: tuple[Question, ...]
    path: tuple[RuleStep, ...] = ()
    rivals: tuple[Rival, ...] = ()
    proposal: Decided | None = None

    @property
    def missing_facts(self) -> tuple[str, ...]:
        """The questions as sentences."""
        return tuple(question.text for question in self.questions)


Verdict: TypeAlias = Decided | Open

PERSON_SAYS = "a person says so"
"""The reason why a recording is a sibling, or a date counts, if a person said so."""
PERSON_PLACES = "a person says that the recording belongs to its release group"
"""The reason why a track of a release group that a person names is a sibling."""
BY_PERSON = frozenset((PERSON_SAYS, PERSON_PLACES))


class SaidBy(StrEnum):
    """The basis of a first release that the evidence alone does not give."""

    PERSON = "person"
    FACTS = "facts"


class BestKnown(msgspec.Struct, frozen=True):
    """The earliest date of a first release in any source, with the source in `because`."""

    date: str
    because: str

    @property
    def year(self) -> int:
        """The year of `date`."""
        return int(self.date[:4])

    def __str__(self) -> str:
        return f"{self.year}? ({self.because})"


class FirstRelease(msgspec.Struct, frozen=True):
    """The earliest official release of a performance in the evidence, as precise as known.

    If several release groups may be the first, group, release, title, type, country and label are
    absent; if several recordings may be, the recording is. `because` is about the year. `by` is
    absent if the evidence alone gives the first release.
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
    by: SaidBy | msgspec.UnsetType = msgspec.UNSET
    best_known: BestKnown | msgspec.UnsetType = msgspec.UNSET
    """A date before those of the listed releases, if the year is not certain."""

    @property
    def best(self) -> BestKnown:
        """The earliest known date, from a listed release if nothing is earlier."""
        return self.best_known or BestKnown(self.date, "the earliest record listed")

    @property
    def year(self) -> int:
        """The year; a first release always has one."""
        return int(self.date[:4])


class SiblingLookup(msgspec.Struct, frozen=True):
    """Whether other recordings of the performance were looked up, and how many were found.

    `said` is the same in words, or why they were not looked up.
    """

    looked_up: bool
    found: int
    said: str


class OverrideRecord(msgspec.Struct, frozen=True):
    """A person's stored statement about a recording; the rules decide what it leaves open.

    `first_date` is when it first came out, `same_as` another recording of the same performance.
    `set_at_utc` is ISO 8601 with microseconds, so that the newer of two sorts last.
    """

    recording_mbid: RecordingId
    crg_mbid: ReleaseGroupId | None
    rr_mbid: ReleaseId | None
    reason: str
    set_at_utc: str
    first_date: str | None = None
    same_as: RecordingId | None = None

    @property
    def ruling(self) -> Override | None:
        """The override for the rules, if it names a release group."""
        return Override(self.crg_mbid, self.rr_mbid, self.reason) if self.crg_mbid else None

    @property
    def settles(self) -> bool:
        """Whether no person needs to review the recording any more."""
        return bool(self.crg_mbid or self.first_date)

    @property
    def because(self) -> str:
        """The reason for the decision, which names the person's."""
        return f"{PERSON_SAYS}: {self.reason}" if self.reason else PERSON_SAYS

    def amending(self, before: "OverrideRecord | None") -> "OverrideRecord":
        """Return a copy with the values that only an earlier override for the recording has.

        The release of another release group is not copied.
        """
        if before is None:
            return self
        moves = self.crg_mbid and before.crg_mbid not in (None, self.crg_mbid)
        rr = None if moves else before.rr_mbid
        return msgspec.structs.replace(
            self,
            crg_mbid=self.crg_mbid or before.crg_mbid,
            rr_mbid=self.rr_mbid or rr,
            first_date=self.first_date or before.first_date,
            same_as=self.same_as or before.same_as,
            reason=self.reason or before.reason,
        )
