"""The words for decisions that the terminal and the pages share."""

from collections.abc import Iterable, Mapping, Sequence

from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.verdict import FirstRelease, SaidBy
from chart_binder.domain.vocabulary import MBID, area_name, bare_id
from chart_binder.llm.result import AdjudicationResult, Check, Fact

SITE = "https://musicbrainz.org"
UNTITLED = "(title unknown)"
NO_GROUP = "a release group the evidence lacks"
NO_ALBUM = "no album"


def musicbrainz_page(entity: str, mbid: str) -> str:
    """Return the address of a MusicBrainz page, or the id itself if it is not a UUID."""
    return f"{SITE}/{entity}/{mbid}" if MBID.fullmatch(mbid) else mbid


def entity_names(bundle: EvidenceBundle | None, *, whole: bool = False) -> dict[str, str]:
    """Return the names of release groups and releases by id; if `whole`, releases name groups."""
    names: dict[str, str] = {}
    for group in bundle.groups if bundle else ():
        names[group.mb_rg_id] = group_name(group)
        of_group = f" of {names[group.mb_rg_id]}" if whole else ""
        for release in group.editions:
            names[release.mb_release_id] = f"{release_name(release)}{of_group}"
    return names


def group_name(group: ReleaseGroup) -> str:
    """Return a release group's title with its type."""
    primary, secondary = group.types
    kinds = " + ".join(filter(None, (primary, *secondary)))
    return f"{group.title or UNTITLED} ({kinds or 'type unknown'})"


def release_name(release: Release) -> str:
    """Return what distinguishes a release: `1977-02-04, GB, EMI (EMC 1), 12" Vinyl`."""
    return ", ".join(filter(None, (release.when.text, edition_text(release))))


def edition_text(release: Release) -> str:
    """Return place, label and format of a release: `GB, EMI (EMC 1), 12" Vinyl`."""
    label = release.label or release.catno
    if release.label and release.catno:
        label = f"{release.label} ({release.catno})"
    parts = (area_name(release.place), label, release.format, release.disambiguation)
    return ", ".join(filter(None, parts))


def first_release_text(first: FirstRelease) -> str:
    """Return a first release as `1977-02-04 (album Rumours, Warner, US)`, or `1993 or earlier`.

    If something gives an earlier, uncertain year, that comes first: `1977? (the reason)`.
    """
    if first.best_known:
        return str(first.best_known)
    record = " ".join(filter(None, (first.title and first.type, first.title)))
    place = ", ".join(filter(None, (record, first.label, area_name(first.country))))
    earlier = "" if first.year_certain else " or earlier"
    through = ", through a sibling recording" if first.via_sibling else ""
    source = ", as a person says" if first.by is SaidBy.PERSON else ""
    return f"{first.date}{earlier}{f' ({place})' if place else ''}{through}{source}"


def shown_checks(result: AdjudicationResult) -> Sequence[Check]:
    """Return the checks that the facts do not repeat."""
    return [check for check in result.checks if not (check.name == "fact" and result.facts)]


def facts_by_claim(facts: Iterable[Fact]) -> Sequence[tuple[Fact, Sequence[Fact]]]:
    """Return each claim once, as its first fact, with all facts that claim it."""
    claims: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in facts:
        claims.setdefault((fact.about, fact.field, fact.value), []).append(fact)
    return [(claimed[0], claimed) for claimed in claims.values()]


def claim_text(fact: Fact, names: Mapping[str, str]) -> str:
    """Return what a fact says: `date 1975 -> 1975-10-31 of ...`; `names` are by id."""
    value = fact.value if fact.before is None else f"{fact.before} -> {fact.value}"
    about = names.get(bare_id(fact.about), fact.about) or "something unnamed"
    return f"{fact.field} {value} of {about}"
