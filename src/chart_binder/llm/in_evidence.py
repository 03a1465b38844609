"""A fact may be cited of the evidence itself: it counts where that says just so."""

from collections.abc import Iterator

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.llm.grounding import read_date
from chart_binder.llm.month_names import folded
from chart_binder.llm.result import Fact

_OF_ADDRESSES = frozenset("./:")


def evidence_says(fact: Fact, bundle: EvidenceBundle) -> bool:
    """Whether a fact names no address as its source, but stands in the evidence.

    A date of a release group is that of its first release; one that is vaguer than what the
    evidence says is said by it, too.
    """
    if _OF_ADDRESSES & set(fact.source):
        return False
    groups = [group for each in bundle.recording_candidates for group in each.groups]
    if date := read_date(fact):
        dates = (known for group in groups for known in _dates(group, fact.about))
        return any(date.first <= known.first and known.last <= date.last for known in dates)
    words = {folded(text) for group in groups for text in _words(group, fact.about) if text}
    return folded(fact.value.strip()) in words


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
