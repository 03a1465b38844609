"""A call: the tool it names and what it is given, in labelled words or as a JSON object."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final, NamedTuple

from chart_binder.react.arguments import members_end, read_members
from chart_binder.react.parsing.advice import Defect, Writing
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
    read_strictly,
    scan,
    scan_call,
    scan_string,
    skip_space,
)
from chart_binder.react.parsing.lexer import Span, end_of_line, skip_fence_opener
from chart_binder.react.steps import Act, Finish
from chart_binder.react.tool_names import clean_name, folded

_ROLES: Final = {
    role: part
    for part, roles in {
        "thought": "thought thoughts thinking reasoning 思考",
        "tool": "action actionname tool toolname toolcall function functionname functioncall 行动",
        "name": "name",
        "input": "actioninput toolinput arguments args parameters params input toolargs"
        " toolarguments actionarguments 行动输入",
        "answer": "finalanswer answer finalresponse 最终答案",
        "aside": "type id callid calltype role content",
        "observation": "observation observations obs observed observationresult toolresult"
        " toolresults toolresponse toolresponses tooloutput functionresponse functionresult"
        " searchresults 观察 观察结果 觀察 観察",
    }.items()
    for role in roles.split()
}
"""What the keys of an object stand for."""
_FINISHERS: Final = frozenset(
    "final finalanswer finish finalresponse answer respond done submit submitanswer"  # noqa: SIM905
    " submitfinalanswer returnanswer givefinalanswer providefinalanswer 最终答案".split()
)
_NO_TOOL: Final = re.compile(
    r"(?:n/?a|null|nil|nothing|no|[无無](?:[需须][^\W_]{0,8})?|不(?:需要?|必|用)[^\W_]{0,8}|-+"
    r"|no (?:further |more )?(?:action|tool)s?)"
    r"(?: (?:is |are )?(?:needed|required|necessary))?|none\b.*",
    re.IGNORECASE,
)
_REMARK_AT_MOST: Final = 80
_ANNOUNCING: Final = frozenset(
    "tool toolname function functionname name action use".split()  # noqa: SIM905
)
_IDS: Final = ("id", "call_id", "tool_call_id", "tool_use_id", "callId")
_MAX_CALLS: Final = 16
_HISTORY_DEPTH: Final = 4
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
_LONGEST_TAG: Final = 40
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


def is_finisher(name: str) -> bool:
    """Tell whether a name written in a tool's place means the final answer."""
    return folded(name) in _FINISHERS


def is_no_tool(name: str) -> bool:
    """Tell whether a name written in a tool's place says that there is none."""
    return not name or (len(name) <= _REMARK_AT_MOST and _NO_TOOL.fullmatch(name) is not None)


def announces(name: str) -> bool:
    """Tell whether a word in a tool's place says that its name comes next (`function: add`)."""
    return folded(name) in _ANNOUNCING


def noted(step: Act | Finish | Defect, *notes: str) -> Act | Finish | Defect:
    """Return a step with more notes, before those it has."""
    return replace(step, notes=(*notes, *step.notes))


