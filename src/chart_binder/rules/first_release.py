"""The first release of a performance: when, where and on which record it first came out.

It is decided apart from the canonical release group: a single that leads to an album is the first
release, and the album the canonical group. Days that are not known are spans, as in the rules. The
table at the end has what makes the year uncertain.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, UNKNOWN, PartialDate, same_day
from chart_binder.domain.evidence import (
    EvidenceBundle,
    RecordingCandidate,
    Release,
    ReleaseGroup,
    intents_in,
)
from chart_binder.domain.verdict import Decided, FirstRelease, Verdict
from chart_binder.domain.vocabulary import ReleaseGroupId, ReleaseId, isrc
from chart_binder.rules.ambiguity import Contradiction, find_contradictions
from chart_binder.rules.assumptions import with_groups
from chart_binder.rules.candidates import (
    AFTER_ANY_DATE,
    Candidate,
    Role,
    candidate_of,
    candidates_of,
    describe_unofficial,
    earliest_day,
)
from chart_binder.rules.contest import TieBreak, home_countries, intent_of, possibly_earliest
from chart_binder.rules.names import is_by, is_various
from chart_binder.rules.premiere import isrc_year
from chart_binder.rules.recordings import recording_of, sort_recordings, title_wanted
from chart_binder.rules.representative import first_of_day, first_year_on_sale

_MAX_READINGS = 32
_MAX_NAMED = 3
_PROMO_DAYS = 60
"""A promotional copy comes out so many days before its own record at most."""
_TAPING_YEARS = 2
_PRECISIONS = (10, 7, 4)
"""The lengths of a day, a month and a year as text."""


def first_release(
    bundle: EvidenceBundle, verdict: Verdict, settings: RulesConfig
) -> FirstRelease | None:
    """Return the earliest official release of the recording meant; `None` if none is known.

    Of records of one day it is on the canonical group of `verdict`, else on the one that goes
    before the others in a tie. Where it is not told which recording is meant, or which of two
    descriptions of a record is right, what all readings have in common is returned.
    """
    crg = verdict.crg if isinstance(verdict, Decided) else None
    recordings = bundle.recording_candidates
    if len(recordings) == 1 and bundle.listed.is_each_once:
        return _of_reading(recordings, bundle, crg, settings)
    found = [
        _of_reading(reading, tried, crg, settings)
        for tried in _descriptions(bundle)
        for version in sort_recordings(tried).versions
        for reading in _mixes(version, tried)
    ]
    return _common(found)


# Readings: which recording is meant, and which description of a record is right.


def _descriptions(bundle: EvidenceBundle) -> Iterator[EvidenceBundle]:
    """Yield the evidence by each combination of descriptions that contradict each other.

    Yields nothing if there are too many.
    """
    found: Sequence[Contradiction] = ()
    if not bundle.listed.is_each_once:
        recordings = sort_recordings(bundle).kept
        found = find_contradictions(recordings, candidates_of(recordings))
    if prod(len(one.readings) for one in found) > _MAX_READINGS:
        return
    for readings in product(*(one.readings for one in found)):
        tried = bundle
        for one, reading in zip(found, readings, strict=True):
            tried = with_groups(tried, reading, one.groups)
        yield tried


def _mixes(
    version: Sequence[RecordingCandidate], bundle: EvidenceBundle
) -> Sequence[Sequence[RecordingCandidate]]:
    """Return the recordings of a version, with a mono mix apart from the others."""
    mono = [one for one in version if one.intent.is_mono]
    rest = [one for one in version if not one.intent.is_mono]
    codes, others = (
        {isrc(code) for one in mix for code in one.isrcs or ()} for mix in (mono, rest)
    )
    if not mono or not rest or codes & others:
        return [version]
    return [mono] if intents_in(title_wanted(bundle), None).is_mono else [mono, rest]


def _common(found: Sequence[FirstRelease | None]) -> FirstRelease | None:
    """Return what all readings have in common; `None` if they have no year in common."""
    known = [one for one in found if one]
    if len(known) < len(found) or len({one.year for one in known}) != 1:
        return None
    dates = sorted({one.date for one in known})
    shared = next(n for n in _PRECISIONS if dates[0][:n] == dates[-1][:n])
    certain = all(one.year_certain for one in known)
    because = min(one.because for one in known if one.year_certain is certain)
    if len(dates) > 1:
        because = f"{' or '.join(dates)}, by which recording or description is right; {because}"
    names = ("release_mbid", "release_group_mbid", "title", "country", "recording_mbid")
    values = {name: {getattr(one, name) for one in known} for name in names}
    return replace(
        known[0],
        date=dates[0][:shared],
        year_certain=certain,
        because=because,
        via_sibling=all(one.via_sibling for one in known),
        **{name: each.pop() if len(each) == 1 else None for name, each in values.items()},
    )


# The earliest release of one reading.


class _Case(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The evidence of one reading, with the records that may be the first."""

    bundle: EvidenceBundle
    recordings: Sequence[RecordingCandidate]
    candidates: Sequence[Candidate]
    firsts: Sequence[Candidate]
    before_time: Sequence[str]
    """The dates of releases on media that were not on sale yet."""
    copies: Sequence[tuple[Candidate, Release]]
    """The releases that decide nothing, with their records."""
    year: str

    @property
    def is_any_work_of_the_year(self) -> bool:
        """Whether any record of the year does not only gather earlier recordings."""
        of_it = (one for one in self.candidates if one.counts and one.since.text[:4] == self.year)
        return any(not _gathers(one, self.bundle) for one in of_it)

    @property
    def isrc_year(self) -> int | None:
        """The year in which the earliest ISRC of the recordings was assigned."""
        codes = [code for one in self.recordings if one.isrcs for code in one.isrcs]
        return min(filter(None, map(isrc_year, codes)), default=None) if codes else None


