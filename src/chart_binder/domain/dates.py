"""Partial dates, which are compared as spans of days: the answer is yes, no or unknown."""

import calendar
import re
from datetime import date
from functools import lru_cache
from typing import Protocol, TypeAlias

Answer: TypeAlias = bool | None
"""True, false, or None if it depends on unknown days."""

# One day before the calendar begins, so that a date in its first year counts as known.
FIRST_DAY = date.min.toordinal() - 1
LAST_DAY = date.max.toordinal()
_MEAN_YEAR, _MANY_YEARS = 365.25, 2

_NO_DATE = "{!r} is not a date: YYYY, YYYY-MM or YYYY-MM-DD is allowed"
_FORM = re.compile(r"([0-9]{4}|\?{4})(?:-([0-9]{2}|\?{2})(?:-([0-9]{2}|\?{2}))?)?")


class DaySpan(Protocol):
    """An unknown day from `first` to `last` (proleptic Gregorian ordinals)."""

    @property
    def first(self) -> int:
        """The earliest possible day."""

    @property
    def last(self) -> int:
        """The latest possible day."""


class PartialDate:
    """A date of any precision: the days from `first` to `last` (proleptic Gregorian ordinals).

    `1974` is any day of that year. Parts after an unknown part are ignored (`????-05` is unknown),
    because no single span can express them.
    """

    __slots__ = ("first", "last", "text")

    def __init__(self, text: str, first: int, last: int) -> None:
        self.text = text
        self.first = first
        self.last = last

    @staticmethod
    @lru_cache(maxsize=65_536)
    def parse(text: str) -> "PartialDate":
        """Parse a date whose parts may be unknown or missing. Raises `ValueError`."""
        stripped = text.strip()
        if not stripped:
            return UNKNOWN
        if "/" in stripped:
            return _interval(stripped)
        form = _FORM.fullmatch(stripped)
        if form is None:
            raise ValueError(_NO_DATE.format(text[:40]))
        year, month, day = (int(n) if n and n[0] != "?" else None for n in form.groups())
        if year is None:
            return UNKNOWN
        try:
            if month is None:
                first, last = date(year, 1, 1), date(year, 12, 31)
            elif day is None:
                first = date(year, month, 1)
                last = first.replace(day=calendar.monthrange(year, month)[1])
            else:
                first = last = date(year, month, day)
        except ValueError as error:
            raise ValueError(f"{text!r} is not a day of the calendar") from error
        precise = "-".join(part for part in form.groups() if part)
        return PartialDate(precise.partition("-?")[0], first.toordinal(), last.toordinal())

    @property
    def is_known(self) -> bool:
        """Whether at least the year is known."""
        return self.first > FIRST_DAY

    def includes(self, other: "PartialDate") -> bool:
        """Return whether another date, as vague or more precise, is within this one."""
        return self.first <= other.first and other.last <= self.last

    def overlaps(self, other: "PartialDate") -> bool:
        """Return whether two dates have a day in common."""
        return self.first <= other.last and other.first <= self.last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartialDate) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"PartialDate({self.text!r})"

    def __str__(self) -> str:
        return self.text or "unknown"


def _interval(text: str) -> PartialDate:
    """Parse an interval of days such as `1975-10-31/1975`; `..` is an open end (ISO 8601-2)."""
    since, _, until = text.partition("/")
    forms = [*map(_FORM.fullmatch, (since, since if until == ".." else until))]
    if not all(forms):
        raise ValueError(_NO_DATE.format(text[:40]))
    first = PartialDate.parse(since).first
    last = LAST_DAY if until == ".." else PartialDate.parse(until).last
    if first > last:
        raise ValueError(f"{text[:40]!r} ends before it begins")
    return PartialDate(text, first, last)


UNKNOWN = PartialDate("", FIRST_DAY, LAST_DAY)


def before(earlier: DaySpan, later: DaySpan) -> Answer:
    """Return whether `earlier` is before `later`; None if it depends on unknown days."""
    if earlier.last < later.first:
        return True
    return False if earlier.first >= later.last else None


def same_day(day: DaySpan, reference: DaySpan) -> Answer:
    """Return whether both are the same day; None if it depends on unknown days."""
    if day.first == day.last == reference.first == reference.last:
        return True
    return False if day.last < reference.first or reference.last < day.first else None


def time_between(least: int, most: int) -> str:
    """Return a number of days, or a range, in words; in years if it is two years or more."""
    unit = "day"
    if least >= _MANY_YEARS * _MEAN_YEAR:
        least, most, unit = round(least / _MEAN_YEAR), round(most / _MEAN_YEAR), "year"
    if least < most:
        return f"{least} to {most} {unit}s"
    return f"{most} {unit}{'s' if most > 1 else ''}"
