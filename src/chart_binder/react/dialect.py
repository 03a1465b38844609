"""A dialect is a way for a model to write its steps as plain text."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from chart_binder.react.parsing.lenient_json import is_deep
from chart_binder.react.steps import Act, Finish, Step
from chart_binder.react.tools import Tool

_TAGS: Final = re.compile(r"[<◁]|\[(?=/?(?:THINK|INST|TOOL))", re.IGNORECASE)


class Dialect(Protocol):
    """How steps are asked for, read, written, and answered.

    Only the model's own last reply is ever parsed, never the conversation. A dialect reads; it
    neither calls a tool nor knows which tools there are when it reads.
    """

    @property
    def name(self) -> str:
        """The name of its entry point, as configuration and a transcript show it."""
        ...

    @property
    def stop(self) -> tuple[str, ...]:
        """What a server should end a reply before; a reply may hold it all the same."""
        ...

    def tools(self, tools: Sequence[Tool]) -> str:
        """List the tools for the system prompt: the same text for the same ones, byte for byte."""
        ...

    def form(self, tools: Sequence[Tool]) -> str:
        """Say in the system prompt how to write a step, with `tools` to call or with none."""
        ...

    def parse(self, reply: str) -> Step:
        """Read one reply. Takes any text: it raises nothing and costs time linear in its length."""
        ...

    def render(self, step: Act | Finish) -> str:
        """Write a step so that `parse` reads it back equal but for the notes."""
        ...

    def observation(self, content: str, of: Act | None = None) -> str:
        """Write what came of one call, or of a turn that called nothing."""
        ...


def render_readably(dialect: Dialect, plain: str, step: Act | Finish) -> str:
    """Return the plain form of a step, or one JSON object where that would be misread or cut."""
    is_cut = any(stop in plain for stop in dialect.stop)
    is_read = not is_cut and is_same_step(dialect.parse(plain), step)
    return plain if is_read else _as_object(step)


def is_same_step(read: Step, step: Act | Finish) -> bool:
    """Tell whether two steps are equal but for their notes."""
    if isinstance(read, Finish) and isinstance(step, Finish):
        return (read.answer, read.thought) == (step.answer, step.thought)
    if isinstance(read, Act) and isinstance(step, Act):
        calls, other = (
            [(call.tool, call.arguments, call.id) for call in act.calls] for act in (read, step)
        )
        return read.thought == step.thought and calls == other
    return False


def arguments_as_text(arguments: Mapping[str, object] | str) -> str:
    """Return arguments as JSON on one line, a text as it is."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps(dict(arguments), ensure_ascii=False)


def arguments_in_object(arguments: Mapping[str, object] | str) -> object:
    """Return arguments as they stand inside a JSON object: as text where they go too deep."""
    if isinstance(arguments, str) or is_deep([[[arguments]]]):
        return arguments_as_text(arguments)
    return dict(arguments)


def escape_tags(written: str) -> str:
    """Return JSON with the marks escaped that could begin a tag."""
    return _TAGS.sub(lambda mark: f"\\u{ord(mark.group()):04x}", written)


def _as_object(step: Act | Finish) -> str:
    """Return a step as one JSON object, which every dialect reads."""
    turn: dict[str, object] = {"thought": step.thought} if step.thought else {}
    if isinstance(step, Finish):
        turn["final_answer"] = step.answer
    elif step.also:
        turn["tool_calls"] = [_as_call(call, "name", "arguments") for call in step.calls]
    else:
        turn |= _as_call(step, "action", "action_input")
    return escape_tags(json.dumps(turn))


def _as_call(call: Act, name: str, given: str) -> dict[str, object]:
    written: dict[str, object] = {name: call.tool, given: arguments_in_object(call.arguments)}
    return written | ({"id": call.id} if call.id else {})