def _of_reading(
    recordings: Sequence[RecordingCandidate],
    bundle: EvidenceBundle,
    crg: ReleaseGroupId | None,
    settings: RulesConfig,
) -> FirstRelease | None:
    candidates, before_time = _appearances(_perhaps_first(recordings, bundle))
    if before_time or not all(one.role in _WORKS for one in candidates):
        candidates, before_time = _appearances(candidates_of(recordings))
    chosen = firsts = _firsts([one for one in candidates if one.is_dated and one.counts])
    if not firsts:
        return None
    when = firsts[0].since
    if len(firsts) > 1:
        when = min([one.since for one in firsts], key=lambda each: (each.first, -each.last))
        if when.first == when.last:
            chosen = _before_others(firsts, recordings, bundle, crg, settings)
    copies = [(one, copy) for one in candidates for copy in one.unofficial]
    case = _Case(bundle, recordings, candidates, firsts, before_time, copies, when.text[:4])
    doubt = next((reason for row in YEAR_DOUBTS if (reason := row(case))), None)
    group = chosen[0].group if len(chosen) == 1 else None
    release = _release(chosen[0], when, bundle, settings) if group else None
    carrier = recordings[0] if len(recordings) == 1 else _carrier(chosen, release, bundle)
    return FirstRelease(
        when.text,
        doubt is None,
        doubt or _certainty(chosen),
        release.mb_release_id if release else None,
        group.mb_rg_id if group else None,
        group.title if group else None,
        release.place if release else None,
        carrier.mb_recording_id if carrier else None,
        carrier.is_sibling if carrier else False,
    )


def _perhaps_first(
    recordings: Sequence[RecordingCandidate], bundle: EvidenceBundle
) -> Sequence[Candidate]:
    """Return the candidates but those that are later than another, official and dated to the day.

    Most records are such, and they only tell whether a collection of earlier recordings is alone.
    """
    if len(recordings) > 1 or not bundle.listed.is_each_once:
        return candidates_of(recordings)
    least = AFTER_ANY_DATE
    earliest: list[ReleaseGroup] = []
    others: list[ReleaseGroup] = []
    for group in recordings[0].rg_candidates or ():
        day = earliest_day(group.releases) if group.releases else None
        if day is None:
            others.append(group)
        elif day < least:
            least, earliest = day, [group]
        elif day == least:
            earliest.append(group)
    return [candidate_of(group, (recordings[0],)) for group in (*earliest, *others)]


def _appearances(candidates: Sequence[Candidate]) -> tuple[Sequence[Candidate], Sequence[str]]:
    """Return the candidates by the dates that count, and the dates on media before their time.

    A bare year or month counts for nothing beside a whole date within it of the same record.
    """
    found: list[Candidate] = []
    before_time: list[str] = []
    for one in candidates:
        is_day = one.first == one.last
        until = one.since.text if is_day else AFTER_ANY_DATE
        first = [copy for copy in one.official if copy.date and copy.date <= until]
        early = [copy for copy in first if copy.format and _is_before_its_time(copy)]
        before_time += [copy.when.text for copy in early]
        found.append(_redated(one, early) if early or (first and not is_day) else one)
    return found, before_time


