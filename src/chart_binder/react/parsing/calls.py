"""A call: the tool it names and what it is given, in labelled words or as a JSON object."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from chart_binder.react.arguments import clean_name, members_end, read_members
from chart_binder.react.parsing.advice import Defect, Writing
from chart_binder.react.parsing.answers import bare_answer
from chart_binder.react.parsing.json_turns import (
    announces,
    answer_in,
    as_text,
    is_finisher,
    is_no_tool,
    noted,
    read_call,
)
from chart_binder.react.parsing.lenient_json import (
    CODE,
    LenientJSONError,
    Scanned,
    begins_member,
    find_object,
    is_operand,
    opens_object,
    opens_string,
    read_json,
    scan,
    scan_call,
    scan_string,
    skip_space,
)
from chart_binder.react.parsing.lexer import Span, end_of_line, skip_fence_opener
from chart_binder.react.steps import Act, Finish

_NAME_AT_MOST: Final = 300
# All look at one line, for a bounded distance.
_NAME_END: Final = re.compile(r"[(（\[{:：\"“「]|</|\s(?:'|(?=\w{1,32}+ ?=|https?://))")
_INLINE_INPUT: Final = re.compile(
    r"[\s,;|*]{1,4}+(?:action[ _-]?input|行动输入|动作输入)[*]{0,2}+\s{0,2}+[:：][*]{0,2}+"
    r"|(?:\[call_id\]\w{1,64}+)?+\[args\]",  # Mistral's
    re.IGNORECASE,
)
_JSON_WORD: Final = re.compile(  # a blob is what LangChain's prompt calls an object
    r"json\s{0,4}+(?=[{\[])|\$?json_blob:?\s{0,4}+(?=[{\[`~])", re.IGNORECASE
)
_ROUND: Final = {"(": ")", "（": "）"}
_UNPACKED: Final = re.compile(r"\*\*\s{0,8}+(?=\{)")
_EXPRESSION: Final = re.compile(  # what Python would work out
    r"\*{1,2}+\s{0,8}+[\[({]|\*\*\w++\Z|[bfruBFRU]{1,2}+([\"']).*\1\Z|[^+\n]{1,200}+\+\s{0,8}+[\"']"
)
_NOTHING: Final = frozenset(
    {"", "none", "null", "nil", "n/a", "na", "-", "无", "無", "空", "...", "…"}
)
_LEAD: Final = re.compile(
    r"(?:action[ _]?input[ ]?[:：]\s{0,8}+)?+(?:[*_`]{1,3}+\s{0,8}+)?+"
    r"(?:json(?=[\s:：]*+[\[{\n])[\s:：]{0,8}+)?+",
    re.IGNORECASE,
)
_NAMED_LINES: Final = re.compile(
    r"(?:[ \t]*+[-*]?[ \t]*+[\w-]{1,64}+(?:[:：][ \t]|[ \t]?=)[^\n]++(?:\n|\Z))++"
)
_LINK: Final = re.compile(
    r"\[[^\[\]\n]{0,200}+\]\((?P<address>https?://[^\s<>]{1,2000})\)|<(?P<inside>https?://[^\s<>]{1,2000})>"
)
_ELEMENT: Final = re.compile(r"<(?P<name>\w{1,24})>(?P<inside>[^<>\n]{1,2000})</(?P=name)>")
_CLOSE_TAG: Final = re.compile(r"</?[\w ]{1,24}>\s*$")
_OBSERVED: Final = re.compile(r"\s(?:Observation|观察)[ ]?\d{0,3}[ ]?[:：]")
_EMPHASIS: Final = "*_` \t"


@dataclass(frozen=True, slots=True)
class Taken:
    """A step or a defect, the place after its words, where they begin, how they are written."""

    step: Act | Finish | Defect
    end: int
    start: int = 0
    writing: Writing = "labels"


class Given(NamedTuple):
    """The arguments of a call, the place after them, and what had to be repaired."""

    arguments: Mapping[str, object] | str
    end: int
    notes: tuple[str, ...] = ()


def read_action(text: str, own: Span, given: Span | None) -> Taken | None:
    """Read the action whose words stand in `own`, its input in `given` where it has a label.

    Returns None where no tool is named; a name such as `finish` makes it the final answer.
    """
    at = skip_fence_opener(text, skip_space(text, own[0]))
    if json_word := _JSON_WORD.match(text, at):
        at = skip_fence_opener(text, json_word.end())
    at = min(at, own[1])
    if opens_turn(text, at, own[1]):
        taken = _read_object(text, at, own[1])
        if not given or not isinstance(taken.step, Act) or taken.step.arguments:
            return taken
        own = (text.index(taken.step.tool, at), own[1])  # the name alone, its input apart
        at = own[0]
    line_end = end_of_line(text, at, own[1])
    brace = text.find("{", at, line_end)  # behind it is a value, whatever its strings say
    before = line_end if brace < 0 else brace
    inline = _INLINE_INPUT.search(text, at, min(before, at + _NAME_AT_MOST))
    if inline:
        given, line_end = given or (inline.end(), own[1]), inline.start()
    name, after = _name(text, at, line_end)
    if not name and given and opens_turn(text, skip_space(text, given[0]), given[1]):
        return _read_object(text, skip_space(text, given[0]), given[1])
    if is_no_tool(name):
        return None
    try:
        if is_finisher(name):
            return _finish(text, (after, own[1]), given)
        return _act(text, name, (after, own[1]), given)
    except LenientJSONError as error:
        return Taken(Defect("given", str(error), name), own[1])


def opens_turn(text: str, at: int, end: int) -> bool:
    """Tell whether an object stands here, or a list that begins with one."""
    if at < end and text[at] == "[":
        at = skip_space(text, at + 1)
    return at < end and text[at] == "{" and opens_object(text, at)


def _read_object(text: str, at: int, end: int) -> Taken:
    at = text.index("{", at)
    fence = text.find("```", at, end)
    try:
        found = scan(text, at, fence if fence >= 0 else end)
    except LenientJSONError as error:
        return Taken(Defect("turn", str(error)), end)
    step = read_call(found.value) if isinstance(found.value, dict) else None
    if step is None:
        return Taken(Defect("no tool in object"), found.end)
    return Taken(noted(step, *found.notes), found.end)


def _name(text: str, at: int, line_end: int, *, announced: bool = False) -> tuple[str, int]:
    """Return the tool's name, with the place after it."""
    furthest = min(line_end, at + _NAME_AT_MOST)
    found = _NAME_END.search(text, at, furthest)
    goes_on = found and text.startswith("()", found.start()) and text[found.start() + 2 :][:1]
    if found is None or found.start() == at or (goes_on and (goes_on.isalnum() or goes_on == "_")):
        return clean_name(text[at:furthest]), line_end
    name, after = clean_name(text[at : found.start()]), found.start()
    if not announced and text[after] in ":：" and announces(name):
        return _name(text, skip_space(text, after + 1), line_end, announced=True)
    return name, after


