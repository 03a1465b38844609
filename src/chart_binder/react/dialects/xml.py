"""The XML dialect: `<thought>`, `<tool_call>`, `<observation>`, `<response>`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from chart_binder.react.dialect import arguments_in_object, escape_tags, render_readably
from chart_binder.react.parsing.advice import DialectRules, Wording
from chart_binder.react.parsing.calls import identified
from chart_binder.react.parsing.steps import read_reply
from chart_binder.react.steps import Act, Finish, Step
from chart_binder.react.tools import Tool

_RULES: Final = DialectRules(
    "xml",
    Wording(
        action="<tool_call>",
        answer="<response>",
        observation="<observation>",
        given="<tool_call>",
        call='<tool_call>{"name": "{tool}", "arguments": {"argument": "value"}}</tool_call>',
        finish="<response>your answer</response>",
    ),
    said_in=frozenset({"thought", "thoughts"}),
    several=True,
)


class Xml:
    """Steps in tags, calls as JSON objects, several in a turn: what Hermes-style models learn.

    Each call has an id, numbered where the model wrote none; its observation names it. `Finish`
    holds what stands in the tags, a fence around it kept.
    """

    name = "xml"
    stop = ("\n<observation", "\n<tool_response")

    def tools(self, tools: Sequence[Tool]) -> str:
        """List the tools as JSON, as these models have seen them in training."""
        return "\n".join(_tools(tools))

    def form(self, tools: Sequence[Tool]) -> str:
        """Say how to write a step."""
        return "\n".join(_form(tools))

    def parse(self, reply: str) -> Step:
        """Read one reply."""
        return read_reply(reply, _RULES)

    def render(self, step: Act | Finish) -> str:
        """Write a step in tags, a call without an id with a number for it."""
        if isinstance(step, Act):
            first, *also = identified([replace(call, also=()) for call in step.calls])
            step = replace(first, also=tuple(also))
        return render_readably(self, "\n".join(_tags(step)), step)

    def observation(self, content: str, of: Act | None = None) -> str:
        """Write what came of one call between tags that name it."""
        of_call = f' id="{of.id}"' if of and of.id else ""
        return f"<observation{of_call}>\n{content}\n</observation>"


def _tags(step: Act | Finish) -> Iterator[str]:
    if step.thought:
        yield f"<thought>{step.thought}</thought>"
    if isinstance(step, Finish):
        yield f"<response>\n{step.answer}\n</response>"
    else:
        yield from (f"<tool_call>{_as_json(call)}</tool_call>" for call in step.calls)


def _as_json(call: Act) -> str:
    written = {"name": call.tool, "arguments": arguments_in_object(call.arguments), "id": call.id}
    return escape_tags(json.dumps(written, ensure_ascii=False))


def _tools(tools: Sequence[Tool]) -> Iterator[str]:
    if tools:
        yield "You can use these tools:"
        yield ""
        yield "<tools>"
        for tool in tools:
            parameters = {key: value for key, value in tool.schema.items() if key != "title"}
            described = {
                "name": tool.name,
                "description": tool.description,
                "parameters": parameters,
            }
            yield json.dumps({"type": "function", "function": described}, ensure_ascii=False)
        yield "</tools>"


def _form(tools: Sequence[Tool]) -> Iterator[str]:
    if tools:
        yield "To use one, write exactly these two lines, then stop:"
        yield ""
        yield "<thought>what you know, what is missing</thought>"
        yield (
            '<tool_call>{"name": "the name of one tool", "arguments": {"argument": "value"}, '
            '"id": "1"}</tool_call>'
        )
        yield ""
        yield "To look up several things at once, write several calls, each on a line of its own"
        yield "with an id of its own. The next message brings each answer as <observation>, with"
        yield "the id of its call. Never write one. When you know enough, write instead:"
    else:
        yield "Write your turn in exactly this form:"
    yield ""
    yield "<thought>what your answer rests on</thought>"
    yield "<response>"
    yield "your answer"
    yield "</response>"
    yield ""
    yield "Each tag begins a line. One turn has tool calls or one response, never both."
