"""Questions in the making: what each answer would change in the evidence."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import FIRST_DAY, LAST_DAY
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.verdict import Considered, Possibility, Question, QuestionKind
from chart_binder.domain.vocabulary import ReleaseGroupId

GroupChange: TypeAlias = Callable[[ReleaseGroup], ReleaseGroup | None]
"""The group under an assumption; None if it would not carry the recording at all."""
BundleChange: TypeAlias = Callable[[EvidenceBundle], EvidenceBundle]
"""The evidence under an assumption."""
Answer: TypeAlias = tuple[str, Sequence[BundleChange]]
"""An answer in words, with changes that stand for it: it leads to a group if each of them does."""
Settle: TypeAlias = Callable[[EvidenceBundle], ReleaseGroupId | None]
"""The group that the rules choose by some evidence; None if it is open."""


_MAX_ANSWERS = 8
_FIRST_RECORDING = date(1857, 3, 25).toordinal()
"""No recording is older: the patent of the phonautograph."""


class Asked(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A question, with the answers that may be given to it."""

    kind: QuestionKind
    text: str
    about: tuple[str, ...] = ()
    answers: Sequence[Answer] = ()


class Undecided(msgspec.Struct, frozen=True, eq=False):
    """An open case before its questions are answered on trial."""

    because: str
    asked: Sequence[Asked]
    path: tuple[Considered, ...]


def questions_of(
    asked: Iterable[Asked], bundle: EvidenceBundle, settle: Settle
) -> tuple[Question, ...]:
    """Return questions with what each answer leads to, tried on the evidence.

    Answers are left out where none of them settles the case, or where they are too many to try.
    """
    questions = []
    for one in asked:
        possibilities = []
        for answer, changes in one.answers if len(one.answers) <= _MAX_ANSWERS else ():
            found = {settle(change(bundle)) for change in changes}
            possibilities.append(Possibility(answer, found.pop() if len(found) == 1 else None))
        settles = any(each.crg for each in possibilities)
        questions.append(
            Question(one.kind, one.text, one.about, tuple(possibilities) if settles else ())
        )
    return tuple(questions)


def in_groups(change: GroupChange, ids: Iterable[str]) -> BundleChange:
    """Return the change of the evidence that is made to the groups of `ids`."""
    return lambda bundle: with_groups(bundle, change, frozenset(ids))


def with_groups(
    bundle: EvidenceBundle, change: GroupChange, ids: Sequence[str] | frozenset[str] | None = None
) -> EvidenceBundle:
    """Return the evidence with groups changed: those of `ids`, or all."""
    recordings = []
    for recording in bundle.recording_candidates:
        groups = (
            change(one) if ids is None or one.mb_rg_id in ids else one for one in recording.groups
        )
        recordings.append(replace(recording, rg_candidates=tuple(filter(None, groups))))
    return replace(bundle, recording_candidates=tuple(recordings))


def set_fields(**fields: object) -> GroupChange:
    """Return the change that sets fields of a group."""
    return lambda group: replace(group, **fields)


def premiere_answer(name: str, group: str) -> Answer:
    """Return the answer that the recording first came out on a record, with its name."""
    return f"it first came out on {name}", [in_groups(set_fields(premiere=True), (group,))]


def set_releases(chosen: Callable[[Release], bool], **fields: object) -> GroupChange:
    """Return the change that sets fields of the releases of a group that are `chosen`."""

    def change(group: ReleaseGroup) -> ReleaseGroup:
        if not any(map(chosen, group.editions)):
            return group
        releases = (replace(one, **fields) if chosen(one) else one for one in group.editions)
        return replace(group, releases=tuple(releases))

    return change


def day_answers(
    group: str, spans: Sequence[tuple[int, bool]], last: int, on_sale: int = FIRST_DAY
) -> Sequence[Answer]:
    """Return spans of the days on which a recording may have come out on a group, as answers.

    Each has its first day, and whether it may settle the case; the last one ends on the day `last`.
    The first and the last day of a span stand for it. Days before `on_sale`, on which the group's
    media went on sale, are no answer. None is returned where one lies before the first recording
    ever made, as between undated records.
    """
    starts = [start for start, _ in spans]
    if starts[1] <= _FIRST_RECORDING:
        return ()
    ends = [*(day - 1 for day in starts[1:]), min(last, LAST_DAY - 1)]
    answers = []
    for (start, may_settle), end in zip(spans, ends, strict=True):
        if end < on_sale:
            continue
        said = f"from {date.fromordinal(start)} to {date.fromordinal(end)}"
        if start == starts[0]:
            said = f"before {date.fromordinal(end + 1)}"
        elif start == starts[-1]:
            said = f"on {date.fromordinal(start)} or later"
        elif start == end:
            said = f"on {date.fromordinal(start)}"
        days = sorted({max(start, on_sale), end}) if may_settle else ()
        answers.append((said, [_dated_on(day, group) for day in days]))
    return answers


def _dated_on(day: int, group_id: str) -> BundleChange:
    """Date all official releases of a group that may be of a day; undated ones if none is dated."""
    text = date.fromordinal(day).isoformat()

    def change(group: ReleaseGroup) -> ReleaseGroup | None:
        if not group.releases:
            return replace(group, first_release_date=text)
        is_any_dated = any(one.is_official and one.when.is_known for one in group.releases)
        return set_releases(
            lambda one: (
                one.is_official
                and one.when.is_known is is_any_dated
                and one.when.first <= day <= one.when.last
            ),
            date=text,
        )(group)

    return in_groups(change, (group_id,))
