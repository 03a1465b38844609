"""Tags: `<tool_call>`, `<response>` and their like, of whatever model family."""

import re
from dataclasses import replace
from html import unescape
from itertools import count, islice
from typing import Final

from chart_binder.react.parsing.advice import Defect
from chart_binder.react.parsing.calls import Taken, read_action, read_object, step_named
from chart_binder.react.parsing.labels import MAX_DIRECTIVES, Directive, Kind
from chart_binder.react.parsing.lenient_json import LenientJSONError, scan, skip_space
from chart_binder.react.steps import Act

_NAMES_OF: Final[dict[Kind, str]] = {
    "call": "toolcall functioncall invoke tooluse function call usetool",
    "calls": "toolcalls functioncalls",
    "action": "action tool toolname",
    "input": "actioninput toolinput actionarguments toolarguments",
    "answer": "response answer finalanswer finalresponse",
    "observation": "observation observations obs toolresponse toolresponses toolresult"
    " toolresults tooloutput functionresponse functionresult functionresults",
    "thought": "thought thoughts think thinking reasoning",
    "speaker": "user human system environment",
}
_NAMES: Final = {name: kind for kind, names in _NAMES_OF.items() for name in names.split()}
_INNER: Final = frozenset({"arg_key", "arg_value", "tool_name"})
_OBSERVING: Final = re.compile(
    r"(?!final)\w*(?:results?|outputs?|response(?:from\w*)?)|obs\w*|information|context|documents?"
    r"|ipython"
)
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
_MAX_CALLS: Final = 8
_WELL_FORMED_ID: Final = re.compile(r"[\w.:-]{1,64}")
_MAX_TRIES: Final = 4
_ELEMENT: Final = re.compile(r"<(?P<name>[\w-]{1,64}+)>(?P<value>[^<]*+)</(?P=name)>")


def find_tags(text: str) -> list[Directive]:
    """Return the tags that announce something, in order, each with where its words end.

    A tag begins a line, or follows another tag or the end of a sentence; one amid words is talked
    about. Words in a tag that is never closed go on to the end of the text.
    """
    if "<" not in text:
        return []
    every = list(islice(_TAG.finditer(text), 8 * MAX_DIRECTIVES))
    closed = {mark["name"] for mark in every if mark["slash"]}
    kinds = ((mark, _kind_of(mark, closed)) for mark in every)
    marks = list(islice(((mark, kind) for mark, kind in kinds if kind), MAX_DIRECTIVES))
    closing = {mark.start() for mark, _ in marks if mark["slash"]}
    return [
        _directive(text, marks, place)
        for place in range(len(marks))
        if marks[place][0].start() not in closing
    ]


def _kind_of(mark: re.Match[str], closed: set[str]) -> Kind | None:
    """Return what a tag announces; one with an underscore in its name is named as a tool."""
    name = mark["name"].casefold()
    folded = name.replace("_", "").replace("-", "")
    if kind := _NAMES.get(folded):
        return kind
    if _OBSERVING.fullmatch(folded):
        return "observation"
    is_given = bool(mark["attributes"].strip(" /")) or mark["name"] in closed
    return "call" if "_" in name and name not in _INNER and is_given else None


def _directive(text: str, marks: list[tuple[re.Match[str], Kind]], place: int) -> Directive:
    mark, kind = marks[place]
    end = after = len(text)
    closed = False
    is_empty = mark["attributes"].endswith("/")
    tries = 0
    for other, other_kind in [] if is_empty else marks[place + 1 :]:
        if other_kind != kind or (not other["slash"] and kind != "call"):
            continue
        if other["slash"] and other["name"] != mark["name"] and "_" in other["name"] + mark["name"]:
            continue
        tries += 1
        if tries < _MAX_TRIES and _in_string(text, mark.end(), other.start()):
            continue
        if other["slash"]:
            end, after, closed = other.start(), other.end(), True
        elif not text[mark.end() : other.start()].strip():
            continue
        else:  # the next call ends one that is never closed
            end = after = other.start()
        break
    if is_empty:
        end = after = mark.end()
    attributes = mark["attributes"].strip().rstrip("/").strip()
    places = (mark.start(), mark.end(), end, after)
    name = mark["name"].casefold()
    return Directive(kind, *places, name, attributes, is_tag=True, closed=closed or is_empty)


def _in_string(text: str, start: int, at: int) -> bool:
    """Tell whether a place is inside a JSON string of an object that begins at `start`."""
    if not text[start : start + 80].lstrip().startswith("{"):
        return False
    inside = text[max(start, at - 4000) : at]
    is_odd = len(re.findall(r'(?<!\\)"', inside)) % 2 == 1
    return is_odd and '"' in text[at : at + 400].partition("\n")[0]


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


# Calls in tags.


