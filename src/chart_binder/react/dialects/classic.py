"""The classic dialect: Thought, Action, Action Input, Observation, Final Answer."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from chart_binder.react.dialects.writing import as_json, written_surely
from chart_binder.react.listing import listed
from chart_binder.react.reading.advice import Wording
from chart_binder.react.reading.manner import Manner
from chart_binder.react.reading.reply import read_reply
from chart_binder.react.steps import Act, Finish, Step
from chart_binder.react.tools import Tool

_MANNER: Final = Manner(
    "classic",
    Wording(
        action="Action",
        answer="Final Answer",
        observation="Observation",
        given="Action Input",
        call='Action: {tool}\nAction Input: {"argument": "value"}',
        finish="Final Answer: your answer",
    ),
)


class Classic:
    """Steps as labelled lines, the form most models know.

    `Finish.answer` is the text after the label, a fence around it kept. Of several steps in a turn
    the first counts. An object that a turn begins or ends with is an
    answer that lacks its label, unless words around it tell that it is quoted.
    """

    name = "classic"
    stop = ("\nObservation:",)

    def tools(self, tools: Sequence[Tool]) -> str:
        """List the tools, each by its call."""
        return listed(tools)

    def form(self, tools: Sequence[Tool]) -> str:
        """Say how to write a step."""
        return "\n".join(_form(tools))

    def parse(self, reply: str) -> Step:
        """Read one reply."""
        return read_reply(reply, _MANNER)

    def render(self, step: Act | Finish) -> str:
        """Write a step as labelled lines; of several calls the first, for a turn has one."""
        if isinstance(step, Act):
            step = replace(step, also=(), id="")
        return written_surely(self, "\n".join(_lines(step)), step)

    def observation(self, content: str, of: Act | None = None) -> str:
        """Write what came of a call behind the label."""
        del of  # a turn has one call
        return f"Observation: {content}"


def _lines(step: Act | Finish) -> Iterator[str]:
    if step.thought:
        yield f"Thought: {step.thought}"
    if isinstance(step, Finish):
        yield f"Final Answer: {step.answer}"
    else:
        yield f"Action: {step.tool}"
        yield f"Action Input: {as_json(step.arguments)}"


def _form(tools: Sequence[Tool]) -> Iterator[str]:
    if tools:
        yield "To use one, write exactly these three lines, then stop:"
        yield ""
        yield "Thought: what you know, what is missing"
        yield "Action: the name of one tool, nothing else"
        yield "Action Input: its arguments as one JSON object on one line"
        yield ""
        yield "The next message brings the tool's answer as an Observation. Never write one."
        yield "When you know enough, write instead:"
    else:
        yield "Write your turn in exactly this form:"
    yield ""
    yield "Thought: what your answer rests on"
    yield "Final Answer: your answer"
    yield ""
    yield "Each label begins a line. One turn has one Action or one Final Answer, never both."
