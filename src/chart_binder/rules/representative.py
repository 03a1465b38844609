"""The representative release of a group: the earliest in the artist's country, or anywhere."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import astuple

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, LAST_DAY
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.media import first_year_on_sale, format_rank, is_before_its_time
from chart_binder.domain.vocabulary import (
    EUROPE,
    NO_COUNTRIES,
    ReleaseId,
    area_name,
    non_blank,
)
from chart_binder.rules.candidates import Candidate, candidates_in
from chart_binder.rules.ties import home_countries, label_rank

ORIGIN_COUNTRY_EARLIEST = "RR:ORIGIN_COUNTRY_EARLIEST"
WORLD_EARLIEST = "RR:WORLD_EARLIEST"
REISSUE_FILTER_APPLIED = "RR:REISSUE_FILTER_APPLIED"
INDETERMINATE = "RR:INDETERMINATE"

_NUMBERS = re.compile(r"(\d+)")
_MODERN = 9_999


class Representative(msgspec.Struct, frozen=True):
    """A release, the rule that chose it and the reason in words."""

    release: Release | None
    rule: str
    reason: str


def representative(
    bundle: EvidenceBundle, release_group: str, settings: RulesConfig
) -> ReleaseId | None:
    """Return the id of the representative release of a group in the evidence, or None."""
    for candidate in candidates_in(bundle):
        if candidate.id == release_group:
            release = choose_release(candidate, bundle.performer.country, settings).release
            return release.mb_release_id if release else None
    return None


def choose_release(
    candidate: Candidate, country: str | None, settings: RulesConfig
) -> Representative:
    """Choose among the official releases of a candidate, for an artist from `country`.

    The earliest from the artist's country is chosen, or the earliest anywhere if there is none from
    that country. An original comes before a reissue, even if only the reissue is from the artist's
    country. A worldwide release counts for every country, and a European one for every country of
    Europe. Undated releases come after dated ones. A tie is decided by, in this order: the country
    itself before Europe and the world, an original before a reissue, the order of labels, a format
    of its time, the catalogue number, and the rest of the content.
    """
    official, group = candidate.official, candidate.group
    if not official:
        return Representative(None, INDETERMINATE, "no official release is known")
    pool = [release for release in official if release.when.first > FIRST_DAY] or official
    home = _home_places(country)
    chosen, is_home = _first(pool, home, group, settings)
    if len(official) > 1 and not _is_surely_original(chosen, official, group, settings):
        originals = _originals(official, group, settings)
        fresh, _ = _first(originals, home, group, settings)
        if fresh.mb_release_id != chosen.mb_release_id:
            is_reissue_too = is_marked_reissue(fresh, group, settings)
            why = "came out before it" if is_reissue_too else "is the earliest that is not"
            reason = f"{_named(chosen)} is a reissue; {_named(fresh)} {why}"
            return Representative(fresh, REISSUE_FILTER_APPLIED, reason)
    at_home = home_countries(country)
    if is_home and not (chosen.place in NO_COUNTRIES and _is_world_first(chosen, pool, at_home)):
        reason = f"{_named(chosen)} is the earliest in the artist's country"
        return Representative(chosen, ORIGIN_COUNTRY_EARLIEST, reason)
    is_undated_home = any(release.place in at_home for release in official)
    dated = " with a date" if is_undated_home else ""
    where = f"none{dated} is from {country}; " if country else ""
    reason = f"{where}{_named(chosen)} is the earliest anywhere"
    return Representative(chosen, WORLD_EARLIEST, reason)


@lru_cache(maxsize=512)
def _home_places(country: str | None) -> frozenset[str]:
    places = home_countries(country)
    if not places:
        return places
    return places | ({"XW", "XE"} if places & EUROPE else {"XW"})


def _is_world_first(release: Release, pool: Sequence[Release], home: frozenset[str]) -> bool:
    """Return whether no release is from the artist's country itself and none is earlier."""
    if any(release.place in home for release in pool):
        return False
    return release.when.last <= min([release.when.last for release in pool])


def _first(
    pool: Sequence[Release], home: frozenset[str], group: ReleaseGroup, settings: RulesConfig
) -> tuple[Release, bool]:
    at_home = [release for release in pool if release.place in home]
    candidates = at_home or pool
    if len(candidates) == 1:
        return candidates[0], bool(at_home)
    soonest = min([release.when.last for release in candidates])
    tied = [release for release in candidates if release.when.last == soonest]
    return _first_tied(tied, group, settings, home), bool(at_home)


def _named(release: Release) -> str:
    medium, place = non_blank(release.format) or "release", area_name(release.place)
    is_code = place == release.place
    where = (medium, place) if is_code else (place, medium)  # "the CD GB", "the worldwide CD"
    parts = (*where, release.label, release.catno)
    return f"the {' '.join(filter(None, parts))} of {release.when.text or 'unknown date'}"


def _first_tied(
    tied: Sequence[Release], group: ReleaseGroup, settings: RulesConfig, home: frozenset[str]
) -> Release:
    if len(tied) == 1:
        return tied[0]
    latest = max([release.when.first for release in tied])
    tied = [release for release in tied if release.when.first == latest]
    places = [release.place for release in tied]
    best = next((place for place in places if place in home and place not in NO_COUNTRIES), None)
    if best or ("XE" in home and "XE" in places):
        countries = home - NO_COUNTRIES if best else {"XE"}
        tied = [release for release, place in zip(tied, places, strict=True) if place in countries]
    return first_by_content(first_of_day(tied, group, settings))


