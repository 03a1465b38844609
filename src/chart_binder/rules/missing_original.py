"""An original that may be missing from the evidence: signs of it, questions, look-ups of siblings.

A sign keeps a compilation from being chosen and causes a look-up of siblings, or makes a year
uncertain (`year`).
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from operator import attrgetter

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, UNKNOWN, PartialDate, before, same_day
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release
from chart_binder.domain.media import is_before_its_time
from chart_binder.domain.remarks import set_off
from chart_binder.domain.verdict import Open, Verdict
from chart_binder.domain.vocabulary import isrc
from chart_binder.rules.candidates import Candidate, Role, describe_unofficial
from chart_binder.rules.contest import Contest, contest_of
from chart_binder.rules.questions import DraftQuestion
from chart_binder.rules.representative import is_marked_reissue

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


MISSING = "the original release is missing from the evidence"
_MAX_DOUBTS = 3
_FINAL = ("CRG:MANUAL_OVERRIDE", "CRG:STATED_PREMIERE")
"""Rules based on a person or a verified fact, for which nothing is looked up."""


def unlisted_original(contest: Contest, possible: Sequence[Candidate]) -> tuple[DraftQuestion, ...]:
    """Return questions about signs that the recording was out before every record listed.

    `possible` are the records that may be the decision. If the first record listed is the only one
    of them, and its group has the recording's first date, that date is not a sign, because only a
    release of that group is missing.
    """
    is_any_hint = any(take.first_release_date or take.isrcs for take in contest.recordings)
    if not is_any_hint and not any(candidate.unofficial for candidate in contest.candidates):
        return ()
    first = contest.first_listed
    if first is None:
        return ()
    is_its_own = len(possible) == 1 and possible[0].id == first.id
    explained = first.group.first_date if is_its_own else UNKNOWN
    signs = sorted(_before_all(first, explained, contest))[:_MAX_DOUBTS]
    return tuple(DraftQuestion("missing_original", text, about) for text, about in signs)


def _before_all(
    first: Candidate, explained: PartialDate, contest: Contest
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield signs that are certainly earlier than the first record listed.

    Each is a text with the two ids that it is about. The signs are a recording's first date, the
    year of an ISRC, and a promotional copy, or a bootleg of a compilation, that is at least
    `reissue_long_gap_years` older than the first record.
    """
    year = date.fromordinal(first.first).year
    for recording in contest.recordings:
        about, hint = (first.id, recording.mb_recording_id), recording.first_date
        is_own_date = explained.is_known and same_day(hint, explained) is not False
        if hint.last < first.first and not is_own_date and not is_explained(hint, contest):
            yield _earlier_text(f"the recording is dated {hint}", first), about
        if assigned := early_assignment([recording], contest, year):
            yield _earlier_text(f"an ISRC was assigned in {assigned}", first), about
    long_ago = date(max(year - contest.settings.reissue_long_gap_years, 1), 1, 1).toordinal()
    for candidate, copy in telling_copies(contest, long_ago):
        if copy.standing == "Promotion" or candidate.role is Role.COMPILATION:
            text = f"{describe_unofficial(copy)} of {copy.when} is older than"
            text += f" {first.dated_name}: what is it a copy of?"
            yield text, (candidate.id, copy.mb_release_id)


def contradictions(compilation: Candidate, contest: Contest) -> tuple[DraftQuestion, ...]:
    """Return questions about signs that the recording may have been out before a compilation."""
    signs = (*_contradicting_dates(compilation, contest), *_earlier_copies(compilation, contest))
    ordered = sorted(signs, key=attrgetter("text", "about"), reverse=True)
    by_text = {question.text: question for question in ordered}
    return tuple(by_text.values())[: -_MAX_DOUBTS - 1 : -1]


def _contradicting_dates(compilation: Candidate, contest: Contest) -> Iterator[DraftQuestion]:
    """Yield questions about the recordings' first dates and ISRCs that are earlier."""
    year_fetched, is_dated = year_read(contest.bundle), compilation.since.is_known
    for recording in contest.recordings:
        hint, signs = recording.first_date, []
        is_earlier = hint.is_known and (hint.last < compilation.first or not is_dated)
        if is_earlier and not is_explained(hint, contest):
            signs.append(f"the recording is dated {hint}")
        for code in recording.isrcs or ():
            year = year_assigned(code, year_fetched)
            if year and date(year, 12, 31).toordinal() < compilation.last:
                signs.append(f"ISRC {code} was assigned in {year}")
        about = (compilation.id, recording.mb_recording_id)
        for sign in signs:
            yield DraftQuestion("missing_original", _earlier_text(sign, compilation), about)


