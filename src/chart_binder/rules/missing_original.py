"""What suggests that an earlier release exists than those listed.

It leaves a compilation undecided, makes the year of a first release uncertain, and is why other
recordings of the same performance are looked up.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from operator import attrgetter

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, PartialDate, before, same_day
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release, set_off
from chart_binder.domain.verdict import Decided, Open, Verdict
from chart_binder.domain.vocabulary import isrc
from chart_binder.rules.candidates import (
    NEVER_OUT,
    Candidate,
    Role,
    candidates_of,
    describe_unofficial,
    is_before_its_time,
)
from chart_binder.rules.contest import Contest
from chart_binder.rules.names import is_by, is_various
from chart_binder.rules.questions import Asked
from chart_binder.rules.recordings import sort_recordings
from chart_binder.rules.representative import is_marked_reissue

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


WORKS = (Role.ALBUM, Role.SINGLE, Role.LIVE, Role.SOUNDTRACK)
"""The roles of records that do not gather earlier recordings."""

_UNDATED_FIRSTS = (Role.SINGLE, Role.SOUNDTRACK)
_MAX_NAMED = 3
_TAPING_YEARS = 2
_FIRST_YEAR = 1877
"""No record is older: the phonograph."""
_YEAR = re.compile(
    r"(?<![A-Za-z0-9-])(?:\d\d?-\d\d?-)?((?:18[89]|19|20)\d\d)"
    r"(?:-\d\d(?:-\d\d)?|-(?:18|19|20)\d\d)?(?![A-Za-z0-9-])"
)
"""A year, alone or in a date; none are the digits of a longer or a catalogue number."""
_REMASTER = re.compile(r"\bre-?master|リマスター", re.IGNORECASE)
_EDITIONS = RulesConfig(
    reissue_terms=(
        "remaster", "reissue", "re-release", "reprint", "repress", "anniversary", "expanded",
        "legacy edition", "リマスター", "再発", "復刻",
    )
)  # fmt: skip
"""What says that there was an earlier edition; a deluxe or limited one may be the first."""


class YearCase(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The evidence of one reading, with the records that may be the first."""

    bundle: EvidenceBundle
    recordings: Sequence[RecordingCandidate]
    candidates: Sequence[Candidate]
    firsts: Sequence[Candidate]
    copies: Sequence[tuple[Candidate, Release]]
    """The releases that decide nothing, with their records."""
    year: str

    @property
    def is_any_work_of_the_year(self) -> bool:
        """Whether any record of the year does not only gather earlier recordings."""
        of_it = (one for one in self.candidates if one.counts and one.since.text[:4] == self.year)
        return any(not gathers(one, self.bundle) for one in of_it)


def year_doubt(case: YearCase) -> str | None:
    """Return why the year is not certain, in words; `None` if it is."""
    return next((reason for row in YEAR_DOUBTS if (reason := row(case))), None)


def gathers(one: Candidate, bundle: EvidenceBundle) -> bool:
    """Whether a record may gather what came out elsewhere: no soundtrack, none typed live."""
    if one.role in WORKS or "Soundtrack" in one.group.kinds:
        return False
    if one.role is Role.OTHER and not is_various(one.group, one.official):
        return False
    return "Live" not in one.group.kinds or _is_own(one, bundle)


def names_of(records: Sequence[Candidate]) -> str:
    """Name records as alternatives, the first few of many."""
    names = sorted(one.dated_name for one in records)
    more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return " or ".join([*names[:_MAX_NAMED], *more])


def _is_own(one: Candidate, bundle: EvidenceBundle) -> bool:
    return is_by([bundle.performer.name or ""], one.group, one.official) is True


def taping_year(recordings: Sequence[RecordingCandidate], released: int) -> str | None:
    """Return a year in a comment, more than two calendar years before the release."""
    for comment in sorted([one.disambiguation for one in recordings if one.disambiguation]):
        for year in _YEAR.findall(comment):
            if int(year) < released - _TAPING_YEARS:
                return str(year)
    return None


