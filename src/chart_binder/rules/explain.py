"""Explanations: what would settle an open case, and why each other candidate was not chosen."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice, product
from operator import itemgetter
from typing import TypeAlias

from msgspec.structs import replace

from chart_binder.domain.dates import LAST_DAY
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, set_off
from chart_binder.domain.verdict import Considered, Open, Rival, Verdict
from chart_binder.domain.vocabulary import ReleaseGroupId, bare_id
from chart_binder.rules.ambiguity import releases_of_unknown_status, status_questions
from chart_binder.rules.candidates import (
    Candidate,
    Role,
    candidates_of,
    count_unofficial,
    is_compilation,
    with_span,
)
from chart_binder.rules.contest import Contest, Ruling, build_contest, with_candidates
from chart_binder.rules.premiere import RuleResults, apply_rules
from chart_binder.rules.recordings import SortedRecordings, format_length

_MAX_QUESTIONS = 5
_MAX_CLOSE = 8
"""Of more close candidates no day is tried: their exact dates are asked for."""
_MAX_COMBINATIONS = 6
_MAX_NAMES = 3
_MAX_REMARK = 80

_Excluded: TypeAlias = Sequence[tuple[RecordingCandidate, str]]


def open_verdict(
    contest: Contest, results: RuleResults, recordings: SortedRecordings, bundle: EvidenceBundle
) -> Open:
    """Return an open verdict with the facts that would settle it."""
    losers = explain_losers(contest, None, recordings.excluded)
    path = _path(results)
    if not any(one.counts for one in contest.candidates):
        return Open(*_nothing_official(contest, bundle), path, losers)
    facts, possible = list(results.doubts), results.possible
    if len(possible) > 1:
        facts += _missing_dates(contest, possible)
        because = f"the facts known do not tell whether it is {_either(possible)}"
    elif possible:
        because = f"{_either(possible)} may not be where it came out first"
    else:
        because = "only compilations carry it, and the original is not among them"
    return Open(because, tuple(facts) or (_tie_question(possible),), path, losers)


def _nothing_official(contest: Contest, bundle: EvidenceBundle) -> tuple[str, tuple[str, ...]]:
    title = f"'{bundle.recording_title}'" if bundle.recording_title else "the recording"
    fact = (
        f"the original release is missing from the evidence: on which record did {title} come out?"
    )
    if not contest.candidates:
        return "no record is known that carries it", (fact,)
    names = (f"{one.name} ({count_unofficial(one.unofficial)})" for one in contest.candidates)
    unknown = releases_of_unknown_status(contest.candidates)
    facts = status_questions(unknown, list(unknown)) or (fact,)
    return f"no official release of it is known, only {'; '.join(sorted(names)[:3])}", facts


def recordings_disagree(
    chosen: Candidate, contest: Contest, results: RuleResults, recordings: SortedRecordings
) -> Open | None:
    """Return an open verdict, if the recordings kept lead to different records.

    One that leads to a compilation does not count, unless that compilation is the decision: it is
    taken for a duplicate that nobody merged.
    """
    if len(recordings.versions) == 1:
        return None
    homes: dict[str, str] = {}
    for version in recordings.versions:
        own = build_contest(version, contest.artist, contest.settings)
        for one in apply_rules(own).possible:
            if not is_compilation(one.group) or one.group.mb_rg_id == chosen.group.mb_rg_id:
                homes[one.group.mb_rg_id] = f"{_describe_version(version)} on {one.name}"
    described = f"{_describe_version(chosen.recordings)} on {chosen.name}"
    homes.setdefault(chosen.group.mb_rg_id, described)
    if len(homes) == 1:
        return None
    fact = f"which recording is it: {', or '.join(sorted(homes.values()))}?"
    because = "the recordings found came out on different records"
    losers = explain_losers(contest, None, recordings.excluded)
    return Open(because, (fact,), _path(results), losers)


def _describe_version(version: Sequence[RecordingCandidate]) -> str:
    """Return the length of a recording with the remark on it: `3:00 (mono)`."""
    length_ms = next((one.length_ms for one in version if one.length_ms), None)
    remarks = [one.disambiguation or set_off(one.title or "") for one in version]
    remarks += ["mono" for one in version if one.intent.is_mono]
    remark = next(filter(None, remarks), "")[:_MAX_REMARK]
    if not remark:
        return format_length(length_ms)
    return f"{format_length(length_ms)} ({remark})" if length_ms else f"'{remark}'"


def _path(results: RuleResults) -> tuple[Considered, ...]:
    return tuple(Considered(code, _undecided_reason(ruling)) for code, ruling in results.rulings)


def _undecided_reason(ruling: Ruling) -> str:
    if not ruling.choices:
        return ruling.reason
    if ruling.doubts:
        return f"would choose {_either(ruling.choices)}, but {ruling.doubts[0]}"
    return f"may choose {_either(ruling.choices)}: the facts known do not tell"


def _either(candidates: Sequence[Candidate]) -> str:
    """Name candidates as alternatives, only the first few of many."""
    names = [one.dated_name for one in candidates[:_MAX_NAMES]]
    if len(candidates) > _MAX_NAMES:
        names.append(f"one of {len(candidates) - _MAX_NAMES} others")
    return " or ".join(names)


def _tie_question(possible: Sequence[Candidate]) -> str:
    """Return the question that is left when no single date would settle the case."""
    if len({day for one in possible for day in (one.first, one.last)}) == 1:
        return (
            "which of them came out on that day in the artist's country, or on a label that goes"
            f" before the others': {_either(possible)}?"
        )
    return f"which of them came out first: {_either(possible)}?"


# Questions for dates.

_Answer: TypeAlias = frozenset[str]
"""The ids of the groups that may be the decision."""
_Change: TypeAlias = tuple[int, _Answer]
"""A day from which on a candidate's date leads to another answer, with that answer."""
_Changes: TypeAlias = Mapping[ReleaseGroupId, Sequence[_Change]]
_NOBODY = ReleaseGroupId("")
"""The answer where two compilations are too close to each other."""


