"""A reply without a live label, read where it can mean only one thing."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from chart_binder.react.json.lenient import opens_object
from chart_binder.react.json.scanner import scan
from chart_binder.react.json.strict import LenientJSONError, Scanned
from chart_binder.react.json.words import skip_space
from chart_binder.react.reading.advice import Defect
from chart_binder.react.reading.calls import Taken, noted
from chart_binder.react.reading.fences import fences
from chart_binder.react.reading.given import read_in_brackets
from chart_binder.react.reading.live import Script
from chart_binder.react.reading.own_words import is_own_answer, is_own_turn, is_passed_on
from chart_binder.react.reading.turn_object import is_aside, read_turn
from chart_binder.react.steps import Act, Finish

_CALL = re.compile(
    r"\n(?:<\|\w{4,24}+\|>)?+[ \t`]{0,4}+(?P<listed>\[[ ]?)?+(?:[a-z]\w{0,31}+ = )?+(?:print\()?+"
    r"(?:functions\.)?+(?P<name>[A-Za-z]\w{1,63}+)(?:\.call)?+"
    r"(?=\((?:[\"'“{]|[A-Za-z]\w{0,63}+ ?=))"
)
_BEGUN = re.compile(r"\{\s{0,80}+[\"'](?:name|action|tool|function|tool_calls?)[\"']")
_RETURNS = re.compile(r"[)\]`]{0,3}[ ]?(?:[-=]+>|→|[:=：]|(?:returns?|returned)\b)")
_CLOSERS = re.compile(r"(?:[`)\] \t;.]|<\|/?\w{4,24}+\|>)*+")
_MAX_CALLS: Final = 8
_MAX_OBJECTS: Final = 32


def read_unlabelled(said: Script) -> Taken | None:
    """Return the step of a reply that has an object or a call in place of labels.

    An object that is a turn is that step. Any other object that the reply begins or ends with is
    an answer whose label was forgotten, unless there are labels of an action. A call counts on
    a line of its own.
    """
    return _object(said) or _call(said)


def without_outer_fence(text: str) -> str | None:
    """Return a reply without the fence that it stands in as a whole, closed or not."""
    text = text.strip()
    found = fences(text) if text.startswith(("```", "~~~")) else ()
    if not found:
        return None
    first = found[0]
    if first.end is None:
        return text[first.start :]
    if text[first.end :].strip("`~ \n"):
        return None
    return text[first.start : text.rfind("\n") + 1]


def first_call(said: Script, end: int) -> Taken | None:
    """Return the first call without a label that begins before a place, a defect if it just shows.

    It shows in a fence, or where its line goes on. What is quoted, or passed on, is not seen.
    """
    found = [
        *islice(_asked(said, _objects_called(said, end)), 1),
        *islice(_asked(said, _lines_called(said, end)), 1),
    ]
    return min(found, key=lambda call: call.start, default=None)


def _asked(said: Script, calls: Iterable[tuple[Taken, str]]) -> Iterator[Taken]:
    for call, rest in calls:
        if said.around.quotes(call.start) or is_passed_on(said.text, call.start):
            continue
        is_fenced = said.around.fence(call.start) or said.around.is_fenced(call.start)
        goes_on = any(map(str.isalnum, rest))
        yield replace(call, step=Defect("called")) if is_fenced or goes_on else call


def _objects_called(said: Script, end: int) -> Iterator[tuple[Taken, str]]:
    """Yield the objects before a place that are calls, each with the rest of its line.

    The last may be one that begins as a call, but cannot be read.
    """
    seen = 0
    for at in islice((at for at in sorted(_objects(said)) if at < end), _MAX_CALLS):
        if at < seen or not opens_object(said.text, at):
            continue
        fence = said.text.find("```", at, end)
        try:
            found = scan(said.text, at, fence if fence >= 0 else end)
        except LenientJSONError:
            if _BEGUN.match(said.text, at):
                yield Taken(Defect("called"), end, at, "object"), ""
            return
        seen = found.end
        step = read_turn(found.value) if isinstance(found.value, dict) else None
        if isinstance(step, Act):
            call = Taken(noted(step, *found.notes), found.end, at, "object")
            rest = said.text[found.end : _line_end(said.text, found.end)]
            yield call, rest.partition("{")[0]


def _lines_called(said: Script, end: int) -> Iterator[tuple[Taken, str]]:
    """Yield the calls that begin a line before a place, but those in the middle of prose."""
    for call, rest in _calls(said):
        if call.start >= end:
            return
        if _CLOSERS.fullmatch(rest) or _RETURNS.match(rest):
            yield call, rest


def _object(said: Script) -> Taken | None:
    quoted: Taken | None = None
    for at in sorted(_objects(said))[:_MAX_OBJECTS]:
        if not opens_object(said.text, at) or said.around.quotes(at):
            continue
        fence = said.text.find("```", at)
        try:
            found = scan(said.text, at, fence if fence >= 0 else len(said.text))
        except LenientJSONError as error:
            return Taken(Defect("turn", str(error)), len(said.text), at, "object")
        taken = _turn(said, found) or _answer(said, found)
        if taken is not None and not isinstance(taken.step, Defect):
            return taken
        quoted = quoted or taken
    return quoted


def _turn(said: Script, found: Scanned) -> Taken | None:
    step = read_turn(found.value) if isinstance(found.value, dict) else None
    if step is None:
        return None
    if not isinstance(step, Defect) and not is_own_turn(*_around(said, found)):
        step = Defect("among words")
    return Taken(noted(step, *found.notes), found.end, found.start, "object")


def _answer(said: Script, found: Scanned) -> Taken | None:
    """Read any other object as an answer whose label was forgotten."""
    if not isinstance(found.value, dict) or is_aside(found.value):
        return None
    if any(label.kind in ("action", "input") for label in said.labels):
        return None
    is_own = is_own_answer if said.text[: found.start].strip() else is_own_turn
    if not is_own(*_around(said, found)):
        return None
    words = said.text[found.start : found.end]
    answer = Finish(words, notes=("answer without its label",))
    return Taken(answer, found.end, found.start, "object")


def _around(said: Script, found: Scanned) -> tuple[str, str]:
    """Return the words before an object, with those between it and the next label."""
    after = said.text[found.end : said.next_label(found.end)]
    return said.said_before(found.start), after


def _objects(said: Script) -> Iterator[int]:
    yield from (label.value for label in said.labels if label.kind == "object")
    for fence in said.around.fences:
        inside = skip_space(said.text, fence.start)
        if said.text.startswith("[", inside):
            inside = skip_space(said.text, inside + 1)
        if said.text.startswith("{", inside):
            yield inside


def _call(said: Script) -> Taken | None:
    for call, rest in _calls(said):
        after = said.text[call.end : said.next_label(call.end)]
        if not _CLOSERS.fullmatch(rest) or said.around.quotes(call.start):
            continue
        if is_own_turn(said.said_before(call.start), after):
            return call
    return None


def _calls(said: Script) -> Iterator[tuple[Taken, str]]:
    """Yield the calls that begin a line, each with the rest of its line."""
    if "(" not in said.text:
        return
    text = f"\n{said.text}"
    for call in islice(_CALL.finditer(text), _MAX_CALLS):
        try:
            given = read_in_brackets(text, call.end(), len(text))
        except LenientJSONError:
            continue
        end = given.end - 1  # the line break that was put before the text moves every place
        line_end = _line_end(said.text, end)
        if call["listed"]:
            end = said.text.rfind("]", end, line_end) + 1 or end
        act = Act(call["name"], given.arguments, notes=given.notes)
        yield Taken(act, end, call.start(), "object"), said.text[end:line_end]


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
