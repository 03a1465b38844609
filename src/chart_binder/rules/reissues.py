"""A reissue never stands for a release group when there is an earlier release of it."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import Release, ReleaseGroup
from chart_binder.rules.media import first_year

_DAYS_A_YEAR = 365.2425


def originals(
    dated: Sequence[Release], group: ReleaseGroup, knobs: RulesConfig
) -> Sequence[Release]:
    """Return the releases that are no reissues of an earlier one among `dated`.

    Later than the first, a release is a reissue if it is marked as one (a remaster, a deluxe or
    anniversary edition, by flag, title or comment), if it came out `reissue_long_gap_years` later,
    or if its medium was not there yet when the first came out.
    """
    first = min([release.date.last for release in dated])
    gap = first + int(knobs.reissue_long_gap_years * _DAYS_A_YEAR)
    year = date.fromordinal(first).year
    return [
        release
        for release in dated
        if release.date.last <= first
        or not (
            release.date.first >= gap
            or first_year(release.format or "") > year
            or is_marked(release, group, knobs)
        )
    ]


def is_marked(release: Release, group: ReleaseGroup, knobs: RulesConfig) -> bool:
    """Whether its flags, title or comment say that it is a reissue.

    What stands in the title of the whole group says nothing of one release.
    """
    if release.flags and release.flags.marks_reissue:
        return True
    title = release.title or ""
    own = title.replace(group.title, "") if group.title else title
    if not (own or release.disambiguation):
        return False
    return bool(_marks(knobs.reissue_terms)(f"{own} / {release.disambiguation or ''}"))


@lru_cache(maxsize=16)
def _marks(terms: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    """Return what finds one of `terms` where a word begins: `remaster` is in `Remastered`."""
    form = "|".join(
        (r"(?<![^\W\d_])" if term[:1].isascii() else "") + re.escape(term) for term in terms
    )
    return re.compile(form or r"(?!)", re.IGNORECASE).search
