"""The tool that counts the days from one date to another, for models are poor at it."""

import re
from typing import Final

from chart_binder.domain.dates import PartialDate
from chart_binder.react.tools import ToolError

_MONTHS: Final = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_NUMBERS: Final = re.compile(r"(\d{4})[-/. ](\d{1,2})(?:[-/. ](\d{1,2}))?")
_IN_WORDS: Final = (
    re.compile(
        r"(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?\W+(?:of )?)?(?P<month>[a-z]{3,9})\W+(?P<year>\d{4})"
    ),
    re.compile(r"(?P<month>[a-z]{3,9})\W+(?P<day>\d{1,2})(?:st|nd|rd|th)?\W+(?P<year>\d{4})"),
)
_LONGEST: Final = 40


def days_between(first: str, second: str) -> str:
    """Count the days between two dates, each YYYY-MM-DD, YYYY-MM or YYYY."""
    one, other = _read(first), _read(second)
    least, most = other.first - one.last, other.last - one.first
    if least == most == 0:
        return f"{one} and {other} are the same day."
    if least >= 0:
        return f"{one} is {_days(least, most)} before {other}."
    if most <= 0:
        return f"{one} is {_days(-most, -least)} after {other}."
    return (
        f"It cannot be told which is earlier: {one} is at most {most} days before {other} and"
        f" at most {-least} days after it."
    )


def _days(least: int, most: int) -> str:
    if least == most:
        return f"{most} day{'s'[: most - 1]}"
    return f"between {least} and {most} days"


def _read(written: str) -> PartialDate:
    """Read a date as models write them, or raise `ToolError` that says how to write it."""
    try:
        date = PartialDate.parse(_plain(written))
    except ValueError as error:
        raise ToolError(f"{error}.") from error
    if not date.is_known:
        raise ToolError("A date without a year cannot be counted with: give YYYY at least.")
    return date


def _plain(written: str) -> str:
    """Return a date in figures, the year first; what is no date as it is.

    `10/11/1974` stays: it is one day in London and another in New York.
    """
    text = " ".join(written.split()).strip("\"'`.,")
    if len(text) > _LONGEST:
        return text
    if found := _NUMBERS.fullmatch(text):
        return "-".join(part.zfill(2) for part in found.groups() if part)
    for form in _IN_WORDS:
        found = form.fullmatch(text.casefold())
        months = [name for name in _MONTHS if found and name.startswith(found["month"])]
        if found and months:
            day = f"-{int(found['day']):02}" if found["day"] else ""
            return f"{found['year']}-{_MONTHS.index(months[0]) + 1:02}{day}"
    return text
