"""Whether other recordings of a performance, its siblings, should be looked up."""

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Open, Verdict
from chart_binder.rules.candidates import Candidate, Role
from chart_binder.rules.contest import Contest, contest_of
from chart_binder.rules.representative import is_marked_reissue
from chart_binder.rules.signs import (
    are_remasters,
    first_listed,
    isrc_year,
    only_gathers,
    taping_year,
    telling_copies,
)

_FINAL = ("CRG:MANUAL_OVERRIDE", "CRG:STATED_PREMIERE")
"""Rules based on a person or a verified fact, for which nothing is looked up."""


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
    first = first_listed(contest) or chosen
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
