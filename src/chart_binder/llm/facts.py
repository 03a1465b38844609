"""Facts as patches: what a cited fact changes in the evidence, and the evidence with it changed.

A fact is about a release group or a release, and says one field of it. The fields, the bounds that
a group's first date sets, and what is impossible are those of docs/adjudicator.md ("Facts").
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import tomli
from msgspec.structs import replace

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.vocabulary import country_code, fold
from chart_binder.llm.answer import CitedFact, Labels

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
_FIELDS = {
    "country": COUNTRY,
    "release country": COUNTRY,
    "status": STATUS,
    "release status": STATUS,
    "type": PRIMARY_TYPE,
    "primary type": PRIMARY_TYPE,
    "release type": PRIMARY_TYPE,
    "secondary type": SECONDARY_TYPES,
    "secondary types": SECONDARY_TYPES,
}


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
class Change:
    """A patch that was applied, with the value before it in words."""

    patch: Patch
    before: str


@dataclass(frozen=True, slots=True)
class Patched:
    """Evidence with patches applied; `findings` says which were impossible, and why."""

    bundle: EvidenceBundle
    changes: tuple[Change, ...] = ()
    findings: Mapping[Patch, str] = field(default_factory=dict)


def field_name(written: str) -> str:
    """Return the words of a field name: `firstReleaseDate` is `first release date`."""
    return _SEPARATORS.sub(" ", _CAMEL.sub(" ", written)).strip().casefold()


def is_release_date_field(written: str) -> bool:
    """Return whether a field is the date of a release rather than of another event."""
    return bool(_DATED.search(written)) and not _OTHER_EVENT.search(written)


def read_patch(fact: CitedFact, labels: Labels) -> Patch | None:
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
    known = _FIELDS.get(field_name(fact.field))
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
    changes: list[Change] = []
    findings: dict[Patch, str] = {}
    for patch in sorted(patches, key=_turn):
        try:
            changed, before = _FIELDS_APPLIED[patch.field](bundle, patch)
        except _ImpossibleError as error:
            findings[patch] = str(error)
            continue
        if changed != bundle:
            bundle = changed
            changes.append(Change(patch, before))
    return Patched(bundle, tuple(changes), findings)


def _turn(patch: Patch) -> tuple[bool, bool, int, str]:
    """Sort a group's first dates last, and precise dates before vague ones."""
    length = patch.date.last - patch.date.first if patch.is_date else 0
    return patch.field == FIRST_DATE, patch.is_date, length, patch.value


class _ImpossibleError(Exception):
    """A patch contradicts the evidence; the text says how."""


def _first_date(bundle: EvidenceBundle, patch: Patch) -> tuple[EvidenceBundle, str]:
    """Apply a group's first date: the lower bound of its official releases with the recording.

    Earlier days leave their spans, and the vaguest takes the date; of equally vague ones that from
    the artist's country. A group without releases takes it itself.
    """
    date, groups = patch.date, [*_groups(bundle, patch.about)]
    if not any(group.editions for group in groups):
        known = next((group.first_date for group in groups if group.first_date.is_known), UNKNOWN)
        if not _overlap(known, date):
            raise _ImpossibleError(f"the evidence dates it {known}")
        text = _narrower(known, date)
        return (
            _with_groups(
                bundle, patch.about, lambda group: replace(group, first_release_date=text)
            ),
            str(known),
        )
    official = {
        one.mb_release_id: one for group in groups for one in group.editions if one.is_official
    }
    if not official:
        return bundle, _UNKNOWN
    earlier = [one for one in official.values() if one.when.last < date.first]
    if earlier:
        dated = min(one.when.text for one in earlier)
        raise _ImpossibleError(f"an official release of it is dated {dated}, before {date}")
    could_be = [one for one in official.values() if _overlap(one.when, date)]
    if not could_be:
        earliest = min((one.when for one in official.values()), key=lambda when: when.first)
        raise _ImpossibleError(f"no official release of it is dated before {earliest}")
    taker = _vaguest(could_be, date, bundle.performer.country)
    since = min(one.when.first for one in official.values())
    last = min(one.when.last for one in official.values())
    before = next(str(one.when) for one in official.values() if one.when.first == since)
    if since >= date.first and last <= date.last:
        return bundle, before  # nothing that was not known

    def bounded(release: Release) -> Release:
        if release.mb_release_id == taker:
            return replace(release, date=_narrower(release.when, date))
        is_dated = release.mb_release_id in official and release.when.is_known
        if is_dated and release.when.first < date.first:
            return replace(release, date=_not_before(release.when, date))
        return release

    return _with_releases(bundle, patch.about, bounded), before


def _vaguest(releases: Sequence[Release], date: PartialDate, home: str | None) -> str | None:
    """Return the id of the release that a group's first date is taken to be of.

    None where one is known to be of that date.
    """
    if any(date.first <= one.when.first and one.when.last <= date.last for one in releases):
        return None
    ordered = sorted(releases, key=lambda one: (one.place != home, one.mb_release_id))
    return max(ordered, key=lambda one: one.when.last - one.when.first).mb_release_id


