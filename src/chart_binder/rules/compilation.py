"""A compilation gathers what came out elsewhere, so it is hardly ever the premiere."""

import re
from collections.abc import Iterator
from datetime import date

from chart_binder.domain.dates import before
from chart_binder.domain.words import isrc
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.contest import Contest
from chart_binder.rules.ruling import Ruling, passes
from chart_binder.rules.statuses import NEVER_OUT, copy_of

_MOST_DOUBTS = 3
_TURN_OF_CENTURY = 40
_ISRC = re.compile(r"[A-Z]{2}[A-Z0-9]{3}([0-9]{2})")


def compilation_as_premiere(contest: Contest) -> Ruling:
    """Choose a compilation, if nothing else carries the recording or it is long before the rest.

    Long before: credited to the artist, earlier than every work by more than the lead window, and
    no later than any other compilation. Not if anything contradicts it: the recording's own first
    date, the year of an ISRC, an earlier promotional copy or bootleg. Of several compilations and
    nothing else, none by others is chosen: the original is missing from the evidence.
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
    window = contest.knobs.lead_window_days
    doubts: list[str] = []
    for ahead in contest.forerunners:
        doubts += contradictions(ahead.candidate, contest)
        if ahead.is_own is None:
            name = ahead.candidate.dated_name
            doubts.append(f"is {name} the artist's own? No credit tells")
    choices = [ahead.candidate for ahead in contest.forerunners]
    said = f"{choices[0].dated_name} is the artist's own, more than {window} days before the rest"
    return Ruling(choices, said, tuple(doubts))


def _left_aside(contest: Contest, why: str) -> Ruling:
    """Pass on to the works; without any, the original is missing."""
    if contest.works:
        return passes(why)
    first = min(contest.compilations, key=lambda one: (one.last, one.title))
    what = (
        "only a compilation carries"
        if len(contest.compilations) == 1
        else "only compilations carry"
    )
    fact = (
        f"the original release is missing from the evidence: {what} it, the earliest"
        f" {first.dated_name}"
    )
    return Ruling((), f"{what} it: {why}", (fact,))


def contradictions(compilation: Candidate, contest: Contest) -> tuple[str, ...]:
    """Return what says that the recording was out, or may have been, before a compilation."""
    doubts = sorted({*_by_recording(compilation, contest), *_by_copies(compilation, contest)})
    return tuple(doubts[:_MOST_DOUBTS])


def _by_recording(compilation: Candidate, contest: Contest) -> Iterator[str]:
    """Yield what MusicBrainz' own first date and the ISRCs of the recording contradict."""
    known = (compilation.since.text, compilation.by.text)
    for recording in contest.recordings:
        hint = recording.first_release_date
        if hint.is_known and hint.text not in known:
            earlier = before(hint, compilation)
            if earlier:
                yield (
                    f"the original release is missing from the evidence: the recording is dated"
                    f" {hint}, and {compilation.dated_name} is later"
                )
            elif earlier is None:
                yield f"the recording is dated {hint}: before {compilation.dated_name}?"
        for code in recording.isrcs or ():
            year = isrc_year(code)
            if year and date(year, 12, 31).toordinal() < compilation.last:
                yield (
                    f"the original release is missing from the evidence: ISRC {code} was assigned"
                    f" in {year}, before {compilation.dated_name}"
                )


def _by_copies(compilation: Candidate, contest: Contest) -> Iterator[str]:
    """Yield the promotional copies and bootlegs of other records that were out before."""
    for other in contest.candidates:
        if other is compilation or other.group.mb_rg_id == compilation.group.mb_rg_id:
            continue
        for release in other.aside:
            if release.standing in NEVER_OUT or not release.date.is_known:
                continue
            earlier = before(release.date, compilation)
            what = f"{copy_of(release.standing)} of {other.name} is dated {release.date}"
            if earlier:
                yield f"{what}, before {compilation.dated_name}: what is it a copy of?"
            elif earlier is None:
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
