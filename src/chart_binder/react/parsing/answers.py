"""The JSON object of an answer, found in the words under its label."""

import re
from collections.abc import Iterator
from typing import Final

from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    opens_object,
    read_strictly,
    scan,
)
from chart_binder.react.parsing.lexer import is_reported

_MAX_OBJECTS: Final = 16


def read_answer_object(text: str, key: str = "") -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the one object in an answer's words, with notes on what was repaired.

    It may be fenced or bare, with any prose before or after it. Objects without `key` do not count
    beside one that has it. A list of one object, or a string that holds it, is that object.

    Raises `LenientJSONError` with the defect: there is none, it cannot be read, its last bracket is
    missing, it is quoted, or another one differs from it.
    """
    whole = _listed_or_quoted(text)
    found = [whole] if whole else list(_answers(text))
    keyed = [each for each in found if key in {name.strip().casefold() for name in each[0]}]
    found = keyed or found
    if not found:
        raise LenientJSONError("there is no JSON object in it")
    if any(value != found[0][0] for value, _ in found):
        raise LenientJSONError("there are two different JSON objects in it")
    return found[0]


def _listed_or_quoted(text: str) -> tuple[dict[str, object], tuple[str, ...]] | None:
    """Return the object in a list of one, or in a JSON string, that is the whole answer."""
    bare = text.strip()
    if bare.startswith(("```", "~~~")):
        bare = re.sub(r"\A\w*", "", bare.strip("`~")).strip()
    if bare.startswith("[") and bare[1:].lstrip().startswith("{"):
        listed = scan(bare, 0, closed=True)
        if (
            not isinstance(listed.value, list)
            or len(listed.value) != 1
            or not isinstance(listed.value[0], dict)
        ):
            raise LenientJSONError("it is a list of several answers")
        return listed.value[0], listed.notes
    if (
        bare.startswith('"{')
        and (string := read_strictly(bare, 0))
        and isinstance(string.value, str)
    ):
        inner = scan(string.value, 0, closed=True)
        return (inner.value, inner.notes) if isinstance(inner.value, dict) else None
    return None


def _answers(text: str) -> Iterator[tuple[dict[str, object], tuple[str, ...]]]:
    """Yield the objects in an answer's words that no words or marks before them quote."""
    at = text.find("{")
    problem = ""
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            break
        line = text[text.rfind("\n", 0, at) + 1 : at]
        if not opens_object(text, at):
            at = text.find("{", at + 1)
            continue
        fence = text.find("```", at)
        if line.lstrip().startswith((">", "＞")) or _is_quoted(text[:at]):
            raise LenientJSONError("the JSON object stands among other words, as if you quoted it")
        found = scan(text, at, fence if fence >= 0 else len(text), closed=True)
        if isinstance(found.value, dict):
            problem = ""
            yield found.value, found.notes
        at = text.find("{", found.end)
    if problem:
        raise LenientJSONError(problem)


def _is_quoted(before: str) -> bool:
    """Tell whether words before an object quote it: a quotation mark, or a verb that reports."""
    words = re.sub(r"(?:`{3,}|~{3,})\w*\s*\Z", "", before[-400:]).rstrip()
    is_marked = len(words) > 1 and words.endswith(('"', "“", "«", "「", "'"))
    is_open = not words.endswith((".", "!", "?", "。"))
    return is_marked or (is_open and is_reported(f"{words}:"))
