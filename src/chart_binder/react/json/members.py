"""Members of an object that lack the braces around them."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from chart_binder.react.json.scanner import scan, scan_string
from chart_binder.react.json.strict import LenientJSONError, members_of
from chart_binder.react.json.words import INNER, UNQUOTED, opens_string

_LINE: Final = re.compile(
    r"[ \t]*+(?:[-*+•][ \t]{1,4}+)?+(?!```)[*_`\"'“]{0,4}+(?P<name>(?:[Ss]earch )?[\w-]{1,64}+)"
    r"[*_`\"'”]{0,4}+[ \t]?(?:[:：](?!//)|=(?!=))[*_`]{0,2}+(?![ \t]*+(?:[\[{｛]|```))"
    r"(?![^\n]{0,200}[{｛]\s{0,4}+[\"'“/])"
    r"(?P<value>[^\n]++)(?:\n|\Z)"
)
_LINES_AT_MOST: Final = 32
_DOUBLE: Final = '"“'
"""What begins a string alone; an apostrophe may begin a word."""


def read_members(text: str) -> Mapping[str, object] | None:
    """Read `- query: Killer Queen` a line, or `"query": "Killer Queen", "limit": 5`.

    Returns None for anything else. What a line says is text, without quotation marks around it.
    Raises `LenientJSONError` where they are not closed, or a brace is that nothing opens.
    """
    lines = [*_lines(text, 0)]
    if not lines or text[lines[-1].end() :].strip():
        return _on_one_line(text)
    pairs = [(line["name"], _unquoted(line["value"])) for line in lines]
    if any(value is None for _, value in pairs):
        if members := _on_one_line(text):
            return members
        if text.endswith("}"):
            raise LenientJSONError("it closes a brace that nothing opens")
    try:
        return members_of(
            [
                (name, line["value"].strip() if value is None else value)
                for line, (name, value) in zip(lines, pairs, strict=True)
            ]
        )
    except LenientJSONError:
        return None


def members_end(text: str, at: int, limit: int) -> int:
    """Return where the lines that `read_members` reads end; `at` where none begins."""
    return max((line.end() for line in _lines(text[at:limit], 0)), default=0) + at


def _lines(text: str, at: int) -> Iterator[re.Match[str]]:
    for _ in range(_LINES_AT_MOST):
        if not (line := _LINE.match(text, at)):
            return
        yield line
        at = line.end()


def _unquoted(value: str) -> str | None:
    """Return the words of a value, or None where it only begins with a string."""
    value = value.strip().removesuffix(",")
    if not value or not opens_string(value[0]):
        return value
    try:
        found = scan_string(value, 0, len(value))
    except LenientJSONError:
        if value[0] in _DOUBLE and value.count(value[0]) == 1:
            raise
        return None
    return str(found.value) if found.end == len(value) else None


def _on_one_line(text: str) -> Mapping[str, object] | None:
    if text.endswith("}") and "{" not in text:
        text = text[:-1]
    try:
        found = scan(f"{{{text}}}", 0)
    except LenientJSONError:
        return None
    is_sure = found.end == len(text) + 2 and not any(map(_is_doubtful, found.notes))
    return found.value if is_sure and isinstance(found.value, dict) else None


def _is_doubtful(note: str) -> bool:
    return note.endswith((UNQUOTED, INNER))
