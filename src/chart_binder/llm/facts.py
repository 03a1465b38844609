"""Facts as patches: what a cited fact changes in the evidence, and the evidence with it changed.

A fact is about a release group or a release, and says one field of it. The fields, the bounds that
a group's first date sets, and what is impossible are those of docs/adjudicator.md ("Facts").
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

import tomli
from msgspec.structs import replace

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.vocabulary import country_code, fold
from chart_binder.llm.answer import Labels
from chart_binder.llm.result import Fact

FIRST_DATE, DATE, COUNTRY, STATUS = "first_release_date", "date", "country", "status"
PRIMARY_TYPE, SECONDARY_TYPES = "primary_type", "secondary_types"
_UNKNOWN = "unknown"

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\W_]+")
_DATED = re.compile(
    r"date|releas|publi|issued|year|premiere_on|veröffentlich|erschein|lanzamiento|lançamento|sortie"
    r"|parution|uscita|pubblica|uitgave|発売|リリース|発行",
    re.IGNORECASE,
)
_OTHER_EVENT = re.compile(
    r"record|enregistr|aufnahm|session|perform|birth|death|copyright|chart|peak|re-?issue|re-?release|label|country"
    r"|status|type|title|format|(?<![a-z])cat|barcode|number|isrc|track|length|duration|group|artist",
    re.IGNORECASE,
)


@cache
def fact_words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the words that say a value, folded, by field and value; from package data."""
    text = files("chart_binder.llm").joinpath("fact_words.toml").read_text("utf-8")
    return tomli.loads(text)


_PLACE = (
    r"UK|GB|US|USA|United (?:Kingdom|States)|Britain|Germany|France|Japan|Italy|Spain|Canada"
    r"|Australia"
)
_BEFORE_DATE = re.compile(
    r"^(?:(?:(?:first |originally )?(?:released|issued|published)|out|on|in|the(?= \d)|(?:mon"
    rf"|tues|wednes|thurs|fri|satur|sun)day|{_PLACE})(?:\s*[:,]\s*|\s+))+",
    re.IGNORECASE,
)
_BEHIND_DATE = re.compile(rf"(?:,? in(?: the)? |,? )(?:{_PLACE})\.?$", re.IGNORECASE)
"""What models write beside a date and what does not change it."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of one field: of a group its first date or types, of a release the rest.

    `value` is a date as text, a status or type by MusicBrainz' name, or a country code.
    """

    about: str
    field: str
    value: str

    @property
    def is_date(self) -> bool:
        """Whether the value is a date."""
        return self.field in (FIRST_DATE, DATE)

    @property
    def date(self) -> PartialDate:
        """The date."""
        return PartialDate.parse(self.value)


@dataclass(frozen=True, slots=True)
class Patched:
    """Evidence with patches applied: by patch, the value before it, or why it is impossible."""

    bundle: EvidenceBundle
    changes: Mapping[Patch, str]
    findings: Mapping[Patch, str]


def is_release_date_field(written: str) -> bool:
    """Return whether a field is the date of a release rather than of another event."""
    return bool(_DATED.search(written)) and not _OTHER_EVENT.search(written)


def read_patch(fact: Fact, labels: Labels) -> Patch | None:
    """Return what a fact changes; None for a field that moves nothing, or an unknown subject.

    Raises `ValueError` for a value that cannot be read, or a field that the subject does not have.
    """
    about = labels.meant_by(fact.about)
    is_group, is_release = about in labels.titles, about in labels.home
    if not (is_group or is_release):
        return None
    if is_release_date_field(fact.field):
        date = read_date(fact.value)
        if date is None:
            raise ValueError(f"{fact.value!r} is no date that can be read in one way")
        return Patch(about, FIRST_DATE if is_group else DATE, date.text)
    name = _SEPARATORS.sub(" ", _CAMEL.sub(" ", fact.field)).strip().casefold()
    known = next((known for known, names in fact_words()["field"].items() if name in names), None)
    if known is None:
        return None
    if is_group and known in (COUNTRY, STATUS):
        raise ValueError(f"{known} is a field of a release, such as C1.R1, not of a group")
    if is_release and known in (PRIMARY_TYPE, SECONDARY_TYPES):
        raise ValueError(f"{known} is a field of a group, such as C1, not of a release")
    if value := _named_value(known, fact.value):
        return Patch(about, known, value)
    allowed = ", ".join(fact_words()[known]) if known != COUNTRY else "a country or its code"
    raise ValueError(f"{fact.value!r} is no {known}: {allowed}")


def read_date(written: str) -> PartialDate | None:
    """Return the date that a text states, in any written form; None for none, or for several."""
    from chart_binder.domain.dates_in_text import single_date

    try:
        date = PartialDate.parse(written)
    except ValueError:
        bare = _BEHIND_DATE.sub("", _BEFORE_DATE.sub("", written.strip(), count=1))
        return single_date(written) or single_date(bare)
    return date if date.is_known and "/" not in date.text else None


