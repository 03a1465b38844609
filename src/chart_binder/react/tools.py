"""Tools a model may call, made from typed Python functions."""

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from chart_binder.react.steps import Act


class ToolError(Exception):
    """A tool could not do its work; the text is one sentence for the model, without internals."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the model is shown after a step: a tool's answer, or advice.

    `sources` are the addresses the content was read from, `error` is why there is no answer.
    """

    content: str
    sources: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Tool:
    """A function a model may call by name, with the description the prompt gives it."""

    name: str
    description: str
    function: Callable[..., str | Observation]
    arguments: type[msgspec.Struct]

    @classmethod
    def of(cls, function: Callable[..., str | Observation]) -> "Tool":
        """Derive name, description and arguments from a typed function and its docstring."""
        hints = typing.get_type_hints(function)
        fields = [
            (name, hints[name])
            if parameter.default is parameter.empty
            else (name, hints[name], parameter.default)
            for name, parameter in inspect.signature(function).parameters.items()
        ]
        arguments = msgspec.defstruct("Arguments", fields, forbid_unknown_fields=True)
        name = function.__name__
        return cls(name, inspect.getdoc(function) or "", function, arguments)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments, in order."""
        return self.arguments.__struct_fields__

    @property
    def schema(self) -> dict[str, object]:
        """The arguments as a JSON schema."""
        _, components = msgspec.json.schema_components([self.arguments])
        return {**components["Arguments"], "title": self.name}

    @property
    def signature(self) -> str:
        """The call as the prompt shows it, such as `web_search(query)`."""
        return f"{self.name}({', '.join(self.parameters)})"

    def read(self, arguments: Mapping[str, object] | str) -> dict[str, object]:
        """Return the arguments as the function takes them, or raise `ToolError` with advice."""
        if isinstance(arguments, str):
            arguments = self._from_text(arguments)
        try:
            read = msgspec.convert(dict(arguments), self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise ToolError(f"{self.name} was called with wrong arguments: {error}") from error
        return msgspec.structs.asdict(read)

    def _from_text(self, text: str) -> dict[str, object]:
        if len(self.parameters) != 1:
            raise ToolError(f"{self.name} takes a JSON object with {', '.join(self.parameters)}")
        return {self.parameters[0]: text}


@dataclass(frozen=True, slots=True)
class Call:
    """A tool with the arguments it is called with."""

    tool: Tool
    arguments: dict[str, object]

    def run(self) -> Observation:
        """Return what the tool answers, or raise `ToolError`."""
        answer = self.tool.function(**self.arguments)
        return Observation(answer) if isinstance(answer, str) else answer


class Toolbox:
    """The tools of one conversation, found by the names models write for them."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools = tuple(tools)
        self._by_name = {_plain(tool.name): tool for tool in self.tools}

    def resolve(self, act: Act) -> Call:
        """Return the call an action means, or raise `ToolError` that says what there is."""
        tool = self._by_name.get(_plain(act.tool))
        if tool is None:
            known = ", ".join(tool.signature for tool in self.tools) or "none; answer without tools"
            raise ToolError(f"There is no tool {act.tool!r}. Tools: {known}")
        return Call(tool, tool.read(act.arguments))


def _plain(name: str) -> str:
    """Fold case, spaces, hyphens, camel case and a leading `functions.` out of a tool name."""
    bare = name.strip().strip("`*\"'").removesuffix("()")
    bare = bare.removeprefix("functions.").removeprefix("tools.")
    return re.sub(r"[\s_\-]", "", bare).casefold()
