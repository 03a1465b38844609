"""Questions for dates: on which day, or which side of a day, the answer of the rules turns."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice, product
from typing import TypeAlias

from chart_binder.domain.dates import FIRST_DAY, LAST_DAY
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.rules.assumptions import (
    Answer,
    Asked,
    BundleChange,
    day_answers,
    in_groups,
    premiere_answer,
    set_fields,
    set_releases,
)
from chart_binder.rules.candidates import Candidate, with_span
from chart_binder.rules.contest import Contest, home_countries, with_candidates
from chart_binder.rules.media import first_day_on_sale
from chart_binder.rules.premiere import apply_rules

_MAX_QUESTIONS = 5
_MAX_CLOSE = 8
"""Of more close candidates no day is tried: their exact dates are asked for."""
_MAX_COMBINATIONS = 6
_MAX_NAMES = 3
_MAX_SPANS = 4
"""With more spans of days that lead to different answers, none is listed."""


def either(candidates: Sequence[Candidate]) -> str:
    """Name candidates as alternatives, only the first few of many."""
    names = [one.dated_name for one in candidates[:_MAX_NAMES]]
    if len(candidates) > _MAX_NAMES:
        names.append(f"one of {len(candidates) - _MAX_NAMES} others")
    return " or ".join(names)


def tie_question(contest: Contest, possible: Sequence[Candidate]) -> Asked:
    """Return the question that is left when no single date would settle the case.

    Of records of one day, it is the one that came out in the artist's country on that day; else the
    one that is called the first.
    """
    days = {day for one in possible for day in (one.first, one.last)}
    about = tuple(one.group.mb_rg_id for one in possible[:_MAX_NAMES])
    text = f"which of them came out first: {either(possible)}?"
    answers: list[Answer] = []
    if len(days) == 1:
        text = (
            "which of them came out on that day in the artist's country, or on a label that goes"
            f" before the others': {either(possible)}?"
        )
        country, day = contest.artist.country, days.pop()
        answers = [
            (one.name, [_in_country(country, one, day)])
            for one in possible[:_MAX_NAMES]
            if country and home_countries(country)
        ]
    answers = answers or [premiere_answer(one.name, one.group.mb_rg_id) for one in possible]
    return Asked("tie", text, about, answers if len(answers) <= _MAX_NAMES else ())


def _in_country(country: str, one: Candidate, day: int) -> BundleChange:
    """Return the change by which a record came out in a country on a day."""
    change = set_releases(
        lambda release: release.is_official and release.when.first == release.when.last == day,
        country=country,
    )
    if one.is_weak:
        change = set_fields(countries=(country,))
    return in_groups(change, (one.group.mb_rg_id,))


_Groups: TypeAlias = frozenset[str]
"""The ids of the groups that may be the decision."""
_Change: TypeAlias = tuple[int, _Groups]
"""A day from which on a candidate's date leads to another answer, with that answer."""
_Changes: TypeAlias = Mapping[ReleaseGroupId, Sequence[_Change]]
_NOBODY = ReleaseGroupId("")
"""The answer where two compilations are too close to each other."""


def date_questions(contest: Contest, possible: Sequence[Candidate]) -> Sequence[Asked]:
    """Return questions for the dates that would decide between the possible answers.

    A vague date is tried on each day that can matter; if the answer changes on one day only, the
    question names that day. Where those dates do not settle the case, whatever they are, the dates
    that matter beside them are asked for too.
    """
    early = [one.candidate for one in contest.early_compilations]
    by_id = {
        one.group.mb_rg_id: one for one in (*contest.firsts, *contest.albums, *early, *possible)
    }
    close = sorted(by_id.values(), key=lambda o: (o.first, o.last, o.title, o.group.mb_rg_id))
    vague = [one for one in close if one.first != one.last]
    if len(close) > _MAX_CLOSE:
        return [_ask_day(one) for one in vague[:_MAX_QUESTIONS]]
    changes: _Changes = {one.group.mb_rg_id: [*_changes(one, close, contest)] for one in vague}
    alone = [one for one in vague if len(changes[one.group.mb_rg_id]) > 1]
    more = _dates_that_matter_beside(alone, changes, close, contest)
    questions = [
        _ask_day(one, found) if more else _ask_side(one, found, close)
        for one in vague
        if (one in alone or one in more) and (found := changes[one.group.mb_rg_id])
    ]
    return questions[:_MAX_QUESTIONS]


