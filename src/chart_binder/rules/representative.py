"""The release that stands for a release group: the earliest at home, else in the world."""

import re
from collections.abc import Sequence

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.ids import ReleaseId
from chart_binder.domain.words import said
from chart_binder.rules.candidates import candidates_of
from chart_binder.rules.earliest import label_rank
from chart_binder.rules.media import rank
from chart_binder.rules.places import home_countries
from chart_binder.rules.reissues import is_marked, is_surely_original, originals

ORIGIN_COUNTRY_EARLIEST = "RR:ORIGIN_COUNTRY_EARLIEST"
WORLD_EARLIEST = "RR:WORLD_EARLIEST"
REISSUE_FILTER_APPLIED = "RR:REISSUE_FILTER_APPLIED"
INDETERMINATE = "RR:INDETERMINATE"

_NUMBERS = re.compile(r"(\d+)")
_MODERN = 9_999


class Representative(msgspec.Struct, frozen=True):
    """A release, by which rule it was chosen, and why in words."""

    release: Release | None
    rule: str
    said: str


def representative(
    bundle: EvidenceBundle, release_group: str, knobs: RulesConfig
) -> ReleaseId | None:
    """Return the id of the release that stands for a group of the evidence, if one is known."""
    for candidate in candidates_of(bundle.recording_candidates):
        if candidate.group.mb_rg_id == release_group:
            country = bundle.performer.country
            release = choose(candidate.official, candidate.group, country, knobs).release
            return release.mb_release_id if release else None
    return None


def choose(
    official: Sequence[Release], group: ReleaseGroup, country: str | None, knobs: RulesConfig
) -> Representative:
    """Choose among the official releases of a group that contain the recording.

    The earliest from the artist's country, else the earliest anywhere; a reissue loses to an
    original even if it is the only one from the artist's country. Undated releases come after dated
    ones. Ties: no reissue, label authority, a format of its time, catalogue number,
    id.
    """
    if not official:
        return Representative(None, INDETERMINATE, "no official release is known")
    pool = [release for release in official if release.when.first > FIRST_DAY] or official
    order, home = _Order(group, knobs), home_countries(country)
    chosen, is_home = _first(pool, home, order)
    if len(official) > 1 and not is_surely_original(chosen, official, group, knobs):
        fresh, _ = _first(originals(official, group, knobs), home, order)
        if fresh.mb_release_id != chosen.mb_release_id:
            is_one_too = is_marked(fresh, group, knobs)
            why = "came out before it" if is_one_too else "is the earliest that is not"
            told = f"{_named(chosen)} is a reissue; {_named(fresh)} {why}"
            return Representative(fresh, REISSUE_FILTER_APPLIED, told)
    if is_home:
        told = f"{_named(chosen)} is the earliest in the artist's country"
        return Representative(chosen, ORIGIN_COUNTRY_EARLIEST, told)
    is_undated_home = any(release.place in home for release in official)
    dated = " with a date" if is_undated_home else ""
    where = f"none{dated} is from {country}; " if country else ""
    told = f"{where}{_named(chosen)} is the earliest anywhere"
    return Representative(chosen, WORLD_EARLIEST, told)


def _first(pool: Sequence[Release], home: frozenset[str], order: "_Order") -> tuple[Release, bool]:
    at_home = [release for release in pool if release.place in home]
    candidates = at_home or pool
    if len(candidates) == 1:
        return candidates[0], bool(at_home)
    soonest = min([release.when.last for release in candidates])
    tied = [release for release in candidates if release.when.last == soonest]
    return order.first(tied), bool(at_home)


class _Order:
    """Which of several releases goes first.

    First is the release that had come out for certain by the earliest day: a whole date goes
    before the bare year of the same year. The year may stand for an earlier day, but mostly it
    stands for a later pressing that nobody dated, and only of the whole date is it known that the
    record was out by then.
    """

    __slots__ = ("group", "knobs")

    def __init__(self, group: ReleaseGroup, knobs: RulesConfig) -> None:
        self.group = group
        self.knobs = knobs

    def first(self, tied: Sequence[Release]) -> Release:
        """Return the first of releases that were out by the same day.

        One thing after another is looked at, and only of those that are still tied.
        """
        for key in (self._day, self._is_marked, self._label, self._format, self._catno):
            if len(tied) > 1:
                keys = [key(release) for release in tied]
                least = min(keys)
                tied = [each for each, its in zip(tied, keys, strict=True) if its == least]
        return first_by_id(tied)

    def _day(self, release: Release) -> tuple[int]:
        return (-release.when.first,)

    def _is_marked(self, release: Release) -> tuple[bool]:
        return (is_marked(release, self.group, self.knobs),)

    def _label(self, release: Release) -> tuple[int]:
        return (label_rank(self.knobs.label_authority_order, [release.label]),)

    def _format(self, release: Release) -> tuple[int]:
        year = int(release.when.text[:4]) if release.when.is_known else _MODERN
        return (rank(release.format, year),)

    def _catno(self, release: Release) -> tuple[bool, Sequence[str]]:
        catno = (release.catno or "").strip()
        parts = _NUMBERS.split(catno)
        numbered = [part.zfill(12) if part.isdigit() else part.casefold() for part in parts]
        return not catno, numbered


def first_by_id(releases: Sequence[Release]) -> Release:
    """Return the release of the least id; of several descriptions of it always the same one."""
    least = min([release.mb_release_id for release in releases])
    return min([release for release in releases if release.mb_release_id == least], key=str)


def _named(release: Release) -> str:
    parts = (said(release.format) or "release", release.place, release.label, release.catno)
    return f"the {' '.join(filter(None, parts))} of {release.when.text or 'unknown date'}"
