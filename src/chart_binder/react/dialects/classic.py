"""The classic dialect: Thought, Action, Action Input, Observation, Final Answer."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from chart_binder.react.listing import listed
from chart_binder.react.reading.labelled import read_labelled
from chart_binder.react.steps import Act, Finish, Step
from chart_binder.react.tools import Tool

_TAGS = re.compile(r"[<◁]|\[(?=/?(?:THINK|INST))", re.IGNORECASE)


class Classic:
    """Steps as labelled lines, the form most models know.

    `Finish.answer` is the text after the label, a fence around it kept. Of several steps in a turn
    the first counts. An object that a turn begins or ends with is an answer that lacks its label.
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
        return read_labelled(reply)

    def render(self, step: Act | Finish) -> str:
        """Write a step as labelled lines, or as one JSON object where lines would not read back."""
        lines = "\n".join(_lines(step))
        return lines if _same(self.parse(lines), step) else _as_object(step)

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
        yield f"Action Input: {_written(step.arguments)}"


def _written(arguments: Mapping[str, object] | str) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(dict(arguments), ensure_ascii=False)


def _same(read: Step, step: Act | Finish) -> bool:
    if isinstance(read, Act) and isinstance(step, Act):
        return (read.tool, read.arguments, read.thought) == (
            step.tool,
            step.arguments,
            step.thought,
        )
    if isinstance(read, Finish) and isinstance(step, Finish):
        return (read.answer, read.thought) == (step.answer, step.thought)
    return False


def _as_object(step: Act | Finish) -> str:
    turn: dict[str, object] = {"thought": step.thought} if step.thought else {}
    if isinstance(step, Finish):
        turn["final_answer"] = step.answer
    else:
        given = step.arguments
        turn |= {
            "action": step.tool,
            "action_input": given if isinstance(given, str) else dict(given),
        }
    return _TAGS.sub(lambda tag: f"\\u{ord(tag.group()):04x}", json.dumps(turn))


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
