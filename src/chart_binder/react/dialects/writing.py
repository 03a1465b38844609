"""Steps are written so that they read back, in a form of last resort where nothing else would."""

import json
import re
from collections.abc import Mapping
from typing import Final

from chart_binder.react.dialect import Dialect
from chart_binder.react.json.strict import is_deep
from chart_binder.react.steps import Act, Finish, Step

_TAGS: Final = re.compile(r"[<◁]|\[(?=/?(?:THINK|INST))", re.IGNORECASE)


def written_surely(dialect: Dialect, plain: str, step: Act | Finish) -> str:
    """Return the plain form of a step, or one JSON object where that would be misread or cut."""
    cut = any(stop in plain for stop in dialect.stop)
    return plain if not cut and same(dialect.parse(plain), step) else as_object(step)


def same(read: Step, step: Act | Finish) -> bool:
    """Tell whether two steps are equal but for their notes."""
    if isinstance(read, Finish) and isinstance(step, Finish):
        return (read.answer, read.thought) == (step.answer, step.thought)
    if isinstance(read, Act) and isinstance(step, Act):
        return read.thought == step.thought and _calls(read) == _calls(step)
    return False


def _calls(act: Act) -> list[tuple[object, ...]]:
    return [(call.tool, call.arguments, call.id) for call in act.calls]


def as_json(arguments: Mapping[str, object] | str) -> str:
    """Return arguments as JSON on one line, a text as it is."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps(dict(arguments), ensure_ascii=False)


def inside(arguments: Mapping[str, object] | str) -> object:
    """Return arguments as they stand inside a JSON object: as text where they go too deep."""
    if isinstance(arguments, str) or not is_deep([[[arguments]]]):
        return arguments if isinstance(arguments, str) else dict(arguments)
    return as_json(arguments)


def without_tags(written: str) -> str:
    """Return JSON with the marks escaped that could begin a tag."""
    return _TAGS.sub(lambda mark: f"\\u{ord(mark.group()):04x}", written)


def as_object(step: Act | Finish) -> str:
    """Return a step as one JSON object, which every dialect reads."""
    turn: dict[str, object] = {"thought": step.thought} if step.thought else {}
    if isinstance(step, Finish):
        turn["final_answer"] = step.answer
    elif step.also:
        turn["tool_calls"] = [_as_call(call, "name", "arguments") for call in step.calls]
    else:
        turn |= _as_call(step, "action", "action_input")
    return without_tags(json.dumps(turn))


def _as_call(call: Act, name: str, given: str) -> dict[str, object]:
    written: dict[str, object] = {name: call.tool, given: inside(call.arguments)}
    return written | ({"id": call.id} if call.id else {})