def _missing_dates(contest: Contest, possible: Sequence[Candidate]) -> tuple[str, ...]:
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
        return tuple(map(_ask_day, vague[:_MAX_QUESTIONS]))
    changes: _Changes = {one.group.mb_rg_id: [*_changes(one, close, contest)] for one in vague}
    alone = [one for one in vague if len(changes[one.group.mb_rg_id]) > 1]
    more = _dates_that_matter_beside(alone, changes, close, contest)
    questions = [
        _ask_day(one) if more else _ask_side(one, changes[one.group.mb_rg_id], close)
        for one in vague
        if one in alone or one in more
    ]
    return tuple(questions[:_MAX_QUESTIONS])


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
    previous: _Answer | None = None
    for day in _days_that_matter(one, close, contest.settings.lead_window_days):
        tried = [with_span(other, day, day) if other is one else other for other in close]
        answer = _answer(tried, contest)
        if answer != previous:
            yield day, answer
            previous = answer


def _answer(candidates: Sequence[Candidate], contest: Contest) -> _Answer:
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


def _ask_side(one: Candidate, changes: Sequence[_Change], close: Sequence[Candidate]) -> str:
    """Ask on which side of a day it came out, if there is just one such day."""
    answers = [answer for _, answer in changes]
    if len(changes) > 2 or any(len(each) != 1 or _NOBODY in each for each in answers):  # noqa: PLR2004
        return _ask_day(one)
    names: dict[str, str] = {other.group.mb_rg_id: other.name for other in close}
    earlier, later = (names[next(iter(answer))] for answer in answers)
    day = date.fromordinal(changes[1][0])
    return (
        f"{_known_date(one)}: before or after {day}? Before: {earlier}; on that day or later:"
        f" {later}"
    )


def _ask_day(one: Candidate) -> str:
    return f"{_known_date(one)}: on which day did it come out?"


def _known_date(one: Candidate) -> str:
    if not one.since.is_known:
        group = one.group.first_date
        return f"{one.name} has no date" + (f" (its group: {group})" if group.is_known else "")
    if one.since == one.by:
        return f"{one.name} is only dated {one.when}"
    return f"{one.name} was out by {one.by}, but a release of it is only dated {one.since}"


# Why the others were not chosen.


def explain_losers(
    contest: Contest, chosen: Candidate | None, excluded: _Excluded = ()
) -> tuple[Rival, ...]:
    """Return the candidates that were not chosen, the earliest first."""
    crg, winner = (chosen.group.mb_rg_id, chosen.name) if chosen else (None, "")
    window = contest.settings.lead_window_days
    losers = [
        Rival(name, one.title, _why_not(one, chosen, winner, window))
        for one in contest.candidates
        if (name := one.group.mb_rg_id) != crg
    ]
    return (*losers, *_of_excluded(contest, excluded))


def explain_losers_to_override(
    contest: Contest, crg: str, excluded: _Excluded, by_rules: Verdict
) -> tuple[Rival, ...]:
    """Return the candidates that a person did not choose.

    `crg` is the group they chose, which the evidence may lack; `by_rules` is what the rules say
    without the person.
    """
    names = {bare_id(one.group.mb_rg_id): one.name for one in contest.candidates}
    ruled = f"a person ruled for {names.get(crg, 'another record')}; by the rules alone"
    losers = []
    for one in contest.candidates:
        if bare_id(group := one.group.mb_rg_id) == crg:
            continue
        if isinstance(by_rules, Open):
            alone = "the case is open"
        elif by_rules.crg == group:
            alone = "it would be this one"
        elif bare_id(by_rules.crg) == crg:
            alone = "it would be that, too"
        else:
            alone = f"it would be {names[bare_id(by_rules.crg)]}"
        known = (
            one.when if one.counts else f"nothing official, only {count_unofficial(one.unofficial)}"
        )
        losers.append(Rival(group, one.title, f"{one.kind} ({known}): {ruled} {alone}"))
    others = (
        replace(one, why_not=f"{ruled} it does not count: {one.why_not}")
        for one in _of_excluded(contest, excluded)
        if bare_id(one.release_group) != crg
    )
    return (*losers, *others)


def _of_excluded(contest: Contest, excluded: _Excluded) -> Iterator[Rival]:
    """Yield the groups that carry excluded recordings only, each with the first reason."""
    if not excluded:
        return
    known = {one.group.mb_rg_id for one in contest.candidates}
    reasons: dict[str, str] = {}
    for recording, why in sorted(excluded, key=itemgetter(1)):
        for group in recording.groups:
            reasons.setdefault(group.mb_rg_id, why)
    for one in candidates_of([recording for recording, _ in excluded]):
        if one.group.mb_rg_id not in known:
            yield Rival(one.group.mb_rg_id, one.title, reasons[one.group.mb_rg_id])


def _why_not(one: Candidate, chosen: Candidate | None, winner: str, window: int) -> str:
    if not one.counts:
        return f"{one.kind}: nothing official, only {count_unofficial(one.unofficial)}"
    if chosen is None:
        return f"{one.kind} ({one.when})"
    return f"{one.kind} ({one.when}): {_lost(one, chosen, winner, window)}"


def _lost(one: Candidate, chosen: Candidate, winner: str, window: int) -> str:
    if one.first > chosen.last:  # the usual case
        return f"{_days(one, chosen)}later than {winner}"
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
