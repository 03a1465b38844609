"""Ties: which of several records of one day comes first."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.media import is_before_its_time
from chart_binder.domain.vocabulary import NO_COUNTRIES, country_code
from chart_binder.rules.candidates import Candidate, Role

_FORMER = {
    "SU": (
        "AM", "AZ", "BY", "EE", "GE", "KG", "KZ", "LT", "LV", "MD", "RU", "TJ", "TM", "UA", "UZ",
    ),
    "YU": ("BA", "CS", "HR", "ME", "MK", "RS", "SI", "XK"),
    "CS": ("ME", "RS"),
    "XC": ("CZ", "SK"),
    "XG": ("DE",),
}  # fmt: skip
"""MusicBrainz codes of former countries, with their successors (ISO 3166-3, and `X` codes)."""


@lru_cache(maxsize=512)
def home_countries(country: str | None) -> frozenset[str]:
    """Return a country with its predecessors and successors; nothing for worldwide and Europe."""
    if not country or country in NO_COUNTRIES:
        return frozenset()
    former = {old for old, new in _FORMER.items() if country in new}
    return frozenset({country, *former, *_FORMER.get(country, ())})


def label_rank(order: Sequence[str], names: Sequence[str | None]) -> int:
    """Return the least index in `order` of any of the names; its length if there is none."""
    if not order:
        return 0
    folded = {name.casefold() for name in names if name}
    return next((n for n, label in enumerate(order) if label.casefold() in folded), len(order))


Key: TypeAlias = tuple[int, bool, int]


class TieBreak:
    """Sort keys for records of the same day; the smaller key wins.

    A soundtrack comes first, then a studio album (or, for a live, remix, demo or edit recording, a
    record of that type), then other records. Of equal records, one with a release of that day in
    the artist's country comes first, then one whose label is earlier in the configured order.

    `best` counts the releases that may have come out on that day, `worst` only those that certainly
    did. The countries and labels of a group count only if it lists no releases.

    Keys are cached, because the rules are tried on many days with the same releases.
    """

    __slots__ = ("_home", "_keys", "_labels", "intent")

    def __init__(self, intent: str, country: str | None, labels: Sequence[str]) -> None:
        self.intent = intent
        self._home = home_countries(country)
        self._labels = labels
        self._keys: dict[tuple[str, str], Key] = {}

    def best(self, candidate: Candidate) -> Key:
        """Return the key for the first day on which the candidate may have come out."""
        return self._key_on(candidate, candidate.since, "first")

    def worst(self, candidate: Candidate) -> Key:
        """Return the key for the last day on which the candidate may have come out."""
        return self._key_on(candidate, candidate.by, "last")

    def _key_on(self, candidate: Candidate, day: PartialDate, edge: str) -> Key:
        if key := self._keys.get((candidate.group.mb_rg_id, edge)):
            return key
        bound = getattr(day, edge)
        is_day = day.first == day.last  # a year that ends on that day does not match
        releases = [
            release
            for release in candidate.official
            if (release.date == day.text if is_day else getattr(release.when, edge) == bound)
            and not is_before_its_time(release)
        ]
        countries = {release.place for release in releases}
        labels = [release.label for release in releases]
        if candidate.is_weak:
            countries |= {*map(country_code, candidate.group.countries or ())}
            labels += candidate.group.labels or ()
        is_home = not self._home.isdisjoint(countries - {None})
        key = self._role_rank(candidate), not is_home, label_rank(self._labels, labels)
        self._keys[candidate.id, edge] = key
        return key

    def _role_rank(self, candidate: Candidate) -> int:
        if candidate.role is Role.SOUNDTRACK:
            return 0
        if self.intent:
            return 1 if self.intent in [kind.casefold() for kind in candidate.group.kinds] else 2
        return 1 if candidate.role is Role.ALBUM else 2


def possibly_earliest(works: Sequence[Candidate], tie_break: TieBreak) -> Sequence[Candidate]:
    """Return the works that may be the earliest.

    For each of them there is a choice of exact days within the spans that makes it, and no other,
    the earliest.
    """
    if len(works) <= 1:
        return works
    soonest = min([work.last for work in works])
    close = [work for work in works if work.first <= soonest]
    if len(close) == 1 or all(work.first < soonest for work in close):
        return close
    least = min(tie_break.worst(work) for work in close if work.last == soonest)
    return [work for work in close if work.first < soonest or tie_break.best(work) <= least]