def _is_before_its_time(release: Release) -> bool:
    year = (release.date or "")[:4]
    return year.isdigit() and first_year_on_sale(release.format or "") > int(year)


def _redated(one: Candidate, early: Sequence[Release]) -> Candidate:
    dates = {copy.when for copy in one.official if copy.when.is_known and copy not in early}
    covered = {each.text[:n] for each in dates if each.first == each.last for n in _PRECISIONS[1:]}
    counted = [each for each in dates if each.text not in covered]
    since = min(counted, key=lambda each: (each.first, -each.last), default=UNKNOWN)
    by = min(counted, key=lambda each: (each.last, -each.first), default=UNKNOWN)
    return replace(one, since=since, by=by, first=since.first, last=by.last)


def _firsts(dated: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the records that may be the first; where its day is known, those of that day."""
    if len(dated) <= 1:
        return dated
    soonest = min([one.last for one in dated])
    close = [one for one in dated if one.first <= soonest]
    is_day = min([one.first for one in close]) == soonest
    return [one for one in close if one.first == one.last] if is_day else close


def _before_others(
    firsts: Sequence[Candidate],
    recordings: Sequence[RecordingCandidate],
    bundle: EvidenceBundle,
    crg: ReleaseGroupId | None,
    settings: RulesConfig,
) -> Sequence[Candidate]:
    """Return the record that goes before others of its day; several where nothing tells."""
    canonical = [one for one in firsts if one.group.mb_rg_id == crg]
    works = [one for one in firsts if not _gathers(one, bundle)]
    country, labels = bundle.performer.country, settings.label_authority_order
    tie_break = TieBreak(intent_of(recordings), country, labels)
    return canonical or possibly_earliest(works or firsts, tie_break)


def _release(
    first: Candidate, when: PartialDate, bundle: EvidenceBundle, settings: RulesConfig
) -> Release | None:
    """Return the release of that date: one from the artist's country before others."""
    pool = [one for one in first.official if one.date == when.text]
    if len(pool) > 1:
        home = home_countries(bundle.performer.country)
        pool = [one for one in pool if not _is_before_its_time(one)]
        pool = [one for one in pool if one.place in home] or pool
        pool = [*first_of_day(pool, first.group, settings)]
        pool.sort(key=lambda one: (str(replace(one, mb_release_id=_NO_ID)), one.mb_release_id))
    return pool[0] if pool else None


_NO_ID = ReleaseId("")


def _carrier(
    records: Sequence[Candidate], release: Release | None, bundle: EvidenceBundle
) -> RecordingCandidate | None:
    """Return the recording on a release, a sibling only where no other is on it."""
    carriers = {one.mb_recording_id: one for each in records for one in each.recordings}
    if len(carriers) == 1:
        return next(iter(carriers.values()))
    if len(records) > 1:
        return None
    rr = release.mb_release_id if release else None
    on_it = [
        one
        for one in carriers.values()
        if rr in {copy.mb_release_id for group in one.groups for copy in group.editions}
    ]
    found = on_it or [*carriers.values()]
    own = [one for one in found if not one.is_sibling]
    return carriers[recording_of(own or found, rr, bundle)]


def _certainty(chosen: Sequence[Candidate]) -> str:
    if len(chosen) == 1:
        return "nothing in the evidence is earlier"
    return f"whichever was first, it is of this year: {_names(chosen)}"


def _names(records: Sequence[Candidate]) -> str:
    names = sorted(one.dated_name for one in records)
    more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return " or ".join([*names[:_MAX_NAMED], *more])


# What makes the year uncertain: each row returns the reason in words, or None.


def _collection(case: _Case) -> str | None:
    """Return that the original may be missing, where only collections are of the year.

    Not where a verified fact says that one of them was the premiere, or where siblings were looked
    up and none is there; for compilations of the artist's own also not where the earliest ISRC or a
    promotional single is of the year.
    """
    firsts, year = case.firsts, int(case.year)
    if firsts[0].role in _WORKS or case.is_any_work_of_the_year:
        return None
    assigned = case.isrc_year
    is_none_there = case.bundle.has_no_sibling and not (assigned and assigned < year)
    if is_none_there or any(one.group.premiere for one in firsts):
        return None
    if others := [one for one in firsts if not _is_own(one, case.bundle)]:
        return f"{_names(others)} may gather earlier recordings, so the original may be missing"
    is_promo = any(
        one.role is Role.SINGLE and copy.standing == "Promotion" and copy.when.text[:4] == case.year
        for one, copy in case.copies
    )
    if assigned == year or is_promo:
        return None
    return f"{_names(firsts)} may gather earlier recordings, and nothing else says {year}"


def _group(case: _Case) -> str | None:
    first = case.year
    for one in case.firsts:
        own = one.group.first_release_date
        if not own or own[:4] >= case.year:
            return None
        first = min(own, first)
    return f"no earlier release than {_names(case.firsts)} is known, but its group is of {first}"


def _recording(case: _Case) -> str | None:
    hints = [one.first_release_date for one in case.recordings if one.first_release_date]
    for hint in sorted([hint for hint in hints if hint[:4] < case.year]):
        when = PartialDate.parse(hint)
        if all(same_day(when, copy.when) is False for _, copy in case.copies if copy.date):
            return f"MusicBrainz dates the recording {hint}, and no release of then is listed"
    return None


def _isrc(case: _Case) -> str | None:
    assigned = case.isrc_year
    if not assigned or assigned >= int(case.year) - 1:
        return None
    years = [int(copy.when.text[:4]) for _, copy in case.copies if copy.when.is_known]
    if any(year <= assigned + 1 for year in years):
        return None
    return f"an ISRC of the recording was assigned in {assigned}"


def _taping(case: _Case) -> str | None:
    for comment in sorted([one.disambiguation for one in case.recordings if one.disambiguation]):
        is_taping = _TAPED.search(comment)
        for year, day in _DAY.findall(comment):
            if (day or is_taping) and int(year) < int(case.year) - _TAPING_YEARS:
                return f"it was taped in {year}, so an earlier release may be missing"
    return None


def _undated(case: _Case) -> str | None:
    undated = [one for one in case.candidates if one.first == FIRST_DAY]
    for one in sorted(undated, key=_NAME) if undated else ():
        may_be_official = one.counts or any(copy.may_be_official for copy in one.unofficial)
        is_untyped = not one.group.types[0] and not one.group.kinds
        is_single = one.role in _UNDATED_FIRSTS or "Soundtrack" in one.group.kinds
        if may_be_official and (is_untyped or is_single):
            return f"{one.name} has no date, so it may be earlier"
    return None


def _medium(case: _Case) -> str | None:
    early = min(case.before_time) if case.before_time else case.year
    if early[:4] >= case.year:
        return None
    return f"a release is dated {early}, on a medium of later years: the first may be of then"


def _copy(case: _Case) -> str | None:
    found = []
    for one, copy in case.copies:
        if copy.when.text[:4] >= case.year or not copy.when.is_known:
            continue
        counts = copy.may_be_official
        if copy.standing == "Promotion":
            counts = not one.official or one.first - copy.when.first > _PROMO_DAYS
        elif copy.standing == "Bootleg":
            counts = not case.is_any_work_of_the_year
        if counts:
            found.append(f"{describe_unofficial(copy)} of {one.name} is of {copy.when}")
    return min(found) if found else None


def _incomplete(case: _Case) -> str | None:
    is_cut = case.bundle.complete is False
    return "the evidence is cut short: more was found than was read" if is_cut else None


YEAR_DOUBTS: tuple[Callable[[_Case], str | None], ...] = (
    _collection, _group, _recording, _isrc, _taping, _undated, _medium, _copy, _incomplete,
)  # fmt: skip
"""The first row that returns a reason makes the year uncertain (docs/decisions.md has them all).

Hints of the same year change nothing: the date is that of a listed official release.
"""

_NAME = attrgetter("name")
_WORKS = (Role.ALBUM, Role.SINGLE, Role.LIVE, Role.SOUNDTRACK)
_UNDATED_FIRSTS = (Role.SINGLE, Role.SOUNDTRACK)
_DAY = re.compile(r"(?<![\d-])((?:19|20)\d\d)(-\d\d(?:-\d\d)?)?(?![\d-])")
_TAPED = re.compile(
    r"\b(?:live|record\w+|sessions?|demo|rehears\w+|broadcast|taped|take)\b", re.IGNORECASE
)


def _gathers(one: Candidate, bundle: EvidenceBundle) -> bool:
    """Whether a record may gather what came out elsewhere: no soundtrack, none typed live."""
    if one.role in _WORKS or "Soundtrack" in one.group.kinds:
        return False
    if one.role is Role.OTHER and not is_various(one.group, one.official):
        return False
    return "Live" not in one.group.kinds or _is_own(one, bundle)


def _is_own(one: Candidate, bundle: EvidenceBundle) -> bool:
    return is_by([bundle.performer.name or ""], one.group, one.official) is True