def first_by_content(releases: Sequence[Release]) -> Release:
    """Return the release that comes first if they are sorted by content, then by id."""

    def content(release: Release) -> tuple[str, str]:
        own_id, *values = astuple(release)
        plain = [value if not isinstance(value, str) else non_blank(value) for value in values]
        return str(plain), own_id

    return min(releases, key=content)


def first_of_day(
    tied: Sequence[Release], group: ReleaseGroup, settings: RulesConfig
) -> Sequence[Release]:
    """Return the first of releases that were out by the same day; several if they remain tied.

    A whole date comes before its bare year, which may mean an earlier day, but usually belongs to a
    later pressing whose exact date is unknown. Each key is computed only for the releases that are
    still tied.
    """
    keys: tuple[Callable[[Release], Any], ...] = (
        lambda release: -release.when.first,
        lambda release: is_marked_reissue(release, group, settings),
        lambda release: label_rank(settings.label_authority_order, [release.label]),
        lambda release: format_rank(
            release.format, int(release.when.text[:4]) if release.when.is_known else _MODERN
        ),
        _catalogue_number_key,
    )
    for key in keys:
        if len(tied) > 1:
            values = [key(release) for release in tied]
            least = min(values)
            tied = [release for release, its in zip(tied, values, strict=True) if its == least]
    return tied


def _catalogue_number_key(release: Release) -> tuple[bool, Sequence[str]]:
    catno = (release.catno or "").strip()
    parts = _NUMBERS.split(catno)
    return not catno, [part.zfill(12) if part.isdigit() else part.casefold() for part in parts]


# Negated remarks do not count: "non-remastered", "the original, not the remaster".
_DENIED = re.compile(r"\bnon[- ]?\w+|\b(?:not|no|without|isn['’]t)\b[^,;()\[\]/]*", re.IGNORECASE)
_AGAIN = re.compile(r"^re-?(?=[a-z])", re.IGNORECASE)


def _originals(
    official: Sequence[Release], group: ReleaseGroup, settings: RulesConfig
) -> Sequence[Release]:
    """Return the releases that are not reissues; undated ones only if all dated ones are reissues.

    A release is a reissue if

    - a flag, title or comment marks it as one (a remaster, a deluxe or anniversary edition), and
      either an unmarked release may be earlier or any release certainly is; so if all are
      remasters, a later one from the artist's country is not chosen;
    - it came out at least `reissue_long_gap_years` after the first release;
    - its medium was not on sale when the first release came out, or on its own date.
    """
    official = [release for release in official if not is_before_its_time(release)] or official
    marked = {copy.mb_release_id for copy in official if is_marked_reissue(copy, group, settings)}
    first = min([release.when.last for release in official])
    gap, year = _gap(first, settings.reissue_long_gap_years)
    originals = [
        release
        for release in official
        if release.when.last <= first
        or not (
            release.when.first >= gap
            or (release.when.is_known and first_year_on_sale(release.format or "") > year)
            or release.mb_release_id in marked
        )
    ]
    unmarked = [copy.when.first for copy in originals if copy.mb_release_id not in marked]
    day = min(unmarked, default=LAST_DAY)
    originals = [
        copy for copy in originals if copy.mb_release_id not in marked or copy.when.first <= day
    ]
    return [release for release in originals if release.when.first > FIRST_DAY] or originals


def _is_surely_original(
    release: Release, official: Sequence[Release], group: ReleaseGroup, settings: RulesConfig
) -> bool:
    """Return whether a release was out as early as any other and is not marked as a reissue."""
    if is_before_its_time(release):
        return False
    soonest = min([release.when.last for release in official])
    return release.when.last <= soonest and not is_marked_reissue(release, group, settings)


@lru_cache(maxsize=4_096)
def _gap(day: int, years: int) -> tuple[int, int]:
    """Return the day that is `years` years after `day`, and the year of `day`."""
    when = date.fromordinal(day)
    if when.year + years > date.max.year:
        return LAST_DAY, when.year
    try:
        return when.replace(year=when.year + years).toordinal(), when.year
    except ValueError:  # 29 February
        return date(when.year + years, 3, 1).toordinal(), when.year


def is_marked_reissue(release: Release, group: ReleaseGroup, settings: RulesConfig) -> bool:
    """Return whether a flag, title or comment marks a reissue; the group's title does not count."""
    if release.flags and release.flags.marks_reissue:
        return True
    title, comment = release.title or "", release.disambiguation or ""
    if not comment and title == group.title:
        return False
    return _is_marked(title, comment, group.title or "", settings.reissue_terms)


@lru_cache(maxsize=4_096)
def _is_marked(title: str, comment: str, group_title: str, terms: tuple[str, ...]) -> bool:
    remaining = _title(group_title).sub("", title, count=1)
    return bool(_marks(terms)(f"{remaining} / {_DENIED.sub('', comment)}"))


@lru_cache(maxsize=1_024)
def _title(title: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(title)}(?!\w)" if title else r"(?!)", re.IGNORECASE)


@lru_cache(maxsize=16)
def _marks(terms: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    """Return a search for `terms` at the start of words; `remaster` finds `Re-mastered`, too."""
    form = "|".join(
        (r"(?<![^\W\d_])" if term[:1].isascii() else "")
        + ("re[- ]?" if _AGAIN.match(term) else "")
        + re.escape(_AGAIN.sub("", term))
        for term in terms
    )
    return re.compile(form or r"(?!)", re.IGNORECASE).search
