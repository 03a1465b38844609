"""The facts that would settle an open case, as questions a person or a model can look up."""

from collections.abc import Iterator, Sequence
from datetime import date

from chart_binder.domain.dates import LAST_DAY
from chart_binder.domain.ids import ReleaseGroupId
from chart_binder.rules.candidates import Candidate, at
from chart_binder.rules.contest import Contest, contest_of
from chart_binder.rules.weighing import weigh

_MOST_QUESTIONS = 5
_MOST_TURNS = 2
_MOST_CLOSE = 8
_MOST_NAMES = 3
_NOBODY = ReleaseGroupId("")
"""The answer where two compilations are too near to each other."""


def missing_dates(contest: Contest, possible: Sequence[Candidate]) -> tuple[str, ...]:
    """Return which dates would tell between the candidates that may be the answer.

    A date that is known vaguely is tried day by day where it can matter; if the answer turns on one
    day, the question names that day.
    """
    close = _close(contest, possible)
    vague = [one for one in close if one.first != one.last]
    if len(close) <= _MOST_CLOSE:
        questions = [question for one in vague for question in _question(one, close, contest)]
    else:
        questions = [_which_day(one) for one in vague]
    return tuple(questions[:_MOST_QUESTIONS])


def undated_tie(possible: Sequence[Candidate]) -> str:
    """Return the question that is left when no single date would tell."""
    return f"which of them came out first: {either(possible)}?"


def either(candidates: Sequence[Candidate]) -> str:
    """Name candidates as alternatives, the first few of many."""
    names = [one.dated_name for one in candidates[:_MOST_NAMES]]
    if len(candidates) > _MOST_NAMES:
        names.append(f"one of {len(candidates) - _MOST_NAMES} others")
    return " or ".join(names)


def _close(contest: Contest, possible: Sequence[Candidate]) -> list[Candidate]:
    """Return those that may be chosen or stand in the way of it, the earliest first."""
    ahead = [one.candidate for one in contest.forerunners]
    close = {
        one.group.mb_rg_id: one for one in (*contest.firsts, *contest.albums, *ahead, *possible)
    }
    return sorted(
        close.values(), key=lambda one: (one.first, one.last, one.title, one.group.mb_rg_id)
    )


def _question(one: Candidate, close: Sequence[Candidate], contest: Contest) -> Iterator[str]:
    turns = list(_turns(one, close, contest))
    answers = [answer for _, answer in turns]
    if len(set(answers)) == 1:
        return  # whatever its day, it tells nothing
    if len(turns) > _MOST_TURNS or any(len(each) != 1 or _NOBODY in each for each in answers):
        yield _which_day(one)
        return
    turn = date.fromordinal(turns[1][0])
    names: dict[str, str] = {other.group.mb_rg_id: other.name for other in close}
    earlier, later = (names[next(iter(answer))] for answer in answers)
    yield (
        f"{_dated(one)}: before or after {turn}? Before: {earlier}; on that day or later: {later}"
    )


def _turns(
    one: Candidate, close: Sequence[Candidate], contest: Contest
) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield the days from which on a candidate's date gives another answer, with that answer."""
    previous: frozenset[str] | None = None
    for day in _days_that_matter(one, close, contest.knobs.lead_window_days):
        field = [at(other, day, day) if other is one else other for other in close]
        tried = contest_of(field, contest.recordings, contest.artist, contest.knobs)
        answer = frozenset(chosen.group.mb_rg_id for chosen in weigh(tried).possible)
        if not all(ahead.is_alone for ahead in tried.forerunners):
            answer |= {_NOBODY}
        if answer != previous:
            yield day, answer
            previous = answer


def _days_that_matter(one: Candidate, close: Sequence[Candidate], window: int) -> list[int]:
    """Return days such that between two of them no answer can change."""
    bounds = {day for other in close if other is not one for day in (other.first, other.last)}
    steps = (0, 1, -window, 1 - window, window, window + 1)
    days = {day + step for day in bounds for step in steps}
    return sorted(
        {max(one.first, 2), *(day for day in days if one.first < day <= one.last)} - {LAST_DAY}
    )


def _which_day(one: Candidate) -> str:
    return f"{_dated(one)}: on which day did it come out?"


def _dated(one: Candidate) -> str:
    if not one.since.is_known:
        group = one.group.first_release_date
        return f"{one.name} has no date" + (f" but its group's, {group}" if group.is_known else "")
    if one.since is one.by:
        return f"{one.name} is only dated {one.when}"
    return f"{one.name} was out by {one.by}, but a release of it is only dated {one.since}"
