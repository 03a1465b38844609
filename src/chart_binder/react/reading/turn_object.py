"""A whole turn written as one JSON object."""

import json
import re
from collections.abc import Mapping
from typing import Final

from chart_binder.react.json.lenient import read_json
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.steps import Act, Finish
from chart_binder.react.tool_names import clean_name, folded

_ROLES: Final = {
    role: part
    for part, roles in {
        "thought": ("thought", "thoughts", "thinking", "reasoning", "思考"),
        "tool": ("action", "actionname", "tool", "toolname", "function", "functionname", "行动"),
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
        "aside": ("observation", "observations", "type", "id", "calltype", "观察"),
    }.items()
    for role in roles
}
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
_REMARK_AT_MOST: Final = 80
_NO_TOOL: Final = re.compile(
    r"(?:n/?a|null|nil|nothing|no|无|無|-+|no (?:further |more )?(?:action|tool)s?)"
    r"(?: (?:is |are )?(?:needed|required|necessary))?|none\b.*",
    re.IGNORECASE,
)


def is_finisher(name: str) -> bool:
    """Tell whether a name written in a tool's place means the final answer."""
    return folded(name) in _FINISHERS


def is_no_tool(name: str) -> bool:
    """Tell whether a name written in a tool's place says that there is none."""
    return not name or (len(name) <= _REMARK_AT_MOST and _NO_TOOL.fullmatch(name) is not None)


def read_turn(turn: Mapping[str, object]) -> Act | Finish | None:
    """Return the step an object stands for, or None where it is no turn.

    Read are `{"action", "action_input"}`, `{"tool", "arguments"}`, `{"name", "arguments"}`, these
    inside `{"action": {...}}`, `{"function": {...}}`, `{"tool_calls": [...]}`, or else
    `{"final_answer"}`. An object with other keys beside an answer in words is itself an answer.
    """
    calls = turn.get("tool_calls")
    if isinstance(calls, list) and calls and isinstance(calls[0], Mapping):
        return read_turn(calls[0])
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
    if step is None or not isinstance(thought, str) or not thought:
        return step
    if isinstance(step, Act):
        return Act(step.tool, step.arguments, thought)
    return Finish(step.answer, thought)


def read_call(call: Mapping[str, object]) -> Act | Finish | None:
    """Return the step an object after an action's label means: also `{"web_search": {...}}`."""
    step = read_turn(call)
    if step is None and len(call) == 1:
        (name, given), *_ = call.items()
        return _named(name, given) if isinstance(given, Mapping) else None
    return step


def _step(parts: Mapping[str, object], others: Mapping[str, object]) -> Act | Finish | None:
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
            return _named(str(value), given or parts.get("answer", given))
    return None


def _names_tool(value: object) -> bool:
    return isinstance(value, str) and not is_no_tool(clean_name(value))


def is_aside(turn: Mapping[str, object]) -> bool:
    """Tell whether an object holds thoughts or the like, but neither a call nor an answer."""
    return all(_ROLES.get(folded(key)) in ("thought", "aside") for key in turn)


def _named(name: str, given: object) -> Act | Finish:
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
