"""The classic dialect: Thought, Action, Action Input, Observation, Final Answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chart_binder.react.dialect import arguments_as_text, render_readably
from chart_binder.react.parsing.advice import DialectRules, Wording
from chart_binder.react.parsing.steps import ExactForm, read_reply
from chart_binder.react.steps import Act, Finish, Step
from chart_binder.react.tools import Tool, listed

_GIVEN: Final = "its arguments as one JSON object on one line"


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a dialect: that of an answer, what a call's input is called, a whole call.

    The lines of a `call` hold `{tool}` and `{given}`; `tool` asks for the name of one.
    """

    answer: str
    given: str
    call: str
    tool: str = "the name of one tool"

    def called(self, tool: str, given: str) -> str:
        """Return the lines of a call."""
        return self.call.format(tool=tool, given=given)

    @property
    def wording(self) -> Wording:
        """What advice calls the parts of a turn."""
        return Wording(
            action="Action",
            answer=self.answer,
            observation="Observation",
            given=self.given,
            call=self.called("{tool}", '{"argument": "value"}'),
            finish=f"{self.answer}: your answer",
        )


class Labelled:
    """Steps as labelled lines, one a turn.

    `Finish.answer` is the text after the label, a fence around it kept. Of several steps in a turn
    the first counts.
    """

    stop = ("\nObservation:",)

    def __init__(self, name: str, labels: Labels) -> None:
        self.name = name
        self._labels = labels
        self._rules = DialectRules(name, labels.wording)
        self._exact = ExactForm(labels.call, labels.answer)

    def tools(self, tools: Sequence[Tool]) -> str:
        """List the tools, each by its call."""
        return listed(tools)

    def form(self, tools: Sequence[Tool]) -> str:
        """Say how to write a step."""
        return "\n".join(_form(self._labels, tools))

    def parse(self, reply: str) -> Step:
        """Read one reply."""
        return self._exact.read(reply) or read_reply(reply, self._rules)

    def render(self, step: Act | Finish) -> str:
        """Write a step as labelled lines; of several calls the first, for a turn has one."""
        if isinstance(step, Act):
            step = replace(step, also=(), id="")
            written = self._labels.called(step.tool, arguments_as_text(step.arguments))
        else:
            written = f"{self._labels.answer}: {step.answer}"
        plain = f"Thought: {step.thought}\n{written}" if step.thought else written
        return render_readably(self, plain, step)

    def observation(self, content: str, of: Act | None = None) -> str:
        """Write what came of a call behind the label."""
        del of  # a turn has one call
        return f"Observation: {content}"


def _form(labels: Labels, tools: Sequence[Tool]) -> Iterator[str]:
    if tools:
        yield "To use one, write exactly these three lines, then stop:"
        yield ""
        yield "Thought: what you know, what is missing"
        yield labels.called(labels.tool, _GIVEN)
        yield ""
        yield "The next message brings the tool's answer as an Observation. Never write one."
        yield "When you know enough, write instead:"
    else:
        yield "Write your turn in exactly this form:"
    yield ""
    yield "Thought: what your answer rests on"
    yield f"{labels.answer}: your answer"
    yield ""
    yield (f"Each label begins a line. One turn has one Action or one {labels.answer}, never both.")


class Classic(Labelled):
    """A label for each part of a step, the form most models know."""

    def __init__(self) -> None:
        call = "Action: {tool}\nAction Input: {given}"
        tool = "the name of one tool, nothing else"
        super().__init__("classic", Labels("Final Answer", "Action Input", call, tool))
