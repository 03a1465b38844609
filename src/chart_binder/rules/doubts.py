"""What says that a recording was out before the records listed: dates, ISRCs and earlier copies."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from operator import attrgetter

from chart_binder.domain.dates import FIRST_DAY, PartialDate, before, same_day
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release
from chart_binder.domain.vocabulary import isrc
from chart_binder.rules.assumptions import Asked
from chart_binder.rules.candidates import NEVER_OUT, Candidate, Role, describe_unofficial
from chart_binder.rules.contest import Contest
from chart_binder.rules.media import is_before_its_time

MISSING = "the original release is missing from the evidence"
PROMO_DAYS = 60
"""A promotional copy comes out so many days before its own record at most."""

_MAX_DOUBTS = 3
_FIRST_DATE, _ISRCS = attrgetter("first_release_date"), attrgetter("isrcs")
_COPIES = attrgetter("unofficial")
_ISRC = re.compile(r"[A-Z]{2}[A-Z0-9]{3}([0-9]{2})")
_FIRST_YEAR_OF_1900S = 40


def is_promo_of(copy: Release, record: Candidate) -> bool:
    """Whether a promotional copy came out at most 60 days before the record it is a copy of."""
    if copy.standing != "Promotion" or not record.official:
        return False
    return record.last - copy.when.first <= PROMO_DAYS


def unlisted_original(contest: Contest, possible: Sequence[Candidate]) -> tuple[Asked, ...]:
    """Return what says that the recording was out before everything listed, works included.

    `possible` are the records that may be the decision. The recording's first date says nothing
    where the only one is the first listed, and its group is of that date: what is not listed is
    another release of it.
    """
    recordings = contest.recordings
    is_any_hint = any(map(_FIRST_DATE, recordings)) or any(map(_ISRCS, recordings))
    if not is_any_hint and not any(map(_COPIES, contest.candidates)):
        return ()
    listed = [one for one in contest.candidates if one.first > FIRST_DAY and one.counts]
    if not listed:
        return ()
    first = min(listed, key=attrgetter("first", "last", "name"))
    is_its_own = len(possible) == 1 and possible[0].group.mb_rg_id == first.group.mb_rg_id
    dates = [first.group.first_date] if is_its_own and first.group.first_release_date else []
    found = sorted(_before_all(first, dates, contest), key=lambda one: (one.text, one.about))
    return tuple(found[:_MAX_DOUBTS])


def _before_all(
    first: Candidate, explained: Sequence[PartialDate], contest: Contest
) -> Iterator[Asked]:
    """Yield what is certainly earlier than the first record listed.

    It is a recording's own first date, or the year of an ISRC, earlier by more than one calendar
    year, unless a listed copy may be of then: MusicBrainz takes a recording's first date from
    promotional copies and bootlegs too. A promotional copy itself is, or a bootleg that gathers
    earlier recordings, where the first official record is as much later as a reissue.
    """
    year, copies = date.fromordinal(first.first).year, [*_copies(contest)]
    dates = [*explained, *(copy.when for copy in copies)]
    for recording in contest.recordings:
        about = (first.group.mb_rg_id, recording.mb_recording_id)
        hint = recording.first_date
        if hint.last < first.first and all(same_day(hint, one) is False for one in dates):
            text = f"{MISSING}: the recording is dated {hint}, before {first.dated_name}"
            yield Asked("missing_original", text, about)
        assigned = isrc_year([recording], contest.bundle) or year
        if assigned < year - 1 and all(_year(copy) > assigned + 1 for copy in copies):
            text = f"{MISSING}: an ISRC was assigned in {assigned}, before {first.dated_name}"
            yield Asked("missing_original", text, about)
    gap = contest.settings.reissue_long_gap_years
    for one in contest.candidates:
        that_tell = ("Promotion", "Bootleg") if one.role is Role.COMPILATION else ("Promotion",)
        for copy in one.unofficial:
            if copy.standing in that_tell and copy.when.is_known and _year(copy) < year - gap:
                text = f"{describe_unofficial(copy)} of {copy.when} is older than"
                text = f"{text} {first.dated_name}: what is it a copy of?"
                yield Asked("missing_original", text, (one.group.mb_rg_id, copy.mb_release_id))


def _year(release: Release) -> int:
    return int(release.when.text[:4])


def _copies(contest: Contest) -> Iterator[Release]:
    """Yield the dated releases that are listed, but decide nothing."""
    for one in contest.candidates:
        yield from (copy for copy in one.unofficial if copy.when.is_known)
        yield from filter(is_before_its_time, one.official if one.hint else ())


def contradictions(compilation: Candidate, contest: Contest) -> tuple[Asked, ...]:
    """Return what says that the recording was out, or may have been, before a compilation."""
    found = (*_contradicting_dates(compilation, contest), *_earlier_copies(compilation, contest))
    doubts: dict[str, Asked] = {}
    for one in sorted(found, key=lambda one: (one.text, one.about)):
        doubts.setdefault(one.text, one)
    return tuple(doubts.values())[:_MAX_DOUBTS]


def _contradicting_dates(compilation: Candidate, contest: Contest) -> Iterator[Asked]:
    """Yield contradictions with MusicBrainz' first date and the ISRCs of the recordings.

    MusicBrainz takes a recording's first date from its releases (`recording_first_release_date`),
    unofficial ones included. So it contradicts nothing where it may be the date of the compilation
    itself, of an unofficial copy of it, or of any release that never came out.
    """
    is_dated = compilation.since.is_known
    copies = [copy for copy in compilation.unofficial if copy.when.is_known]
    for other in contest.candidates:
        copies += [one for one in other.unofficial if one.date and one.standing in NEVER_OUT]
    where, read = "on which record did it come out then?", year_read(contest.bundle)
    for recording in contest.recordings:
        about = (compilation.group.mb_rg_id, recording.mb_recording_id)
        hint = recording.first_date
        if not any(same_day(hint, copy.when) is not False for copy in copies):
            if hint.is_known and not is_dated:
                text = f"the recording is dated {hint}, and {compilation.name} has no date: {where}"
                yield Asked("missing_original", text, about)
            elif hint.last < compilation.first:
                later = f"{compilation.dated_name} is later"
                text = f"{MISSING}: the recording is dated {hint}, and {later}"
                yield Asked("missing_original", text, about)
        for code in recording.isrcs or ():
            year = _year_assigned(code, read)
            if not year or date(year, 12, 31).toordinal() >= compilation.last:
                continue
            assigned = f"ISRC {code} was assigned in {year}"
            text = f"{assigned}, and {compilation.name} has no date: {where}"
            if is_dated:
                text = f"{MISSING}: {assigned}, before {compilation.dated_name}"
            yield Asked("missing_original", text, about)


def _earlier_copies(compilation: Candidate, contest: Contest) -> Iterator[Asked]:
    """Yield the promotional copies and bootlegs of other records that came out earlier.

    And promotional copies of the compilation that are, or may be, no promos of it: those more than
    60 days older.
    """
    for other in contest.candidates:
        if other.group.mb_rg_id == compilation.group.mb_rg_id:
            yield from _long_before_it(compilation)
            continue
        for release in other.unofficial:
            is_earlier = before(release.when, compilation)
            if is_earlier is False or not release.when.is_known or release.standing in NEVER_OUT:
                continue
            if is_promo_of(release, other):
                continue
            what = f"{describe_unofficial(release)} of {other.name} is dated {release.when}"
            about = other.group.mb_rg_id, release.mb_release_id
            if is_earlier:
                text = f"{what}, before {compilation.dated_name}: what is it a copy of?"
                yield Asked("missing_original", text, about)
            else:
                yield Asked("date", f"{what}: before {compilation.dated_name}?", about)


def _long_before_it(compilation: Candidate) -> Iterator[Asked]:
    """Yield the promotional copies of a compilation that are more than 60 days older, or may be.

    A bare year or month that the compilation's whole date lies in tells nothing, as everywhere.
    """
    is_day = compilation.first == compilation.last
    for copy in compilation.unofficial if compilation.is_dated else ():
        when = copy.when
        if copy.standing != "Promotion" or not when.is_known or is_promo_of(copy, compilation):
            continue
        if is_day and when.first < when.last and when.last >= compilation.first:
            continue
        what = f"{describe_unofficial(copy)} of {compilation.dated_name} is dated {when}"
        about = compilation.group.mb_rg_id, copy.mb_release_id
        if when.last + PROMO_DAYS < compilation.first:
            text = f"{what}, more than {PROMO_DAYS} days before it: what is it a copy of?"
            yield Asked("missing_original", text, about)
        else:
            yield Asked("date", f"{what}: more than {PROMO_DAYS} days before it?", about)


def isrc_year(recordings: Sequence[RecordingCandidate], bundle: EvidenceBundle) -> int | None:
    """Return the year in which the earliest ISRC of recordings was assigned."""
    codes = [code for one in recordings if one.isrcs for code in one.isrcs]
    if not codes:
        return None
    read = year_read(bundle)
    return min(filter(None, (_year_assigned(code, read) for code in codes)), default=None)


def year_read(bundle: EvidenceBundle) -> int | None:
    """Return the year in which the evidence was fetched, if it is known."""
    known = bundle.provenance
    read = ((known and known.fetched_at_utc) or "")[:4]
    return int(read) if read.isdecimal() else None


@lru_cache(maxsize=4_096)
def _year_assigned(code: str, read: int | None) -> int | None:
    """Return the year an ISRC was assigned in (`CC-XXX-YY-NNNNN`, ISO 3901).

    Two digits stand for a year from 1940 to 2039, but for none after the next of `read`: the first
    codes date from 1986, and some registrants gave older recordings the year they were made in.
    """
    form = _ISRC.match(isrc(code))
    if form is None:
        return None
    year = 2000 + int(form[1])
    is_past = year >= 2000 + _FIRST_YEAR_OF_1900S or (read is not None and year > read + 1)
    return year - 100 if is_past else year
