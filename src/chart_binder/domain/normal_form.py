"""Evidence in MusicBrainz' own words, whatever words a producer chose."""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec.structs import replace

from chart_binder.domain.evidence import (
    STATUSES,
    Artist,
    EvidenceBundle,
    RecordingCandidate,
    Release,
    ReleaseGroup,
    Value,
)

_V = TypeVar("_V", bound=Value)

_STATUS_BY_NAME = {name.casefold(): name for name in STATUSES} | {
    "promo": "Promotion", "pseudorelease": "Pseudo-Release", "canceled": "Cancelled",
}  # fmt: skip
_PRIMARY = {name.casefold(): name for name in ("Album", "Single", "EP", "Broadcast", "Other")}
_SECONDARY = {
    name.casefold(): name
    for name in (
        "Audiobook", "Audio drama", "Compilation", "Demo", "DJ-mix", "Field recording",
        "Interview", "Live", "Mixtape/Street", "Remix", "Soundtrack", "Spokenword",
    )
}  # fmt: skip

_PLAIN_STATUSES = frozenset(STATUSES)
_PLAIN_PRIMARIES = frozenset(_PRIMARY.values())
_PLAIN_SECONDARIES = frozenset(_SECONDARY.values())
_PLAIN_COUNTRIES: set[str | None] = {None}
"""Country codes met so far that are in normal form already."""
_MOST_COUNTRIES = 1_000
_PLAIN_ISRC = re.compile(r"[A-Z0-9]*").fullmatch


def normalised(bundle: EvidenceBundle) -> EvidenceBundle:
    """Return the bundle in normal form: the same value, unless something is off.

    Statuses and types by MusicBrainz' names, countries as upper-case codes with `UK` read as
    `GB`, a status that only flags give, ISRCs without hyphens.
    """
    artist = bundle.artist and _artist(bundle.artist)
    recordings = _each(bundle.recording_candidates, _recording)
    if artist is bundle.artist and recordings is bundle.recording_candidates:
        return bundle
    return replace(bundle, artist=artist, recording_candidates=recordings)


def country_code(country: str | None) -> str | None:
    """Return an ISO 3166-1 code as MusicBrainz writes it; `UK` is read as `GB`."""
    if not country:
        return None
    code = country.strip().upper()
    return "GB" if code == "UK" else code or None


def isrc(code: str) -> str:
    """Return an ISRC without what stands between its parts."""
    return "".join(filter(str.isalnum, code)).upper()


def _each(values: tuple[_V, ...], change: Callable[[_V], _V]) -> tuple[_V, ...]:
    """Return the changed values: the very same tuple, if none was."""
    changed = tuple(map(change, values))
    return values if changed == values else changed


def _artist(artist: Artist) -> Artist:
    here, there = artist.begin_area_country, artist.wikidata_country
    codes = country_code(here), country_code(there)
    if codes == (here, there):
        return artist
    return replace(artist, begin_area_country=codes[0], wikidata_country=codes[1])


def _recording(recording: RecordingCandidate) -> RecordingCandidate:
    groups, codes = recording.rg_candidates, recording.isrcs
    new_groups = groups and _each(groups, _group)
    if codes and not _PLAIN_ISRC("".join(codes)):
        codes = tuple(isrc(code) for code in codes)
    if new_groups is groups and codes is recording.isrcs:
        return recording
    return replace(recording, rg_candidates=new_groups, isrcs=codes)


def _group(group: ReleaseGroup) -> ReleaseGroup:
    releases, countries, kinds = group.releases, group.countries, group.secondary_types
    if (
        group.primary_type in _PLAIN_PRIMARIES
        and (not kinds or _PLAIN_SECONDARIES.issuperset(kinds))
        and (not countries or _PLAIN_COUNTRIES.issuperset(countries))
        and (not releases or _are_plain(releases))
    ):
        return group
    primary, kinds = _types(group.primary_type, group.kinds)
    codes = tuple(code for code in map(country_code, countries or ()) if code)
    return replace(
        group,
        primary_type=primary,
        secondary_types=kinds,
        countries=codes,
        releases=releases and _each(releases, _release),
    )


def _are_plain(releases: tuple[Release, ...]) -> bool:
    return _PLAIN_STATUSES.issuperset(
        [release.status for release in releases]
    ) and _PLAIN_COUNTRIES.issuperset([release.country for release in releases])


def _release(release: Release) -> Release:
    status, country = release.status, country_code(release.country)
    if status:
        status = _STATUS_BY_NAME.get(status.strip().casefold(), status)
    elif release.flags:
        status = release.flags.status
    if len(_PLAIN_COUNTRIES) < _MOST_COUNTRIES:
        _PLAIN_COUNTRIES.add(country)
    if status == release.status and country == release.country:
        return release
    return replace(release, status=status, country=country)


def _types(primary: str | None, secondary: Iterable[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return both kinds of type by their MusicBrainz names.

    A producer that puts a secondary type such as Soundtrack first is understood: an album of it.
    """
    kinds = tuple(_SECONDARY.get(kind.strip().casefold(), kind) for kind in secondary)
    first = (primary or "").strip().casefold()
    if first in _SECONDARY:
        return "Album", (*kinds, _SECONDARY[first])
    return (_PRIMARY.get(first, "Other") if first else None), kinds
