"""Patches: changes of single fields of the evidence, and how they are applied.

A patch adds a value that the evidence lacks; a patch that contradicts the evidence is impossible.
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
"""The subject of a fact about `FIRST_RELEASE`, in place of an id."""
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of one field of a group, of a release, or of the recording (`FIRST_RELEASE`).

    `value` is a date as text, a status or type by MusicBrainz's name, a country code, or `true`.
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
        """Whether it dates the song on a record that the evidence lacks."""
        return self.field == FIRST_RELEASE

    @property
    def is_value(self) -> bool:
        """Whether the value is a status, a country or a type."""
        return not (self.is_date or self.field == PREMIERE)

    @property
    def date(self) -> PartialDate:
        """The value of a patch that `is_date`."""
        return PartialDate.parse(self.value)


@dataclass(frozen=True, slots=True)
class Patched:
    """Evidence with patches; `changes` maps them to the values before, `impossible` to reasons."""

    bundle: EvidenceBundle
    changes: Mapping[Patch, str]
    impossible: Mapping[Patch, str]


def apply_patches(bundle: EvidenceBundle, patches: Iterable[Patch]) -> Patched:
    """Return the evidence with patches applied, and the reasons for those that are impossible.

    A patch is impossible if it contradicts the evidence, for example with a date outside the known
    span. The order of the patches makes no difference.
    """
    changes: dict[Patch, str] = {}
    impossible: dict[Patch, str] = {}
    for patch in sorted(patches, key=_sort_key):
        try:
            changed, before = _APPLY_BY_FIELD[patch.field](bundle, patch)
        except _ImpossibleError as error:
            impossible[patch] = str(error)
            continue
        if changed != bundle:
            bundle = changed
            changes[patch] = before
    return Patched(bundle, changes, impossible)


def _sort_key(patch: Patch) -> tuple[bool, bool, bool, int, str]:
    """Sort values first, then precise before vague dates, then first dates, premieres last."""
    length = patch.date.last - patch.date.first if patch.is_date else 0
    return patch.field == PREMIERE, patch.field == FIRST_DATE, patch.is_date, length, patch.value


class _ImpossibleError(Exception):
    """A patch contradicts the evidence; the message says how."""


_Applied: TypeAlias = tuple[EvidenceBundle, str]
"""The evidence with a patch, and the value before it in words."""
_Apply: TypeAlias = Callable[[EvidenceBundle, Patch], _Applied]


def _first_date(bundle: EvidenceBundle, patch: Patch) -> _Applied:
    """Apply a group's first date: the lower bound of its official releases with the recording.

    Earlier days are removed from the spans of the releases. The release with the vaguest date gets
    the date; among equally vague ones, that of the artist's country. If the group has no releases,
    the group itself gets it.
    """
    date, (groups, _) = patch.date, records_with_id(bundle, patch.about)
    if not any(group.editions for group in groups):
        before = next((group.first_date for group in groups if group.first_date.is_known), UNKNOWN)
        text = _narrower(before, date)

        def dated(group: ReleaseGroup) -> ReleaseGroup:
            return replace(group, first_release_date=text)

        return _changed(bundle, patch.about, dated), str(before)
    official = [release for group in groups for release in group.editions if release.is_official]
    if not official:
        return bundle, _UNKNOWN
    earlier = [release.when.text for release in official if release.when.last < date.first]
    if earlier:
        day = min(earlier)
        raise _ImpossibleError(f"an official release of it is dated {day}, before {date}")
    earliest = min((release.when for release in official), key=lambda when: when.first)
    could_be = [release for release in official if release.when.overlaps(date)]
    if not could_be:
        raise _ImpossibleError(f"no official release of it is dated before {earliest}")
    if earliest.first >= date.first and min(release.when.last for release in official) <= date.last:
        return bundle, str(earliest)  # the evidence says it already
    dated_id = _vaguest(could_be, date, bundle.performer.country)

    def bounded(release: Release) -> Release:
        if release.mb_release_id == dated_id:
            return replace(release, date=_narrower(release.when, date))
        is_dated = release.is_official and release.when.is_known
        if is_dated and release.when.first < date.first:
            return replace(release, date=_not_before(release.when, date))
        return release

    return _changed(bundle, patch.about, lambda group: _each_release(group, bounded)), str(earliest)


def _vaguest(releases: Sequence[Release], date: PartialDate, home: str | None) -> str | None:
    """Return the id of the release that gets a group's first date; None if one surely has it."""
    dates = (release.when for release in releases)
    if any(map(date.includes, dates)):
        return None
    ordered = sorted(releases, key=lambda release: (release.place != home, release.mb_release_id))
    return max(ordered, key=lambda release: release.when.last - release.when.first).mb_release_id


