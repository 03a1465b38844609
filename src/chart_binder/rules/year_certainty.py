"""What makes the year of a first release certain: a table of what speaks against it, in words."""

import re
from collections.abc import Callable, Sequence
from operator import attrgetter

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, PartialDate, same_day
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release, set_off
from chart_binder.rules.candidates import Candidate, Role, describe_unofficial
from chart_binder.rules.doubts import is_promo_of, isrc_year, year_read
from chart_binder.rules.names import is_by, is_various
from chart_binder.rules.representative import is_marked_reissue

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
