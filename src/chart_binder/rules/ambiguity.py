"""A decision must not hang on which of two descriptions of one record or release is right."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from math import prod

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import PartialDate, same_day
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release, ReleaseGroup
from chart_binder.domain.verdict import Decided, Verdict
from chart_binder.domain.vocabulary import MBID, ReleaseId, said
from chart_binder.rules.candidates import Candidate, part_of

_MOST_SUBSETS = 4
"""Up to so many releases, every way their statuses can fall is tried; beyond, each and all."""
_MOST_ALONE = 32
"""Of more than these the earliest are tried alone, for each costs a decision."""
_MOST_QUESTIONS = 5

_Unsure = dict[ReleaseId, tuple[Candidate, Release]]


def unsure_among(candidates: Sequence[Candidate]) -> _Unsure:
    """Return the releases of unknown status, by id, the earliest first."""
    found = [
        (one, release)
        for one in candidates
        if one.aside
        for release in one.aside
        if release.may_be_official
    ]
    found.sort(key=lambda pair: (pair[1].when.last, pair[1].when.first, pair[1].mb_release_id))
    return {release.mb_release_id: (one, release) for one, release in found}


def turning(
    decided: Decided,
    unsure: _Unsure,
    until: int,
    bundle: EvidenceBundle,
    ruled: Callable[..., Verdict],
) -> tuple[str, ...]:
    """Return which statuses would have to be known, as questions; none if the decision stands.

    It stands if the rules decide for the same group whichever of these releases are official. What
    came out after `until` cannot change that, were it official.
    """
    telling = [
        one
        for one, (candidate, release) in unsure.items()
        if release.when.first <= until and _tells(candidate, release)
    ]

    def turns(few: Sequence[ReleaseId]) -> bool:
        return _home(ruled(_as_official(frozenset(few), bundle))) != decided.crg

    first = next((few for few in _ways(telling) if turns(few)), None)
    if first is None:
        return ()
    alone = [one for one in telling[:_MOST_ALONE] if turns((one,))]
    return questions(unsure, alone or first)


def questions(unsure: _Unsure, asked: Sequence[ReleaseId]) -> tuple[str, ...]:
    """Ask for the statuses of releases."""
    facts = dict.fromkeys(_question(*unsure[one]) for one in asked)
    return tuple(facts)[:_MOST_QUESTIONS]


def _tells(candidate: Candidate, release: Release) -> bool:
    """Whether a release could change what counts of its record, were it official.

    One that is certainly later than an official release, or undated beside a dated one, cannot,
    unless it brings another credit.
    """
    if not candidate.is_dated:
        return True
    if release.artist_credit not in (None, candidate.group.artist_credit):
        return True
    return release.when.is_known and release.when.first <= candidate.last


def _question(candidate: Candidate, release: Release) -> str:
    return f"is the {release.when.text or 'undated'} release of '{candidate.title}' official?"


def _home(verdict: Verdict) -> str | None:
    return verdict.crg if isinstance(verdict, Decided) else None


def _ways(ids: Sequence[ReleaseId]) -> Iterator[tuple[ReleaseId, ...]]:
    """Yield which releases may be the official ones, beside none."""
    if len(ids) > _MOST_SUBSETS:
        yield from ((one,) for one in ids[:_MOST_ALONE])
        yield tuple(ids)
        return
    for size in range(1, len(ids) + 1):
        yield from combinations(ids, size)


def _as_official(ids: frozenset[ReleaseId], bundle: EvidenceBundle) -> EvidenceBundle:
    """Return the evidence as if these releases of unknown status were official."""

    def settled(release: Release) -> Release:
        is_meant = release.mb_release_id in ids and release.may_be_official
        return replace(release, status="Official") if is_meant else release

    def group(one: ReleaseGroup) -> ReleaseGroup:
        if not any(release.mb_release_id in ids for release in one.editions):
            return one
        return replace(one, releases=tuple(map(settled, one.editions)))

    def recording(one: RecordingCandidate) -> RecordingCandidate:
        return replace(one, rg_candidates=tuple(map(group, one.groups)))

    return replace(bundle, recording_candidates=tuple(map(recording, bundle.recording_candidates)))


_UNTYPED_MOST_ALONE = 4
"""So many records are each tried alone, the earliest; beside that, all of them together."""
_READINGS = ("Album", "Single")
"""Primary types that lead to different answers; an EP counts as a single, the rest as other works.