def _release_date(bundle: EvidenceBundle, patch: Patch) -> _Applied:
    date, (_, releases) = patch.date, records_with_id(bundle, patch.about)

    def dated(release: Release) -> Release:
        return replace(release, date=_narrower(release.when, date))

    changed = _changed(bundle, patch.about, dated)
    return changed, " or ".join(str(when) for when in {release.when for release in releases})


def _field(name: str, value_of: Callable[[Any], str | None]) -> _Apply:
    """Return a function that sets a field with a single value if the evidence has none."""

    def apply(bundle: EvidenceBundle, patch: Patch) -> _Applied:
        groups, releases = records_with_id(bundle, patch.about)
        before = set(map(value_of, (*groups, *releases))) - {None}
        if before - {patch.value}:
            values = " and ".join(sorted(filter(None, before)))
            raise _ImpossibleError(f"the evidence says {values}")

        def filled(record: Any) -> Any:
            return record if value_of(record) else replace(record, **{name: patch.value})

        return _changed(bundle, patch.about, filled), _UNKNOWN

    return apply


def _secondary_type(bundle: EvidenceBundle, patch: Patch) -> _Applied:
    """Add a secondary type if none is known; an empty list beside a primary type means none."""
    groups, _ = records_with_id(bundle, patch.about)
    if any(patch.value in group.kinds for group in groups):
        return bundle, patch.value
    is_empty = any(group.types[0] and group.secondary_types is not None for group in groups)
    if is_empty or any(group.kinds for group in groups):
        values = " and ".join(sorted({kind for group in groups for kind in group.kinds})) or "none"
        raise _ImpossibleError(f"the evidence says {values}")
    return _changed(
        bundle, patch.about, lambda group: replace(group, secondary_types=(patch.value,))
    ), _UNKNOWN


def _premiere(bundle: EvidenceBundle, patch: Patch) -> _Applied:
    """State that the recording first came out on a group, unless a record is certainly earlier."""
    groups, _ = records_with_id(bundle, patch.about)
    if any(group.premiere for group in groups):
        return bundle, patch.value
    since = first_day(bundle, patch.about)
    for recording in bundle.recording_candidates:
        for group in recording.groups:
            for release in group.editions if group.mb_rg_id != patch.about else ():
                if release.is_official and release.when.last < since:
                    raise _ImpossibleError(f"{group.title!r} came out before it, {release.when}")
    return _changed(bundle, patch.about, lambda group: replace(group, premiere=True)), _UNKNOWN


def _stated_first(bundle: EvidenceBundle, patch: Patch) -> _Applied:
    """State when the song came out on a missing record, unless a listed record is earlier."""
    date = patch.date
    dates = _official_dates(bundle.groups)
    if earlier := [when for when in dates if when.last < date.first]:
        dated = min(earlier, key=lambda when: when.first)
        raise _ImpossibleError(f"an official release of it is dated {dated}, before {date}")
    before = PartialDate.parse(bundle.stated_first) if bundle.stated_first else UNKNOWN
    return replace(bundle, stated_first=_narrower(before, date)), str(before)


def with_stated_single(bundle: EvidenceBundle, date: str | None) -> EvidenceBundle:
    """Return evidence to which a single with the song's title and the stated date is added."""
    title = bundle.recording_title
    release = Release(ReleaseId(THE_RECORDING), title, date, status="Official")
    single = ReleaseGroup(
        ReleaseGroupId(THE_RECORDING), title, bundle.performer.name, "Single", releases=(release,)
    )
    recordings = tuple(
        replace(recording, rg_candidates=(*recording.groups, single))
        for recording in bundle.recording_candidates
    )
    return replace(bundle, stated_first=None, recording_candidates=recordings)


_APPLY_BY_FIELD: Mapping[str, _Apply] = {
    FIRST_DATE: _first_date,
    DATE: _release_date,
    COUNTRY: _field("country", lambda release: release.place),
    STATUS: _field("status", lambda release: release.standing),
    PRIMARY_TYPE: _field("primary_type", lambda group: group.types[0]),
    SECONDARY_TYPES: _secondary_type,
    PREMIERE: _premiere,
    FIRST_RELEASE: _stated_first,
}


