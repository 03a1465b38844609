"""A call written in elements, such as `<parameter=query>Killer Queen</parameter>`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chart_binder.react.json.lenient import read_json
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.tool_names import folded

_MAX_ELEMENTS: Final = 32
_OPEN = re.compile(
    r"<(?P<whole>(?:antml:)?+(?P<name>[A-Za-z_][\w.-]{0,63}+))(?P<rest>[ =][^<>\n]{0,200}+)?+>"
)
_KEY = re.compile(r"(?:^ ?=|\b(?:name|key) ?=) ?[\"']?(?P<key>[\w.-]{1,64})")
_NEXT = re.compile(r"</|<(?:antml:)?(?:parameter|param|arg|argument)\b")
_CHARACTERS: Final = {
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&#34;": '"',
    "&apos;": "'",
    "&#39;": "'",
    "&amp;": "&",  # the last one, for it may begin what looks like another
}
_PARAMETER: Final = frozenset({"parameter", "param", "arg", "argument", "input"})
GIVEN: Final = frozenset({"arguments", "args", "parameters", "params", "input", "toolinput"})
_NAME: Final = frozenset({"name", "toolname", "tool", "function", "functionname"})
_CALL: Final = frozenset({"function", "invoke", "tool", "call"})


@dataclass(frozen=True, slots=True)
class Element:
    """An element: its name, the key that stands in its tag, its text."""

    name: str
    key: str
    text: str
    closed: bool


def unescaped(text: str) -> str:
    """Return text with the escapes of XML read."""
    for entity, character in _CHARACTERS.items():
        text = text.replace(entity, character)
    return text


def read_elements(text: str, *, ended: bool) -> list[Element]:
    """Return the elements of a text, those inside them left as text.

    One that lacks its closing tag ends before the next tag. Where nothing has `ended` the text it
    may have been cut off: raises `LenientJSONError` if it stops inside an element.
    """
    found: list[Element] = []
    at = 0
    while len(found) < _MAX_ELEMENTS and (opening := _OPEN.search(text, at)):
        name, start = opening["name"], opening.end()
        key = _KEY.search(opening["rest"] or "")
        end = text.find(f"</{opening['whole']}>", start)
        closed = end >= 0
        if closed and folded(name) in _CALL and _is_cut_open(text, start, end):
            raise LenientJSONError(f"a value holds </{opening['whole']}>", end)
        if not closed:
            following = None if folded(name) in _CALL | GIVEN else _NEXT.search(text, start)
            end = following.start() if following else len(text)
            if not following and not ended and folded(name) not in _CALL | GIVEN:
                raise LenientJSONError(f"the text of <{name}> is never closed", end, cut=True)
        found.append(Element(name, key["key"] if key else "", text[start:end].strip(), closed))
        at = end
    return found


def _is_cut_open(text: str, start: int, end: int) -> bool:
    """Tell whether a closing tag stands inside a parameter that is closed after it."""
    opened = text.rfind("<param", start, end)
    closed = text.find("</param", max(opened, start))
    following = text.find("<param", end)
    return opened >= 0 and end < closed and not 0 <= following < closed


def read_call(
    text: str, tool: str = "", *, ended: bool
) -> tuple[str, Mapping[str, object] | str] | None:
    """Return the tool and the arguments of a call, or None where no tool is named.

    `tool` is its name where the tag around it says so. Raises `LenientJSONError`.
    """
    before = text[: max(text.find("<"), 0)].strip()
    tool = tool or (before.splitlines()[0] if before else "")
    arguments: dict[str, object] = {}
    key = ""
    for element in read_elements(text, ended=ended):
        name, ended_here = folded(element.name), ended or element.closed
        if not tool and name in _CALL and element.key:
            return read_call(element.text, element.key, ended=ended_here)
        if not tool and name in _NAME:
            tool = element.text
        elif not tool:
            return read_call(element.text, element.name, ended=ended_here)
        elif name == "argkey":
            key = element.text
        elif name == "argvalue":
            arguments[key] = unescaped(element.text)
        elif element.key and name in _PARAMETER:
            arguments[element.key] = unescaped(element.text)
        elif name in GIVEN:
            return tool, _given(element.text, ended=ended_here)
        else:
            arguments[element.name] = unescaped(element.text)
    return (tool, arguments) if tool else None


def _given(text: str, *, ended: bool) -> Mapping[str, object] | str:
    if text.startswith("{"):
        return read_json(text)[0]
    if text.startswith("<"):
        return {
            element.key or element.name: unescaped(element.text)
            for element in read_elements(text, ended=ended)
        }
    return unescaped(text)