That no secondary type is given (Compilation, Live ...) is taken at its word, as it is elsewhere.
"""


def untyped_among(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the records without a type, or of one that nobody knows, the earliest first."""
    groups = [one for one in candidates if not one.group.types[0]]
    return [one for one in groups if one.counts and not one.group.kinds]


def untold(
    decided: Decided,
    untyped: Sequence[Candidate],
    until: int,
    bundle: EvidenceBundle,
    ruled: Callable[[EvidenceBundle], Verdict],
) -> tuple[str, ...]:
    """Return which records' types would have to be known, as questions; none if it stands.

    It stands if the rules decide for the same group whichever common type each of them has. What
    came out after `until` cannot change that.
    """
    for few in _untyped_ways([one for one in untyped if one.first <= until]):
        ids = frozenset(one.group.mb_rg_id for one in few)
        for primary in _READINGS:
            verdict = ruled(_typed(ids, primary, bundle))
            if not isinstance(verdict, Decided) or verdict.crg != decided.crg:
                return tuple(map(_untyped_question, few[:_UNTYPED_MOST_ALONE]))
    return ()


def _untyped_ways(untyped: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    for one in untyped[:_UNTYPED_MOST_ALONE]:
        yield (one,)
    if len(untyped) > 1:
        yield untyped


def _untyped_question(one: Candidate) -> str:
    return f"what is {one.dated_name}, which has no known type: an album, a single or an EP?"


def _typed(ids: frozenset[str], primary: str, bundle: EvidenceBundle) -> EvidenceBundle:
    """Return the evidence as if these records were of a type."""

    def group(one: ReleaseGroup) -> ReleaseGroup:
        if one.mb_rg_id not in ids:
            return one
        return replace(one, primary_type=primary)

    def recording(one: RecordingCandidate) -> RecordingCandidate:
        return replace(one, rg_candidates=tuple(map(group, one.groups)))

    return replace(bundle, recording_candidates=tuple(map(recording, bundle.recording_candidates)))


_MOST_READINGS = 32
"""Of more readings of the evidence than these none is tried: the case is open."""
_CONTRADICTING_MOST_QUESTIONS = 5

_Reading = Callable[[ReleaseGroup], ReleaseGroup | None]
"""The group as it were, or nothing where it would not carry the recording at all."""


class Contradiction(msgspec.Struct, frozen=True, eq=False):
    """What the evidence says in several ways."""

    question: str
    homes: Sequence[str]
    """The ids of the release groups of which it is said."""
    readings: Sequence[_Reading]
    """Each of these groups, were one of the ways right."""


def contradictions_among(
    candidates: Sequence[Candidate], recordings: Sequence[RecordingCandidate]
) -> Sequence[Contradiction]:
    """Return what the evidence says in several ways of records, and of their releases."""
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
    return [*found, *_of_homes(candidates)]


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
        return questions[:_CONTRADICTING_MOST_QUESTIONS]
    homes: dict[tuple[int, ...], str | None] = {}
    for numbers in product(*(range(len(one.readings)) for one in contradictions)):
        chosen = [(c.homes, c.readings[n]) for c, n in zip(contradictions, numbers, strict=True)]
        verdict = ruled(_as_read(chosen, bundle))
        homes[numbers] = verdict.crg if isinstance(verdict, Decided) else None
    if set(homes.values()) == {decided.crg}:
        return ()
    turning = [one for place, one in enumerate(questions) if _turns(place, homes)]
    return tuple(turning or questions)[:_CONTRADICTING_MOST_QUESTIONS]


def _turns(place: int, homes: dict[tuple[int, ...], str | None]) -> bool:
    """Whether the answer differs between readings that differ in one place only."""
    answers: dict[tuple[int, ...], set[str | None]] = {}
    for numbers, home in homes.items():
        answers.setdefault((*numbers[:place], *numbers[place + 1 :]), set()).add(home)
    return any(len(each) > 1 for each in answers.values())


def _as_read(
    chosen: Sequence[tuple[Sequence[str], _Reading]], bundle: EvidenceBundle
) -> EvidenceBundle:
    def group(one: ReleaseGroup | None) -> ReleaseGroup | None:
        for homes, read in chosen:
            if one and one.mb_rg_id in homes:
                one = read(one)
        return one

    def recording(one: RecordingCandidate) -> RecordingCandidate:
        return replace(one, rg_candidates=tuple(filter(None, map(group, one.groups))))

    return replace(bundle, recording_candidates=tuple(map(recording, bundle.recording_candidates)))


def _of_a_record(one: Candidate, copies: Sequence[ReleaseGroup]) -> Iterator[Contradiction]:
    """Yield in what the descriptions of a record contradict: its types, its credit, its date.

    What a description does not tell contradicts nothing; `secondary_types: []` tells of none.
    """
    homes, title = (one.group.mb_rg_id,), one.title
    types = sorted({copy.types for copy in copies if copy.primary_type or copy.kinds}, key=str)
    if len(types) > 1:
        kinds = " and ".join(_a(part_of(primary, kinds)[1]) for primary, kinds in types)
        question = f"the evidence calls '{title}' both {kinds}: which is it?"
        yield Contradiction(question, homes, [_contradicting_typed(*each) for each in types])
    names = sorted({credit for copy in copies if (credit := said(copy.artist_credit))})
    if len({name.casefold() for name in names}) > 1:
        question = f"the evidence credits '{title}' both to {' and '.join(names)}: which is right?"
        yield Contradiction(question, homes, [_credited(name) for name in names])
    dates = sorted({copy.first_date for copy in copies}, key=str)
    if any(same_day(*pair) is False for pair in combinations(dates, 2)):
        known = [date for date in dates if date.is_known]
        told = " and ".join(map(str, known))
        question = f"the evidence dates '{title}' both {told}: which is right?"
        yield Contradiction(question, homes, [_dated(date) for date in known])


def _of_releases(one: Candidate) -> Iterator[Contradiction]:
    """Yield the releases that are dated on two days, or of two statuses."""
    described: dict[str, list[Release]] = {}
    for release in one.group.editions:
        described.setdefault(release.mb_release_id, []).append(release)
    for name, ways in sorted(described.items()):
        pairs = list(combinations(ways, 2))
        days = sorted({str(way.when) for way in ways if way.when.is_known})
        statuses = sorted({way.standing for way in ways if way.standing})
        if any(same_day(way.when, other.when) is False for way, other in pairs):
            told = f"dates the release {name} of '{one.title}' both {' and '.join(days)}"
        elif len(statuses) > 1:
            told = f"calls the release {name} of '{one.title}' both {' and '.join(statuses)}"
        else:
            continue
        readings = [_only(way) for way in sorted(ways, key=str)]
        yield Contradiction(
            f"the evidence {told}: which is right?", (one.group.mb_rg_id,), readings
        )


def _of_homes(candidates: Sequence[Candidate]) -> Iterator[Contradiction]:
    """Yield the releases listed in several groups, for a release belongs to one.

    An id that is no MusicBrainz id is a producer's own, unique perhaps in its group only.
    """
    listed: dict[str, dict[str, str]] = {}
    for one in candidates:
        for release in one.group.editions:
            listed.setdefault(release.mb_release_id, {})[one.group.mb_rg_id] = one.name
    for release_id, names in sorted(listed.items()):
        if len(names) > 1 and MBID.fullmatch(release_id):
            homes, told = sorted(names), " and ".join(sorted(names.values()))
            question = (
                f"the evidence lists the release {release_id} on both {told}: on which is it?"
            )
            yield Contradiction(question, homes, [_at_home(release_id, home) for home in homes])


def _at_home(release_id: str, home: str) -> _Reading:
    """Return another group than `home` without a release, or nothing if it has no other."""

    def read(group: ReleaseGroup) -> ReleaseGroup | None:
        if group.mb_rg_id == home:
            return group
        kept = tuple(one for one in group.editions if one.mb_release_id != release_id)
        return replace(group, releases=kept) if kept or not group.releases else None

    return read


def _contradicting_typed(primary: str | None, kinds: tuple[str, ...]) -> _Reading:
    return lambda group: replace(group, primary_type=primary, secondary_types=kinds)


def _credited(credit: str) -> _Reading:
    return lambda group: replace(group, artist_credit=credit)


def _dated(date: PartialDate) -> _Reading:
    return lambda group: replace(group, first_release_date=date.text)


def _only(way: Release) -> _Reading:
    """Return the group with one description of a release, wherever it has another of it."""

    def read(group: ReleaseGroup) -> ReleaseGroup:
        ways = (way if one.mb_release_id == way.mb_release_id else one for one in group.editions)
        return replace(group, releases=tuple(dict.fromkeys(ways)) if group.releases else None)

    return read


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"