def _named_value(name: str, written: str) -> str | None:
    plain = " ".join(fold(written).strip(" .\"'").split())
    if name == COUNTRY and re.fullmatch(r"[a-z]{2}", plain):
        return country_code(plain)
    for value, words in fact_words()[name].items():
        if (plain == fold(value) or plain in words) and value != "Song":
            return value
    return None


def apply_patches(bundle: EvidenceBundle, patches: Iterable[Patch]) -> Patched:
    """Return the evidence with patches applied, and those that are impossible in it.

    A patch that says no more than the evidence changes nothing. One is impossible where the
    evidence says otherwise: a date outside the known span, another status, country or type. Their
    order makes no difference: what a group's first date is of is told by what is said of releases.
    """
    changes: dict[Patch, str] = {}
    findings: dict[Patch, str] = {}
    for patch in sorted(patches, key=_turn):
        try:
            changed, before = _FIELDS_APPLIED[patch.field](bundle, patch)
        except _ImpossibleError as error:
            findings[patch] = str(error)
            continue
        if changed != bundle:
            bundle = changed
            changes[patch] = before
    return Patched(bundle, changes, findings)


def _turn(patch: Patch) -> tuple[bool, bool, int, str]:
    """Sort a group's first dates last, and precise dates before vague ones."""
    length = patch.date.last - patch.date.first if patch.is_date else 0
    return patch.field == FIRST_DATE, patch.is_date, length, patch.value


class _ImpossibleError(Exception):
    """A patch contradicts the evidence; the text says how."""


_Applied: TypeAlias = tuple[EvidenceBundle, str]
"""The evidence with a patch, and the value before it in words."""
_Apply: TypeAlias = Callable[[EvidenceBundle, Patch], _Applied]


def _first_date(bundle: EvidenceBundle, patch: Patch) -> _Applied:
    """Apply a group's first date: the lower bound of its official releases with the recording.

    Earlier days leave their spans, and the vaguest takes the date; of equally vague ones that from
    the artist's country. A group without releases takes it itself.
    """
    date, (groups, _) = patch.date, things(bundle, patch.about)
    if not any(group.editions for group in groups):
        known = next((group.first_date for group in groups if group.first_date.is_known), UNKNOWN)
        text = _narrower(known, date)
        return _changed(bundle, patch.about, lambda it: replace(it, first_release_date=text)), (
            str(known)
        )
    official = [one for group in groups for one in group.editions if one.is_official]
    if not official:
        return bundle, _UNKNOWN
    earlier = [one.when.text for one in official if one.when.last < date.first]
    if earlier:
        dated = min(earlier)
        raise _ImpossibleError(f"an official release of it is dated {dated}, before {date}")
    earliest = min((one.when for one in official), key=lambda when: when.first)
    could_be = [one for one in official if is_overlapping(one.when, date)]
    if not could_be:
        raise _ImpossibleError(f"no official release of it is dated before {earliest}")
    if earliest.first >= date.first and min(one.when.last for one in official) <= date.last:
        return bundle, str(earliest)  # nothing that was not known
    taker = _vaguest(could_be, date, bundle.performer.country)

    def bounded(release: Release) -> Release:
        if release.mb_release_id == taker:
            return replace(release, date=_narrower(release.when, date))
        is_dated = release.is_official and release.when.is_known
        if is_dated and release.when.first < date.first:
            return replace(release, date=_not_before(release.when, date))
        return release

    return _changed(bundle, patch.about, lambda it: _each_release(it, bounded)), str(earliest)


def _vaguest(releases: Sequence[Release], date: PartialDate, home: str | None) -> str | None:
    """Return the id of the release that a group's first date is taken to be of.

    None where one is known to be of that date.
    """
    if any(date.first <= one.when.first and one.when.last <= date.last for one in releases):
        return None
    ordered = sorted(releases, key=lambda one: (one.place != home, one.mb_release_id))
    return max(ordered, key=lambda one: one.when.last - one.when.first).mb_release_id


def _release_date(bundle: EvidenceBundle, patch: Patch) -> _Applied:
    date, (_, releases) = patch.date, things(bundle, patch.about)
    changed = _changed(bundle, patch.about, lambda it: replace(it, date=_narrower(it.when, date)))
    return changed, " or ".join(str(known) for known in {one.when for one in releases})


def _field(name: str, known: Callable[[Any], str | None]) -> _Apply:
    """Return what sets a field of one value, where the evidence has none."""

    def apply(bundle: EvidenceBundle, patch: Patch) -> _Applied:
        before = {known(one) for each in things(bundle, patch.about) for one in each} - {None}
        if before - {patch.value}:
            said = " and ".join(sorted(filter(None, before)))
            raise _ImpossibleError(f"the evidence says {said}")
        return _changed(
            bundle,
            patch.about,
            lambda it: it if known(it) else replace(it, **{name: patch.value}),
        ), _UNKNOWN

    return apply


