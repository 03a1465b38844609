"""Tags: `<tool_call>`, `<response>` and their like, of whatever model family."""

import re
from html import unescape
from itertools import islice
from typing import Final

from chart_binder.react.parsing.labels import MAX_DIRECTIVES, Directive, Kind

_NAMES: Final[dict[str, Kind]] = {
    name: kind
    for kind, names in {
        "call": "toolcall functioncall invoke tooluse function call usetool",
        "calls": "toolcalls functioncalls",
        "action": "action tool toolname",
        "input": "actioninput toolinput actionarguments toolarguments",
        "answer": "response answer finalanswer finalresponse",
        "observation": "observation observations obs toolresponse toolresponses toolresult"
        " toolresults tooloutput functionresponse functionresult functionresults",
        "thought": "thought thoughts think thinking reasoning",
    }.items()
    for name in names.split()
}
_TAG: Final = re.compile(
    r"<(?=[ /A-Za-z])[ ]{0,2}+(?P<slash>/?)[ ]{0,2}+(?P<name>[A-Za-z][\w-]{1,31}+)"
    r"(?P<attributes>(?:[ =:\n][^<>]{0,2000}+)?+)(?P<closed>(?<=/))?+>"
)
_ATTRIBUTE: Final = re.compile(
    r"(?P<name>[\w-]{1,64}+)\s{0,4}+=\s{0,4}+(?:(?P<mark>[\"'])(?P<value>.*?)(?P=mark)|(?P<bare>[\w.-]+))(?=\s|/|\Z)",
    re.DOTALL,
)
_PARAMETER: Final = re.compile(
    r"<(?:parameter|param|arg|argument)(?:=|\s+name\s*=\s*)[\"']?(?P<name>[\w-]{1,64}+)[\"']?[^<>\n]{0,60}>"
    r"(?P<value>(?:[^<]++|<(?!/?(?:parameter|param|arg|argument|function|invoke|tool_call)\b))*+)",
)
_KEY_AND_VALUE: Final = re.compile(
    r"<arg_key>(?P<name>[^<]{1,64}+)</arg_key>\s*<arg_value>(?P<value>[^<]*+)</arg_value>"
)
_MAX_TRIES: Final = 4
_ELEMENT: Final = re.compile(r"<(?P<name>[\w-]{1,64}+)>(?P<value>[^<]*+)</(?P=name)>")


def find_tags(text: str) -> list[Directive]:
    """Return the tags that announce something, in order, each with where its words end.

    A tag begins a line, or follows another tag or the end of a sentence; one amid words is talked
    about. Words in a tag that is never closed go on to the end of the text.
    """
    if "<" not in text:
        return []
    marks: list[tuple[re.Match[str], Kind]] = []
    for mark in islice(_TAG.finditer(text), 8 * MAX_DIRECTIVES):
        kind = _NAMES.get(mark["name"].casefold().replace("_", "").replace("-", ""))
        if kind is not None:
            marks.append((mark, kind))
            if len(marks) == MAX_DIRECTIVES:
                break
    closing = {mark.start() for mark, _ in marks if mark["slash"]}
    return [
        _directive(text, marks, place)
        for place in range(len(marks))
        if marks[place][0].start() not in closing
    ]


def _directive(text: str, marks: list[tuple[re.Match[str], Kind]], place: int) -> Directive:
    mark, kind = marks[place]
    end = after = len(text)
    closed = False
    is_empty = mark["attributes"].endswith("/")
    tries = 0
    for other, other_kind in [] if is_empty else marks[place + 1 :]:
        if other_kind != kind or (not other["slash"] and kind != "call"):
            continue
        tries += 1
        if tries < _MAX_TRIES and _in_string(text, mark.end(), other.start()):
            continue
        if other["slash"]:
            end, after, closed = other.start(), other.end(), True
        elif text[
            mark.end() : other.start()
        ].strip():  # the next call ends one that is never closed
            end = after = other.start()
        else:
            continue
        break
    if is_empty:
        end = after = mark.end()
    attributes = mark["attributes"].strip().rstrip("/").strip()
    name = mark["name"].casefold()
    return Directive(
        kind,
        mark.start(),
        mark.end(),
        end,
        after,
        name,
        attributes,
        is_tag=True,
        closed=closed or is_empty,
    )


def _in_string(text: str, start: int, at: int) -> bool:
    """Tell whether a place is inside a JSON string of an object that begins at `start`."""
    if not text[start : start + 80].lstrip().startswith("{"):
        return False
    inside = text[max(start, at - 4000) : at]
    return (
        len(re.findall(r'(?<!\\)"', inside)) % 2 == 1
        and '"' in text[at : at + 400].partition("\n")[0]
    )


def attributes_of(tag: str) -> dict[str, str]:
    """Return the attributes of a tag, unescaped."""
    return {
        found["name"]: unescape(found["value"] or found["bare"] or "")
        for found in _ATTRIBUTE.finditer(tag)
    }


def parameters_in(body: str) -> dict[str, str]:
    """Return the arguments that tags inside a call hold: `<parameter=url>...`, `<url>...</url>`."""
    for pattern in (_PARAMETER, _KEY_AND_VALUE, _ELEMENT):
        found = {
            one["name"].strip(): unescape(one["value"]).strip() for one in pattern.finditer(body)
        }
        if found:
            return found
    return {}


def is_talked_about(text: str, tag: Directive) -> bool:
    """Tell whether a tag stands amid words, so that it is mentioned rather than used."""
    line = text[text.rfind("\n", 0, tag.start) + 1 : tag.start]
    before = re.sub(r"<[^<>]*>", "", line[-400:]).rstrip()
    return re.search(r"\w", before) is not None and before[-1] not in ".!?:;>)]}*。！？：*`"