def _act(text: str, name: str, rest: Span, given: Span | None) -> Taken:
    labelled = read_given(text, *given) if given else None
    words = labelled.arguments if labelled else ""
    if given and isinstance(words, str) and words.startswith(f"{name}("):  # named once more
        bracket = text.index(f"{name}(", given[0]) + len(name)
        labelled = read_in_brackets(text, bracket, given[1])
    found = labelled if labelled and labelled.arguments else _inline(text, rest) or labelled
    if found is None:
        return Taken(Act(name, {}), end_of_line(text, *rest))
    return Taken(Act(name, found.arguments, notes=found.notes), found.end)


def _finish(text: str, rest: Span, given: Span | None) -> Taken | None:
    at, end = given or rest
    if not given and at < end and text[at] in "(（[":
        found = read_in_brackets(text, at, end)
        answer, end = as_text(found.arguments) if found.arguments else "", found.end
    else:
        answer = bare_answer(text[at:end] if given else text[at:end].lstrip(":： "))
    if answer.startswith("{"):
        with suppress(LenientJSONError):
            answer = answer_in(read_json(answer)[0])
    return Taken(Finish(answer), end) if answer else None


def _inline(text: str, rest: Span) -> Given | None:
    """Read what follows the name on its line, or an object, members or an announced line below."""
    at, end = rest
    sign = text[at] if at < end else ""
    announced = False
    if sign in _ROUND:
        inside = skip_space(text, at + 1)
        is_call = begins_member(text, inside) or text.startswith("{", inside)
        if text[at - 1].isspace() and not is_call:  # words about it: `add (to find it)`
            at = end_of_line(text, at, end)
        else:
            return read_in_brackets(text, at, end)
    elif sign == "[":
        return read_in_brackets(text, at, end)
    elif sign and sign in ":：":
        if text[at + 1 : end_of_line(text, at, end)].strip():
            return read_given(text, at + 1, end)
        at, announced = at + 1, True
    below = skip_space(text, at)
    if "\n" in text[at:below] and (after := members_end(text, below, end)) > below:
        members = read_members(text[below:after].rstrip("\n"))
        if members:
            return Given(members, after)
    at = below
    if text.startswith(("{", "[", "```", "~~~", "http://", "https://"), at, end) or (
        at < end and begins_member(text, at)
    ):
        return read_given(text, at, end)
    is_line = announced and at < end and "\n" not in text[at:end].strip()
    return read_given(text, at, end) if is_line else None


