"""Tools a model may call, made from typed Python functions."""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from chart_binder.react.arguments import UnfitError, fit
from chart_binder.react.steps import Act
from chart_binder.react.tool_names import meant


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
        try:
            fitted = fit(arguments, msgspec.structs.fields(self.arguments))
            read = msgspec.convert(fitted, self.arguments, strict=False)
        except (UnfitError, msgspec.ValidationError) as error:
            form = ", ".join(f'"{name}": ...' for name in self.parameters)
            raise ToolError(
                f"You called {self.name} with wrong arguments: {error}. It takes {{{form}}}"
            ) from error
        return msgspec.structs.asdict(read)


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
        self._by_name = {tool.name: tool for tool in self.tools}

    def resolve(self, act: Act) -> Call:
        """Return the call an action means, or raise `ToolError` that says what there is."""
        name = meant(act.tool, self._by_name)
        if name is None:
            known = ", ".join(tool.signature for tool in self.tools) or "none; answer without tools"
            raise ToolError(f"There is no tool {act.tool[:80]!r}. Tools: {known}")
        tool = self._by_name[name]
        return Call(tool, tool.read(act.arguments))
