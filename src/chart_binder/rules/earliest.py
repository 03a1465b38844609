"""Which of several records may be the earliest, over every way their unknown days can fall."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from chart_binder.domain.evidence import Release
from chart_binder.domain.words import country_code
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.places import home_countries
from chart_binder.rules.roles import Role

Key: TypeAlias = tuple[int, bool, int]


class Ties:
    """What decides between two records of the same day.

    First the role: a soundtrack, then a studio album or what is typed for the recording's intent,
    then the rest. Then a release of that day in the artist's country, then label authority.

    Which releases are of that day may not be known: `best` counts all that may be, `worst` only
    those that must be, if the record came out on it. A later release never counts, so the countries
    and labels of a group, which are those of all its releases, do only where none is listed.

    Open cases are tried day by day, with the same releases, so each answer is kept.
    """

    __slots__ = ("_best", "_home", "_labels", "_worst", "intent")

    def __init__(self, intent: str, country: str | None, labels: Sequence[str]) -> None:
        self.intent = intent
        self._home = home_countries(country)
        self._labels = labels
        self._best: dict[str, Key] = {}
        self._worst: dict[str, Key] = {}

    def best(self, one: Candidate) -> Key:
        """Return the key on the first day it may have come out; the smaller goes first."""
        return self._kept(self._best, one, lambda each: each.when.first == one.since.first)

    def worst(self, one: Candidate) -> Key:
        """Return the key on the last day it may have come out."""
        return self._kept(self._worst, one, lambda each: each.when.last == one.by.last)

    def _kept(
        self, keys: dict[str, Key], one: Candidate, is_of_that_day: Callable[[Release], bool]
    ) -> Key:
        known = one.group.mb_rg_id
        if known not in keys:
            keys[known] = self._key(one, [*filter(is_of_that_day, one.official)])
        return keys[known]

    def _key(self, one: Candidate, editions: Sequence[Release]) -> Key:
        is_home, label = self._is_at_home(one, editions), self._label_rank(one, editions)
        return self._rank(one), not is_home, label

    def _rank(self, one: Candidate) -> int:
        if one.role is Role.SOUNDTRACK:
            return 0
        if self.intent:
            return 1 if self.intent in [kind.casefold() for kind in one.group.kinds] else 2
        return 1 if one.role is Role.ALBUM else 2

    def _is_at_home(self, one: Candidate, editions: Sequence[Release]) -> bool:
        listed = map(country_code, (one.is_weak and one.group.countries) or ())
        countries = {*listed, *(release.place for release in editions)}
        return not self._home.isdisjoint(countries - {None})

    def _label_rank(self, one: Candidate, editions: Sequence[Release]) -> int:
        listed = (one.is_weak and one.group.labels) or ()
        return label_rank(self._labels, [*listed, *(release.label for release in editions)])


def label_rank(order: Sequence[str], names: Sequence[str | None]) -> int:
    """Return the place of the best of some labels in an order of authority; past it, if none."""
    if not order:
        return 0
    known = {name.casefold() for name in names if name}
    return next((n for n, label in enumerate(order) if label.casefold() in known), len(order))


def may_be_first(works: Sequence[Candidate], ties: Ties) -> Sequence[Candidate]:
    """Return those works that may be the earliest, however the unknown days fall.

    Exact: a work is among them if and only if there is a choice of days, each within what is
    known of it, that makes it the earliest.
    """
    if len(works) <= 1:
        return works
    soonest = min([work.last for work in works])
    close = [work for work in works if work.first <= soonest]
    if len(close) == 1 or all(work.first < soonest for work in close):
        return close
    least = min(ties.worst(work) for work in close if work.last == soonest)
    return [work for work in close if work.first < soonest or ties.best(work) <= least]
