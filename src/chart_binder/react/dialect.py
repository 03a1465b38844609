"""The dialects: ways for a model to write its steps as plain text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from chart_binder.react.parsing.advice import DialectRules, Wording
from chart_binder.react.parsing.answers import unlabelled_answer
from chart_binder.react.parsing.attribution import introduces, is_disowned
from chart_binder.react.parsing.calls import announces, identified, is_finisher, is_no_tool
from chart_binder.react.parsing.lenient_json import LenientJSONError, is_deep, read_strictly
from chart_binder.react.parsing.steps import read_reply
from chart_binder.react.steps import FinalAnswer, Step, ToolCall, Unreadable
from chart_binder.react.tools import Tool, listed

_TAGS: Final = re.compile(r"[<◁]|\[(?=/?(?:THINK|INST|TOOL))", re.IGNORECASE)


class Dialect(Protocol):
    """How steps are asked for, read, written, and answered.

    Only the model's own last reply is parsed, without knowing which tools there are.
    """

    @property
    def name(self) -> str:
        """The name of its entry point, as configuration and a transcript show it."""

    @property
    def stop(self) -> tuple[str, ...]:
        """What a server should end a reply before; a reply may hold it all the same."""

    def tools(self, tools: Sequence[Tool]) -> str:
        """List the tools for the system prompt: the same text for the same ones, byte for byte."""

    def form(self, tools: Sequence[Tool]) -> str:
        """Say in the system prompt how to write a step, with `tools` to call or with none."""

    def parse(self, reply: str) -> Step:
        """Read one reply. Takes any text: it raises nothing and costs time linear in its length."""

    def render(self, step: ToolCall | FinalAnswer) -> str:
        """Write a step so that `parse` reads it back equal but for the notes."""

    def observation(self, content: str, of: ToolCall | None = None) -> str:
        """Write what came of one call, or of a turn that called nothing."""


def read_step(dialect: Dialect, reply: str, answer_keys: Sequence[str] = ()) -> Step:
    """Read one reply; with `answer_keys` an answer needs no label in a reply of nothing else.

    The first of the keys must be in its object, the others may be, and no further one.
    """
    step = dialect.parse(reply)
    if not answer_keys or not isinstance(step, Unreadable):
        return step
    return unlabelled_answer(reply, answer_keys) or step


def render_readably(dialect: Dialect, plain: str, step: ToolCall | FinalAnswer) -> str:
    """Return the plain form of a step, or one JSON object where that would be misread or cut."""
    is_cut = any(stop in plain for stop in dialect.stop)
    is_read = not is_cut and is_same_step(dialect.parse(plain), step)
    return plain if is_read else _as_object(step)


def is_same_step(read: Step, step: ToolCall | FinalAnswer) -> bool:
    """Tell whether two steps are equal but for their notes."""
    return _without_notes(read) == _without_notes(step)


def _without_notes(step: Step) -> Step:
    if isinstance(step, ToolCall):
        step = replace(step, also=tuple(replace(act, notes=(), thought="") for act in step.also))
    return replace(step, notes=())


def _as_text(arguments: Mapping[str, object] | str) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(dict(arguments), ensure_ascii=False)


def _escape_tags(written: str) -> str:
    """Return JSON with the marks escaped that could begin a tag."""
    return _TAGS.sub(lambda mark: f"\\u{ord(mark.group()):04x}", written)


def _as_object(step: ToolCall | FinalAnswer) -> str:
    """Return a step as one JSON object, which every dialect reads."""
    turn: dict[str, object] = {"thought": step.thought} if step.thought else {}
    if isinstance(step, FinalAnswer):
        turn["final_answer"] = step.answer
    elif step.also:
        turn["tool_calls"] = [_as_call(call, "name", "arguments") for call in step.calls]
    else:
        turn |= _as_call(step, "action", "action_input")
    return _escape_tags(json.dumps(turn))


def _as_call(call: ToolCall, name: str, given: str) -> dict[str, object]:
    """Return a call as a JSON object; arguments that go too deep inside it stand as text."""
    is_text = isinstance(call.arguments, str) or is_deep([[[call.arguments]]])
    arguments = _as_text(call.arguments) if is_text else call.arguments
    written: dict[str, object] = {name: call.tool, given: arguments}
    return written | ({"id": call.id} if call.id else {})


_TOOL: Final = "the name of one tool"
_GIVEN: Final = "its arguments as one JSON object on one line"
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
    """Steps as labelled lines, one a turn.

    `answer` is the label of an answer, `given` what a call's input is called; the lines of a `call`
    hold `{tool}` and `{given}`, and `tool` asks for the name of one.
    """

    stop = ("\nObservation:",)

    def __init__(self, name: str, answer: str, *, given: str, call: str, tool: str = _TOOL) -> None:
        self.name = name
        self._answer, self._call = answer, call
        self._call_form = _CALL_FORM.format(call=call.format(tool=tool, given=_GIVEN))
        self._answer_form = _ANSWER_FORM.format(answer=answer)
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
        return (self._call_form if tools else _WITHOUT_TOOLS) + self._answer_form

    def parse(self, reply: str) -> Step:
        """Read one reply."""
        return self._exact.read(reply) or read_reply(reply, self._rules)

    def render(self, step: ToolCall | FinalAnswer) -> str:
        """Write a step as labelled lines; of several calls the first, for a turn has one."""
        if isinstance(step, ToolCall):
            step = replace(step, also=(), id="")
            written = self._call.format(tool=step.tool, given=_as_text(step.arguments))
        else:
            written = f"{self._answer}: {step.answer}"
        plain = f"Thought: {step.thought}\n{written}" if step.thought else written
        return render_readably(self, plain, step)

    def observation(self, content: str, of: ToolCall | None = None) -> str:
        """Write what came of a call behind the label."""
        del of  # a turn has one call
        return f"Observation: {content}"


class Classic(Labelled):
    """A label for each part of a step, the form most models know."""

    def __init__(self) -> None:
        call = "Action: {tool}\nAction Input: {given}"
        tool = "the name of one tool, nothing else"
        super().__init__(
            "classic", answer="Final Answer", given="Action Input", call=call, tool=tool
        )


class Pause(Labelled):
    """The call on one line, then PAUSE: the shortest form there is.

    A server is not asked to stop at PAUSE: the model would see turns without it, and leave it out.
    """

    def __init__(self) -> None:
        call = "Action: {tool}: {given}\nPAUSE"
        super().__init__("pause", "Answer", given="Action's input", call=call)


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

    def read(self, reply: str) -> ToolCall | FinalAnswer | None:
        """Return the step of a reply of exactly this form, as `read_reply` would, or None."""
        found = self._turn.fullmatch(reply)
        thought = (found["thought"] or "") if found else ""
        if found is None or ("(" in thought and _OPEN_BRACKET.search(thought)):
            return None
        if found["answer"]:
            if introduces(thought) or is_disowned(thought):
                return None
            fenced = found["object"] or ""
            if fenced and _object_alone(fenced) is None:
                return None
            return FinalAnswer(found["answer"].strip(), thought)
        tool, given = found["tool"], _object_alone(found["given"])
        if given is None or is_finisher(tool) or is_no_tool(tool) or announces(tool):
            return None
        return ToolCall(tool, given, thought)


def _object_alone(text: str) -> dict[str, object] | None:
    try:
        found = read_strictly(text, 0)
    except LenientJSONError:
        return None
    is_all = found is not None and found.end == len(text)
    return found.value if found and is_all and isinstance(found.value, dict) else None


_XML_RULES: Final = DialectRules(
    "xml",
    Wording(
        action="<tool_call>",
        answer="<response>",
        observation="<observation>",
        given="<tool_call>",
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
    """Steps in tags, calls as JSON objects, several in a turn: what Hermes-style models learn.

    Each call has an id, numbered where the model wrote none; its observation names it.
    """

    name = "xml"
    stop = ("\n<observation", "\n<tool_response")

    def tools(self, tools: Sequence[Tool]) -> str:
        """List the tools as JSON, as these models have seen them in training."""
        return "\n".join(_xml_tools(tools))

    def form(self, tools: Sequence[Tool]) -> str:
        """Say how to write a step."""
        return (_XML_CALL_FORM if tools else _WITHOUT_TOOLS) + _XML_ANSWER_FORM

    def parse(self, reply: str) -> Step:
        """Read one reply."""
        return read_reply(reply, _XML_RULES)

    def render(self, step: ToolCall | FinalAnswer) -> str:
        """Write a step in tags, a call without an id with a number for it."""
        if isinstance(step, ToolCall):
            first, *also = identified([replace(call, also=()) for call in step.calls])
            step = replace(first, also=tuple(also))
        return render_readably(self, "\n".join(_tags(step)), step)

    def observation(self, content: str, of: ToolCall | None = None) -> str:
        """Write what came of one call between tags that name it."""
        of_call = f' id="{of.id}"' if of and of.id else ""
        return f"<observation{of_call}>\n{content}\n</observation>"


def _tags(step: ToolCall | FinalAnswer) -> Iterator[str]:
    if step.thought:
        yield f"<thought>{step.thought}</thought>"
    if isinstance(step, FinalAnswer):
        yield f"<response>\n{step.answer}\n</response>"
    else:
        calls = (_as_call(call, "name", "arguments") for call in step.calls)
        written = (_escape_tags(json.dumps(call, ensure_ascii=False)) for call in calls)
        yield from (f"<tool_call>{call}</tool_call>" for call in written)


def _xml_tools(tools: Sequence[Tool]) -> Iterator[str]:
    if tools:
        yield "You can use these tools:\n\n<tools>"
        for tool in tools:
            parameters = {key: value for key, value in tool.schema.items() if key != "title"}
            described = {"name": tool.name, "description": tool.description}
            function = {"type": "function", "function": described | {"parameters": parameters}}
            yield json.dumps(function, ensure_ascii=False)
        yield "</tools>"
