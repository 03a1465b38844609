"""A date is found in prose, in whatever way it is written."""

import re
from collections.abc import Iterator
from itertools import product

from chart_binder.domain.dates import PartialDate

_MONTHS = (
    ("january", "jan", "januar", "janvier", "enero"),
    ("february", "feb", "februar", "février", "febrero"),
    ("march", "mar", "märz", "mars", "marzo"),
    ("april", "apr", "avril", "abril"),
    ("may", "mai", "mayo"),
    ("june", "jun", "juni", "juin", "junio"),
    ("july", "jul", "juli", "juillet", "julio"),
    ("august", "aug", "août", "agosto"),
    ("september", "sept", "sep", "septembre", "septiembre"),
    ("october", "oct", "oktober", "okt", "octobre", "octubre"),
    ("november", "nov", "novembre", "noviembre"),
    ("december", "dec", "dezember", "dez", "décembre", "diciembre"),
)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_FILLER = re.compile(r"\b(?:of|the|de|del|den|der)\b|[,.\u00b7]")


def stands_in(value: PartialDate, text: str) -> bool:
    """Whether the text names this very date, to the same precision or a finer one."""
    plain = f" {_plain(text)} "
    return any(re.search(rf"(?<!\d){re.escape(form)}(?!\d)", plain) for form in _forms(value))


def _plain(text: str) -> str:
    folded = _ORDINAL.sub("", text.casefold())
    return " ".join(_FILLER.sub(" ", folded).split())


def _forms(value: PartialDate) -> Iterator[str]:
    """Yield how the date may be written, in the folded form of `_plain`.

    `10/11/1974` is left out: it is one day in London and another in New York.
    """
    year, month, day = [*map(int, value.text.split("-")), 0, 0][:3]
    if not month:
        yield str(year)
        return
    names = _MONTHS[month - 1]
    numbers = {str(month), f"{month:02}"}
    if not day:
        yield from (f"{name} {year}" for name in names)
        yield from (f"{year}-{month:02}", f"{year}年{month}月", f"{year}/{month:02}")
        return
    for name, written in product(names, {str(day), f"{day:02}"}):
        yield from (
            f"{written} {name} {year}",
            f"{name} {written} {year}",
            f"{year} {name} {written}",
        )
        yield f"{written}-{name}-{year}"
    for number, written in product(numbers, {str(day), f"{day:02}"}):
        yield f"{written} {number} {year}"  # 11.10.1974, its points folded away
        yield from (f"{year}{joint}{number}{joint}{written}" for joint in ("-", "/", " "))
        yield f"{year}年{number}月{written}日"
