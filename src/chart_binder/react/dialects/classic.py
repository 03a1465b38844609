"""The classic dialect: Thought, Action, Action Input, Observation, Final Answer."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from chart_binder.react.dialect import arguments_as_text, render_readably
from chart_binder.react.parsing.advice import DialectRules, Wording
from chart_binder.react.parsing.answers import introduces
from chart_binder.react.parsing.calls import announces, is_finisher, is_no_tool
from chart_binder.react.parsing.lenient_json import LenientJSONError, read_strictly
from chart_binder.react.parsing.steps import read_reply
from chart_binder.react.steps import Act, Finish, Step
from chart_binder.react.tools import Tool, listed

_TOOL: Final = "the name of one tool"
_GIVEN: Final = "its arguments as one JSON object on one line"


class Labelled:
    """Steps as labelled lines, one a turn.

    `Finish.answer` is the text after the label, a fence around it kept. Of several steps in a turn
    the first counts. `answer` is the label of an answer, `given` what a call's input is called; the
    lines of a `call` hold `{tool}` and `{given}`, and `tool` asks for the name of one.
    """

    stop = ("\nObservation:",)

    def __init__(self, name: str, answer: str, *, given: str, call: str, tool: str = _TOOL) -> None:
        self.name = name
        self._answer, self._call, self._tool = answer, call, tool
        example = call.format(tool="{tool}", given='{"argument": "value"}')
        finish = f"{answer}: your answer"
        wording = Wording("Action", answer, "Observation", given, example, finish)
        self._rules = DialectRules(name, wording)
        self._exact = ExactForm(call, answer)

    def tools(self, tools: Sequence[Tool]) -> str:
        """List the tools, each by its call."""
        return listed(tools)

    def form(self, tools: Sequence[Tool]) -> str:
        """Say how to write a step."""
        return "\n".join(self._form(tools))

    def parse(self, reply: str) -> Step:
        """Read one reply."""
        return self._exact.read(reply) or read_reply(reply, self._rules)

    def render(self, step: Act | Finish) -> str:
        """Write a step as labelled lines; of several calls the first, for a turn has one."""
        if isinstance(step, Act):
            step = replace(step, also=(), id="")
            written = self._call.format(tool=step.tool, given=arguments_as_text(step.arguments))
        else:
            written = f"{self._answer}: {step.answer}"
        plain = f"Thought: {step.thought}\n{written}" if step.thought else written
        return render_readably(self, plain, step)

    def observation(self, content: str, of: Act | None = None) -> str:
        """Write what came of a call behind the label."""
        del of  # a turn has one call
        return f"Observation: {content}"

    def _form(self, tools: Sequence[Tool]) -> Iterator[str]:
        if tools:
            yield "To use one, write exactly these three lines, then stop:"
            yield ""
            yield "Thought: what you know, what is missing"
            yield self._call.format(tool=self._tool, given=_GIVEN)
            yield ""
            yield "The next message brings the tool's answer as an Observation. Never write one."
            yield "When you know enough, write instead:"
        else:
            yield "Write your turn in exactly this form:"
        yield ""
        yield "Thought: what your answer rests on"
        yield f"{self._answer}: your answer"
        yield ""
        yield (
            f"Each label begins a line. One turn has one Action or one {self._answer}, never both."
        )


class Classic(Labelled):
    """A label for each part of a step, the form most models know."""

    def __init__(self) -> None:
        call = "Action: {tool}\nAction Input: {given}"
        tool = "the name of one tool, nothing else"
        super().__init__(
            "classic", answer="Final Answer", given="Action Input", call=call, tool=tool
        )


# A turn in exactly the form that is asked for, read at one look.

# Nothing in it can be a tag, a fence, a quotation, a label: those need a character left out here.
_PLAIN: Final = (
    r"[A-Za-z](?>(?:[A-Za-z0-9 .,;!?()+-]|(?<=[a-z])'(?=[a-z]))*)(?<! )(?<!json)(?<!xml)"
)
_SAFE: Final = r"(?>(?:[ -;=-Z\\\]-_a-~]|\[(?![/A-Za-z]))*)"
"""All of ASCII that can be seen, but for back-quotes or what may begin a tag."""


_OPEN_BRACKET: Final = re.compile(r"\([^()]*(?:\(|\Z)")


class ExactForm:
    """The form of a turn: the lines of a call, of `{tool}` and `{given}`, or those of an answer."""

    def __init__(self, call: str, answer: str) -> None:
        lines = re.escape(call).replace(r"\{tool\}", r"(?P<tool>[a-z][a-z0-9_]{2,63}+)")
        lines = lines.replace(r"\{given\}", rf"(?P<given>\{{{_SAFE})")
        line = rf"[A-Za-z0-9\{{]{_SAFE}"
        member = rf"\n[ ]*+(?:\"(?![a-z_]*(?:obs|result|response|output)){_SAFE}|[\]}}{{][\]}},]*)"
        fenced = rf"```json\n(?P<object>\{{{_SAFE}(?>(?:{member})*))\n```"
        self._turn = re.compile(
            rf"(?>(?:Thought:\ (?P<thought>{_PLAIN})\n)?)"
            rf"(?:{lines}|{re.escape(answer)}:[ \n](?P<answer>{fenced}|{line}))\s?"
        )

    def read(self, reply: str) -> Act | Finish | None:
        """Return the step of a reply of exactly this form, or None.

        It is the step that `read_reply` finds, which reads any reply, in a fraction of the time.
        """
        found = self._turn.fullmatch(reply)
        thought = (found["thought"] or "") if found else ""
        if found is None or ("(" in thought and _OPEN_BRACKET.search(thought)):
            return None
        if found["answer"]:
            if introduces(thought):
                return None
            fenced = found["object"] or ""
            if fenced and _object_alone(fenced) is None:
                return None
            return Finish(found["answer"].strip(), thought)
        tool, given = found["tool"], _object_alone(found["given"])
        if given is None or is_finisher(tool) or is_no_tool(tool) or announces(tool):
            return None
        return Act(tool, given, thought)


def _object_alone(text: str) -> dict[str, object] | None:
    try:
        found = read_strictly(text, 0)
    except LenientJSONError:
        return None
    is_all = found is not None and found.end == len(text)
    return found.value if found and is_all and isinstance(found.value, dict) else None