def _secondary_type(bundle: EvidenceBundle, patch: Patch) -> _Applied:
    """Add a secondary type where none is known: beside a primary type an empty list says none."""
    groups, _ = things(bundle, patch.about)
    if any(patch.value in group.kinds for group in groups):
        return bundle, patch.value
    if any(each.kinds or (each.types[0] and each.secondary_types is not None) for each in groups):
        said = " and ".join(sorted({kind for each in groups for kind in each.kinds})) or "none"
        raise _ImpossibleError(f"the evidence says {said}")
    return _changed(
        bundle, patch.about, lambda it: replace(it, secondary_types=(patch.value,))
    ), _UNKNOWN


_FIELDS_APPLIED: Mapping[str, _Apply] = {
    FIRST_DATE: _first_date,
    DATE: _release_date,
    COUNTRY: _field("country", lambda release: release.place),
    STATUS: _field("status", lambda release: release.standing),
    PRIMARY_TYPE: _field("primary_type", lambda group: group.types[0]),
    SECONDARY_TYPES: _secondary_type,
}


def is_overlapping(one: PartialDate, other: PartialDate) -> bool:
    """Return whether two dates have a day in common."""
    return one.first <= other.last and other.first <= one.last


def _narrower(known: PartialDate, date: PartialDate) -> str:
    """Return the date where it is within what is known, else what is known, from its first day.

    Raises `_ImpossibleError` where the two have no day in common.
    """
    if not is_overlapping(known, date):
        raise _ImpossibleError(f"the evidence dates it {known}")
    if known.first <= date.first and date.last <= known.last:
        return date.text
    return known.text if date.first <= known.first else _not_before(known, date)


def _not_before(known: PartialDate, date: PartialDate) -> str:
    """Return what is known without the days before a date, as an interval."""
    return f"{date.text}/{known.text.rpartition('/')[2] or '..'}"


def things(bundle: EvidenceBundle, about: str) -> tuple[list[ReleaseGroup], list[Release]]:
    """Return the groups, and the releases, that have an id."""
    groups = [group for recording in bundle.recording_candidates for group in recording.groups]
    releases = [one for group in groups for one in group.editions if one.mb_release_id == about]
    return [group for group in groups if group.mb_rg_id == about], releases


def _changed(bundle: EvidenceBundle, about: str, change: Callable[[Any], Any]) -> EvidenceBundle:
    """Change the groups, or the releases, that have an id."""

    def release(it: Release) -> Release:
        return change(it) if it.mb_release_id == about else it

    def group(it: ReleaseGroup) -> ReleaseGroup:
        return change(it) if it.mb_rg_id == about else _each_release(it, release)

    recordings = tuple(
        replace(each, rg_candidates=tuple(map(group, each.groups))) if each.groups else each
        for each in bundle.recording_candidates
    )
    return replace(bundle, recording_candidates=recordings)


def _each_release(group: ReleaseGroup, change: Callable[[Release], Release]) -> ReleaseGroup:
    releases = tuple(map(change, group.editions))
    return replace(group, releases=releases) if releases else group


def adds_to(bundle: EvidenceBundle, patch: Patch) -> bool:
    """Return whether a patch says more than the evidence, and nothing impossible."""
    return bool(apply_patches(bundle, (patch,)).changes)


def is_in_evidence(fact: Fact, about: str, bundle: EvidenceBundle) -> bool:
    """Return whether a fact names no source of its own and is stated by the evidence.

    A less precise date than the evidence's is stated by it, too.
    """
    if _OF_SOURCES & set(fact.source) or any(sign.isdigit() for sign in fact.source):
        return False
    groups, releases = things(bundle, about)
    if is_release_date_field(fact.field):
        known = [group.first_date for group in groups if not group.editions]  # else a hint
        known += [one.when for group in groups for one in group.editions if one.is_official]
        known += [one.when for one in releases]
        date = read_date(fact.value)
        return date is not None and any(
            each.is_known and date.first <= each.first and each.last <= date.last for each in known
        )
    named: list[ReleaseGroup | Release] = [*groups, *releases]
    words = {fold(text) for one in named for text in _words(one) if text}
    return fold(fact.value.strip()) in words


_OF_SOURCES = frozenset("./:")


def _words(one: ReleaseGroup | Release) -> Iterator[str | None]:
    if isinstance(one, Release):
        yield from (one.title, one.artist_credit, one.label, one.catno)
        yield from (one.country, one.place, one.standing, one.format)
        return
    kind, kinds = one.types
    yield from (one.title, one.artist_credit, kind, *kinds)
    yield from (*(one.labels or ()), *(one.countries or ()))
