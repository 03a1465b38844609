"""What a model gives a tool, as a mapping where it can be read as one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chart_binder.react.json.lenient import find_object, opens_object
from chart_binder.react.json.members import members_end, read_members
from chart_binder.react.json.scanner import scan, scan_call, scan_string
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.json.words import CODE, begins_member, is_operand, opens_string, skip_space
from chart_binder.react.reading.fences import skip_opener

_ROUND: Final = {"(": ")", "（": "）"}
_BRACES: Final = ("{", "｛")
_BRACKETS: Final = ("[", "［")
_UNPACKED = re.compile(r"\*\*\s{0,8}+(?=\{)")
_EXPRESSION = re.compile(
    r"\*{1,2}+\s{0,8}+[\[({]|\*\*\w++\Z|[bfruBFRU]{1,2}+([\"']).*\1\Z|[^+\n]{1,200}+\+\s{0,8}+[\"']"
)
"""What Python would work out: something unpacked, a string with a prefix, a sum."""
_NOTHING: Final = frozenset(
    {"", "none", "null", "nil", "n/a", "na", "-", "无", "無", "空", "...", "…"}
)
_LEAD = re.compile(
    r"(?:action[ _]?input[ ]?[:：]\s{0,8}+)?+(?:[*_`]{1,3}+\s{0,8}+)?+"
    r"(?:json(?=[\s:：]*+[\[{\n])[\s:：]{0,8}+)?+",
    re.IGNORECASE,
)
_NAMED_LINES = re.compile(
    r"(?:[ \t]*+[-*]?[ \t]*+[\w-]{1,64}+(?:[:：][ \t]|[ \t]?=)[^\n]++(?:\n|\Z))++"
)
_LINK = re.compile(
    r"\[[^\[\]\n]{0,200}+\]\((?P<address>https?://[^\s<>]{1,2000})\)|<(?P<inside>https?://[^\s<>]{1,2000})>"
)
_ELEMENT = re.compile(r"<(?P<name>\w{1,24})>(?P<inside>[^<>\n]{1,2000})</(?P=name)>")
_CLOSE_TAG = re.compile(r"</?[\w ]{1,24}>\s*$")
_OBSERVED = re.compile(r"\s(?:Observation|观察)[ ]?\d{0,3}[ ]?[:：]")
_EMPHASIS: Final = "*_` \t"


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments, the place after them, and what had to be repaired."""

    arguments: Mapping[str, object] | str
    end: int
    notes: tuple[str, ...] = ()


def read_given(text: str, start: int, limit: int) -> Given:
    """Read the arguments that begin at `start`; strict JSON may go beyond `limit`.

    A JSON object gives a mapping; a list of one gives that one, a longer one its text; a string
    gives its text; nothing, or a word for it, gives an empty mapping; anything else is bare text:
    all of a fence, the lines of the form `name: value`, or else one line.

    Raises `LenientJSONError` for an object, a list or a string that cannot be read.
    """
    at = skip_opener(text, skip_space(text, start))
    fenced = at > skip_space(text, start)
    lead = _LEAD.match(text, at)
    at = lead.end() if lead else at
    if at >= limit:
        return Given({}, limit)
    fence = text.find("```", at, limit)
    inner = fence if fence >= 0 else limit
    if text[at] in _BRACES:
        return _object(text, at, inner)
    if not fenced and (observed := _OBSERVED.search(text, at, inner)):
        inner = observed.start()
    if text[at] in _BRACKETS and (items := _list(text, at, inner)):
        return items
    if opens_string(text[at]) and (quoted := _string(text, at, inner)):
        return quoted
    return _bare(text, at, inner, fenced=fenced)


def read_lines(text: str, at: int, limit: int) -> Given | None:
    """Read `name: value` lines below an action, which have no label of their own."""
    end = members_end(text, at, limit)
    members = read_members(text[at:end].rstrip("\n")) if end > at else None
    return Given(members, end) if members else None


def read_in_brackets(text: str, at: int, limit: int) -> Given:
    """Read what stands in the brackets of a call that open at `at`: `("x")`, `(a=1)`, `[x]`."""
    inside = skip_space(text, at + 1)
    if unpacked := _UNPACKED.match(text, inside, limit):
        inside = unpacked.end()
    if text[at] in _ROUND and begins_member(text, inside) and not opens_string(text[inside]):
        found = scan_call(text, at, limit, _ROUND[text[at]])
        return Given(_as_mapping(found.value), found.end, found.notes)
    if text[inside : inside + 1] in _BRACES and opens_object(text, inside):
        return _object(text, inside, limit)
    if inside < limit and opens_string(text[inside]):
        found = scan_string(text, inside, limit)
        if is_operand(text, found.end):
            raise LenientJSONError(CODE, found.end)
        after = skip_space(text, found.end)
        if text.startswith(",", after):
            after = skip_space(text, after + 1)
        if after >= limit or text[after] in ")）]":
            return Given(str(found.value) or {}, min(after + 1, limit), found.notes)
    return _raw(text, at, limit)