def _earlier_copies(compilation: Candidate, contest: Contest) -> Iterator[DraftQuestion]:
    """Yield questions about earlier promotional copies and bootlegs of other records.

    Promotional copies of the compilation itself count if they are, or may be, more than 60 days
    older. A date of only a year or month that contains the compilation's date does not count.
    """
    for record, copy in telling_copies(contest, compilation.last):
        is_own, when = record.id == compilation.id, copy.when
        subject, limit, how = record.name, compilation.dated_name, "before"
        is_earlier = before(when, compilation)
        if is_own:
            is_day = compilation.first == compilation.last
            is_vague = when.first < when.last and when.last >= compilation.first
            is_promo = copy.standing == "Promotion" and compilation.is_dated
            if not is_promo or (is_day and is_vague):
                continue
            is_earlier = when.last + PROMO_DAYS < compilation.first or None
            subject, limit = compilation.dated_name, "it"
            how = f"more than {PROMO_DAYS} days before"
        if is_earlier is False:
            continue
        claim = f"{describe_unofficial(copy)} of {subject} is dated {when}"
        about = record.id, copy.mb_release_id
        if is_earlier:
            text = f"{claim}, {how} {limit}: what is it a copy of?"
            yield DraftQuestion("missing_original", text, about)
        else:
            yield DraftQuestion("date", f"{claim}: {how} {limit}?", about)


def _earlier_text(sign: str, record: Candidate) -> str:
    if record.since.is_known:
        return f"{MISSING}: {sign}, before {record.dated_name}"
    return f"{sign}, and {record.name} has no date: on which record did it come out then?"


def needs_siblings(bundle: EvidenceBundle, verdict: Verdict, settings: RulesConfig) -> bool:
    """Return whether siblings (other recordings of the performance) should be looked up.

    They should if a case is open because the original is missing, or if the rules decide for a
    compilation, for a reissue, or for a release that is later than an ISRC's year, the recording's
    first date, a promotional copy, a year in its comment or its group's first date: the original
    may carry a sibling. Return False if siblings were looked up already.
    """
    if bundle.siblings == "looked_up":
        return False
    if isinstance(verdict, Open) and verdict.proposal:
        verdict = verdict.proposal
    contest = contest_of(bundle, settings)
    counting = [candidate for candidate in contest.candidates if candidate.counts]
    if isinstance(verdict, Open):
        is_asked = any(question.kind == "missing_original" for question in verdict.questions)
        return is_asked or all(candidate.role is Role.COMPILATION for candidate in counting)
    chosen = next((group for group in contest.candidates if group.id == verdict.crg), None)
    if chosen is None or verdict.crg_rule in _FINAL:
        return False
    first = contest.first_listed or chosen
    return _may_be_later(chosen, verdict.rr, contest) or _is_anything_before(first, contest)


def _may_be_later(chosen: Candidate, rr: str | None, contest: Contest) -> bool:
    group, group_date = chosen.group, chosen.group.first_date
    release = next((edition for edition in group.editions if edition.mb_release_id == rr), None)
    return (
        only_gathers(chosen, contest)
        or (release is not None and is_marked_reissue(release, group, contest.settings))
        or (group_date.is_known and chosen.is_dated and group_date.last < chosen.first)
    )


def _is_anything_before(first: Candidate, contest: Contest) -> bool:
    recordings, year = contest.recordings, int(first.since.text[:4] or 0)
    return (
        are_remasters(first.recordings)
        or (isrc_year(recordings, contest.bundle) or year) < year
        or any(recording.first_date.last < first.first for recording in recordings)
        or taping_year(recordings, year) is not None
        or any(
            copy.standing == "Promotion" and copy.when.last < first.first
            for _, copy in telling_copies(contest, first.first)
        )
    )
