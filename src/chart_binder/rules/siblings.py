"""When other recordings of the same performance should be looked up before a case is decided."""

from collections.abc import Callable, Sequence
from operator import attrgetter

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.domain.verdict import Decided, Open, Verdict
from chart_binder.rules.candidates import Candidate, Role, candidates_of, describe_unofficial
from chart_binder.rules.doubts import is_promo_of, isrc_year
from chart_binder.rules.recordings import sort_recordings
from chart_binder.rules.representative import is_marked_reissue
from chart_binder.rules.year_certainty import are_remasters, gathers, taping_year

_FINAL = ("CRG:MANUAL_OVERRIDE", "CRG:STATED_PREMIERE")
"""Rules that decide by what a person or a verified fact said: nothing is looked up for them."""


class _Case(msgspec.Struct, frozen=True, eq=False, gc=False):
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
    case = _case(bundle, verdict, settings)
    return next((reason for row in _ROWS if (reason := row(case))), None) if case else None


def _is_any_work(bundle: EvidenceBundle) -> bool:
    candidates = candidates_of(sort_recordings(bundle).kept)
    return any(one.counts and one.role is not Role.COMPILATION for one in candidates)


def _case(bundle: EvidenceBundle, verdict: Decided, settings: RulesConfig) -> _Case | None:
    recordings = sort_recordings(bundle).kept
    candidates = candidates_of(recordings)
    chosen = next((one for one in candidates if one.group.mb_rg_id == verdict.crg), None)
    if chosen is None:
        return None
    dated = [one for one in candidates if one.counts and one.is_dated]
    first = min(dated, key=attrgetter("first", "last"), default=chosen)
    return _Case(bundle, settings, recordings, candidates, chosen, verdict.rr, first)


# The rows: each returns its reason in words, or None.


def _compilation(case: _Case) -> str | None:
    if case.chosen.role is Role.COMPILATION or gathers(case.chosen, case.bundle):
        return f"{case.chosen.dated_name} may gather earlier recordings"
    return None


def _reissue(case: _Case) -> str | None:
    group = case.chosen.group
    release = next((one for one in group.editions if one.mb_release_id == case.rr), None)
    if release and is_marked_reissue(release, group, case.settings):
        return f"the earliest release known of {case.chosen.dated_name} is a reissue"
    return None


def _remaster(case: _Case) -> str | None:
    if are_remasters(case.first.recordings):
        return f"the recording on {case.first.dated_name} is a remaster"
    return None


def _isrc(case: _Case) -> str | None:
    year = isrc_year(case.recordings, case.bundle)
    if year and case.first.is_dated and year < int(case.first.since.text[:4]):
        return f"an ISRC was assigned in {year}, before {case.first.dated_name}"
    return None


def _first_date(case: _Case) -> str | None:
    hints = [one.first_release_date for one in case.recordings if one.first_release_date]
    for hint in sorted(hints):
        if PartialDate.parse(hint).last < case.first.first:
            return f"the recording is dated {hint}, before {case.first.dated_name}"
    return None


def _promo(case: _Case) -> str | None:
    for one in case.candidates:
        for copy in one.unofficial:
            if copy.standing != "Promotion" or copy.when.last >= case.first.first:
                continue
            if not is_promo_of(copy, one):
                what = f"{describe_unofficial(copy)} of {one.name} is of {copy.when}"
                return f"{what}, before {case.first.dated_name}"
    return None


def _taping(case: _Case) -> str | None:
    year = taping_year(case.recordings, int(case.first.since.text[:4] or 0))
    return f"its comment names {year}, before {case.first.dated_name}" if year else None


def _group(case: _Case) -> str | None:
    own = case.chosen.group.first_date
    if own.is_known and own.last < case.chosen.first and case.chosen.is_dated:
        return f"{case.chosen.dated_name} is later than its group, which is of {own}"
    return None


_ROWS: tuple[Callable[[_Case], str | None], ...] = (
    _compilation, _reissue, _remaster, _isrc, _first_date, _promo, _taping, _group,
)  # fmt: skip
