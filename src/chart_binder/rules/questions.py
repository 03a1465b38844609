"""An open case says why it is open, and which facts would settle it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice, product
from typing import TypeAlias

from chart_binder.domain.dates import LAST_DAY
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, set_off
from chart_binder.domain.verdict import Considered, Open
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.rules.ambiguity import questions, unsure_among
from chart_binder.rules.candidates import Candidate, at, gathers
from chart_binder.rules.contest import Contest, Ruling, between, contest
from chart_binder.rules.explain import copies, rivals
from chart_binder.rules.premiere import Weighed, weigh
from chart_binder.rules.recordings import Lineup, minutes

_MOST_QUESTIONS = 5
_SIDES = 2
_MOST_CLOSE = 8
_MOST_NAMES = 3
_MOST_TRIED = 6
_Turn: TypeAlias = tuple[int, frozenset[str]]
_Turns: TypeAlias = Mapping[ReleaseGroupId, Sequence[_Turn]]
_NOBODY = ReleaseGroupId("")
"""The answer where two compilations are too near to each other."""


def missing_dates(contest: Contest, possible: Sequence[Candidate]) -> tuple[str, ...]:
    """Return which dates would tell between the candidates that may be the answer.

    A date that is known vaguely is tried day by day where it can matter; if the answer turns on one
    day, the question names that day. Where those dates do not settle it, whatever they are, the
    dates that tell beside them are asked for too.
    """
    close = _close(contest, possible)
    vague = [one for one in close if one.first != one.last]
    if len(close) > _MOST_CLOSE:
        return tuple(map(_which_day, vague[:_MOST_QUESTIONS]))
    turns: _Turns = {one.group.mb_rg_id: list(_turns(one, close, contest)) for one in vague}
    alone = [one for one in vague if len(turns[one.group.mb_rg_id]) > 1]
    more = _beside(alone, turns, close, contest)
    asked = [one for one in vague if one in alone or one in more]
    questions = [
        _which_day(one) if more else _question(one, turns[one.group.mb_rg_id], close)
        for one in asked
    ]
    return tuple(questions[:_MOST_QUESTIONS])


def _beside(
    alone: Sequence[Candidate], turns: _Turns, close: Sequence[Candidate], contest: Contest
) -> Sequence[Candidate]:
    """Return whose dates tell something beside those that tell alone.

    Some do once those are known, some leave fewer answers whatever they are: an undated album is
    left aside beside a dated record.
    """
    if not alone:
        return []
    now = _answer(close, contest)
    telling = {name for name, (first, *_) in turns.items() if first[1] != now}
    names = [one.group.mb_rg_id for one in alone]
    for days in islice(product(*([day for day, _ in turns[name]] for name in names)), _MOST_TRIED):
        field = _on(close, dict(zip(names, days, strict=True)))
        if len(_answer(field, contest)) > 1:
            rest = [one for one in field if one.first != one.last]
            telling |= {one.group.mb_rg_id for one in rest if _tells(one, field, contest)}
    return [one for one in close if one.group.mb_rg_id in telling and one not in alone]


def _on(close: Sequence[Candidate], days: Mapping[ReleaseGroupId, int]) -> Sequence[Candidate]:
    """Return the candidates with some of them on days that are known."""
    when = ((one, days.get(one.group.mb_rg_id)) for one in close)
    return [one if day is None else at(one, day, day) for one, day in when]


def _tells(one: Candidate, close: Sequence[Candidate], contest: Contest) -> bool:
    """Whether the answer turns on a day of one."""
    return len([*islice(_turns(one, close, contest), _SIDES)]) == _SIDES


def undated_tie(possible: Sequence[Candidate]) -> str:
    """Return the question that is left when no single date would tell."""
    if len({day for one in possible for day in (one.first, one.last)}) == 1:
        return (
            "which of them came out on that day in the artist's country, or on a label that goes"
            f" before the others': {either(possible)}?"
        )
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


def _question(one: Candidate, turns: Sequence[_Turn], close: Sequence[Candidate]) -> str:
    answers = [answer for _, answer in turns]
    if len(turns) != _SIDES or any(len(each) != 1 or _NOBODY in each for each in answers):
        return _which_day(one)
    turn = date.fromordinal(turns[1][0])
    names: dict[str, str] = {other.group.mb_rg_id: other.name for other in close}
    earlier, later = (names[next(iter(answer))] for answer in answers)
    return (
        f"{_dated(one)}: before or after {turn}? Before: {earlier}; on that day or later: {later}"
    )


def _answer(field: Sequence[Candidate], contest: Contest) -> frozenset[str]:
    """Return what may be the answer, were the records of these days."""
    tried = between(field, contest)
    answer = frozenset(chosen.group.mb_rg_id for chosen in weigh(tried).possible)
    return answer if all(ahead.is_alone for ahead in tried.forerunners) else answer | {_NOBODY}


def _turns(one: Candidate, close: Sequence[Candidate], contest: Contest) -> Iterator[_Turn]:
    """Yield the days from which on a candidate's date gives another answer, with that answer."""
    previous: frozenset[str] | None = None
    for day in _days_that_matter(one, close, contest.knobs.lead_window_days):
        field = [at(other, day, day) if other is one else other for other in close]
        answer = _answer(field, contest)
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
        group = one.group.first_date
        return f"{one.name} has no date" + (f" (its group: {group})" if group.is_known else "")
    if one.since == one.by:
        return f"{one.name} is only dated {one.when}"
    return f"{one.name} was out by {one.by}, but a release of it is only dated {one.since}"