def _release_date(bundle: EvidenceBundle, patch: Patch) -> tuple[EvidenceBundle, str]:
    before = {release.when for release in _releases(bundle, patch.about)}
    for known in before:
        if not _overlap(known, patch.date):
            raise _ImpossibleError(f"the evidence dates it {known}")

    def dated(release: Release) -> Release:
        is_it = release.mb_release_id == patch.about
        return replace(release, date=_narrower(release.when, patch.date)) if is_it else release

    return _with_releases(bundle, None, dated), " or ".join(map(str, before))


def _release_field(
    name: str, known: Callable[[Release], str | None]
) -> Callable[[EvidenceBundle, Patch], tuple[EvidenceBundle, str]]:
    def apply(bundle: EvidenceBundle, patch: Patch) -> tuple[EvidenceBundle, str]:
        before = {known(release) for release in _releases(bundle, patch.about)} - {None}
        if before - {patch.value}:
            raise _ImpossibleError(
                f"the evidence says {' and '.join(sorted(filter(None, before)))}"
            )

        def changed(release: Release) -> Release:
            if release.mb_release_id != patch.about or known(release) == patch.value:
                return release
            return replace(release, **{name: patch.value})

        return _with_releases(bundle, None, changed), _UNKNOWN

    return apply


def _primary_type(bundle: EvidenceBundle, patch: Patch) -> tuple[EvidenceBundle, str]:
    before = {group.types[0] for group in _groups(bundle, patch.about)} - {None}
    if before - {patch.value}:
        raise _ImpossibleError(f"the evidence says {' and '.join(sorted(filter(None, before)))}")
    changed = _with_groups(
        bundle,
        patch.about,
        lambda group: group if group.types[0] else replace(group, primary_type=patch.value),
    )
    return changed, _UNKNOWN


def _secondary_type(bundle: EvidenceBundle, patch: Patch) -> tuple[EvidenceBundle, str]:
    """Add a secondary type where none is known: beside a primary type an empty list says none."""
    groups = [*_groups(bundle, patch.about)]
    if any(patch.value in group.kinds for group in groups):
        return bundle, patch.value
    given = [
        group.kinds
        for group in groups
        if group.kinds or (group.types[0] and group.secondary_types is not None)
    ]
    if given:
        said = " and ".join(sorted({kind for kinds in given for kind in kinds})) or "none"
        raise _ImpossibleError(f"the evidence says {said}")
    changed = _with_groups(
        bundle, patch.about, lambda group: replace(group, secondary_types=(patch.value,))
    )
    return changed, _UNKNOWN


_FIELDS_APPLIED: Mapping[str, Callable[[EvidenceBundle, Patch], tuple[EvidenceBundle, str]]] = {
    FIRST_DATE: _first_date,
    DATE: _release_date,
    COUNTRY: _release_field("country", lambda release: release.place),
    STATUS: _release_field("status", lambda release: release.standing),
    PRIMARY_TYPE: _primary_type,
    SECONDARY_TYPES: _secondary_type,
}


def _overlap(one: PartialDate, other: PartialDate) -> bool:
    return one.first <= other.last and other.first <= one.last


def _narrower(known: PartialDate, date: PartialDate) -> str:
    """Return the date where it is within what is known, else what is known, from its first day."""
    if known.first <= date.first and date.last <= known.last:
        return date.text
    return known.text if date.first <= known.first else _not_before(known, date)


def _not_before(known: PartialDate, date: PartialDate) -> str:
    """Return what is known without the days before a date, as an interval."""
    return f"{date.text}/{known.text.rpartition('/')[2] or '..'}"


def _groups(bundle: EvidenceBundle, about: str) -> Iterator[ReleaseGroup]:
    for recording in bundle.recording_candidates:
        yield from (group for group in recording.groups if group.mb_rg_id == about)


def _releases(bundle: EvidenceBundle, about: str) -> Iterator[Release]:
    for recording in bundle.recording_candidates:
        for group in recording.groups:
            yield from (one for one in group.editions if one.mb_release_id == about)


def _with_groups(
    bundle: EvidenceBundle, about: str | None, change: Callable[[ReleaseGroup], ReleaseGroup]
) -> EvidenceBundle:
    recordings = tuple(
        replace(
            recording,
            rg_candidates=tuple(
                change(group) if about in (None, group.mb_rg_id) else group
                for group in recording.groups
            ),
        )
        if recording.rg_candidates
        else recording
        for recording in bundle.recording_candidates
    )
    return replace(bundle, recording_candidates=recordings)


def _with_releases(
    bundle: EvidenceBundle, group: str | None, change: Callable[[Release], Release]
) -> EvidenceBundle:
    """Change releases: those of one group, or all."""
    return _with_groups(
        bundle,
        group,
        lambda each: (
            replace(each, releases=tuple(map(change, each.editions))) if each.releases else each
        ),
    )


def adds_to(bundle: EvidenceBundle, patch: Patch) -> bool:
    """Return whether a patch says more than the evidence, and nothing impossible."""
    return bool(apply_patches(bundle, (patch,)).changes)


def is_in_evidence(fact: CitedFact, about: str, bundle: EvidenceBundle) -> bool:
    """Return whether a fact names no source of its own and is stated by the evidence.

    A less precise date than the evidence's is stated by it, too.
    """
    if _OF_SOURCES & set(fact.source) or any(sign.isdigit() for sign in fact.source):
        return False
    groups, releases = [*_groups(bundle, about)], [*_releases(bundle, about)]
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
