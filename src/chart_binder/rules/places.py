"""Which release countries are an artist's own, states that are no more included."""

from functools import lru_cache

from chart_binder.domain.words import NO_COUNTRIES

_FORMER = {
    "SU": (
        "AM", "AZ", "BY", "EE", "GE", "KG", "KZ", "LT", "LV", "MD", "RU", "TJ", "TM", "UA", "UZ",
    ),
    "YU": ("BA", "CS", "HR", "ME", "MK", "RS", "SI", "XK"),
    "CS": ("ME", "RS"),
    "XC": ("CZ", "SK"),
    "XG": ("DE",),
}  # fmt: skip
"""MusicBrainz' codes of former countries, with those that followed (ISO 3166-3, and `X` codes)."""


@lru_cache(maxsize=512)
def home_countries(country: str | None) -> frozenset[str]:
    """Return the release countries that are an artist's own.

    A worldwide (`XW`) or European (`XE`) release is nobody's.
    """
    if not country or country in NO_COUNTRIES:
        return frozenset()
    former = {old for old, new in _FORMER.items() if country in new}
    return frozenset({country, *former, *_FORMER.get(country, ())})
