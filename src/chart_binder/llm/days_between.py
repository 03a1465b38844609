"""The tool that counts the days from one date to another, for models are poor at it."""

import re
from typing import Final

from chart_binder.domain.dates import PartialDate
from chart_binder.llm.dates_in_text import only_date
from chart_binder.react.tools import ToolError

_NUMBERS: Final = re.compile(r"(\d{4})[-/. ](\d{1,2})(?:[-/. ](\d{1,2}))?")
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
    """Read a date as models and pages write them, or raise `ToolError` that says how to write it.

    `10/11/1974` is refused: it is one day in London and another in New York.
    """
    text = " ".join(written.split()).strip("\"'`.,")
    if len(text) <= _LONGEST:
        if found := _NUMBERS.fullmatch(text):
            text = "-".join(part.zfill(2) for part in found.groups() if part)
        if told := only_date(text):
            return told
    try:
        date = PartialDate.parse(text)
    except ValueError as error:
        raise ToolError(f"{error}.") from error
    if not date.is_known:
        raise ToolError("A date without a year cannot be counted with: give YYYY at least.")
    return date
