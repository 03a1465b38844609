"""Signs that a recording came out before the records listed.

Such a sign keeps a compilation from being chosen and causes a look-up of siblings
(`missing_original`), or makes a year uncertain (`year`).
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache

from chart_binder.domain.dates import FIRST_DAY, PartialDate, same_day
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release
from chart_binder.domain.media import is_before_its_time
from chart_binder.domain.remarks import set_off
from chart_binder.domain.vocabulary import isrc
from chart_binder.rules.candidates import Candidate, Role
from chart_binder.rules.contest import Contest

PROMO_DAYS = 60
"""A promotional copy comes out at most this many days before its record."""
_ISRC = re.compile(r"[A-Z]{2}[A-Z0-9]{3}([0-9]{2})")
_FIRST_YEAR_OF_1900S = 40
_TAPING_YEARS = 2
YEAR = re.compile(
    r"(?<![A-Za-z0-9-])(?:\d\d?-\d\d?-)?((?:18[89]|19|20)\d\d)"
    r"(?:-\d\d(?:-\d\d)?|-(?:18|19|20)\d\d)?(?![A-Za-z0-9-])"
)
"""A year, alone or in a date, but not part of a longer number or a catalogue number."""
_REMASTER = re.compile(r"\bre-?master|リマスター", re.IGNORECASE)


def is_explained(hint: PartialDate, contest: Contest) -> bool:
    """Return whether a recording's first date may be that of a copy that the rules ignore.

    They ignore unofficial copies and releases dated before their medium was on sale. MusicBrainz
    takes the first date (`recording_first_release_date`) from all releases, official or not.
    """
    return any(same_day(hint, copy.when) is not False for copy in _copies(contest))


def _copies(contest: Contest) -> Iterator[Release]:
    for candidate in contest.candidates:
        yield from (copy for copy in candidate.unofficial if copy.when.is_known)
        yield from filter(is_before_its_time, candidate.official if candidate.hint else ())


def early_assignment(recordings: Sequence[RecordingCandidate], contest: Contest, year: int) -> int:
    """Return the year of the earliest ISRC if it is at least two years before `year`, else 0.

    Also return 0 if a copy that the rules ignore came out by the year after the ISRC's.
    """
    assigned = isrc_year(recordings, contest.bundle) or year
    years = (int(copy.when.text[:4]) for copy in _copies(contest))
    return assigned if assigned < year - 1 and all(y > assigned + 1 for y in years) else 0


def telling_copies(contest: Contest, until: int) -> Iterator[tuple[Candidate, Release]]:
    """Yield the promotional copies and bootlegs that show that the recording was out before a day.

    A promotional copy is left out if it came out shortly before its record, or, if its group has no
    official release, shortly before the first record listed. Bootlegs are left out if siblings were
    looked up and none was found.
    """
    has_no_sibling = contest.bundle.has_no_sibling
    last = f"{date.fromordinal(max(until, 1)).year:04}:"
    for candidate in contest.candidates:
        for copy in candidate.unofficial:
            if copy.date is None or copy.date > last:  # most are of a later year
                continue
            when = copy.when
            if not FIRST_DAY < when.first < until:
                continue
            if copy.standing == "Promotion":
                record = candidate if candidate.official else contest.first_listed
                if not (record and _is_shortly_before(when, record)):
                    yield candidate, copy
            elif copy.standing == "Bootleg" and not has_no_sibling:
                yield candidate, copy


def _is_shortly_before(promo: PartialDate, record: Candidate) -> bool:
    """Return whether a promotional copy of that date may belong to a record."""
    if record.last - promo.first <= PROMO_DAYS:
        return True
    year, month = promo.text[:4], promo.text[5:7]
    return month == "12" and record.since.text[:7] == f"{int(year) + 1:04}-01"


def isrc_year(recordings: Sequence[RecordingCandidate], bundle: EvidenceBundle) -> int | None:
    """Return the year in which the earliest ISRC of the recordings was assigned, or None."""
    codes = [code for recording in recordings if recording.isrcs for code in recording.isrcs]
    if not codes:
        return None
    year_fetched = year_read(bundle)
    return min(filter(None, (year_assigned(code, year_fetched) for code in codes)), default=None)


def year_read(bundle: EvidenceBundle) -> int | None:
    """Return the year in which the evidence was fetched; None if it is unknown."""
    provenance = bundle.provenance
    year_text = ((provenance and provenance.fetched_at_utc) or "")[:4]
    return int(year_text) if year_text.isdecimal() else None


@lru_cache(maxsize=4_096)
def year_assigned(code: str, fetched: int | None) -> int | None:
    """Return the year in which an ISRC was assigned (`CC-XXX-YY-NNNNN`, ISO 3901), or None.

    The two digits `YY` mean a year from 1940 to 2039, at most the year after `fetched`. The
    first codes date from 1986, but some registrants used the year of an older recording.
    """
    form = _ISRC.match(isrc(code))
    if form is None:
        return None
    year = 2000 + int(form[1])
    is_past = year >= 2000 + _FIRST_YEAR_OF_1900S or (fetched is not None and year > fetched + 1)
    return year - 100 if is_past else year


def may_gather(candidate: Candidate) -> bool:
    """Return whether a record may gather earlier recordings: a compilation or a soundtrack."""
    if candidate.role is Role.SOUNDTRACK:
        return candidate.group.types[0] not in ("Single", "EP")
    return candidate.role is Role.COMPILATION


def only_gathers(candidate: Candidate, contest: Contest) -> bool:
    """Return whether a record gathers recordings and nothing shows that this one was new on it.

    The recording was new on a soundtrack if a work by the artist certainly came out within the
    window after it, or if the earliest ISRC is of its year or the year before.
    """
    if candidate.role is not Role.SOUNDTRACK or not may_gather(candidate):
        return may_gather(candidate)
    until = candidate.first + contest.settings.lead_window_days
    works = (work for work in contest.candidates if work.counts and work.is_own is not False)
    if any(work.last <= until and not may_gather(work) for work in works):
        return False
    assigned = isrc_year(contest.recordings, contest.bundle)
    return not (assigned and assigned >= date.fromordinal(candidate.last).year - 1)


def taping_year(recordings: Sequence[RecordingCandidate], released: int) -> str | None:
    """Return the year in a comment that is at least three years before `released`, or None."""
    for comment in sorted([take.disambiguation or "" for take in recordings]):
        for year in YEAR.findall(comment):
            if int(year) < released - _TAPING_YEARS:
                return str(year)
    return None


def are_remasters(recordings: Sequence[RecordingCandidate]) -> bool:
    """Return whether the title or comment of every recording calls it a remaster."""
    for recording in recordings:
        title, comment = recording.title or "", recording.disambiguation or ""
        in_title = _REMASTER.search(title) and _REMASTER.search(set_off(title))
        if not in_title and not _REMASTER.search(comment):
            return False
    return True
