"""A reissue never stands for a release group when there is an original release of it."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, LAST_DAY
from chart_binder.domain.evidence import Release, ReleaseGroup
from chart_binder.rules.media import first_year

# What a comment denies does not mark: "non-remastered", "the original, not the remaster".
_DENIED = re.compile(r"\bnon[- ]?\w+|\b(?:not|no|without|isn['’]t)\b[^,;()\[\]/]*", re.IGNORECASE)
_AGAIN = re.compile(r"^re-?(?=[a-z])", re.IGNORECASE)


def originals(
    official: Sequence[Release], group: ReleaseGroup, knobs: RulesConfig
) -> Sequence[Release]:
    """Return the releases that are no reissues; undated ones only if all dated ones are.

    A release is a reissue if it is marked as one (a remaster, a deluxe or anniversary edition, by
    flag, title or comment) and an unmarked one may be earlier, or any is for certain (of remasters
    alone, too: else another one later at home would stand for the group); if it came
    out `reissue_long_gap_years` later than the first; or if its medium was not there yet when the
    first came out.
    """
    marked = {one.mb_release_id for one in official if is_marked(one, group, knobs)}
    first = min([one.when.last for one in official])
    gap, year = _gap(first, knobs.reissue_long_gap_years)
    kept = [
        one
        for one in official
        if one.when.last <= first
        or not (
            one.when.first >= gap
            or (one.when.is_known and first_year(one.format or "") > year)
            or one.mb_release_id in marked
        )
    ]
    plain = min([one.when.first for one in kept if one.mb_release_id not in marked], default=None)
    if plain is not None:
        kept = [one for one in kept if one.mb_release_id not in marked or one.when.first <= plain]
    return [one for one in kept if one.when.first > FIRST_DAY] or kept


def is_surely_original(
    one: Release, official: Sequence[Release], group: ReleaseGroup, knobs: RulesConfig
) -> bool:
    """Whether a release was out as soon as any and nothing marks it: it is among the originals."""
    soonest = min([release.when.last for release in official])
    return one.when.last <= soonest and not is_marked(one, group, knobs)


@lru_cache(maxsize=4_096)
def _gap(day: int, years: int) -> tuple[int, int]:
    """Return the same day so many years later, with the year of the first."""
    when = date.fromordinal(day)
    if when.year + years > date.max.year:
        return LAST_DAY, when.year
    try:
        return when.replace(year=when.year + years).toordinal(), when.year
    except ValueError:  # 29 February
        return date(when.year + years, 3, 1).toordinal(), when.year


def is_marked(release: Release, group: ReleaseGroup, knobs: RulesConfig) -> bool:
    """Whether its flags, title or comment say that it is a reissue.

    The title of the whole group says nothing of one release, nor does what a comment denies.
    """
    if release.flags and release.flags.marks_reissue:
        return True
    title, comment = release.title or "", release.disambiguation or ""
    if not comment and title == group.title:
        return False
    return _says_so(title, comment, group.title or "", knobs.reissue_terms)


@lru_cache(maxsize=4_096)
def _says_so(title: str, comment: str, group_title: str, terms: tuple[str, ...]) -> bool:
    own = _title(group_title).sub("", title, count=1)
    return bool(_marks(terms)(f"{own} / {_DENIED.sub('', comment)}"))


@lru_cache(maxsize=1_024)
def _title(title: str) -> re.Pattern[str]:
    """Return what finds a title as whole words, capitals or not."""
    return re.compile(rf"(?<!\w){re.escape(title)}(?!\w)" if title else r"(?!)", re.IGNORECASE)


@lru_cache(maxsize=16)
def _marks(terms: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    """Return what finds one of `terms` where a word begins: `remaster` is in `Re-mastered`."""
    form = "|".join(
        (r"(?<![^\W\d_])" if term[:1].isascii() else "")
        + ("re[- ]?" if _AGAIN.match(term) else "")
        + re.escape(_AGAIN.sub("", term))
        for term in terms
    )
    return re.compile(form or r"(?!)", re.IGNORECASE).search
