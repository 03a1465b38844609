"""JSON as models write it, found in the text around it."""

import re
from collections.abc import Iterator
from dataclasses import replace

from chart_binder.react.json.scanner import scan, scan_string
from chart_binder.react.json.strict import LenientJSONError, Scanned
from chart_binder.react.json.words import begins_member, opens_string, skip_space

__all__ = ["LenientJSONError", "find_object", "opens_object", "read_json"]

_FENCED_OBJECT = re.compile(r"(?:`{3}|~{3})[^\S\n]{0,4}+\w{0,12}+\s{0,80}+(?=[{\[])")
_MAX_CANDIDATES = 64


def read_json(text: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the JSON object in `text`, with notes on what was repaired.

    An object in a code fence comes before any other, since that is the form that is asked for;
    among several the first counts, as the first of several steps does. Braces around mere words
    (`{C1}`) are no object. A string that holds an object is read as that object.

    Raises `LenientJSONError` with the defect where there is no object, or the first one cannot be
    read: what follows a broken object may be a part of it, and is never taken in its place.
    """
    found = find_object(text, 0, len(text))
    if found is None:
        raise LenientJSONError("there is no JSON object in it")
    assert isinstance(found.value, dict)
    return found.value, found.notes


def find_object(text: str, start: int, limit: int) -> Scanned | None:
    """Return the object between `start` and `limit` that `read_json` describes, if there is one."""
    for at in _candidates(text, start, limit):
        if text.startswith('{\\"', at):
            return replace(scan(text[at:limit].replace('\\"', '"'), 0), start=at, end=limit)
        if opens_object(text, at):
            fence = text.find("```", at, limit)
            found = scan(text, at, fence if fence >= 0 else limit)
            if isinstance(found.value, dict):
                return found
    return _inside_string(text, start, limit)


def opens_object(text: str, at: int) -> bool:
    """Tell whether the brace at `at` begins an object rather than stands around words."""
    inside = skip_space(text, at + 1)
    if text[inside : inside + 1] in ("", "}", "/", "#"):
        return True
    return begins_member(text, inside)


def _candidates(text: str, start: int, limit: int) -> Iterator[int]:
    for fence in _FENCED_OBJECT.finditer(text, start, limit):
        brace = text.find("{", fence.end(), limit)
        if brace >= 0 and opens_object(text, brace):
            yield brace
            return
    at = start
    for _ in range(_MAX_CANDIDATES):
        at = text.find("{", at, limit)
        if at < 0:
            return
        yield at
        at += 1


def _inside_string(text: str, start: int, limit: int) -> Scanned | None:
    at = skip_space(text, start)
    if at >= limit or not opens_string(text[at]) or text.find("{", at, limit) < 0:
        return None
    inner = scan_string(text, at, limit).value
    if not isinstance(inner, str) or not inner.lstrip().startswith("{"):
        return None
    return replace(scan(inner.strip(), 0), start=at, end=limit)
