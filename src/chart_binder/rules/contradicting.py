"""A decision must not hang on which of two descriptions of one record or release is right."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from math import prod

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import PartialDate, same_day
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release, ReleaseGroup
from chart_binder.domain.verdict import Decided, Verdict
from chart_binder.domain.words import said
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.roles import part_of

_MOST_READINGS = 32
"""Of more readings of the evidence than these none is tried: the case is open."""
_MOST_QUESTIONS = 5

_Reading = Callable[[ReleaseGroup], ReleaseGroup]


class Contradiction(msgspec.Struct, frozen=True, eq=False):
    """What the evidence says in several ways."""

    question: str
    home: str
    """The id of the release group."""
    readings: Sequence[_Reading]
    """The group, were one of the ways right."""


def contradictions_among(
    candidates: Sequence[Candidate], recordings: Sequence[RecordingCandidate]
) -> Sequence[Contradiction]:
    """Return what the evidence says in several ways of records, and of their releases."""
    if _is_each_said_once(recordings):
        return ()
    copies: dict[str, list[ReleaseGroup]] = {}
    for recording in recordings:
        for group in recording.groups:
            copies.setdefault(group.mb_rg_id, []).append(group)
    found: list[Contradiction] = []
    for one in candidates:
        same = copies.get(one.group.mb_rg_id, ())
        if len(same) > 1:
            found += _of_a_record(one, same)
        editions = one.group.editions
        if len({release.mb_release_id for release in editions}) < len(editions):
            found += _of_releases(one)
    return found


def _is_each_said_once(recordings: Sequence[RecordingCandidate]) -> bool:
    """Whether no record and no release is there twice: a look at all at once, for most bundles."""
    groups = [group for recording in recordings for group in recording.rg_candidates or ()]
    homes = {group.mb_rg_id for group in groups}
    releases = [one.mb_release_id for group in groups for one in group.releases or ()]
    return len(homes) == len(groups) and len(set(releases)) == len(releases)


def unsettled(
    decided: Decided,
    contradictions: Sequence[Contradiction],
    bundle: EvidenceBundle,
    ruled: Callable[[EvidenceBundle], Verdict],
) -> tuple[str, ...]:
    """Return which contradictions would have to be settled, as questions; none if it stands.

    It stands if the rules decide for the same group whichever descriptions are right.
    """
    questions = tuple(one.question for one in contradictions)
    if prod(len(one.readings) for one in contradictions) > _MOST_READINGS:
        return questions[:_MOST_QUESTIONS]
    homes: dict[tuple[int, ...], str | None] = {}
    for numbers in product(*(range(len(one.readings)) for one in contradictions)):
        chosen = [(c.home, c.readings[n]) for c, n in zip(contradictions, numbers, strict=True)]
        verdict = ruled(_as_read(chosen, bundle))
        homes[numbers] = verdict.crg if isinstance(verdict, Decided) else None
    if set(homes.values()) == {decided.crg}:
        return ()
    turning = [one for place, one in enumerate(questions) if _turns(place, homes)]
    return tuple(turning or questions)[:_MOST_QUESTIONS]


def _turns(place: int, homes: dict[tuple[int, ...], str | None]) -> bool:
    """Whether the answer differs between readings that differ in one place only."""
    answers: dict[tuple[int, ...], set[str | None]] = {}
    for numbers, home in homes.items():
        answers.setdefault((*numbers[:place], *numbers[place + 1 :]), set()).add(home)
    return any(len(each) > 1 for each in answers.values())


def _as_read(chosen: Sequence[tuple[str, _Reading]], bundle: EvidenceBundle) -> EvidenceBundle:
    def group(one: ReleaseGroup) -> ReleaseGroup:
        for home, read in chosen:
            if home == one.mb_rg_id:
                one = read(one)
        return one

    def recording(one: RecordingCandidate) -> RecordingCandidate:
        return replace(one, rg_candidates=tuple(map(group, one.groups)))

    return replace(bundle, recording_candidates=tuple(map(recording, bundle.recording_candidates)))


def _of_a_record(one: Candidate, copies: Sequence[ReleaseGroup]) -> Iterator[Contradiction]:
    """Yield in what the descriptions of a record contradict: its types, its credit, its date.

    What a description does not tell contradicts nothing; `secondary_types: []` tells of none.
    """
    home, title = one.group.mb_rg_id, one.title
    types = sorted({copy.types for copy in copies if copy.primary_type or copy.kinds}, key=str)
    if len(types) > 1:
        kinds = " and ".join(_a(part_of(primary, kinds)[1]) for primary, kinds in types)
        question = f"the evidence calls '{title}' both {kinds}: which is it?"
        yield Contradiction(question, home, [_typed(*each) for each in types])
    names = sorted({credit for copy in copies if (credit := said(copy.artist_credit))})
    if len({name.casefold() for name in names}) > 1:
        question = f"the evidence credits '{title}' both to {' and '.join(names)}: which is right?"
        yield Contradiction(question, home, [_credited(name) for name in names])
    dates = sorted({copy.first_release_date for copy in copies}, key=str)
    if any(same_day(*pair) is False for pair in combinations(dates, 2)):
        known = [date for date in dates if date.is_known]
        told = " and ".join(map(str, known))
        question = f"the evidence dates '{title}' both {told}: which is right?"
        yield Contradiction(question, home, [_dated(date) for date in known])


def _of_releases(one: Candidate) -> Iterator[Contradiction]:
    """Yield the releases that are dated on two days, or of two statuses."""
    described: dict[str, list[Release]] = {}
    for release in one.group.editions:
        described.setdefault(release.mb_release_id, []).append(release)
    for name, ways in sorted(described.items()):
        pairs = list(combinations(ways, 2))
        days = sorted({str(way.date) for way in ways if way.date.is_known})
        statuses = sorted({way.standing for way in ways if way.standing})
        if any(same_day(way.date, other.date) is False for way, other in pairs):
            told = f"dates the release {name} of '{one.title}' both {' and '.join(days)}"
        elif len(statuses) > 1:
            told = f"calls the release {name} of '{one.title}' both {' and '.join(statuses)}"
        else:
            continue
        readings = [_only(way) for way in sorted(ways, key=str)]
        yield Contradiction(f"the evidence {told}: which is right?", one.group.mb_rg_id, readings)


def _typed(primary: str | None, kinds: tuple[str, ...]) -> _Reading:
    return lambda group: replace(group, primary_type=primary, secondary_types=kinds)


def _credited(credit: str) -> _Reading:
    return lambda group: replace(group, artist_credit=credit)


def _dated(date: PartialDate) -> _Reading:
    return lambda group: replace(group, first_release_date=date)


def _only(way: Release) -> _Reading:
    """Return the group with one description of a release, wherever it has another of it."""

    def read(group: ReleaseGroup) -> ReleaseGroup:
        ways = (way if one.mb_release_id == way.mb_release_id else one for one in group.editions)
        return replace(group, releases=tuple(dict.fromkeys(ways)) if group.releases else None)

    return read


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"
