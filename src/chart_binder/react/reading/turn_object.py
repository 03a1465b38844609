"""A whole turn written as one JSON object."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import Final

from chart_binder.react.json.lenient import read_json
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.reading.advice import Defect
from chart_binder.react.steps import Act, Finish
from chart_binder.react.tool_names import clean_name, folded

_ROLES: Final = {
    role: part
    for part, roles in {
        "thought": ("thought", "thoughts", "thinking", "reasoning", "思考"),
        "tool": (
            "action",
            "actionname",
            "tool",
            "toolname",
            "toolcall",
            "function",
            "functionname",
            "functioncall",
            "行动",
        ),
        "name": ("name",),
        "input": (
            "actioninput",
            "toolinput",
            "arguments",
            "args",
            "parameters",
            "params",
            "input",
            "toolargs",
            "toolarguments",
            "actionarguments",
            "行动输入",
        ),
        "answer": ("finalanswer", "answer", "finalresponse", "最终答案"),
        "aside": ("type", "id", "callid", "calltype"),
        "observation": (
            "observation",
            "observations",
            "obs",
            "observed",
            "observationresult",
            "toolresult",
            "toolresults",
            "toolresponse",
            "toolresponses",
            "tooloutput",
            "functionresponse",
            "functionresult",
            "searchresults",
            "观察",
            "观察结果",
            "觀察",
            "観察",
        ),
    }.items()
    for role in roles
}
_COMMANDS: Final = frozenset({"command", "use_tool"})
"""Where AutoGPT has the call, beside its `thoughts`."""
_FINISHERS: Final = frozenset(
    {
        "final",
        "finalanswer",
        "finish",
        "finalresponse",
        "answer",
        "respond",
        "done",
        "submit",
        "submitanswer",
        "submitfinalanswer",
        "returnanswer",
        "givefinalanswer",
        "providefinalanswer",
        "最终答案",
    }
)
_IDS: Final = ("id", "call_id", "tool_call_id", "tool_use_id", "callId")
_CALLS_AT_MOST: Final = 16
_HISTORY_DEPTH: Final = 4
_REMARK_AT_MOST: Final = 80
_NO_TOOL: Final = re.compile(
    r"(?:n/?a|null|nil|nothing|no|[无無](?:[需须][^\W_]{0,8})?|不(?:需要?|必|用)[^\W_]{0,8}|-+"
    r"|no (?:further |more )?(?:action|tool)s?)"
    r"(?: (?:is |are )?(?:needed|required|necessary))?|none\b.*",
    re.IGNORECASE,
)


def is_finisher(name: str) -> bool:
    """Tell whether a name written in a tool's place means the final answer."""
    return folded(name) in _FINISHERS


def is_no_tool(name: str) -> bool:
    """Tell whether a name written in a tool's place says that there is none."""
    return not name or (len(name) <= _REMARK_AT_MOST and _NO_TOOL.fullmatch(name) is not None)


def read_turn(turn: Mapping[str, object]) -> Act | Finish | Defect | None:
    """Return the step an object stands for, or None where it is no turn.

    Read are `{"action", "action_input"}`, `{"tool", "arguments"}`, `{"name", "arguments"}`, these
    inside `{"action": {...}}`, `{"function": {...}}`, several in `{"tool_calls": [...]}`, or else
    `{"final_answer"}`. An object with other keys beside an answer in words is itself an answer.

    No answer counts beside an observation, which the model made up; a call does.
    """
    if holds_observation(turn):
        return _first_call(turn) or Defect("observation")
    return _read(turn)


def holds_observation(value: object, depth: int = _HISTORY_DEPTH) -> bool:
    """Tell whether an object, or a list of earlier steps in it, has an observation of its own."""
    if isinstance(value, list) and depth:
        return any(holds_observation(item, depth - 1) for item in value[:_CALLS_AT_MOST])
    if not isinstance(value, Mapping):
        return False
    return any(
        _ROLES.get(folded(key)) == "observation" and inner not in (None, "", [], {})
        for key, inner in value.items()
    ) or any(
        holds_observation(inner, depth - 1)
        for key, inner in value.items()
        if depth and isinstance(inner, list) and folded(key) not in _ROLES
    )


