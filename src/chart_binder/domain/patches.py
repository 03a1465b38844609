"""Patches: changes of single fields of the evidence, and what they make of it.

A patch says a value that the evidence lacks; one that contradicts it is impossible.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from msgspec.structs import replace

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.vocabulary import (
    ReleaseGroupId,
    ReleaseId,
    country_code,
    fold,
    word_table,
)

FIRST_DATE, DATE, COUNTRY, STATUS = "first_release_date", "date", "country", "status"
PRIMARY_TYPE, SECONDARY_TYPES = "primary_type", "secondary_types"
PREMIERE = "premiere"
FIRST_RELEASE = "first_release"
THE_RECORDING = "the recording"
"""What a fact about `FIRST_RELEASE` is about, in place of an id."""
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of one field of a group, of a release, or of the recording (`FIRST_RELEASE`).

    `value` is a date as text, a status or type by MusicBrainz' name, a country code, or `true`.
    """

    about: str
    field: str
    value: str

    @property
    def is_date(self) -> bool:
        """Whether the value is a date."""
        return self.field in (FIRST_DATE, DATE, FIRST_RELEASE)

    @property
    def is_of_song(self) -> bool:
        """Whether it dates the song, as on a record that the evidence lacks."""
        return self.field == FIRST_RELEASE

    @property
    def is_value(self) -> bool:
        """Whether the value is a status, a country or a type."""
        return not (self.is_date or self.field == PREMIERE)

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


def apply_patches(bundle: EvidenceBundle, patches: Iterable[Patch]) -> Patched:
    """Return the evidence with patches applied, and those that are impossible in it.

    One is impossible where the evidence says otherwise, such as a date outside the known span.
    Their order makes no difference.
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


def _turn(patch: Patch) -> tuple[bool, bool, bool, int, str]:
    """Sort precise dates before vague ones, a group's first dates behind, and premieres last."""
    length = patch.date.last - patch.date.first if patch.is_date else 0
    return patch.field == PREMIERE, patch.field == FIRST_DATE, patch.is_date, length, patch.value


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
    """Return the release that a group's first date is taken to be of, if none is known to be."""
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
            bundle, patch.about, lambda it: it if known(it) else replace(it, **{name: patch.value})
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


def _premiere(bundle: EvidenceBundle, patch: Patch) -> _Applied:
    """Say that the recording first came out on a group, if no other record is certainly earlier."""
    groups, _ = things(bundle, patch.about)
    if any(group.premiere for group in groups):
        return bundle, patch.value
    since = first_day(bundle, patch.about)
    for recording in bundle.recording_candidates:
        for group in recording.groups:
            for one in group.editions if group.mb_rg_id != patch.about else ():
                if one.is_official and one.when.last < since:
                    raise _ImpossibleError(f"{group.title!r} came out before it, {one.when}")
    return _changed(bundle, patch.about, lambda it: replace(it, premiere=True)), _UNKNOWN


def _stated_first(bundle: EvidenceBundle, patch: Patch) -> _Applied:
    """Say when the song came out on a record that is missing, if no record listed is earlier."""
    date = patch.date
    dates = [one.when for group in bundle.groups for one in group.editions if one.is_official]
    if earlier := [known for known in dates if known.last < date.first]:
        dated = min(earlier, key=lambda known: known.first)
        raise _ImpossibleError(f"an official release of it is dated {dated}, before {date}")
    known = PartialDate.parse(bundle.stated_first) if bundle.stated_first else UNKNOWN
    return replace(bundle, stated_first=_narrower(known, date)), str(known)


def with_stated_single(bundle: EvidenceBundle, date: str | None) -> EvidenceBundle:
    """Return evidence in which a single of the song's title has the recording, as it is stated."""
    title = bundle.recording_title
    release = Release(ReleaseId(THE_RECORDING), title, date, status="Official")
    single = ReleaseGroup(
        ReleaseGroupId(THE_RECORDING), title, bundle.performer.name, "Single", releases=(release,)
    )
    recordings = tuple(
        replace(one, rg_candidates=(*one.groups, single)) for one in bundle.recording_candidates
    )
    return replace(bundle, stated_first=None, recording_candidates=recordings)


