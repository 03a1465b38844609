"""A turn that a model writes as one JSON object: a call, several calls, or an answer."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from chart_binder.react.arguments import clean_name, folded
from chart_binder.react.parsing.advice import Defect
from chart_binder.react.parsing.lenient_json import LenientJSONError, read_json
from chart_binder.react.steps import Act, Finish

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
        return Finish(answer_in(given))
    return Act(clean_name(name), _arguments(given))


def answer_in(given: object) -> str:
    """Return an answer as text, taken out of an object such as `{"answer": ...}`."""
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
