"""The words of an answer, and the one JSON object that must stand in them."""

import re
from collections.abc import Iterator
from typing import Final

from chart_binder.react.parsing.attribution import is_quoted_by
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    find_object,
    opens_object,
    read_strictly,
    scan,
    skip_space,
)
from chart_binder.react.parsing.lexer import end_of_line, skip_fence_opener

_MAX_OBJECTS: Final = 32
_CLOSE_TAG: Final = re.compile(r"</[\w ]{1,24}>\s*$")
_LONGEST_TAG: Final = 40


def read_answer(text: str, start: int, limit: int, mark: str = "") -> tuple[str, int]:
    """Return an answer's words from `start` on, with the place after them.

    They end at `limit`, unless a JSON object that begins before goes beyond it. A fence stays, for
    whoever reads the words to find; the emphasis `mark` that a label began with is taken off.
    """
    brace = text.find("{", start, limit)
    try:
        found = read_strictly(text, brace) if brace >= 0 else None
    except LenientJSONError:
        found = None
    limit = max(limit, found.end if found else limit)
    words = text[start:limit].strip()
    if mark and words.endswith(mark):
        words = words.removesuffix(mark).rstrip()
    return bare_answer(words), limit


def bare_answer(words: str) -> str:
    """Return an answer's words without a closing tag after them."""
    words = words.strip()
    tag = _CLOSE_TAG.search(words, max(0, len(words) - _LONGEST_TAG))
    return words[: tag.start()].rstrip() if tag else words


def read_answer_object(text: str, key: str = "") -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the one object in an answer's words, with notes on what was repaired.

    It may be fenced or bare, with any prose before or after it. Objects without `key` do not count
    beside one that has it. A list of one object, or a string that holds it, is that object.

    Raises `LenientJSONError` with the defect: there is none, it cannot be read, its last bracket is
    missing, it is quoted, or another one differs from it.
    """
    start = skip_fence_opener(text, skip_space(text, 0))
    if text.startswith("[", start) and text.startswith("{", skip_space(text, start + 1)):
        listed = scan(text, start, closed=True)
        match listed.value:
            case [dict() as only]:
                return only, listed.notes
            case _:
                raise LenientJSONError("it is a list of several answers")
    found = list(_answers(text))
    keyed = [each for each in found if key in {name.strip().casefold() for name in each[0]}]
    found = keyed or found
    if not found:
        whole = find_object(text, 0, len(text), closed=True) if "{" in text else None
        if whole is None or not isinstance(whole.value, dict):
            raise LenientJSONError("there is no JSON object in it")
        return whole.value, whole.notes
    if any(value != found[0][0] for value, _ in found):
        raise LenientJSONError("there are two different JSON objects in it")
    return found[0]


def _answers(text: str) -> Iterator[tuple[dict[str, object], tuple[str, ...]]]:
    """Yield the objects in an answer's words that no words or marks before them quote."""
    at, problem = text.find("{"), ""
    is_any = False
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            break
        line = text[text.rfind("\n", 0, at) + 1 : at]
        if line.lstrip().startswith((">", "＞")):
            problem, at = "it is a block quote", text.find("{", end_of_line(text, at))
        elif not opens_object(text, at):
            at = text.find("{", at + 1)
        else:
            fence = text.find("```", at)
            found = scan(text, at, fence if fence >= 0 else len(text), closed=True)
            if is_quoted_by(text[:at]):
                problem = "the JSON object stands among other words, as if you quoted it"
            elif isinstance(found.value, dict):
                is_any = True
                yield found.value, found.notes
            at = text.find("{", found.end)
    if problem and not is_any:
        raise LenientJSONError(problem)
