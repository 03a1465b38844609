"""What stands in the tags of a call: a JSON object, elements, or words."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from chart_binder.react.json.lenient import opens_object, read_json
from chart_binder.react.json.scanner import scan
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.json.words import skip_space
from chart_binder.react.reading.advice import Defect
from chart_binder.react.reading.attributes import attributes, closes_itself, given_in
from chart_binder.react.reading.calls import Span, noted, read_action
from chart_binder.react.reading.elements import read_call as read_elements
from chart_binder.react.reading.elements import unescaped
from chart_binder.react.reading.fences import skip_opener
from chart_binder.react.reading.given import read_given
from chart_binder.react.reading.tags import Tag
from chart_binder.react.reading.turn_object import is_no_tool, named, read_tagged_call
from chart_binder.react.steps import Act, Finish
from chart_binder.react.tool_names import clean_name, folded

_MAX_CALLS: Final = 16
_TOOL_SAID = re.compile(r"[\"']?name[\"']?\s{0,4}:\s{0,4}[\"']([\w .-]{1,64})[\"']")
_NEAR: Final = 300


@dataclass(frozen=True, slots=True)
class Called:
    """The steps in the tags of a call, with the place after their words.

    A call of no tool gives none.
    """

    steps: tuple[Act | Finish | Defect, ...]
    end: int


def read_tag_call(text: str, tag: Tag, limit: int) -> Called:
    """Read what a call's tag opens, up to `limit`; strict JSON may go beyond."""
    limit = tag.end if closes_itself(text, tag) else limit
    at = min(skip_opener(text, skip_space(text, tag.end)), limit)
    fence = text.find("```", at, limit)
    inner = fence if fence >= 0 else limit
    beside = attributes(text, tag) if tag.tool else {}
    try:
        if at < limit and text[at] in "{[":
            called = _objects(text, at, inner, tag)
        elif beside == {} or text.startswith("<", at, limit):
            called = Called(_words(text, at, inner, tag), limit)
        else:
            given = given_in(beside, text[at:limit].strip())
            called = Called((named(tag.tool, given),), limit)
    except LenientJSONError as error:
        said = _TOOL_SAID.search(text, at, min(at + _NEAR, limit))
        tool = tag.tool or (said[1] if said else "")
        return Called((Defect("given", str(error), tool),), limit)
    dropped = ("attributes of a tag discarded",) if beside and at < limit else ()
    steps = (_identified(noted(step, *dropped), tag) for step in called.steps)
    return replace(called, steps=tuple(steps))


def opens_list(text: str, tag: Tag) -> bool:
    """Tell whether the tag around several calls holds them as objects."""
    return text.startswith(("[", "{"), skip_opener(text, skip_space(text, tag.end)))


def _objects(text: str, at: int, limit: int, tag: Tag) -> Called:
    """Read one object after the other, or a list of them."""
    if text[at] == "{" and not opens_object(text, at):
        if text.startswith(('{\\"', "{&quot;"), at):
            value, notes = read_json(unescaped(text[at:limit]))
            return Called(tuple(_steps(value, notes, tag)), limit)
        raise LenientJSONError("the braces hold no key in quotes with a colon after it", at)
    steps: list[Act | Finish | Defect] = []
    end = at
    while len(steps) < _MAX_CALLS and at < limit and text[at] in "{[":
        found = scan(text, at, limit)
        end = found.end
        steps += _steps(found.value, found.notes, tag)
        at = skip_space(text, end)
        at = skip_space(text, at + 1) if text.startswith(",", at) else at
    return Called(tuple(steps), end)


def _steps(value: object, notes: tuple[str, ...], tag: Tag) -> Iterator[Act | Finish | Defect]:
    for call in value if isinstance(value, list) else [value]:
        step = read_tagged_call(call) if isinstance(call, Mapping) else None
        if tag.tool and isinstance(call, Mapping) and not _repeats(step, tag):
            step = named(tag.tool, call)
        if step is not None:
            yield noted(step, *notes)
        elif not (isinstance(call, Mapping) and any(map(_says_no_tool, call.values()))):
            yield Defect("no tool in object", notes=notes)


def _repeats(step: Act | Finish | Defect | None, tag: Tag) -> bool:
    return isinstance(step, Act) and folded(step.tool) == folded(clean_name(tag.tool))


def _says_no_tool(value: object) -> bool:
    return isinstance(value, str) and is_no_tool(clean_name(value))


def _words(text: str, at: int, limit: int, tag: Tag) -> tuple[Act | Finish | Defect, ...]:
    body = text[at:limit].strip()
    if body.startswith("<") or "<arg_key>" in body:
        call = read_elements(body, tag.tool, ended=limit < len(text))
        return (named(*call),) if call and not is_no_tool(clean_name(call[0])) else ()
    if tag.tool:
        found = read_given(text, at, limit)
        return (noted(named(tag.tool, found.arguments), *found.notes),)
    taken = read_action(text, Span(at, limit), None)
    return (taken.step,) if taken else ()


def _identified(step: Act | Finish | Defect, tag: Tag) -> Act | Finish | Defect:
    return replace(step, id=tag.id) if isinstance(step, Act) and not step.id and tag.id else step
