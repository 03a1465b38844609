"""The country of an artist as the web service shows it, and the order of areas by name."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from chart_binder.domain.vocabulary import NO_COUNTRIES

_CLASSES = {"Z": 0, "P": 1, "S": 2, "N": 3}


@dataclass(frozen=True, eq=False)
class Areas:
    """All areas: names, the types of those that are countries, codes, and what is part of what."""

    names: Mapping[int, str]
    countries: frozenset[int]
    """Areas of the type Country."""
    codes: Mapping[int, tuple[str, ...]]
    """ISO 3166-1 codes, sorted."""
    part_codes: Mapping[int, tuple[str, ...]]
    """ISO 3166-2 codes, sorted."""
    parents: Mapping[int, tuple[int, ...]]
    """The areas that contain an area."""

    def __post_init__(self) -> None:
        # The methods are called for millions of artists and events with few different areas.
        for name in ("home", "name_key"):
            object.__setattr__(self, name, cache(getattr(self, name)))

    def home(self, begin_area: int | None, area: int | None) -> str | None:
        """Return the country of an artist: of its begin area, else of its area or above that."""
        codes: list[str] = []
        for place in (begin_area, area):
            if place is not None:
                codes += self.codes.get(place, ())
                codes += (code.partition("-")[0] for code in self.part_codes.get(place, ()))
        if area is not None and (code := self._shown_country(area)):
            codes.append(code)
        return next((code for code in codes if code not in NO_COUNTRIES), None)

    def _shown_country(self, area: int) -> str | None:
        """Return the country that the web service shows for an artist of the area."""
        if codes := self.codes.get(area):
            return codes[0]
        seen, level = {area}, [area]
        while level:
            level = [up for place in level for up in self.parents.get(place, ()) if up not in seen]
            seen.update(level)
            nearest = [
                self.codes[up][0] for up in level if up in self.countries & self.codes.keys()
            ]
            if nearest:
                return min(nearest)
        return None

    def code_of(self, area: int | None) -> str | None:
        """Return the country code of a release event's area."""
        return next(iter(self.codes.get(area, ())), None) if area is not None else None

    def name_key(self, area: int | None) -> tuple[bool, tuple[object, ...], int]:
        """Return the key by which events of one day are sorted: the area's name, no area last."""
        name = self.names.get(area, "") if area is not None else ""
        return area is None, collation_key(name), area or 0


def collation_key(text: str) -> tuple[object, ...]:
    """Return a key by which names are sorted about as in ICU's root collation.

    Spaces come before punctuation, symbols, numbers by value, and letters; accents and case count
    only between names that are equal without them, lower case first.
    """
    plain = unicodedata.normalize("NFD", text)
    letters = [char for char in plain.casefold() if not unicodedata.combining(char)]
    return _with_numbers(letters), [*filter(unicodedata.combining, plain)], text.swapcase()


def _with_numbers(letters: Iterable[str]) -> list[tuple[int, int, str]]:
    """Return each letter with its class; adjacent digits are one number."""
    key: list[tuple[int, int, str]] = []
    for char in letters:
        kind = _CLASSES.get(unicodedata.category(char)[0], 4)
        digit = unicodedata.digit(char, None) if kind == _CLASSES["N"] else None
        if digit is None:
            key.append((kind, 0, char))
        elif key and key[-1][0] == kind and not key[-1][2]:
            key[-1] = (kind, key[-1][1] * 10 + digit, "")
        else:
            key.append((kind, digit, ""))
    return key