def _dates_that_matter_beside(
    alone: Sequence[Candidate], changes: _Changes, close: Sequence[Candidate], contest: Contest
) -> Sequence[Candidate]:
    """Return the candidates whose dates matter beside those that matter alone.

    Some matter once those are known; some leave fewer answers whatever they are, such as that of an
    undated album, which is set aside beside a dated record.
    """
    if not alone:
        return []
    now = _answer(close, contest)
    matter = {name for name, (first, *_) in changes.items() if first[1] != now}
    names = [one.group.mb_rg_id for one in alone]
    combinations = product(*([day for day, _ in changes[name]] for name in names))
    for days in islice(combinations, _MAX_COMBINATIONS):
        known = dict(zip(names, days, strict=True))
        tried = [
            one if (day := known.get(one.group.mb_rg_id)) is None else with_span(one, day, day)
            for one in close
        ]
        if len(_answer(tried, contest)) > 1:
            for one in tried:
                if one.first != one.last and len([*islice(_changes(one, tried, contest), 2)]) > 1:
                    matter.add(one.group.mb_rg_id)
    return [one for one in close if one.group.mb_rg_id in matter and one not in alone]


def _changes(one: Candidate, close: Sequence[Candidate], contest: Contest) -> Iterator[_Change]:
    """Yield the days from which on a candidate's date leads to another answer."""
    previous: _Groups | None = None
    for day in _days_that_matter(one, close, contest.settings.lead_window_days):
        tried = [with_span(other, day, day) if other is one else other for other in close]
        answer = _answer(tried, contest)
        if answer != previous:
            yield day, answer
            previous = answer


def _answer(candidates: Sequence[Candidate], contest: Contest) -> _Groups:
    tried = with_candidates(contest, candidates)
    answer = frozenset(chosen.group.mb_rg_id for chosen in apply_rules(tried).possible)
    is_clear = all(early.is_alone for early in tried.early_compilations)
    return answer if is_clear else answer | {_NOBODY}


def _days_that_matter(one: Candidate, close: Sequence[Candidate], window: int) -> list[int]:
    """Return days such that between two of them no answer can change."""
    bounds = {day for other in close if other is not one for day in (other.first, other.last)}
    steps = (0, 1, -window, 1 - window, window, window + 1)
    days = {day + step for day in bounds for step in steps}
    inside = {max(one.first, 2), *(day for day in days if one.first < day <= one.last)}
    return sorted(inside - {LAST_DAY})


def _ask_side(one: Candidate, changes: Sequence[_Change], close: Sequence[Candidate]) -> Asked:
    """Ask on which side of a day it came out, if there is just one such day."""
    answers = [answer for _, answer in changes]
    if len(changes) > 2 or not all(map(_is_one, answers)):  # noqa: PLR2004
        return _ask_day(one, changes)
    names: dict[str, str] = {other.group.mb_rg_id: other.name for other in close}
    earlier, later = (names[next(iter(answer))] for answer in answers)
    day = date.fromordinal(changes[1][0])
    text = (
        f"{_known_date(one)}: before or after {day}? Before: {earlier}; on that day or later:"
        f" {later}"
    )
    return Asked("date", text, (one.group.mb_rg_id,), _answers(one, changes))


def _ask_day(one: Candidate, changes: Sequence[_Change] = ()) -> Asked:
    text = f"{_known_date(one)}: on which day did it come out?"
    return Asked("date", text, (one.group.mb_rg_id,), _answers(one, changes))


def _is_one(answer: _Groups) -> bool:
    return len(answer) == 1 and _NOBODY not in answer


def _answers(one: Candidate, changes: Sequence[_Change]) -> Sequence[Answer]:
    if not 1 < len(changes) <= _MAX_SPANS:
        return ()
    starts = [(day, _is_one(answer)) for day, answer in changes]
    is_any_dated = one.since.is_known or one.hint
    on_sale = FIRST_DAY if is_any_dated else first_day_on_sale(one.official)
    return day_answers(one.group.mb_rg_id, starts, one.last, on_sale)


def _known_date(one: Candidate) -> str:
    if not one.since.is_known:
        group = one.group.first_date
        return f"{one.name} has no date" + (f" (its group: {group})" if group.is_known else "")
    if one.hint:
        dated = f"a release of it, on a medium of later years, is dated {one.hint}"
        return f"{one.name} was out by {one.by}, but {dated}"
    if one.since == one.by:
        return f"{one.name} is only dated {one.when}"
    return f"{one.name} was out by {one.by}, but a release of it is only dated {one.since}"
