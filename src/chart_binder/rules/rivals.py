"""For every candidate that was not chosen, one line why not."""

from collections.abc import Iterator, Sequence

from chart_binder.domain.evidence import RecordingCandidate
from chart_binder.domain.verdict import Rival
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.contest import Contest
from chart_binder.rules.roles import Role
from chart_binder.rules.statuses import copies


def rivals(
    contest: Contest,
    chosen: Candidate | None,
    left_out: Sequence[tuple[RecordingCandidate, str]] = (),
) -> tuple[Rival, ...]:
    """Return the candidates that were not chosen, the earliest first."""
    crg = chosen.group.mb_rg_id if chosen else None
    others = [one for one in contest.candidates if one.group.mb_rg_id != crg]
    winner = chosen.name if chosen else ""
    losers = [Rival(one.group.mb_rg_id, one.title, _why_not(one, chosen, winner)) for one in others]
    return (*losers, *_unheard(contest, left_out)) if left_out else tuple(losers)


def _unheard(
    contest: Contest, left_out: Sequence[tuple[RecordingCandidate, str]]
) -> Iterator[Rival]:
    known = {one.group.mb_rg_id for one in contest.candidates}
    for recording, why in left_out:
        for group in recording.groups:
            if group.mb_rg_id not in known:
                known.add(group.mb_rg_id)
                yield Rival(group.mb_rg_id, group.title or group.mb_rg_id, why)


def _why_not(one: Candidate, chosen: Candidate | None, winner: str) -> str:
    if not one.counts:
        return f"{one.kind}: nothing official, only {copies(one.aside)}"
    what = f"{one.kind} ({one.when})"
    if chosen is None:
        return what
    return f"{what}: {_lost(one, chosen, winner)}"


def _lost(one: Candidate, chosen: Candidate, winner: str) -> str:
    if not one.is_dated:
        return "nothing says that it came out first"
    if one.first > chosen.last:
        return f"{_days(one.first - chosen.last, one, chosen)}later than {winner}"
    if one.role is Role.COMPILATION:
        return "gathers what came out elsewhere"
    if one.last < chosen.first and one.role is Role.SINGLE:
        return f"led to {winner} {_days(chosen.first - one.last, one, chosen)}later"
    if one.first == one.last == chosen.first == chosen.last:
        return f"the same day as {winner}, which goes before it"
    return f"whatever its day, {winner} goes before it"


def _days(days: int, one: Candidate, other: Candidate) -> str:
    if one.first == one.last and other.first == other.last:
        return f"{days} day{'s' if days > 1 else ''} "
    return ""