def _first_call(turn: Mapping[str, object]) -> Act | None:
    """Return the first call with an input in an object, or in a list of earlier steps in it."""
    asking = {key: value for key, value in turn.items() if _ROLES.get(folded(key)) != "answer"}
    step = _read(asking)
    if isinstance(step, Act) and step.arguments:
        return step
    earlier = [value for key, value in turn.items() if folded(key) not in _ROLES]
    steps = (item for value in earlier if isinstance(value, list) for item in value)
    read = (
        _first_call(item) for item in islice(steps, _CALLS_AT_MOST) if isinstance(item, Mapping)
    )
    return next((act for act in read if act is not None), None)


def _read(turn: Mapping[str, object]) -> Act | Finish | Defect | None:
    calls = turn.get("tool_calls")
    if isinstance(calls, list) and calls:
        return _several(calls, turn.get("thought"))
    for key in _COMMANDS & turn.keys():
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
    step = _step(parts, others)
    if isinstance(step, Act):
        step = replace(step, id=step.id or _id(turn))
    if isinstance(step, Act | Finish) and isinstance(thought, str):
        return replace(step, thought=thought)
    return step


def _several(calls: Sequence[object], thought: object) -> Act | Finish | Defect | None:
    """Read a list of calls: the first is the step, those after it that are calls go with it."""
    steps = [read_turn(call) for call in calls[:_CALLS_AT_MOST] if isinstance(call, Mapping)]
    found = [step for step in steps if step is not None]
    if not found:
        return None
    first = found[0]
    if isinstance(first, Act):
        after = takewhile(lambda step: isinstance(step, Act), found[1:])
        first = replace(first, also=tuple(step for step in after if isinstance(step, Act)))
    if isinstance(first, Defect) or not isinstance(thought, str):
        return first
    return replace(first, thought=thought)


def _id(turn: Mapping[str, object]) -> str:
    """Return the id of a call, as text."""
    ids = (turn[key] for key in _IDS if key in turn)
    return next((str(value) for value in ids if isinstance(value, str | int)), "")


def read_call(call: Mapping[str, object]) -> Act | Finish | Defect | None:
    """Return the step an object after an action's label means: also `{"web_search": {...}}`."""
    step = read_turn(call)
    if step is None and len(call) == 1:
        (name, given), *_ = call.items()
        return named(name, given) if isinstance(given, Mapping) else None
    return step


def read_tagged_call(call: Mapping[str, object]) -> Act | Finish | Defect | None:
    """Return the step an object in the tags of a call means: also `{"name": ..., "query": ...}`."""
    step = read_call(call)
    name = call.get("name")
    if step is None and _names_tool(name):
        others = {key: value for key, value in call.items() if folded(key) not in _ROLES}
        step = named(str(name), others)
        return replace(step, id=_id(call)) if isinstance(step, Act) else step
    return step


def _step(
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
            if _is_schema(parts.get("input")):
                return Defect("no tool in object")
            given = parts.get("input", others)
            return named(str(value), given or parts.get("answer", given))
    return None


def _is_schema(given: object) -> bool:
    """Tell what a tool takes, as a prompt describes it, from what one gives it."""
    return isinstance(given, Mapping) and (
        isinstance(given.get("properties"), Mapping) or given == {"type": "object"}
    )


def _names_tool(value: object) -> bool:
    return isinstance(value, str) and not is_no_tool(clean_name(value))


def is_aside(turn: Mapping[str, object]) -> bool:
    """Tell whether an object holds thoughts or the like, but neither a call nor an answer."""
    return all(_ROLES.get(folded(key)) in ("thought", "aside", "observation") for key in turn)


def named(name: str, given: object) -> Act | Finish:
    """Return the call of a tool, or the answer where a name such as `finish` stands for it."""
    if is_finisher(clean_name(name)):
        return Finish(_answer(given))
    return Act(clean_name(name), _arguments(given))


def unwrapped(answer: str) -> str:
    """Return an answer's text taken out of an object such as `{"final_answer": ...}`."""
    try:
        return _answer(read_json(answer)[0]) if answer.startswith("{") else answer
    except LenientJSONError:
        return answer


def _answer(given: Mapping[str, object] | object) -> str:
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


def as_text(value: object) -> str:
    """Return a value as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