def _raw(text: str, at: int, limit: int) -> Given:
    line_end = text.find("\n", at, limit)
    line_end = limit if line_end < 0 else line_end
    closer = text.rfind(_ROUND.get(text[at], "]"), at, line_end)
    if closer < 0:
        raise LenientJSONError(f"the bracket {text[at]} is never closed", at, cut=True)
    inside = text[at + 1 : closer].strip()
    if inside.casefold() in _NOTHING:
        return Given({}, closer + 1)
    if _EXPRESSION.match(inside):
        raise LenientJSONError("it is an expression of Python rather than a value", at)
    return Given(inside, closer + 1)


def _object(text: str, at: int, limit: int) -> Given:
    if not opens_object(text, at):
        if text.startswith('{\\"', at) and (found := find_object(text, at, limit)):
            return Given(_as_mapping(found.value), limit, found.notes)
        if text.startswith("{{", at) and opens_object(text, at + 1):
            return _in_doubled_braces(text, at, limit)
        raise LenientJSONError("the braces hold no key in quotes with a colon after it", at)
    found = scan(text, at, limit)
    return Given(_as_mapping(found.value), found.end, found.notes)


def _in_doubled_braces(text: str, at: int, limit: int) -> Given:
    """Read an object in the braces of a template, which stand for single ones."""
    found = scan(text, at + 1, limit)
    if not text.startswith("}", found.end) or found.end >= limit:
        raise LenientJSONError("of its two opening braces just one is closed", found.end)
    notes = (*found.notes, "repaired JSON: doubled braces")
    return Given(_as_mapping(found.value), found.end + 1, notes)


def _as_mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, dict)
    return value


def _list(text: str, at: int, limit: int) -> Given | None:
    inside = skip_space(text, at + 1)
    if inside >= limit or not (text[inside] in "{｛]］" or opens_string(text[inside])):
        return None
    found = scan(text, at, limit)
    match found.value:
        case [dict() | str() as only]:
            return Given(only, found.end, found.notes)
        case []:
            return Given({}, found.end, found.notes)
        case _:
            return Given(text[at : found.end], found.end, found.notes)


def _string(text: str, at: int, limit: int) -> Given | None:
    """Read a text that is one string, or an object inside one."""
    try:
        found = scan_string(text, at, limit)
    except LenientJSONError:
        if text.find(text[at], at + 1, limit) < 0 and text[at] in "\"“'":
            raise
        return None
    if is_operand(text, found.end):
        raise LenientJSONError(CODE, found.end)
    line_end = text.find("\n", found.end, limit)
    rest = text[found.end : limit if line_end < 0 else line_end]
    if rest.strip(_EMPHASIS + ".,;"):
        return None
    inner = str(found.value)
    if inner.lstrip().startswith("{") and opens_object(inner, inner.index("{")):
        again = scan(inner, inner.index("{"))
        return Given(_as_mapping(again.value), found.end, (*found.notes, *again.notes))
    return Given(inner, found.end, found.notes)


def _bare(text: str, at: int, limit: int, *, fenced: bool) -> Given:
    end = limit if fenced else _bare_end(text, at, limit)
    brace = text.find("{", at, end)
    if brace >= 0 and text[at:brace].rstrip().endswith((":", "：")) and opens_object(text, brace):
        return _object(text, brace, limit)
    words = text[at:end].strip()
    element = _ELEMENT.fullmatch(words)
    words = (element["inside"] if element else _CLOSE_TAG.sub("", words)).strip()
    if not fenced and words.endswith(("`", "**")):
        words = words.rstrip(_EMPHASIS)
    link = _LINK.fullmatch(words)
    words = (link["address"] or link["inside"]) if link else words
    if words.startswith(("http://", "https://")):
        words = words.replace("\\_", "_")  # as Markdown has it; no address holds a backslash
    return Given({} if words.casefold() in _NOTHING else words, end)


def _bare_end(text: str, at: int, limit: int) -> int:
    """Return where bare text ends: after one line, or after all of the form `name: value`."""
    lines = _NAMED_LINES.match(text, at, limit)
    if lines:
        return lines.end()
    line_end = text.find("\n", at, limit)
    return limit if line_end < 0 else line_end
