"""Verified facts are put into a copy of the evidence, so that the rules can be asked again."""

from collections.abc import Iterable
from functools import reduce

from msgspec.structs import replace

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.llm.fields import is_of_release
from chart_binder.llm.grounding import read_date
from chart_binder.llm.result import Fact


def with_facts(bundle: EvidenceBundle, facts: Iterable[Fact]) -> EvidenceBundle:
    """Return the bundle with each verified date where it makes a vaguer one exact.

    A date outside what the evidence says is left out: two sources disagree, and that settles
    nothing.
    """
    dates = [
        (fact.about, date)
        for fact in facts
        if fact.verified and is_of_release(fact.field) and (date := read_date(fact))
    ]
    recordings = tuple(
        replace(
            recording,
            rg_candidates=tuple(reduce(_dated, dates, group) for group in recording.groups),
        )
        for recording in bundle.recording_candidates
    )
    return replace(bundle, recording_candidates=recordings)


def _dated(group: ReleaseGroup, known: tuple[str, PartialDate]) -> ReleaseGroup:
    about, date = known
    if about == group.mb_rg_id and not group.editions:
        return replace(group, first_release_date=_sharper(group.first_date, date))
    first = _vaguest_first(group, date) if about == group.mb_rg_id else None
    return replace(
        group,
        releases=tuple(
            replace(edition, date=_sharper(edition.when, date))
            if edition is first or edition.mb_release_id == about
            else edition
            for edition in group.editions
        ),
    )


def _vaguest_first(group: ReleaseGroup, date: PartialDate) -> Release | None:
    """Return the official release that the group's first date is about."""
    could_be = [
        edition
        for edition in group.editions
        if edition.is_official
        and edition.when.first <= date.first
        and date.last <= edition.when.last
    ]
    return min(
        could_be, key=lambda edition: (edition.when.last, edition.mb_release_id), default=None
    )


def _sharper(known: PartialDate, date: PartialDate) -> str:
    """Return the date, if it is within what is known; else that."""
    return (date if known.first <= date.first and date.last <= known.last else known).text
