"""What a fact is about is told by what its field is called, however a model calls it."""

import re

_WORDS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*")
_NUMBERED = frozenset(
    {"cat", "catno", "catalog", "catalogue", "catalognumber", "barcode", "matrix", "number"}
    | {"numbers", "track", "tracks", "length", "duration", "isrc"}
)
"""Words in what a field is called whose value may look like a year, and is none."""
_DATED = frozenset({"date", "dates", "dated", "day", "year"})
"""Words that make it a date for all that."""
_RELEASED = re.compile(r"date|releas|publish|issued|year", re.IGNORECASE)
_ELSE = re.compile(
    r"recorded|recording|session|perform|birth|death|copyright|chart|peak|re-?issue|re-?release",
    re.IGNORECASE,
)


def is_numbered(field: str) -> bool:
    """Whether a field has a number or a code, which may look like a date."""
    words = {word.casefold() for word in _WORDS.findall(field)}
    return bool(words & _NUMBERED and not words & _DATED)


def is_of_release(field: str) -> bool:
    """Whether a field says when something came out, and not when something else happened."""
    return bool(_RELEASED.search(field)) and not _ELSE.search(field)