def are_remasters(recordings: Sequence[RecordingCandidate]) -> bool:
    """Whether the remarks in the title or the comment call each of the recordings a remaster."""
    for one in recordings:
        title, comment = one.title or "", one.disambiguation or ""
        in_title = _REMASTER.search(title) and _REMASTER.search(set_off(title))
        if not in_title and not _REMASTER.search(comment):
            return False
    return True


# The rows: each returns its reason in words, or None.


def _collection(case: YearCase) -> str | None:
    """Return that the original may be missing, where only collections are of the year.

    Not where a verified fact says that one of them was the premiere, or where siblings were looked
    up and none is there; for compilations of the artist's own also not where the earliest ISRC or a
    promotional single is of the year.
    """
    firsts, year = case.firsts, int(case.year)
    if firsts[0].role in WORKS or case.is_any_work_of_the_year:
        return None
    assigned = isrc_year(case.recordings, case.bundle)
    is_none_there = case.bundle.has_no_sibling and not (assigned and assigned < year)
    if is_none_there or any(one.group.premiere for one in firsts):
        return None
    perhaps = case.bundle.possible_sibling
    if others := [one for one in firsts if not _is_own(one, case.bundle)]:
        missing = f"{names_of(others)} may gather earlier recordings"
        return f"{missing}, so the original may be missing{perhaps}"
    is_promo = any(
        one.role is Role.SINGLE and copy.standing == "Promotion" and copy.when.text[:4] == case.year
        for one, copy in case.copies
    )
    if assigned == year or is_promo:
        return None
    return (
        f"{names_of(firsts)} may gather earlier recordings, and nothing else says {year}{perhaps}"
    )


def _group(case: YearCase) -> str | None:
    first = case.year
    for one in case.firsts:
        own = one.group.first_release_date
        if not own or own[:4] >= case.year:
            return None
        first = min(own, first)
    return f"no earlier release than {names_of(case.firsts)} is known, but its group is of {first}"


def _recording(case: YearCase) -> str | None:
    hints = [one.first_release_date for one in case.recordings if one.first_release_date]
    for hint in sorted([hint for hint in hints if hint[:4] < case.year]):
        when = PartialDate.parse(hint)
        if all(same_day(when, copy.when) is False for _, copy in case.copies if copy.date):
            return f"MusicBrainz dates the recording {hint}, and no release of then is listed"
    return None


def _isrc(case: YearCase) -> str | None:
    assigned = isrc_year(case.recordings, case.bundle)
    if not assigned or assigned >= int(case.year) - 1:
        return None
    years = [int(copy.when.text[:4]) for _, copy in case.copies if copy.when.is_known]
    if any(year <= assigned + 1 for year in years):
        return None
    return f"an ISRC of the recording was assigned in {assigned}"


def _taping(case: YearCase) -> str | None:
    year = taping_year(case.recordings, int(case.year))
    return f"its comment names {year}, so an earlier release may be missing" if year else None


def _remaster(case: YearCase) -> str | None:
    """Return that only a remaster is known; not where a verified fact calls it the premiere.

    A `2009 remaster` on a record of 1969 is listed as one recording with the original.
    """
    for one in case.firsts:
        remarks = (f"{each.title} {each.disambiguation}" for each in one.recordings)
        is_also_older = any(year > case.year for text in remarks for year in _YEAR.findall(text))
        if one.group.premiere or is_also_older or not are_remasters(one.recordings):
            return None
    return f"the recording on {names_of(case.firsts)} is a remaster, so the original may be missing"


def _reissue(case: YearCase) -> str | None:
    """Return that each pressing of the first date is a reissue, but for a verified premiere."""
    for one in case.firsts:
        marks = [
            is_marked_reissue(copy, one.group, _EDITIONS)
            for copy in one.official
            if copy.date == one.since.text
        ]
        if one.group.premiere or not marks or not all(marks):
            return None
    return f"the earliest release known of {names_of(case.firsts)} is a reissue"


