"""The words of a final answer, without what models wrap around them."""

import re

from chart_binder.react.json.strict import LenientJSONError, read_strictly

_CLOSE_TAG = re.compile(r"</[\w ]{1,24}>\s*$")
_LONGEST_TAG = 40


def read_answer(text: str, start: int, limit: int, mark: str = "") -> tuple[str, int]:
    """Return an answer's words from `start` on, with the place after them.

    They end at `limit`, unless a JSON object that begins before goes beyond it. A fence stays, for
    whoever reads the words to find; the emphasis `mark` that a label began with is taken off.
    """
    limit = max(limit, _object_end(text, start, limit))
    words = text[start:limit].strip()
    if mark and words.endswith(mark):
        words = words.removesuffix(mark).rstrip()
    return bare_answer(words), limit


def bare_answer(words: str) -> str:
    """Return an answer's words without a closing tag after them."""
    words = words.strip()
    if tag := _CLOSE_TAG.search(words, max(0, len(words) - _LONGEST_TAG)):
        words = words[: tag.start()].rstrip()
    return words


def _object_end(text: str, start: int, limit: int) -> int:
    brace = text.find("{", start, limit)
    if brace < 0:
        return limit
    try:
        found = read_strictly(text, brace)
    except LenientJSONError:
        return limit
    return found.end if found else limit