def as_text(value: object) -> str:
    """Return a value as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# An object that is a whole turn.


def read_turn(turn: Mapping[str, object]) -> Act | Finish | Defect | None:
    """Return the step an object stands for, or None where it is no turn.

    Read are `{"action", "action_input"}`, `{"tool", "arguments"}`, `{"name", "arguments"}`, these
    inside `{"action": {...}}`, `{"function": {...}}`, several in `{"tool_calls": [...]}`, or else
    `{"final_answer"}`. An object with other keys beside an answer in words is itself an answer.

    No answer counts beside an observation, which the model made up; a call does.
    """
    if holds_observation(turn):
        return _first_call(turn) or Defect("observation")
    return _read_turn(turn)


def holds_observation(value: object, depth: int = _HISTORY_DEPTH) -> bool:
    """Tell whether an object, or a list of earlier steps in it, has an observation of its own."""
    if isinstance(value, list) and depth:
        return any(holds_observation(item, depth - 1) for item in value[:_MAX_CALLS])
    if not isinstance(value, Mapping):
        return False
    roles = [(_ROLES.get(folded(key)), inner) for key, inner in value.items()]
    return any(
        inner not in (None, "", [], {})
        if role == "observation"
        else role is None and isinstance(inner, list) and holds_observation(inner, depth - 1)
        for role, inner in roles
    )


def _first_call(turn: Mapping[str, object]) -> Act | None:
    """Return the first call with an input in an object, or in a list of earlier steps in it."""
    step = _read_turn({key: turn[key] for key in turn if _ROLES.get(folded(key)) != "answer"})
    if isinstance(step, Act) and step.arguments:
        return step
    earlier = [each for each in turn.values() if isinstance(each, list)]
    steps = [item for each in earlier for item in each[:_MAX_CALLS] if isinstance(item, Mapping)]
    return next(filter(None, map(_first_call, steps)), None)


def _read_turn(turn: Mapping[str, object]) -> Act | Finish | Defect | None:
    calls = turn.get("tool_calls")
    if isinstance(calls, list) and calls:
        return _several(calls, turn.get("thought"))
    for key in {"command", "use_tool"} & turn.keys():  # AutoGPT's, beside its `thoughts`
        command, beside = turn[key], {other: turn[other] for other in turn if other != key}
        if isinstance(command, Mapping) and is_aside(beside):
            return read_turn(command)
    parts: dict[str, object] = {}
    others: dict[str, object] = {}
    for key, value in turn.items():
        role = _ROLES.get(folded(key))
        if role is None:
            others[key] = value
        elif value is not None:
            parts.setdefault(role, value)
    thought = parts.pop("thought", "")
    step = _step_of(parts, others)
    if isinstance(step, Act):
        step = replace(step, id=step.id or _id(turn))
    if isinstance(step, Act | Finish) and isinstance(thought, str):
        return replace(step, thought=thought)
    return step


def _several(calls: Sequence[object], thought: object) -> Act | Finish | Defect | None:
    """Read a list of calls: the first is the step, those after it that are calls go with it."""
    steps = [read_turn(call) for call in calls[:_MAX_CALLS] if isinstance(call, Mapping)]
    found = [step for step in steps if step is not None]
    if not found:
        return None
    first, *others = found
    if isinstance(first, Act):
        also = takewhile(lambda step: isinstance(step, Act), others)
        first = replace(first, also=tuple(step for step in also if isinstance(step, Act)))
    if isinstance(first, Defect) or not isinstance(thought, str):
        return first
    return replace(first, thought=thought)


def _id(turn: Mapping[str, object]) -> str:
    ids = (turn[key] for key in _IDS if isinstance(turn.get(key), str | int))
    return str(next(ids, ""))


def _step_of(
    parts: Mapping[str, object], others: Mapping[str, object]
) -> Act | Finish | Defect | None:
    for part in [part for part in parts if part in ("tool", "name", "answer")]:
        value = parts[part]
        if part == "answer":
            if not others or isinstance(value, Mapping):
                return Finish(as_text(value))
        elif isinstance(value, Mapping):
            if part == "tool":
                return read_call(value)
        elif _names_tool(value) and (part == "tool" or "input" in parts):
            given = parts.get("input", others)
            return step_named(str(value), given or parts.get("answer", given))
    return None


def read_call(call: Mapping[str, object]) -> Act | Finish | Defect | None:
    """Return the step an object after an action's label means: also `{"web_search": {...}}`."""
    step = read_turn(call)
    if step is None and len(call) == 1:
        (name, given), *_ = call.items()
        return step_named(name, given) if isinstance(given, Mapping) else None
    return step


def read_tagged_call(call: Mapping[str, object]) -> Act | Finish | Defect | None:
    """Return the step an object in the tags of a call means: also `{"name": ..., "query": ...}`."""
    step = read_call(call)
    if step is None and _names_tool(call.get("name")):
        others = {key: value for key, value in call.items() if folded(key) not in _ROLES}
        step = step_named(str(call["name"]), others)
        return replace(step, id=_id(call)) if isinstance(step, Act) else step
    return step


def _names_tool(value: object) -> bool:
    return isinstance(value, str) and not is_no_tool(clean_name(value))


def is_aside(turn: Mapping[str, object]) -> bool:
    """Tell whether an object holds thoughts or the like, but neither a call nor an answer."""
    return all(_ROLES.get(folded(key)) in ("thought", "aside", "observation") for key in turn)


def step_named(name: str, given: object) -> Act | Finish:
    """Return the call of a tool, or the answer where a name such as `finish` stands for it."""
    if is_finisher(clean_name(name)):
        return Finish(_answer_in(given))
    return Act(clean_name(name), _arguments(given))


def _answer_in(given: object) -> str:
    if isinstance(given, Mapping) and len(given) == 1:
        (key, inner), *_ = given.items()
        if _ROLES.get(folded(key)) in ("answer", "input"):
            return as_text(inner)
    return as_text(given)


def _arguments(given: object) -> Mapping[str, object] | str:
    if isinstance(given, Mapping):
        return given
    if isinstance(given, list) and len(given) == 1:
        return _arguments(given[0])
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            return read_json(given)[0]
        except LenientJSONError:
            return given
    return as_text(given) or {}


# An action in words.


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
            answer = _answer_in(read_json(answer)[0])
    return Taken(Finish(answer), end) if answer else None


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
