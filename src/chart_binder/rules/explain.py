"""For every candidate that was not chosen, one line why not."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

import msgspec

from chart_binder.domain.evidence import RecordingCandidate, Release
from chart_binder.domain.verdict import Open, Rival, Verdict
from chart_binder.domain.vocabulary import bare_id
from chart_binder.rules.candidates import Candidate, Role, candidates_of
from chart_binder.rules.contest import Contest

NEVER_OUT = frozenset({"Pseudo-Release", "Withdrawn", "Cancelled"})
"""Statuses of what never came out, or only on paper: a transliteration, a recalled record."""

_COPIES = {
    "Promotion": ("a promotional copy", "promotional copies"),
    "Bootleg": ("a bootleg", "bootlegs"),
    "Pseudo-Release": ("a pseudo-release", "pseudo-releases"),
    "Withdrawn": ("a withdrawn release", "withdrawn releases"),
    "Cancelled": ("a cancelled release", "cancelled releases"),
}
_UNSURE = ("a release of unknown status", "releases of unknown status")


def copy_of(status: str | None) -> str:
    """Return what to call a release by its status: `a bootleg`."""
    return _COPIES.get(status or "", _UNSURE)[0]


def copies(releases: Sequence[Release]) -> str:
    """Return what to call several: `2 bootlegs and a promotional copy`, `a bootleg of 2008`."""
    if len(releases) == 1 and releases[0].when.is_known:
        return f"{copy_of(releases[0].standing)} of {releases[0].when}"
    counted = Counter(_COPIES.get(release.standing or "", _UNSURE) for release in releases)
    parts = [one if n == 1 else f"{n} {many}" for (one, many), n in sorted(counted.items())]
    return " and ".join(parts)


def rivals(
    contest: Contest,
    chosen: Candidate | None,
    left_out: Sequence[tuple[RecordingCandidate, str]] = (),
) -> tuple[Rival, ...]:
    """Return the candidates that were not chosen, the earliest first."""
    crg, winner = (chosen.group.mb_rg_id, chosen.name) if chosen else (None, "")
    window = contest.knobs.lead_window_days
    losers = [
        Rival(name, one.title, _why_not(one, chosen, winner, window))
        for one in contest.candidates
        if (name := one.group.mb_rg_id) != crg
    ]
    return (*losers, *_unheard(contest, left_out))


def overruled_rivals(
    contest: Contest,
    crg: str,
    left_out: Sequence[tuple[RecordingCandidate, str]],
    alone: Verdict,
) -> tuple[Rival, ...]:
    """Return the candidates that a person did not rule for: that, and no rule, is why they lost.

    `crg` is the group they ruled for, which evidence may lack; `alone` is what the rules say.
    """
    names = {bare_id(one.group.mb_rg_id): one.name for one in contest.candidates}
    ruled = f"a person ruled for {names.get(crg, 'another record')}; by the rules alone"
    losers = (
        Rival(name, one.title, f"{_shown(one)}: {ruled} {_alone(name, crg, alone, names)}")
        for one in contest.candidates
        if bare_id(name := one.group.mb_rg_id) != crg
    )
    unheard = (
        msgspec.structs.replace(one, why_not=f"{ruled} it does not count: {one.why_not}")
        for one in _unheard(contest, left_out)
        if bare_id(one.release_group) != crg
    )
    return (*losers, *unheard)


def _alone(group: str, crg: str, alone: Verdict, names: Mapping[str, str]) -> str:
    """Return what the rules say without the person, as told of one that was not chosen."""
    if isinstance(alone, Open):
        return "the case is open"
    if alone.crg == group:
        return "it would be this one"
    same = bare_id(alone.crg) == crg
    return "it would be that, too" if same else f"it would be {names[bare_id(alone.crg)]}"


def _shown(one: Candidate) -> str:
    known = one.when if one.counts else f"nothing official, only {copies(one.aside)}"
    return f"{one.kind} ({known})"


def _unheard(
    contest: Contest, left_out: Sequence[tuple[RecordingCandidate, str]]
) -> Iterator[Rival]:
    """Yield what only carries recordings that were left out; of several reasons the first."""
    if not left_out:
        return
    known = {one.group.mb_rg_id for one in contest.candidates}
    reasons: dict[str, str] = {}
    for recording, why in sorted(left_out, key=itemgetter(1)):
        for group in recording.groups:
            reasons.setdefault(group.mb_rg_id, why)
    for one in candidates_of([recording for recording, _ in left_out]):
        if one.group.mb_rg_id not in known:
            yield Rival(one.group.mb_rg_id, one.title, reasons[one.group.mb_rg_id])


def _why_not(one: Candidate, chosen: Candidate | None, winner: str, window: int) -> str:
    if not one.counts:
        return f"{one.kind}: nothing official, only {copies(one.aside)}"
    if chosen is None:
        return f"{one.kind} ({one.when})"
    if one.first > chosen.last:  # as most are
        return f"{one.kind} ({one.when}): {_days(one, chosen)}later than {winner}"
    return f"{one.kind} ({one.when}): {_lost(one, chosen, winner, window)}"


def _lost(one: Candidate, chosen: Candidate, winner: str, window: int) -> str:
    if not one.is_dated:
        return "nothing says that it came out first"
    if one.role is Role.COMPILATION:
        return f"no compilation of the artist's own, more than {window} days before the rest"
    if one.last < chosen.first and one.role is Role.SINGLE:
        return f"led to {winner} {_days(chosen, one)}later"
    if one.first == one.last == chosen.first == chosen.last:
        return f"the same day as {winner}, which goes before it"
    return f"whatever its day, {winner} goes before it"


def _days(later: Candidate, earlier: Candidate) -> str:
    if later.first != later.last or earlier.first != earlier.last:
        return ""
    days = later.first - earlier.last
    return f"{days} days " if days > 1 else "1 day "