def _undated(case: YearCase) -> str | None:
    undated = [one for one in case.candidates if one.first == FIRST_DAY]
    for one in sorted(undated, key=attrgetter("name")) if undated else ():
        if any(copy.date for copy in one.official):  # a medium before its time
            continue
        unstated = [copy for copy in one.unofficial if copy.may_be_official]
        may_be_official = one.counts or not all(copy.when.is_known for copy in unstated)
        is_untyped = not one.group.types[0] and not one.group.kinds
        is_single = one.role in _UNDATED_FIRSTS or "Soundtrack" in one.group.kinds
        if may_be_official and (is_untyped or is_single):
            return f"{one.name} has no date, so it may be earlier"
    return None


def _medium(case: YearCase) -> str | None:
    hints = [one.hint.text for one in case.candidates if one.hint]
    early = min(hints, default=case.year)
    if early[:4] >= case.year:
        return None
    return f"a release is dated {early}, on a medium of later years: the first may be of then"


def _copy(case: YearCase) -> str | None:
    found = []
    for one, copy in case.copies:
        if copy.when.text[:4] >= case.year or not copy.when.is_known:
            continue
        counts = copy.may_be_official
        if copy.standing == "Promotion":
            counts = not (is_promo_of(copy, one) or _is_of_december(copy, one))
        elif copy.standing == "Bootleg":
            counts = not case.is_any_work_of_the_year
        if counts:
            found.append(f"{describe_unofficial(copy)} of {one.name} is of {copy.when}")
    return min(found) if found else None


def _is_of_december(copy: Release, record: Candidate) -> bool:
    """Whether a copy is of the December before the January in which its own record came out."""
    year, month = copy.when.text[:4], copy.when.text[5:7]
    return month == "12" and record.since.text[:7] == f"{int(year) + 1:04}-01"


def _possible_sibling(case: YearCase) -> str | None:
    return case.bundle.possible_sibling.removeprefix("; ") or None


def _impossible(case: YearCase) -> str | None:
    """Return that the year is before all records, or after the next of when evidence was read."""
    year, read = int(case.year), year_read(case.bundle)
    if year < _FIRST_YEAR:
        return f"no record is of {year}: the date of {names_of(case.firsts)} is wrong"
    if read and year > read + 1:
        return f"the evidence is of {read}: the date of {names_of(case.firsts)} may be wrong"
    return None


def _incomplete(case: YearCase) -> str | None:
    is_cut = case.bundle.complete is False
    return "the evidence is cut short: more was found than was read" if is_cut else None


YEAR_DOUBTS: tuple[Callable[[YearCase], str | None], ...] = (
    _collection, _group, _recording, _isrc, _taping, _remaster, _reissue, _undated, _medium, _copy,
    _possible_sibling, _impossible, _incomplete,
)  # fmt: skip
"""The first row that returns a reason makes the year uncertain (docs/decisions.md has them all).

Hints of the same year change nothing: the date is that of a listed official release.
"""


_FINAL = ("CRG:MANUAL_OVERRIDE", "CRG:STATED_PREMIERE")
"""Rules that decide by what a person or a verified fact said: nothing is looked up for them."""


