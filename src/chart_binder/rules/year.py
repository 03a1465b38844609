"""Whether the year of the first release is certain, and the reasons why it is not."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import chain
from operator import attrgetter

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, PartialDate
from chart_binder.domain.evidence import Release
from chart_binder.domain.remarks import remarks_in
from chart_binder.domain.title_words import VERSIONS
from chart_binder.rules.candidates import Candidate, Role, describe_unofficial, either
from chart_binder.rules.contest import BLOCKING_UNDATED, Contest
from chart_binder.rules.missing_original import (
    YEAR,
    are_remasters,
    early_assignment,
    is_explained,
    isrc_year,
    may_gather,
    only_gathers,
    taping_year,
    telling_copies,
    year_read,
)
from chart_binder.rules.recordings import part_mismatch
from chart_binder.rules.representative import is_marked_reissue

_FIRST_YEAR = 1877
"""The year of the phonograph; no record is older."""
_EDITIONS = RulesConfig(
    reissue_terms=(
        "remaster", "reissue", "re-release", "reprint", "repress", "anniversary", "expanded",
        "legacy edition", "リマスター", "再発", "復刻",
    )
)  # fmt: skip
"""Terms that imply an earlier edition; a deluxe or limited edition may be the first."""
_NAME = attrgetter("name")


class YearCase(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The contest of one reading, the records that may be the first, and their year."""

    contest: Contest
    firsts: Sequence[Candidate]
    year: str

    @property
    def copies(self) -> Iterator[tuple[Candidate, Release]]:
        """The unofficial releases, each with its record."""
        for candidate in self.contest.candidates:
            yield from ((candidate, copy) for copy in candidate.unofficial)

    @property
    def is_any_work_of_the_year(self) -> bool:
        """Whether any record of the year is neither a compilation nor a soundtrack."""
        return any(
            candidate.counts and candidate.since.text[:4] == self.year and not may_gather(candidate)
            for candidate in self.contest.candidates
        )


def year_doubt(case: YearCase) -> str | None:
    """Return why the year is not certain; None if it is."""
    doubts = (_in_collections(case), _in_hints(case), _in_editions(case), _in_gaps(case))
    return next(chain.from_iterable(doubts), None)


# Doubts: reasons why a year is not certain. docs/decisions.md lists them in this order.


def _in_collections(case: YearCase) -> Iterator[str]:
    """Yield a doubt if all records of the year gather recordings: the original may be missing.

    There is no doubt if a verified fact calls one of them the premiere, or if siblings were looked
    up and none was found. Nor is there a doubt if all are by the artist and the earliest ISRC or a
    promotional single is of that year.
    """
    firsts, year = case.firsts, int(case.year)
    contest = case.contest
    assigned = isrc_year(contest.recordings, contest.bundle)
    has_no_sibling = contest.bundle.has_no_sibling and not (assigned and assigned < year)
    if case.is_any_work_of_the_year or not all(only_gathers(first, contest) for first in firsts):
        return
    if has_no_sibling or any(candidate.group.premiere for candidate in firsts):
        return
    gathering, add_sibling = "may gather earlier recordings", contest.bundle.with_possible_sibling
    if foreign_records := [candidate for candidate in firsts if candidate.is_own is not True]:
        text = f"{either(foreign_records)} {gathering}, so the original may be missing"
        yield add_sibling(text)
    of_singles = (copy for record, copy in case.copies if record.role is Role.SINGLE)
    promos = (copy for copy in of_singles if copy.standing == "Promotion")
    is_promo = any(copy.when.text[:4] == case.year for copy in promos)
    if assigned != year and not is_promo:
        yield add_sibling(f"{either(firsts)} {gathering}, and nothing else says {year}")


def _in_hints(case: YearCase) -> Iterator[str]:
    """Yield doubts because of earlier years in dates of groups, first dates, ISRCs and comments."""
    contest, year = case.contest, int(case.year)
    dates = [first.own_date.text if first.own_date else case.year for first in case.firsts]
    if all(text[:4] < case.year for text in dates):
        names = either(case.firsts)
        yield f"no earlier release than {names} is known, but its group is dated {min(dates)[:4]}"
    until = max(first.last for first in case.firsts) + contest.settings.lead_window_days
    for candidate in sorted(contest.candidates, key=_NAME):
        role, own_date = candidate.role, candidate.own_date
        is_close = candidate.first <= until and candidate not in case.firsts
        can_be_first = role is Role.SINGLE or (role is Role.ALBUM and is_close)
        if can_be_first and own_date and own_date.text[:4] < case.year:
            yield f"{candidate.name} may have come out earlier: its group is dated {own_date}"
    for hint in sorted({recording.first_date.text for recording in contest.recordings} - {""}):
        if hint[:4] < case.year and not is_explained(PartialDate.parse(hint), contest):
            yield f"MusicBrainz dates the recording {hint}, and no release of then is listed"
    if assigned := early_assignment(contest.recordings, contest, year):
        yield f"an ISRC of the recording was assigned in {assigned}"
    if case.firsts and all(_is_of_later_year(first, year) for first in case.firsts):
        yield f"its comment names a later year than that of {either(case.firsts)}"
    is_archival = contest.bundle.has_no_sibling and all(
        "Live" in first.group.kinds for first in case.firsts
    )
    if not is_archival and (taped := taping_year(contest.recordings, year)):
        yield f"its comment names {taped}, so an earlier release may be missing"