def _narrower(current: PartialDate, date: PartialDate) -> str:
    """Return the overlap of the current date and another one. Raises `_ImpossibleError`."""
    if not current.overlaps(date):
        raise _ImpossibleError(f"the evidence dates it {current}")
    if current.includes(date):
        return date.text
    return current.text if date.first <= current.first else _not_before(current, date)


def _not_before(current: PartialDate, date: PartialDate) -> str:
    """Return the current date without the days before a date, as an interval."""
    return f"{date.text}/{current.text.rpartition('/')[2] or '..'}"


def first_day(bundle: EvidenceBundle, group: str) -> int:
    """Return the first day on which a group may have come out officially."""
    groups, _ = records_with_id(bundle, group)
    days = [when.first for when in _official_dates(groups)]
    return min(days or (group.first_date.first for group in groups), default=0)


def _official_dates(groups: Iterable[ReleaseGroup]) -> list[PartialDate]:
    releases = (release for group in groups for release in group.editions)
    return [release.when for release in releases if release.is_official]


def records_with_id(bundle: EvidenceBundle, about: str) -> tuple[list[ReleaseGroup], list[Release]]:
    """Return the groups and the releases with the id `about`."""
    groups = bundle.groups
    releases = (release for group in groups for release in group.editions)
    matching = [release for release in releases if release.mb_release_id == about]
    return [group for group in groups if group.mb_rg_id == about], matching


def _changed(bundle: EvidenceBundle, about: str, change: Callable[[Any], Any]) -> EvidenceBundle:
    """Return the bundle with the group or release `about` replaced by the result of `change`."""

    def changed_release(release: Release) -> Release:
        return change(release) if release.mb_release_id == about else release

    def changed_group(group: ReleaseGroup) -> ReleaseGroup:
        is_same = group.mb_rg_id == about
        return change(group) if is_same else _each_release(group, changed_release)

    recordings = tuple(
        replace(recording, rg_candidates=tuple(map(changed_group, recording.groups)))
        if recording.groups
        else recording
        for recording in bundle.recording_candidates
    )
    return replace(bundle, recording_candidates=recordings)


def _each_release(group: ReleaseGroup, change: Callable[[Release], Release]) -> ReleaseGroup:
    releases = tuple(map(change, group.editions))
    return replace(group, releases=releases) if releases else group


def adds_to(bundle: EvidenceBundle, patch: Patch) -> bool:
    """Return whether a patch is possible and says more than the evidence."""
    return bool(apply_patches(bundle, (patch,)).changes)


def is_stated(bundle: EvidenceBundle, patch: Patch) -> bool:
    """Return whether the evidence states the value of a patch, a date at least as precisely."""
    groups, releases = records_with_id(bundle, patch.about)
    if patch.is_date:
        dates = [group.first_date for group in groups if not group.editions]  # else a hint
        dates += (*_official_dates(groups), *(release.when for release in releases))
        return any(when.is_known and patch.date.includes(when) for when in dates)
    if patch.field == PREMIERE:
        return any(group.premiere for group in groups)
    values = [(*group.types[:1], *group.kinds) for group in groups]
    values += [(release.place, release.standing) for release in releases]
    return any(patch.value in group_or_release for group_or_release in values)


# Fields and values as models and pages name them.

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\W_]+")
_ASIDE = re.compile(r"[(\[][^()\[\]]*[)\]]")


@cache
def fact_words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the words for a value, folded, by field and value, from package data."""
    return word_table("fact_words")


def is_release_date(field: str) -> bool:
    """Return whether a field is the date of a release rather than of another event."""
    stems = fact_words()["date_field"]
    is_date, is_other_event = (
        re.search("|".join(stems[kind]), field, re.IGNORECASE) for kind in ("date", "other")
    )
    return bool(is_date) and not is_other_event


def field_named(text: str) -> str | None:
    """Return the field of a patch by a name that a model may write, or None."""
    name = _SEPARATORS.sub(" ", _CAMEL.sub(" ", text)).strip().casefold()
    return next((field for field, names in fact_words()["field"].items() if name in names), None)


def named_value(field: str, text: str) -> str | None:
    """Return the status, country or type that a text names, or None."""
    plain = " ".join(_ASIDE.sub(" ", fold(text)).strip(" .\"'").split())
    if field == COUNTRY and re.fullmatch(r"[a-z]{2}", plain):
        return country_code(plain)
    for value, words in fact_words()[field].items():
        if (plain == fold(value) or plain in words) and value != "Song":
            return value
    return None