def read_given(text: str, start: int, limit: int) -> Given:
    """Read the arguments that begin at `start`; strict JSON may go beyond `limit`.

    A JSON object gives a mapping; a list of one gives that one, a longer one its text; a string
    gives its text; nothing, or a word for it, gives an empty mapping; anything else is bare text:
    all of a fence, the lines of the form `name: value`, or else one line.

    Raises `LenientJSONError` for an object, a list or a string that cannot be read.
    """
    begin = skip_space(text, start)
    at = skip_fence_opener(text, begin)
    fenced = at > begin
    lead = _LEAD.match(text, at)
    at = lead.end() if lead else at
    if at >= limit:
        return Given({}, limit)
    fence = text.find("```", at, limit)
    inner = fence if fence >= 0 else limit
    if text[at] in "{｛":
        return _object(text, at, inner)
    if not fenced and (observed := _OBSERVED.search(text, at, inner)):
        inner = observed.start()
    if text[at] in "[［" and (items := _list(text, at, inner)):
        return items
    if opens_string(text[at]) and (quoted := _string(text, at, inner)):
        return quoted
    return _bare(text, at, inner, fenced=fenced)


def read_in_brackets(text: str, at: int, limit: int) -> Given:
    """Read what stands in the brackets of a call that open at `at`: `("x")`, `(a=1)`, `[x]`."""
    inside = skip_space(text, at + 1)
    if unpacked := _UNPACKED.match(text, inside, limit):
        inside = unpacked.end()
    if text[at] in _ROUND and begins_member(text, inside) and not opens_string(text[inside]):
        return _given(scan_call(text, at, limit, _ROUND[text[at]]))
    if text[inside : inside + 1] in ("{", "｛") and opens_object(text, inside):
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
    closer = text.rfind(_ROUND.get(text[at], "]"), at, end_of_line(text, at, limit))
    if closer < 0:
        raise LenientJSONError(f"the bracket {text[at]} is never closed", at, cut=True)
    words = text[at + 1 : closer].strip()
    if _EXPRESSION.match(words):
        raise LenientJSONError("it is an expression of Python rather than a value", at)
    return Given({} if words.casefold() in _NOTHING else words, closer + 1)


def _object(text: str, at: int, limit: int) -> Given:
    if opens_object(text, at):
        return _given(scan(text, at, limit))
    if text.startswith('{\\"', at) and (found := find_object(text, at, limit)):
        return _given(found)
    if not text.startswith("{{", at) or not opens_object(text, at + 1):
        raise LenientJSONError("the braces hold no key in quotes with a colon after it", at)
    found = scan(text, at + 1, limit)  # the braces of a template, which stand for single ones
    if not text.startswith("}", found.end) or found.end >= limit:
        raise LenientJSONError("of its two opening braces just one is closed", found.end)
    notes = (*found.notes, "repaired JSON: doubled braces")
    return _given(replace(found, end=found.end + 1, notes=notes))


def _given(found: Scanned) -> Given:
    assert isinstance(found.value, dict)
    return Given(found.value, found.end, found.notes)


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
    if text[found.end : end_of_line(text, found.end, limit)].strip(_EMPHASIS + ".,;"):
        return None
    inner = str(found.value)
    if inner.lstrip().startswith("{") and opens_object(inner, inner.index("{")):
        again = scan(inner, inner.index("{"))
        return _given(replace(again, end=found.end, notes=(*found.notes, *again.notes)))
    return Given(inner, found.end, found.notes)


def _bare(text: str, at: int, limit: int, *, fenced: bool) -> Given:
    lines = _NAMED_LINES.match(text, at, limit)
    end = limit if fenced else lines.end() if lines else end_of_line(text, at, limit)
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