def call_in(body: str, tag: Directive) -> Taken | None:
    """Return the call in a tag's body, or in its attributes."""
    attributes = attributes_of(tag.attributes)
    named = next(
        filter(None, (attributes.pop(key, "") for key in ("name", "tool", "function"))), ""
    )
    identifier = attributes.pop("id", "")
    if not named and (own := re.match(r"=\s*[\"']?([\w.-]{1,80})", tag.attributes)):
        named = own[1]
    if not named and tag.name.replace("_", "").replace("-", "") not in _NAMES:
        named = tag.name
    body = _without_inner_tags(body)
    inner = re.match(
        r"\s*<(?:function|invoke|tool|name|tool_name)(?:=[\"']?([\w.-]{1,80})[\"']?|\s+name=[\"']([\w.-]{1,80})[\"'])?\s*>",
        body,
    )
    if not named and inner:
        body = body[inner.end() :]
        named = inner[1] or inner[2]
        if not named:
            named, body = body.partition("<")[0].strip(), body.partition("</name>")[2]
    try:
        step = _named_call(named, attributes, body, tag) if named else _unnamed_call(body, tag)
    except LenientJSONError as error:
        return Defect("given", str(error), named)
    return replace(step, id=identifier) if isinstance(step, Act) and identifier else step


def _without_inner_tags(body: str) -> str:
    """Return a body without a second tag that opens inside, or entities for its quotes."""
    body = re.sub(r"\A\s*<(?:tool_call|function_call)>", "", body)
    body = re.sub(r"\A```(?:json|xml)?\s*", "", body.strip()).removesuffix("```").rstrip()
    return body.replace("&quot;", '"') if body.lstrip().startswith("{&quot;") else body


def _named_call(named: str, attributes: dict[str, str], body: str, tag: Directive) -> Taken:
    given = attributes.pop("arguments", "") or attributes.pop("input", "")
    words = re.sub(r"</(?:function|invoke|arguments|parameters|tool|input)>\s*", "", body)
    words = re.sub(r"\A\s*<(?:arguments|parameters|input|args)>", "", words).strip()
    if (attributes or given) and not words.startswith("{"):
        if words and tag.end > tag.value:
            raise LenientJSONError("there are attributes in its tag, and words inside")
        return step_named(named, given or attributes)
    if words.startswith("{"):
        step, _ = read_object(words, tagged=False)
        found = scan(words, 0)
        own = step_named(named, found.value)
        return step if isinstance(step, Act) else replace(own, notes=(*found.notes, *own.notes))
    if not tag.closed and re.search(r"<(?:parameter|arg_value)[^<]*\Z", body):
        raise LenientJSONError("a parameter is never closed", cut=True)
    if parameters := parameters_in(words):
        return step_named(named, parameters)
    return read_action(named, words or None) or Defect("no tool")


def _unnamed_call(body: str, tag: Directive) -> Taken | None:
    at = skip_space(body, 0)
    if body[at : at + 1] in ("{", "[") and body[at:].strip():
        try:
            step, end = read_object(body, tagged=True)
            is_another = body.startswith("{", skip_space(body, end))
            if isinstance(step, Act) and is_another and body.count("{") <= 4 * _MAX_CALLS:
                more = _unnamed_call(body[end:], tag)
                if isinstance(more, Act):
                    step = replace(step, also=(*step.also, replace(more, also=()), *more.also))
        except LenientJSONError as error:
            named = re.search(r"[\"'](?:name|tool|action)[\"']\s*:\s*[\"']([\w.-]{1,80})", body)
            kind = "given" if tag.closed or named else "turn"
            return Defect(kind, str(error), named[1] if named else "")
        is_none = re.search(r"[\"'](?:name|tool|action)[\"']\s*:", body)
        return step or (None if is_none else Defect("no tool in object"))
    if not body.strip():
        return None
    key = body.find("<arg_key>")
    if key > 0:
        if not tag.closed and re.search(r"<arg_value>[^<]*\Z", body):
            raise LenientJSONError("a value is never closed", cut=True)
        return step_named(body[:key].strip(), parameters_in(body))
    if element := re.fullmatch(r"\s*<(\w{2,64})>(.*)</\1>\s*", body, re.DOTALL):
        return step_named(element[1], parameters_in(element[2]))
    return read_action(body, None)


def identified(calls: tuple[Act, ...] | list[Act]) -> list[Act]:
    """Return calls each with an id of its own: the one it has, else the next free number."""
    used: set[str] = set()
    named: list[Act] = []
    for number, call in enumerate(calls, start=1):
        own = call.id
        if not _WELL_FORMED_ID.fullmatch(own) or own in used:
            taken = used.union(other.id for other in calls)
            own = next(free for free in map(str, count(number)) if free not in taken)
        used.add(own)
        named.append(replace(call, id=own, also=()))
    return named
