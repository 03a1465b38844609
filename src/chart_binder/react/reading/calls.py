"""An action: the tool it names, with what it is given."""

import re
from dataclasses import dataclass, replace

from chart_binder.react.json.lenient import opens_object
from chart_binder.react.json.scanner import scan
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.json.words import begins_member, skip_space
from chart_binder.react.reading.advice import Defect
from chart_binder.react.reading.answers import bare_answer
from chart_binder.react.reading.fences import skip_opener
from chart_binder.react.reading.given import Given, read_given, read_in_brackets, read_lines
from chart_binder.react.reading.manner import Writing
from chart_binder.react.reading.turn_object import (
    as_text,
    is_finisher,
    is_no_tool,
    read_call,
    unwrapped,
)
from chart_binder.react.steps import Act, Finish
from chart_binder.react.tool_names import clean_name, folded

# All look at one line, for a bounded distance.
_NAME_END = re.compile(r"[(（\[{:：\"“「]|</|\s(?:'|(?=\w{1,32}+ ?=|https?://))")
_INLINE_INPUT = re.compile(
    r"[\s,;|*]{1,4}+(?:action[ _-]?input|行动输入|动作输入)[*]{0,2}+\s{0,2}+[:：][*]{0,2}+"
    r"|(?:\[call_id\]\w{1,64}+)?+\[args\]",  # Mistral's
    re.IGNORECASE,
)
_JSON_WORD = re.compile(r"json\s{0,4}+(?=[{\[])|\$?json_blob:?\s{0,4}+(?=[{\[`~])", re.IGNORECASE)
"""What stands before an object; a blob is what LangChain's prompt calls one."""
_GOES_ON = re.compile(r"\(\)\w")
_ROUND = ("(", "（")
_ANNOUNCING = frozenset({"tool", "toolname", "function", "functionname", "name", "action", "use"})
_NAME_AT_MOST = 300


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Taken:
    """A step or a defect, the place after its words, where they begin, how they are written."""

    step: Act | Finish | Defect
    end: int
    start: int = 0
    writing: Writing = "labels"


def read_action(text: str, own: Span, given: Span | None) -> Taken | None:
    """Read the action whose words stand in `own`, its input in `given` where it has a label.

    Returns None where no tool is named; a name such as `finish` makes it the final answer.
    """
    at = skip_opener(text, skip_space(text, own.start))
    if json_word := _JSON_WORD.match(text, at):
        at = skip_opener(text, json_word.end())
    at = min(at, own.end)
    if opens_turn(text, at, own.end):
        return _with_input(text, read_object(text, at, own.end), given)
    line_end = _line_end(text, at, own.end)
    brace = text.find("{", at, line_end)  # behind it is a value, whatever its strings say
    before = line_end if brace < 0 else brace
    inline = _INLINE_INPUT.search(text, at, min(before, at + _NAME_AT_MOST))
    if inline:
        given, line_end = given or Span(inline.end(), own.end), inline.start()
    name, after = _name(text, at, line_end)
    if not name and given and opens_turn(text, skip_space(text, given.start), given.end):
        return read_object(text, skip_space(text, given.start), given.end)
    if is_no_tool(name):
        return None
    try:
        if is_finisher(name):
            return _finish(text, Span(after, own.end), given)
        return _act(text, name, Span(after, own.end), given)
    except LenientJSONError as error:
        return Taken(Defect("given", str(error), name), own.end)


def opens_turn(text: str, at: int, end: int) -> bool:
    """Tell whether an object stands here, or a list that begins with one."""
    if at < end and text[at] == "[":
        at = skip_space(text, at + 1)
    return at < end and text[at] == "{" and opens_object(text, at)


def read_object(text: str, at: int, end: int) -> Taken:
    """Read an action that is written as one JSON object."""
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


