"""JSON as it should be, refused where its meaning is not certain."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

MAX_DEPTH: Final = 50
_NESTED: Final = (dict, list)


class LenientJSONError(ValueError):
    """A value cannot be read; the text is one clause that names the defect.

    `at` is the place where reading stopped, `cut` says that the text ended inside the value.
    """

    def __init__(self, problem: str, at: int = 0, *, cut: bool = False) -> None:
        super().__init__(problem)
        self.at = at
        self.cut = cut


@dataclass(frozen=True, slots=True)
class Scanned:
    """A value, where it begins, the place after it, and what had to be repaired."""

    value: object
    start: int
    end: int
    notes: tuple[str, ...] = ()


def read_strictly(text: str, start: int) -> Scanned | None:
    """Return the JSON value that begins at `start`, or None where the text is not quite JSON.

    Raises `LenientJSONError` for what no repair can help: NaN, infinity, a key with two different
    values, nesting deeper than `MAX_DEPTH`.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except LenientJSONError:
        raise
    except (ValueError, RecursionError):
        return None
    if is_deep(value):
        raise too_deep(start)
    return Scanned(encodable(value) if "\\u" in text[start:end] else value, start, end)


def members_of(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Return an object's members; one key with two different values has no one meaning."""
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members and members[key] != value:
            raise LenientJSONError(f"the key {key!r} is given twice with different values")
        members[key] = value
    return members


def finite(number: str) -> float:
    """Return a number as a float, or raise `LenientJSONError` where it is too large for one."""
    value = float(number)
    if not math.isfinite(value):
        raise LenientJSONError(f"the number {number[:24]} is too large")
    return value


def refuse(constant: str) -> NoReturn:
    """Raise `LenientJSONError` for a word such as NaN."""
    raise LenientJSONError(f"{constant} is not a JSON value")


def too_deep(at: int) -> LenientJSONError:
    """Return the error for a value inside too many others."""
    return LenientJSONError(f"it is nested more than {MAX_DEPTH} deep", at)


def is_deep(value: object) -> bool:
    """Tell whether a value is nested deeper than `MAX_DEPTH`."""
    level = [value] if isinstance(value, _NESTED) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, _NESTED)
        ]
        if not level:
            return False
    return True


def encodable(value: object) -> object:
    """Return a value whose text can be encoded: half a surrogate pair becomes U+FFFD."""
    if isinstance(value, str):
        return encodable_text(value)
    if isinstance(value, list):
        return [encodable(item) for item in value]
    if isinstance(value, dict):
        return {encodable_text(key): encodable(item) for key, item in value.items()}
    return value


def encodable_text(text: str) -> str:
    """Return a text that can be encoded: half a surrogate pair becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        joined: str = json.loads(
            json.dumps(text)
        )  # escapes join pairs, faster than a codec that fails
        marked = joined.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return marked.replace("\ufffd" * 3, "\ufffd")  # a mark for each byte of a half
    return text


_DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=members_of, parse_float=finite, parse_constant=refuse
)
