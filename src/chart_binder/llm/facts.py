"""Verified facts added to the evidence, and facts cited from the evidence itself."""

from collections.abc import Iterable, Iterator
from functools import reduce

from msgspec.structs import replace

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.vocabulary import fold
from chart_binder.llm.grounding import is_release_date_field, read_date
from chart_binder.llm.result import Fact


def with_verified_facts(bundle: EvidenceBundle, facts: Iterable[Fact]) -> EvidenceBundle:
    """Return the bundle with each verified date where it is more precise than the evidence's.

    A date that contradicts the evidence is left out: where two sources disagree, neither counts.
    """
    dates = [
        (fact.about, date)
        for fact in facts
        if fact.verified and is_release_date_field(fact.field) and (date := read_date(fact))
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


_OF_ADDRESSES = frozenset("./:")


def is_in_evidence(fact: Fact, bundle: EvidenceBundle) -> bool:
    """Return whether a fact names no URL as its source and is stated by the evidence.

    The date of a release group is that of its first release; a less precise date than the
    evidence's is stated by it, too.
    """
    if _OF_ADDRESSES & set(fact.source):
        return False
    groups = [group for each in bundle.recording_candidates for group in each.groups]
    if date := read_date(fact):
        dates = (known for group in groups for known in _dates(group, fact.about))
        return any(date.first <= known.first and known.last <= date.last for known in dates)
    words = {fold(text) for group in groups for text in _words(group, fact.about) if text}
    return fold(fact.value.strip()) in words


def _dates(group: ReleaseGroup, about: str) -> Iterator[PartialDate]:
    official = [each.when for each in group.editions if each.is_official and each.when.is_known]
    if about == group.mb_rg_id:
        if group.first_date.is_known:
            yield group.first_date
        if official:
            yield min(official, key=lambda when: when.last)
    for edition in group.editions:
        if edition.mb_release_id == about and edition.when.is_known:
            yield edition.when


def _words(group: ReleaseGroup, about: str) -> Iterator[str | None]:
    if about == group.mb_rg_id:
        kind, kinds = group.types
        yield from (group.title, group.artist_credit, kind, *kinds)
        yield from (*(group.labels or ()), *(group.countries or ()))
    for edition in group.editions:
        if edition.mb_release_id == about:
            yield from _said_of(edition)


def _said_of(edition: Release) -> tuple[str | None, ...]:
    names = (edition.title, edition.artist_credit, edition.label, edition.catno)
    return (*names, edition.country, edition.place, edition.standing, edition.format)
