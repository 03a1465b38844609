"""The dialects: ways for a model to write its steps as plain text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from chart_binder.react.parsing.advice import DialectRules, Wording
from chart_binder.react.parsing.answers import unlabelled_answer
from chart_binder.react.parsing.attribution import introduces_quotation, is_disowned
from chart_binder.react.parsing.calls import (
    announces_tool_name,
    is_answer_name,
    is_no_tool,
    with_ids,
)
from chart_binder.react.parsing.lenient_json import LenientJSONError, is_deep, read_strictly
from chart_binder.react.parsing.steps import read_reply
from chart_binder.react.steps import FinalAnswer, Step, ToolCall, Unreadable
from chart_binder.react.tools import Tool, listed

_TAGS: Final = re.compile(r"[<◁]|\[(?=/?(?:THINK|INST|TOOL))", re.IGNORECASE)


class Dialect(Protocol):
    """How steps are requested, read and written, and how observations are shown.

    Only the model's last reply is parsed, without knowledge of the tools.
    """

    @property
    def name(self) -> str:
        """The name of its entry point, as configuration and a transcript show it."""

    @property
    def stop(self) -> tuple[str, ...]:
        """The texts before which a server should end a reply; a reply may contain them anyway."""

    def tools(self, tools: Sequence[Tool]) -> str:
        """List tools for the system prompt. The same tools always give the same text."""

    def form(self, tools: Sequence[Tool]) -> str:
        """Explain in the system prompt how to write a step; `tools` may be empty."""

    def parse(self, reply: str) -> Step:
        """Read one reply, which may be any text, in linear time. Raises nothing."""

    def render(self, step: ToolCall | FinalAnswer) -> str:
        """Write a step so that `parse` returns the same step, apart from the notes."""

    def observation(self, content: str, of: ToolCall | None = None) -> str:
        """Write the observation for one call, or for a turn without a call."""


def read_step(dialect: Dialect, reply: str, answer_keys: Sequence[str] = ()) -> Step:
    """Return the step of one reply.

    If there are `answer_keys`, a reply that consists of one JSON object is an answer without its
    label. The object must have the first of these keys, and no key that is not among them.
    """
    step = dialect.parse(reply)
    if not answer_keys or not isinstance(step, Unreadable):
        return step
    return unlabelled_answer(reply, answer_keys) or step


def render_readably(dialect: Dialect, plain: str, step: ToolCall | FinalAnswer) -> str:
    """Return the plain form of a step, or one JSON object if the plain form would be misread."""
    is_cut = any(stop in plain for stop in dialect.stop)
    is_read = not is_cut and is_same_step(dialect.parse(plain), step)
    return plain if is_read else _as_object(step)


def is_same_step(parsed: Step, step: ToolCall | FinalAnswer) -> bool:
    """Return whether two steps are equal apart from notes, and thoughts of further calls."""
    return _without_notes(parsed) == _without_notes(step)


def _without_notes(step: Step) -> Step:
    """Return a step without notes; its further calls also without thoughts."""
    if isinstance(step, ToolCall):
        step = replace(
            step,
            further_calls=tuple(replace(call, notes=(), thought="") for call in step.further_calls),
        )
    return replace(step, notes=())


def _as_text(arguments: Mapping[str, object] | str) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(dict(arguments), ensure_ascii=False)


def _escape_tags(json_text: str) -> str:
    """Escape the characters in JSON that could begin a tag."""
    return _TAGS.sub(lambda mark: f"\\u{ord(mark.group()):04x}", json_text)


def _as_object(step: ToolCall | FinalAnswer) -> str:
    """Return a step as one JSON object, a form that every dialect reads."""
    turn: dict[str, object] = {"thought": step.thought} if step.thought else {}
    if isinstance(step, FinalAnswer):
        turn["final_answer"] = step.answer
    elif step.further_calls:
        turn["tool_calls"] = [_as_call(call, "name", "arguments") for call in step.calls]
    else:
        turn |= _as_call(step, "action", "action_input")
    return _escape_tags(json.dumps(turn))


def _as_call(call: ToolCall, name_key: str, arguments_key: str) -> dict[str, object]:
    """Return a call as a JSON object; arguments that would be nested too deep become text."""
    is_text = isinstance(call.arguments, str) or is_deep([[[call.arguments]]])
    arguments = _as_text(call.arguments) if is_text else call.arguments
    members: dict[str, object] = {name_key: call.tool, arguments_key: arguments}
    return members | ({"id": call.id} if call.id else {})


_TOOL: Final = "the name of one tool"
_ARGUMENTS: Final = "its arguments as one JSON object on one line"
_WITHOUT_TOOLS: Final = "Write your turn in exactly this form:"
_CALL_FORM: Final = """\
To use one, write exactly these three lines, then stop:

Thought: what you know, what is missing
{call}

The next message brings the tool's answer as an Observation. Never write one.
When you know enough, write instead:"""
_ANSWER_FORM: Final = """

Thought: what your answer rests on
{answer}: your answer

Each label begins a line. One turn has one Action or one {answer}, never both."""


class Labelled:
    """Steps as labelled lines, one step a turn.

    `answer` is the label of an answer. `call` has the lines of a call, with `{tool}` and
    `{arguments}`; `tool` is shown to the model in place of `{tool}`. `input_name` is what advice
    calls the arguments.
    """

    stop = ("\nObservation:",)

    def __init__(
        self, name: str, answer: str, *, input_name: str, call: str, tool: str = _TOOL
    ) -> None:
        self.name = name
        self._answer, self._call = answer, call
        self._call_form = _CALL_FORM.format(call=call.format(tool=tool, arguments=_ARGUMENTS))
        self._answer_form = _ANSWER_FORM.format(answer=answer)
        example = call.format(tool="{tool}", arguments='{"argument": "value"}')
        finish = f"{answer}: your answer"
        wording = Wording("Action", answer, "Observation", input_name, example, finish)
        self._rules = DialectRules(name, wording)
        self._exact = ExactForm(call, answer)

    def tools(self, tools: Sequence[Tool]) -> str:
        """List the tools, each by its call."""
        return listed(tools)

    def form(self, tools: Sequence[Tool]) -> str:
        """Explain how to write a step; without tools only an answer is explained."""
        return (self._call_form if tools else _WITHOUT_TOOLS) + self._answer_form

    def parse(self, reply: str) -> Step:
        """Read one reply."""
        return self._exact.read(reply) or read_reply(reply, self._rules)

    def render(self, step: ToolCall | FinalAnswer) -> str:
        """Write a step as labelled lines; of several calls only the first."""
        if isinstance(step, ToolCall):
            step = replace(step, further_calls=(), id="")
            lines = self._call.format(tool=step.tool, arguments=_as_text(step.arguments))
        else:
            lines = f"{self._answer}: {step.answer}"
        plain = f"Thought: {step.thought}\n{lines}" if step.thought else lines
        return render_readably(self, plain, step)

    def observation(self, content: str, of: ToolCall | None = None) -> str:
        """Write an observation after its label."""
        del of  # a turn has one call
        return f"Observation: {content}"


class Classic(Labelled):
    """A label for each part of a step: the form that most models know."""

    def __init__(self) -> None:
        call = "Action: {tool}\nAction Input: {arguments}"
        tool = "the name of one tool, nothing else"
        super().__init__(
            "classic", answer="Final Answer", input_name="Action Input", call=call, tool=tool
        )


class Pause(Labelled):
    """The call on one line, then PAUSE: the shortest form.

    A server is not asked to stop at PAUSE, because the model would then see turns without PAUSE and
    learn to omit it.
    """

    def __init__(self) -> None:
        call = "Action: {tool}: {arguments}\nPAUSE"
        super().__init__("pause", "Answer", input_name="Action's input", call=call)


# A sentence without the characters that tags, fences, quotations and labels need.
_PLAIN: Final = (
    r"[A-Za-z](?>(?:[A-Za-z0-9 .,;!?()+-]|(?<=[a-z])'(?=[a-z]))*)(?<! )(?<!json)(?<!xml)"
)
_SAFE: Final = r"(?>(?:[ -;=-Z\\\]-_a-~]|\[(?![/A-Za-z]))*)"
"""Printable ASCII without back-quotes and without what may begin a tag."""


_OPEN_BRACKET: Final = re.compile(r"\([^()]*(?:\(|\Z)")


class ExactForm:
    """Reads a turn in exactly the requested form, which is faster than reading it leniently."""

    def __init__(self, call: str, answer: str) -> None:
        call_lines = re.escape(call).replace(r"\{tool\}", r"(?P<tool>[a-z][a-z0-9_]{2,63}+)")
        call_lines = call_lines.replace(r"\{arguments\}", rf"(?P<arguments>\{{{_SAFE})")
        answer_line = rf"[A-Za-z0-9\{{]{_SAFE}"
        member_line = (
            rf"\n[ ]*+(?:\"(?![a-z_]*(?:obs|result|response|output)){_SAFE}|[\]}}{{][\]}},]*)"
        )
        fenced = rf"```json\n(?P<object>\{{{_SAFE}(?>(?:{member_line})*))\n```"
        self._turn = re.compile(
            rf"(?>(?:Thought:\ (?P<thought>{_PLAIN})\n)?)"
            rf"(?:{call_lines}|{re.escape(answer)}:[ \n](?P<answer>{fenced}|{answer_line}))\s?"
        )

    def read(self, reply: str) -> ToolCall | FinalAnswer | None:
        """Return the same step as `read_reply` if a reply has exactly this form, else None."""
        turn = self._turn.fullmatch(reply)
        thought = (turn["thought"] or "") if turn else ""
        if turn is None or ("(" in thought and _OPEN_BRACKET.search(thought)):
            return None
        if turn["answer"]:
            if introduces_quotation(thought) or is_disowned(thought):
                return None
            fenced = turn["object"] or ""
            if fenced and _read_object(fenced) is None:
                return None
            return FinalAnswer(turn["answer"].strip(), thought)
        tool, arguments = turn["tool"], _read_object(turn["arguments"])
        is_call = not (is_answer_name(tool) or is_no_tool(tool) or announces_tool_name(tool))
        return ToolCall(tool, arguments, thought) if is_call and arguments is not None else None


def _read_object(text: str) -> dict[str, object] | None:
    try:
        scanned = read_strictly(text, 0)
    except LenientJSONError:
        return None
    is_whole = scanned is not None and scanned.end == len(text)
    return scanned.value if scanned and is_whole and isinstance(scanned.value, dict) else None


_XML_RULES: Final = DialectRules(
    "xml",
    Wording(
        action="<tool_call>",
        answer="<response>",
        observation="<observation>",
        arguments="<tool_call>",
        call='<tool_call>{"name": "{tool}", "arguments": {"argument": "value"}}</tool_call>',
        finish="<response>your answer</response>",
    ),
    dialect_tags=frozenset({"thought", "thoughts"}),
    several=True,
)
_XML_CALL_FORM: Final = """\
To use one, write exactly these two lines, then stop:

<thought>what you know, what is missing</thought>
<tool_call>{"name": "the name of one tool", "arguments": {"argument": "value"}, \
"id": "1"}</tool_call>

To look up several things at once, write several calls, each on a line of its own
with an id of its own. The next message brings each answer as <observation>, with
the id of its call. Never write one. When you know enough, write instead:"""
_XML_ANSWER_FORM: Final = """

<thought>what your answer rests on</thought>
<response>
your answer
</response>

Each tag begins a line. One turn has tool calls or one response, never both."""


class Xml:
    """Steps in tags, with several calls a turn as JSON objects, as Hermes-style models learn.

    Each call has an id, which its observation names; a call without one gets a number.
    """

    name = "xml"
    stop = ("\n<observation", "\n<tool_response")

    def tools(self, tools: Sequence[Tool]) -> str:
        """List the tools as JSON, as these models know them from training."""
        return "\n".join(_xml_tools(tools))

    def form(self, tools: Sequence[Tool]) -> str:
        """Explain how to write a step; without tools only an answer is explained."""
        return (_XML_CALL_FORM if tools else _WITHOUT_TOOLS) + _XML_ANSWER_FORM

    def parse(self, reply: str) -> Step:
        """Read one reply."""
        return read_reply(reply, _XML_RULES)

    def render(self, step: ToolCall | FinalAnswer) -> str:
        """Write a step in tags; a call without an id gets a number."""
        if isinstance(step, ToolCall):
            first, *further = with_ids([replace(call, further_calls=()) for call in step.calls])
            step = replace(first, further_calls=tuple(further))
        return render_readably(self, "\n".join(_tagged_lines(step)), step)

    def observation(self, content: str, of: ToolCall | None = None) -> str:
        """Write the observation for one call between tags with its id."""
        of_call = f' id="{of.id}"' if of and of.id else ""
        return f"<observation{of_call}>\n{content}\n</observation>"


def _tagged_lines(step: ToolCall | FinalAnswer) -> Iterator[str]:
    if step.thought:
        yield f"<thought>{step.thought}</thought>"
    if isinstance(step, FinalAnswer):
        yield f"<response>\n{step.answer}\n</response>"
    else:
        calls = (_as_call(call, "name", "arguments") for call in step.calls)
        objects = (_escape_tags(json.dumps(call, ensure_ascii=False)) for call in calls)
        yield from (f"<tool_call>{call}</tool_call>" for call in objects)


def _xml_tools(tools: Sequence[Tool]) -> Iterator[str]:
    if tools:
        yield "You can use these tools:\n\n<tools>"
        for tool in tools:
            parameters = {key: value for key, value in tool.schema.items() if key != "title"}
            described = {"name": tool.name, "description": tool.description}
            function = {"type": "function", "function": described | {"parameters": parameters}}
            yield json.dumps(function, ensure_ascii=False)
        yield "</tools>"