_LONGEST_REMARK = 80


def left_open(field: Contest, weighed: Weighed, lineup: Lineup, bundle: EvidenceBundle) -> Open:
    """Return an open verdict with the facts that would settle it."""
    losers = rivals(field, None, lineup.left_out)
    path = _path(weighed)
    if not any(one.counts for one in field.candidates):
        return Open(*_nothing_official(field, bundle), path, losers)
    facts = list(weighed.doubts)
    if len(weighed.possible) > 1:
        facts += missing_dates(field, weighed.possible)
        because = f"the facts known do not tell whether it is {either(weighed.possible)}"
    elif weighed.possible:
        because = f"{either(weighed.possible)} may not be where it came out first"
    else:
        because = "only compilations carry it, and the original is not among them"
    return Open(because, tuple(facts) or (undated_tie(weighed.possible),), path, losers)


def _nothing_official(field: Contest, bundle: EvidenceBundle) -> tuple[str, tuple[str, ...]]:
    title = f"'{bundle.recording_title}'" if bundle.recording_title else "the recording"
    fact = (
        f"the original release is missing from the evidence: on which record did {title} come out?"
    )
    if not field.candidates:
        return "no record is known that carries it", (fact,)
    known = "; ".join(sorted(f"{one.name} ({copies(one.aside)})" for one in field.candidates)[:3])
    unsure = unsure_among(field.candidates)
    facts = questions(unsure, list(unsure)) or (fact,)
    return f"no official release of it is known, only {known}", facts


def _path(weighed: Weighed) -> tuple[Considered, ...]:
    return tuple(Considered(code, _said(ruling)) for code, ruling in weighed.asked)


def _said(ruling: Ruling) -> str:
    if not ruling.choices:
        return ruling.said
    if ruling.doubts:
        return f"would choose {either(ruling.choices)}, but {ruling.doubts[0]}"
    return f"may choose {either(ruling.choices)}: the facts known do not tell"


def objection_to(
    chosen: Candidate, field: Contest, weighed: Weighed, lineup: Lineup
) -> Open | None:
    """Return an open verdict, if the recordings kept lead to different records.

    One that leads to a compilation raises no objection, if that is not what was decided for: it is
    taken for a copy that nobody merged.
    """
    if len(lineup.versions) == 1:
        return None
    homes: dict[str, str] = {}
    for version in lineup.versions:
        own = contest(version, field.artist, field.knobs)
        for one in weigh(own).possible:
            if not gathers(one.group) or one.group.mb_rg_id == chosen.group.mb_rg_id:
                homes[one.group.mb_rg_id] = f"{_told(version)} on {one.name}"
    homes.setdefault(chosen.group.mb_rg_id, f"{_told(chosen.carriers)} on {chosen.name}")
    if len(homes) == 1:
        return None
    fact = f"which recording is it: {', or '.join(sorted(homes.values()))}?"
    because = "the recordings found came out on different records"
    return Open(because, (fact,), _path(weighed), rivals(field, None, lineup.left_out))


def _told(version: Sequence[RecordingCandidate]) -> str:
    """Return what to call a recording: `3:00 (mono)`; its length, and what is said of it."""
    length_ms = next((one.length_ms for one in version if one.length_ms), None)
    remarks = [one.disambiguation or set_off(one.title or "") for one in version]
    remarks += ["mono" for one in version if one.intent.is_mono]
    remark = next(filter(None, remarks), "")[:_LONGEST_REMARK]
    if not remark:
        return minutes(length_ms)
    return f"{minutes(length_ms)} ({remark})" if length_ms else f"'{remark}'"
