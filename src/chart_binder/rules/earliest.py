"""Which of several records may be the earliest, over every way their unknown days can fall."""

from collections.abc import Sequence

from chart_binder.domain.dates import Answer
from chart_binder.domain.words import country_code
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.places import home_countries
from chart_binder.rules.roles import Role


class Ties:
    """What decides between two records of the same day.

    First the role: a soundtrack, then a studio album or what is typed for the recording's intent,
    then the rest. Then a release in the artist's country, then label authority.
    """

    __slots__ = ("country", "intent", "keys", "labels")

    def __init__(self, intent: str, country: str | None, labels: Sequence[str]) -> None:
        self.intent = intent
        self.country = country
        self.labels = labels
        self.keys: dict[str, tuple[int, bool, int]] = {}

    def goes_before(self, one: Candidate, other: Candidate) -> Answer:
        """Whether `one` counts as the earlier; nothing tells, if nothing differs."""
        key, other_key = self._key(one), self._key(other)
        return None if key == other_key else key < other_key

    def _key(self, one: Candidate) -> tuple[int, bool, int]:
        key = self.keys.get(one.group.mb_rg_id)
        if key is None:
            key = self._rank(one), not self._is_at_home(one), self._label_rank(one)
            self.keys[one.group.mb_rg_id] = key
        return key

    def _rank(self, one: Candidate) -> int:
        if one.role is Role.SOUNDTRACK:
            return 0
        if self.intent:
            return 1 if self.intent in [kind.casefold() for kind in one.group.kinds] else 2
        return 1 if one.role is Role.ALBUM else 2

    def _is_at_home(self, one: Candidate) -> bool:
        countries = {
            *map(country_code, one.group.countries or ()),
            *(release.place for release in one.official),
        }
        return not home_countries(self.country).isdisjoint(countries - {None})

    def _label_rank(self, one: Candidate) -> int:
        names = [*(one.group.labels or ()), *(release.label for release in one.official)]
        return label_rank(self.labels, names)


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
    return close if len(close) == 1 else [one for one in close if _may_lead(one, close, ties)]


def _may_lead(work: Candidate, field: Sequence[Candidate], ties: Ties) -> bool:
    return all(
        work.first < rival.last
        or (work.first == rival.last and ties.goes_before(work, rival) is not False)
        for rival in field
        if rival is not work
    )
