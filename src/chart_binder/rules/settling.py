"""The facts that would settle an open case, as questions a person or a model can look up."""

from collections.abc import Iterator, Sequence
from datetime import date

from chart_binder.domain.dates import LAST_DAY
from chart_binder.rules.candidates import Candidate, at
from chart_binder.rules.contest import Contest, contest_of
from chart_binder.rules.weighing import weigh

_MOST_QUESTIONS = 5
_MOST_TURNS = 2


def missing_dates(contest: Contest, possible: Sequence[Candidate]) -> tuple[str, ...]:
    """Return which dates would tell between the candidates that may be the answer.

    A date that is known vaguely is tried day by day where it can matter; if the answer turns on one
    day, the question names that day.
    """
    close = _close(contest, possible)
    vague = [one for one in close if one.first != one.last]
    questions = [question for one in vague for question in _question(one, close, contest)]
    if not questions:
        questions = [
            f"{one.dated_name}: on which day did it come out?" for one in vague if one in possible
        ]
    return tuple(questions[:_MOST_QUESTIONS]) or (_tie(possible),)


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
    dated = f"is only dated {one.when}" if one.is_dated else "has no date"
    if len(turns) > _MOST_TURNS or any(len(answer) != 1 for answer in answers):
        yield f"{one.name} {dated}: on which day did it come out?"
        return
    turn = date.fromordinal(turns[1][0])
    later = next(other for other in close if other.group.mb_rg_id in answers[1])
    yield f"{one.name} {dated}: before or after {turn}? From that day on it is {later.name}."


def _turns(
    one: Candidate, close: Sequence[Candidate], contest: Contest
) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield the days from which on a candidate's date gives another answer, with that answer."""
    previous: frozenset[str] | None = None
    for day in _days_that_matter(one, close, contest.knobs.lead_window_days):
        field = [at(other, day, day) if other is one else other for other in close]
        tried = weigh(contest_of(field, contest.recordings, contest.artist, contest.knobs))
        answer = frozenset(chosen.group.mb_rg_id for chosen in tried.possible)
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


def _tie(possible: Sequence[Candidate]) -> str:
    names = " or ".join(one.name for one in possible)
    return f"{names}, all of {possible[0].when}: which of them came out first?"