_FIELDS_APPLIED: Mapping[str, _Apply] = {
    FIRST_DATE: _first_date,
    DATE: _release_date,
    COUNTRY: _field("country", lambda release: release.place),
    STATUS: _field("status", lambda release: release.standing),
    PRIMARY_TYPE: _field("primary_type", lambda group: group.types[0]),
    SECONDARY_TYPES: _secondary_type,
    PREMIERE: _premiere,
    FIRST_RELEASE: _stated_first,
}


def is_overlapping(one: PartialDate, other: PartialDate) -> bool:
    """Return whether two dates have a day in common."""
    return one.first <= other.last and other.first <= one.last


def _narrower(known: PartialDate, date: PartialDate) -> str:
    """Return the date within what is known, else its first day. Raises `_ImpossibleError`."""
    if not is_overlapping(known, date):
        raise _ImpossibleError(f"the evidence dates it {known}")
    if known.first <= date.first and date.last <= known.last:
        return date.text
    return known.text if date.first <= known.first else _not_before(known, date)


def _not_before(known: PartialDate, date: PartialDate) -> str:
    """Return what is known without the days before a date, as an interval."""
    return f"{date.text}/{known.text.rpartition('/')[2] or '..'}"


def first_day(bundle: EvidenceBundle, group: str) -> int:
    """Return the first day on which a group may have come out officially."""
    groups, _ = things(bundle, group)
    days = [one.when.first for each in groups for one in each.editions if one.is_official]
    return min(days or (each.first_date.first for each in groups), default=0)


def things(bundle: EvidenceBundle, about: str) -> tuple[list[ReleaseGroup], list[Release]]:
    """Return the groups, and the releases, that have an id."""
    groups = bundle.groups
    releases = [one for group in groups for one in group.editions if one.mb_release_id == about]
    return [group for group in groups if group.mb_rg_id == about], releases


def _changed(bundle: EvidenceBundle, about: str, change: Callable[[Any], Any]) -> EvidenceBundle:

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


def is_stated(bundle: EvidenceBundle, patch: Patch) -> bool:
    """Return whether the evidence says what a patch says; of a date, as precisely or more so."""
    groups, releases = things(bundle, patch.about)
    if patch.is_date:
        known = [group.first_date for group in groups if not group.editions]  # else a hint
        known += [one.when for group in groups for one in group.editions if one.is_official]
        known += [one.when for one in releases]
        date = patch.date
        return any(
            one.is_known and date.first <= one.first and one.last <= date.last for one in known
        )
    if patch.field == PREMIERE:
        return any(group.premiere for group in groups)
    said = [(*group.types[:1], *group.kinds) for group in groups]
    said += [(one.place, one.standing) for one in releases]
    return any(patch.value in values for values in said)


# Fields and values as models and pages name them.

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\W_]+")
_ASIDE = re.compile(r"[(\[][^()\[\]]*[)\]]")


@cache
def fact_words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the words that say a value, folded, by field and value; from package data."""
    return word_table("fact_words")


def is_release_date(field: str) -> bool:
    """Return whether a field is the date of a release rather than of another event."""
    stems = fact_words()["date_field"]
    dated, other = (
        re.search("|".join(stems[kind]), field, re.IGNORECASE) for kind in ("date", "other")
    )
    return bool(dated) and not other


def field_named(written: str) -> str | None:
    """Return the field that moves something and has a name as models write it; None for none."""
    name = _SEPARATORS.sub(" ", _CAMEL.sub(" ", written)).strip().casefold()
    return next((known for known, names in fact_words()["field"].items() if name in names), None)


def named_value(name: str, written: str) -> str | None:
    """Return the value of a field that a text names; None for none."""
    plain = " ".join(_ASIDE.sub(" ", fold(written)).strip(" .\"'").split())
    if name == COUNTRY and re.fullmatch(r"[a-z]{2}", plain):
        return country_code(plain)
    for value, words in fact_words()[name].items():
        if (plain == fold(value) or plain in words) and value != "Song":
            return value
    return None