def _is_of_later_year(candidate: Candidate, year: int) -> bool:
    """Return whether comments say that each recording was performed live or anew after a year."""
    for recording in candidate.recordings:
        telling = remarks_in(None, recording.disambiguation).telling
        years = [int(word) for word in telling if YEAR.fullmatch(word)]
        if not (years and min(years) > year and telling & VERSIONS.keys()):
            return False
    return True


def _in_editions(case: YearCase) -> Iterator[str]:
    """Yield doubts if the first releases are reissues, or if undated or unofficial ones exist.

    A remaster or reissue that a verified fact calls the premiere raises no doubt. Neither does a
    `2009 remaster` on a record of 1969, because MusicBrainz has one recording for it and the
    original.
    """
    names, unproved = either(case.firsts), not any(first.group.premiere for first in case.firsts)
    if unproved and all(_is_only_remaster(first, case.year) for first in case.firsts):
        yield f"the recording on {names} is a remaster, so the original may be missing"
    if unproved and all(map(_is_only_reissue, case.firsts)):
        yield f"the earliest release known of {names} is a reissue"
    candidates = case.contest.candidates
    for candidate in sorted(filter(_may_be_earlier, candidates), key=_NAME):
        yield f"{candidate.name} has no date, so it may be earlier"
    for candidate in sorted(case.contest.works, key=_NAME):
        if candidate.since.is_known and not candidate.is_dated:
            yield f"{candidate.name} has a pressing without a date, which may be earlier"
    early = min((record.hint.text for record in candidates if record.hint), default=case.year)
    if early[:4] < case.year:
        yield f"a release is dated {early}, on a medium of later years: the first may be of then"
    is_any_work = case.is_any_work_of_the_year
    copies = [
        (candidate, copy)
        for candidate, copy in telling_copies(case.contest, date(int(case.year), 1, 1).toordinal())
        if copy.standing == "Promotion" or not is_any_work
    ]
    unstated = ((candidate, copy) for candidate, copy in case.copies if copy.may_be_official)
    yield from sorted(
        f"{describe_unofficial(copy)} of {candidate.name} is of {copy.when}"
        for candidate, copy in (*copies, *unstated)
        if copy.when.is_known and copy.when.text[:4] < case.year
    )


def _is_only_remaster(candidate: Candidate, year: str) -> bool:
    remarks = (f"{take.title} {take.disambiguation}" for take in candidate.recordings)
    is_also_older = any(year_named > year for text in remarks for year_named in YEAR.findall(text))
    return are_remasters(candidate.recordings) and not is_also_older


def _is_only_reissue(candidate: Candidate) -> bool:
    first = [copy for copy in candidate.official if copy.date == candidate.since.text]
    group = candidate.group
    return bool(first) and all(is_marked_reissue(copy, group, _EDITIONS) for copy in first)


def _may_be_earlier(candidate: Candidate) -> bool:
    """Return whether an undated single, soundtrack or record without a type may be the first."""
    # A dated release of an undated candidate has a date before its medium was on sale.
    if candidate.first > FIRST_DAY or any(copy.date for copy in candidate.official):
        return False
    unstated = [copy for copy in candidate.unofficial if copy.may_be_official]
    may_be_official = candidate.counts or not all(copy.when.is_known for copy in unstated)
    is_single = candidate.role in BLOCKING_UNDATED or "Soundtrack" in candidate.group.kinds
    is_untyped = not (candidate.group.types[0] or candidate.group.kinds)
    return may_be_official and (is_single or is_untyped)


def _in_gaps(case: YearCase) -> Iterator[str]:
    """Yield doubts because of gaps in the evidence, and of years too early or late to be right."""
    bundle = case.contest.bundle
    if possible := bundle.possible_sibling:
        yield possible
    year, year_fetched = int(case.year), year_read(bundle)
    if year < _FIRST_YEAR:
        yield f"there were no records in {year}: the date of {either(case.firsts)} is wrong"
    if year_fetched and year > year_fetched + 1:
        date = f"the date of {either(case.firsts)}"
        yield f"the evidence was fetched in {year_fetched}: {date} may be wrong"
    if bundle.complete is False:
        yield "the evidence is cut short: more was found than was read"
    if apart := part_mismatch(bundle, case.contest.recordings):
        yield apart
