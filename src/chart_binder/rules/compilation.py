"""A compilation gathers what came out elsewhere, so it is hardly ever the premiere."""

import re
from collections.abc import Iterator
from datetime import date

from chart_binder.domain.dates import before, same_day
from chart_binder.domain.words import isrc
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.contest import Contest
from chart_binder.rules.forerunner import Forerunner
from chart_binder.rules.ruling import Ruling, passes
from chart_binder.rules.statuses import NEVER_OUT, copy_of

MISSING = "the original release is missing from the evidence"

_MOST_DOUBTS = 3
_MOST_TOLD = 3
_TURN_OF_CENTURY = 40
_ISRC = re.compile(r"[A-Z]{2}[A-Z0-9]{3}([0-9]{2})")


def compilation_as_premiere(contest: Contest) -> Ruling:
    """Choose a compilation, if nothing else carries the recording or it is long before the rest.

    Long before: credited to the artist, earlier than everything else by more than the lead window,
    other compilations included. If it is that before every work, but another compilation lies
    within the window, nobody knows which of them it was. Not if anything contradicts it: the
    recording's own first date, the year of an ISRC, an earlier promotional copy or bootleg. Of
    several compilations and nothing else, none by others is chosen: the original is missing from
    the evidence.
    """
    compilations = contest.compilations
    if not compilations:
        return passes("no compilation carries it")
    if not contest.knobs.compilation_premiere:
        return _left_aside(contest, "compilations are left aside (rules.compilation_premiere)")
    if len(compilations) == 1 and not contest.works:
        lone = compilations[0]
        said = f"nothing else than {lone.dated_name} carries it officially"
        return Ruling(compilations, said, contradictions(lone, contest))
    if not contest.forerunners:
        return _left_aside(contest, "no compilation of the artist's own is long before the rest")
    doubts = [doubt for one in contest.forerunners[:_MOST_TOLD] for doubt in _doubts(one, contest)]
    doubts += _by_the_undated(contest)
    choices = [ahead.candidate for ahead in contest.forerunners]
    return Ruling(choices, _long_before(choices[0], contest), tuple(doubts))


def _doubts(ahead: Forerunner, contest: Contest) -> Iterator[str]:
    """Yield why a forerunner may not be the premiere, if it is long before the works."""
    window, name = contest.knobs.lead_window_days, ahead.candidate.dated_name
    yield from contradictions(ahead.candidate, contest)
    if ahead.is_own is None:
        yield f"is {name} the artist's own? No credit tells"
    if not ahead.is_alone:
        near = (one.dated_name for one in contest.precursors.near(ahead.candidate, window))
        told = " or ".join(sorted([name, *near]))
        yield f"which was the first, {told}? They came out, or may have, within {window} days"


def _by_the_undated(contest: Contest) -> Iterator[str]:
    """Yield the dates to ask for, where the only dated one of several compilations is all there is.

    Then no date at all says that it was the first of them.
    """
    if contest.works or len(contest.precursors.compilations) > 1:
        return
    (first,) = contest.precursors.compilations
    undated = [one for one in contest.compilations if not one.is_dated]
    for one in undated[:_MOST_TOLD]:
        yield f"{one.name} has no date: did it come out before {first.dated_name}?"


def _long_before(first: Candidate, contest: Contest) -> str:
    """Return why a compilation is the premiere; of what has no date nothing can be said."""
    records = (*contest.compilations, *contest.works, *contest.undated)
    is_any_undated = any(one is not first and not one.since.is_known for one in records)
    rest = "the rest that has a date" if is_any_undated else "the rest"
    window = contest.knobs.lead_window_days
    return f"{first.dated_name} is the artist's own, more than {window} days before {rest}"


def _left_aside(contest: Contest, why: str) -> Ruling:
    """Pass on to the works; without any, the original is missing."""
    if contest.works:
        return passes(why)
    first = min(contest.compilations, key=lambda one: (one.last, one.title, one.group.mb_rg_id))
    what = (
        "only a compilation carries"
        if len(contest.compilations) == 1
        else "only compilations carry"
    )
    fact = f"{MISSING}: {what} it, the earliest {first.dated_name}"
    return Ruling((), f"{what} it: {why}", (fact,))


def contradictions(compilation: Candidate, contest: Contest) -> tuple[str, ...]:
    """Return what says that the recording was out, or may have been, before a compilation."""
    doubts = sorted({*_by_recording(compilation, contest), *_by_copies(compilation, contest)})
    return tuple(doubts[:_MOST_DOUBTS])


def _by_recording(compilation: Candidate, contest: Contest) -> Iterator[str]:
    """Yield what MusicBrainz' own first date and the ISRCs of the recording contradict.

    MusicBrainz takes a recording's first date from its releases (`recording_first_release_date`),
    so one that may be the compilation's is the compilation's, however exactly each is written. It
    counts copies too: a date that may be that of a copy of the compilation says nothing more, nor
    one that may be that of any release that never came out.
    """
    is_dated = compilation.since.is_known
    copies = [copy for copy in compilation.aside if copy.when.is_known]
    for other in contest.candidates:
        copies += [one for one in other.aside if one.date and one.standing in NEVER_OUT]
    for recording in contest.recordings:
        hint = recording.first_date
        is_of_a_copy = any(same_day(hint, copy.when) is not False for copy in copies)
        if hint.is_known and not is_dated and not is_of_a_copy:
            yield (
                f"the recording is dated {hint}, and {compilation.name} has no date: on which"
                " record did it come out then?"
            )
        elif hint.last < compilation.first and not is_of_a_copy:
            yield (
                f"{MISSING}: the recording is dated {hint}, and {compilation.dated_name} is later"
            )
        for code in recording.isrcs or ():
            year = isrc_year(code)
            if not year or date(year, 12, 31).toordinal() >= compilation.last:
                continue
            if is_dated:
                yield (
                    f"{MISSING}: ISRC {code} was assigned in {year}, before"
                    f" {compilation.dated_name}"
                )
            else:
                yield (
                    f"ISRC {code} was assigned in {year}, and {compilation.name} has no date: on"
                    " which record did it come out then?"
                )


def _by_copies(compilation: Candidate, contest: Contest) -> Iterator[str]:
    """Yield the promotional copies and bootlegs of other records that were out before."""
    for other in contest.candidates:
        if other is compilation or other.group.mb_rg_id == compilation.group.mb_rg_id:
            continue
        for release in other.aside:
            earlier = before(release.when, compilation)
            if earlier is False or not release.when.is_known or release.standing in NEVER_OUT:
                continue
            what = f"{copy_of(release.standing)} of {other.name} is dated {release.when}"
            if earlier:
                yield f"{what}, before {compilation.dated_name}: what is it a copy of?"
            else:
                yield f"{what}: before {compilation.dated_name}?"


def isrc_year(code: str) -> int | None:
    """Return the year an ISRC was assigned in (`CC-XXX-YY-NNNNN`, ISO 3901).

    Two digits stand for a year from 1940 to 2039: the first codes date from 1986, and some
    registrants gave older recordings the year they were made in.
    """
    form = _ISRC.match(isrc(code))
    if form is None:
        return None
    year = int(form[1])
    return year + (2000 if year < _TURN_OF_CENTURY else 1900)