def _with_input(text: str, taken: Taken, given: Span | None) -> Taken:
    """Add what stands after a label of its own to an object that holds just the name."""
    step = taken.step
    if given is None or not isinstance(step, Act) or step.arguments:
        return taken
    try:
        found = read_given(text, given.start, given.end)
    except LenientJSONError as error:
        return Taken(Defect("given", str(error), step.tool), given.end)
    return Taken(replace(step, arguments=found.arguments), found.end)


def noted(step: Act | Finish | Defect, *notes: str) -> Act | Finish | Defect:
    """Return a step with more notes, before those it has."""
    return replace(step, notes=(*notes, *step.notes))


def _name(text: str, at: int, line_end: int, *, announced: bool = False) -> tuple[str, int]:
    """Return the tool's name, with the place after it."""
    furthest = min(line_end, at + _NAME_AT_MOST)
    found = _NAME_END.search(text, at, furthest)
    if found is None or found.start() == at:
        return clean_name(text[at:furthest]), line_end
    if _GOES_ON.match(text, found.start()):
        return clean_name(text[at:furthest]), line_end
    name, after = clean_name(text[at : found.start()]), found.start()
    if not announced and text[after] in ":：" and announces(name):
        return _name(text, skip_space(text, after + 1), line_end, announced=True)
    return name, after


def announces(name: str) -> bool:
    """Tell whether a word in a tool's place says that its name comes next (`function: add`)."""
    return folded(name) in _ANNOUNCING


def _act(text: str, name: str, rest: Span, given: Span | None) -> Taken:
    labelled = _labelled(text, name, given) if given else None
    found = labelled if labelled and labelled.arguments else _inline(text, rest) or labelled
    if found is None:
        return Taken(Act(name, {}), _line_end(text, rest.start, rest.end))
    return Taken(Act(name, found.arguments, notes=found.notes), found.end)


def _labelled(text: str, name: str, given: Span) -> Given:
    """Read what has a label of its own, also where the tool is named there once more."""
    found = read_given(text, given.start, given.end)
    if not isinstance(found.arguments, str) or not found.arguments.startswith(f"{name}("):
        return found
    return read_in_brackets(text, text.index(f"{name}(", given.start) + len(name), given.end)


def _finish(text: str, rest: Span, given: Span | None) -> Taken | None:
    if given:
        answer, end = bare_answer(text[given.start : given.end]), given.end
    elif rest.start < rest.end and text[rest.start] in "(（[":
        found = read_in_brackets(text, rest.start, rest.end)
        answer, end = as_text(found.arguments) if found.arguments else "", found.end
    else:
        answer, end = bare_answer(text[rest.start : rest.end].lstrip(":： ")), rest.end
    return Taken(Finish(unwrapped(answer)), end) if answer else None


def _inline(text: str, rest: Span) -> Given | None:
    """Read what follows the name on its line, or an object, members or an announced line below."""
    at, end = rest.start, rest.end
    sign = text[at] if at < end else ""
    announced = False
    if sign == "[" or (sign in _ROUND and not _is_remark(text, at)):
        return read_in_brackets(text, at, end)
    if sign in _ROUND:
        at = _line_end(text, at, end)
    if sign and sign in ":：":
        if text[at + 1 : _line_end(text, at, end)].strip():
            return read_given(text, at + 1, end)
        at, announced = at + 1, True
    below = skip_space(text, at)
    if "\n" in text[at:below] and (lines := read_lines(text, below, end)):
        return lines
    at = below
    if text.startswith(("{", "[", "```", "~~~", "http://", "https://"), at, end) or (
        at < end and begins_member(text, at)
    ):
        return read_given(text, at, end)
    is_line = announced and at < end and "\n" not in text[at:end].strip()
    return read_given(text, at, end) if is_line else None


def _is_remark(text: str, bracket: int) -> bool:
    """Tell whether round brackets hold words about the call (`web_search (to find it)`)."""
    inside = skip_space(text, bracket + 1)
    return text[bracket - 1].isspace() and not (
        begins_member(text, inside) or text.startswith("{", inside)
    )


def _line_end(text: str, at: int, end: int) -> int:
    found = text.find("\n", at, end)
    return end if found < 0 else found
