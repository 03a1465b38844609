"""An original that may be missing from the evidence: questions, and look-ups of siblings."""

from collections.abc import Iterator, Sequence
from datetime import date
from operator import attrgetter

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import UNKNOWN, PartialDate, before, same_day
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Open, Verdict
from chart_binder.rules.candidates import Candidate, Role, describe_unofficial
from chart_binder.rules.contest import Contest, contest_of
from chart_binder.rules.questions import DraftQuestion
from chart_binder.rules.representative import is_marked_reissue
from chart_binder.rules.signs import (
    PROMO_DAYS,
    are_remasters,
    early_assignment,
    is_explained,
    isrc_year,
    only_gathers,
    taping_year,
    telling_copies,
    year_assigned,
    year_read,
)

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
