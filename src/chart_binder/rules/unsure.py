"""A decision must not hang on a release of which nobody knows whether it is official."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release, ReleaseGroup
from chart_binder.domain.ids import ReleaseId
from chart_binder.domain.verdict import Decided, Verdict
from chart_binder.rules.candidates import Candidate

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