class _Decision(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A decision with what is listed: the chosen record, and the first that has a date."""

    bundle: EvidenceBundle
    settings: RulesConfig
    recordings: Sequence[RecordingCandidate]
    candidates: Sequence[Candidate]
    chosen: Candidate
    rr: str | None
    first: Candidate


def needs_siblings(bundle: EvidenceBundle, verdict: Verdict, settings: RulesConfig) -> str | None:
    """Return why other recordings of the performance should be looked up; None if they need not.

    They may hold the original where a case is open for want of it, and where the rules decide for a
    compilation, a reissue, or a release later than an ISRC's year, the recording's first date, a
    promotional copy, a year in its comment or the first date of its group. Nothing is needed where
    they were looked up already.
    """
    if bundle.siblings == "looked_up":
        return None
    if isinstance(verdict, Open) and verdict.proposal:
        verdict = verdict.proposal
    if isinstance(verdict, Open):
        asked = [one.text for one in verdict.questions if one.kind == "missing_original"]
        if asked or _is_any_work(bundle):
            return asked[0] if asked else None
        return "only compilations carry it, so the original may be missing"
    if verdict.crg_rule in _FINAL:
        return None
    case = _decision(bundle, verdict, settings)
    return (
        next((reason for row in _SIBLING_REASONS if (reason := row(case))), None) if case else None
    )


def _is_any_work(bundle: EvidenceBundle) -> bool:
    candidates = candidates_of(sort_recordings(bundle).kept)
    return any(one.counts and one.role is not Role.COMPILATION for one in candidates)


def _decision(bundle: EvidenceBundle, verdict: Decided, settings: RulesConfig) -> _Decision | None:
    recordings = sort_recordings(bundle).kept
    candidates = candidates_of(recordings)
    chosen = next((one for one in candidates if one.group.mb_rg_id == verdict.crg), None)
    if chosen is None:
        return None
    dated = [one for one in candidates if one.counts and one.is_dated]
    first = min(dated, key=attrgetter("first", "last"), default=chosen)
    return _Decision(bundle, settings, recordings, candidates, chosen, verdict.rr, first)


# The rows: each returns its reason in words, or None.


def _by_compilation(case: _Decision) -> str | None:
    if case.chosen.role is Role.COMPILATION or gathers(case.chosen, case.bundle):
        return f"{case.chosen.dated_name} may gather earlier recordings"
    return None


def _by_reissue(case: _Decision) -> str | None:
    group = case.chosen.group
    release = next((one for one in group.editions if one.mb_release_id == case.rr), None)
    if release and is_marked_reissue(release, group, case.settings):
        return f"the earliest release known of {case.chosen.dated_name} is a reissue"
    return None


def _by_remaster(case: _Decision) -> str | None:
    if are_remasters(case.first.recordings):
        return f"the recording on {case.first.dated_name} is a remaster"
    return None


def _by_isrc(case: _Decision) -> str | None:
    year = isrc_year(case.recordings, case.bundle)
    if year and case.first.is_dated and year < int(case.first.since.text[:4]):
        return f"an ISRC was assigned in {year}, before {case.first.dated_name}"
    return None


def _by_first_date(case: _Decision) -> str | None:
    hints = [one.first_release_date for one in case.recordings if one.first_release_date]
    for hint in sorted(hints):
        if PartialDate.parse(hint).last < case.first.first:
            return f"the recording is dated {hint}, before {case.first.dated_name}"
    return None


def _by_promo(case: _Decision) -> str | None:
    for one in case.candidates:
        for copy in one.unofficial:
            if copy.standing != "Promotion" or copy.when.last >= case.first.first:
                continue
            if not is_promo_of(copy, one):
                what = f"{describe_unofficial(copy)} of {one.name} is of {copy.when}"
                return f"{what}, before {case.first.dated_name}"
    return None


def _by_taping(case: _Decision) -> str | None:
    year = taping_year(case.recordings, int(case.first.since.text[:4] or 0))
    return f"its comment names {year}, before {case.first.dated_name}" if year else None


def _by_group(case: _Decision) -> str | None:
    own = case.chosen.group.first_date
    if own.is_known and own.last < case.chosen.first and case.chosen.is_dated:
        return f"{case.chosen.dated_name} is later than its group, which is of {own}"
    return None


_SIBLING_REASONS: tuple[Callable[[_Decision], str | None], ...] = (
    _by_compilation, _by_reissue, _by_remaster, _by_isrc, _by_first_date, _by_promo, _by_taping,
    _by_group,
)  # fmt: skip
