"""A lone value is read as the kind that is wanted, where it can mean one thing only."""

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final

_WHOLE: Final = re.compile(r"([+-]?[0-9]{1,30})(?:\.0{1,30})?")
_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?"
)
_DAY: Final = re.compile(
    r"([0-9]{4})(?:([-/.])([0-9]{1,2})\2([0-9]{1,2})|([0-9]{2})([0-9]{2}))"
    r"(?:[T ]00:00(?::00(?:\.0+)?)?Z?)?"
)
_TRUTH: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NOTHING: Final = frozenset({"", "null", "none", "nil"})


def as_text(value: object) -> object:
    """Write a number out; take the one text out of a list."""
    if type(value) in (int, float):
        return json.dumps(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return value


def as_whole(value: object) -> object:
    """Read a whole number, also one with zeros behind its point."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    found = _WHOLE.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(found[1]) if found else value


def as_number(value: object) -> object:
    """Read a number that has an end."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return value
    whole = as_whole(value)
    read = float(value)
    return whole if isinstance(whole, int) else read if math.isfinite(read) else value


def as_truth(value: object) -> object:
    """Read yes or no."""
    if type(value) is int and value in (0, 1):
        return bool(value)
    return _TRUTH.get(value.strip().casefold(), value) if isinstance(value, str) else value


def as_nothing(value: object) -> object:
    """Read a word for null."""
    return None if isinstance(value, str) and value.strip().casefold() in _NOTHING else value


def as_day(value: object) -> object:
    """Read a date that begins with its year: others have two meanings."""
    found = _DAY.fullmatch(str(value).strip()) if type(value) in (str, int) else None
    if found is None:
        return value
    year, month, day = found[1], found[3] or found[5], found[4] or found[6]
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return value


def as_moment(value: object) -> object:
    """Read a date with a time, in any form of ISO 8601."""
    try:
        return (
            datetime.fromisoformat(value.strip()).isoformat() if isinstance(value, str) else value
        )
    except ValueError:
        return value


Bend = Callable[[object], object]
KINDS: Final[Mapping[str, Bend]] = {
    "string": as_text,
    "integer": as_whole,
    "number": as_number,
    "boolean": as_truth,
    "null": as_nothing,
}
"""How each type of a JSON schema is read."""
FORMATS: Final[Mapping[str, Bend]] = {"date": as_day, "date-time": as_moment}
"""How a text is read that has a format."""
SHAPES: Final[Mapping[str, re.Pattern[str]]] = {
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "date-time": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.{0,20}"),
}
"""What a text of that format looks like once it is read."""
