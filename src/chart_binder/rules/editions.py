"""The editions of a record that may be its first; what came later says nothing of how it began."""

from collections.abc import Sequence

from chart_binder.domain.dates import FIRST_DAY
from chart_binder.domain.evidence import Release


def may_be_earliest(editions: Sequence[Release]) -> Sequence[Release]:
    """Return the releases that may be the earliest; of undated ones alone, all.

    Another release, later than these, changes nothing of the answer.
    """
    dated = [one for one in editions if one.when.first > FIRST_DAY]
    if not dated:
        return editions
    soonest = min([one.when.last for one in dated])
    return [one for one in dated if one.when.first <= soonest]
