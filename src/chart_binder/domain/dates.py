"""A partial date is a span of days, so comparing two answers yes, no or unknown."""

import calendar
import re
from datetime import date
from functools import lru_cache
from typing import Protocol, TypeAlias

Answer: TypeAlias = bool | None
"""Yes, no, or `None`: it depends on days that are not known."""

# One before the calendar begins, for a date in its first year is known as any other.
FIRST_DAY = date.min.toordinal() - 1
LAST_DAY = date.max.toordinal()

_FORM = re.compile(r"([0-9]{4}|\?{4})(?:-([0-9]{2}|\?{2})(?:-([0-9]{2}|\?{2}))?)?")


class Span(Protocol):
    """Days, from `first` to `last` (proleptic Gregorian ordinals), one of which is meant."""

    @property
    def first(self) -> int:
        """The earliest day it may be."""

    @property
    def last(self) -> int:
        """The latest day it may be."""


class PartialDate:
    """The days a date may mean, from `first` to `last` (proleptic Gregorian ordinals).

    `1974` is any day of that year. A day known without its month, or a month without its year
    (`????-05`), narrows nothing to one span, so it reads as what is known in front of it.
    """

    __slots__ = ("first", "last", "text")

    def __init__(self, text: str, first: int, last: int) -> None:
        self.text = text
        self.first = first
        self.last = last

    @classmethod
    def parse(cls, text: str) -> "PartialDate":
        """Read `YYYY`, `YYYY-MM`, `YYYY-MM-DD` or a form with unknown parts; empty is unknown.

        Raises `ValueError` that shows what was found and what is allowed.
        """
        return parse(text)

    @property
    def is_known(self) -> bool:
        """Whether at least the year is known."""
        return self.first > FIRST_DAY

    @property
    def is_exact(self) -> bool:
        """Whether it is one day."""
        return self.first == self.last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartialDate) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"PartialDate({self.text!r})"

    def __str__(self) -> str:
        return self.text or "unknown"


@lru_cache(maxsize=65_536)
def parse(text: str) -> PartialDate:
    """Read a date as `PartialDate.parse` does; the same text gives the same value."""
    written = text.strip()
    if not written:
        return UNKNOWN
    form = _FORM.fullmatch(written)
    if form is None:
        raise ValueError(f"{text[:40]!r} is no date: YYYY, YYYY-MM or YYYY-MM-DD is allowed")
    year, month, day = (int(part) if part and part[0] != "?" else None for part in form.groups())
    if year is None:
        return UNKNOWN
    try:
        if month is None:
            span = date(year, 1, 1), date(year, 12, 31)
        elif day is None:
            span = date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])
        else:
            span = date(year, month, day), date(year, month, day)
    except (ValueError, calendar.IllegalMonthError) as error:
        raise ValueError(f"{text!r} is no day of the calendar") from error
    return PartialDate(_plain(year, month, day), span[0].toordinal(), span[1].toordinal())


def _plain(year: int, month: int | None, day: int | None) -> str:
    if month is None:
        return f"{year:04}"
    return f"{year:04}-{month:02}" if day is None else f"{year:04}-{month:02}-{day:02}"


UNKNOWN = PartialDate("", FIRST_DAY, LAST_DAY)
"""Any day at all."""


def before(one: Span, other: Span) -> Answer:
    """Whether `one` is earlier than `other`."""
    if one.last < other.first:
        return True
    return False if one.first >= other.last else None


def not_after(one: Span, other: Span) -> Answer:
    """Whether `one` is earlier than `other` or the same day."""
    if one.last <= other.first:
        return True
    return False if one.first > other.last else None


def same_day(one: Span, other: Span) -> Answer:
    """Whether both are the same day."""
    if one.first == one.last == other.first == other.last:
        return True
    return False if one.last < other.first or other.last < one.first else None


def days_later(one: Span, other: Span, least: int, most: int) -> Answer:
    """Whether `other` is `least` to `most` days after `one`."""
    shortest, longest = other.first - one.last, other.last - one.first
    if least <= shortest and longest <= most:
        return True
    return False if longest < least or shortest > most else None
