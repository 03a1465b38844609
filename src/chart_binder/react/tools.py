"""Tools a model may call, made from typed Python functions."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from chart_binder.react.arguments import (
    Parameter,
    Schema,
    UnfitError,
    alternatives_of,
    bent,
    choices,
    fit,
    resolved,
    takes_null,
)
from chart_binder.react.steps import Act
from chart_binder.react.steps import Observation as Observation  # noqa: PLC0414 (for plug-ins)
from chart_binder.react.tool_definition import (
    Form,
    InvalidError,
    ToolDefectError,
    define,
    refuse_endless,
)
from chart_binder.react.tool_names import meant


def signature(name: str, schema: Schema) -> str:
    """Return a call such as `search(query, limit: integer = 5)`; what has no type is text."""
    return f"{name}({', '.join(_signatures_parameters(schema))})"


def filled_in(schema: Schema) -> str:
    """Return the object that a call takes, such as `{"query": ..., "limit": integer}`."""
    definitions = schema.get("$defs", {})
    members: Mapping[str, Any] = schema.get("properties", {})
    forms = (
        f"{json.dumps(name, ensure_ascii=False)}: {_kind(each, definitions) or '...'}"
        for name, each in members.items()
    )
    return f"{{{', '.join(forms)}}}"


def _signatures_parameters(schema: Schema) -> Iterator[str]:
    definitions = schema.get("$defs", {})
    required = schema.get("required", ())
    for name, each in schema.get("properties", {}).items():
        kind = _kind(each, definitions)
        shown = f"{name}: {kind}" if kind else name
        if name in required:
            yield shown
        elif "default" in each and each["default"] is not None:
            yield f"{shown} = {json.dumps(each['default'], ensure_ascii=False)}"
        else:
            yield f"{shown} (optional)"


def _kind(schema: Schema, definitions: Schema) -> str:
    """Return a type in words, nothing for text."""
    schema = resolved(schema, definitions)
    if choice := choices(schema):
        return " | ".join(json.dumps(item, ensure_ascii=False) for item in choice)
    if alternatives := alternatives_of(schema):
        kinds = [_kind(part, definitions) or "text" for part in alternatives]
        left = [kind for kind in dict.fromkeys(kinds) if kind != "null"]
        return "" if left == ["text"] else " | ".join(left)
    kind: str = schema.get("type", "")
    if kind == "array":
        items = schema.get("items")
        return (
            f"list of {_kind(items, definitions) or 'text'}" if isinstance(items, dict) else "list"
        )
    if kind == "string":
        shape: str = schema.get("format", "")
        return "YYYY-MM-DD" if shape == "date" else shape
    return kind


_UNKNOWN: Final = "There is no tool"
_WRONGLY: Final = " with wrong arguments:"


SAYS_NOTHING: Final = "This says nothing about what exists."
"""How an error ends where a service failed, and not what was asked: for models, and for code."""


class ToolError(Exception):
    """A tool could not do its work; the text is one sentence for the model, without internals."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function a model may call by name, with the description the prompt gives it.

    `per_run` makes the function of one run, told in words what the run is about: it may remember
    what it did in it.
    """

    name: str
    description: str
    function: Callable[..., object]
    form: Form
    per_run: Callable[[str], Callable[..., object]] | None = None
    _parameters: tuple[Parameter, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look once for what the schema takes."""
        object.__setattr__(self, "_parameters", tuple(_parameters(self.form.schema)))

    @classmethod
    def of(
        cls,
        function: Callable[..., object],
        *,
        name: str | None = None,
        description: str | None = None,
    ) -> "Tool":
        """Derive a tool from a typed function and its docstring, or from a model with `__call__`.

        The schema of the arguments comes from annotations, their descriptions from `Annotated` or
        from `Args:` in the docstring. What the function returns is shown to the model: text, an
        `Observation`, or any other value as JSON. Raises `ToolDefectError` that names the function
        and all that is missing.
        """
        found = define(function, name, description)
        return cls(found.name, found.description, found.function, found.form)

    def for_run(self, about: str) -> "Tool":
        """Return the tool as it is in one run."""
        return replace(self, function=self.per_run(about)) if self.per_run else self

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments, in order."""
        return tuple(self.form.schema.get("properties", ()))

    @property
    def schema(self) -> dict[str, object]:
        """The arguments as a JSON schema."""
        return {**self.form.schema, "title": self.name}

    @property
    def signature(self) -> str:
        """The call as the prompt shows it, such as `web_search(query)`."""
        return signature(self.name, self.form.schema)

    @property
    def about(self) -> dict[str, str]:
        """What each argument means, of those that are described."""
        members: Mapping[str, Schema] = self.form.schema.get("properties", {})
        return {
            name: each["description"] for name, each in members.items() if each.get("description")
        }

    def call(self, arguments: Mapping[str, object] | str) -> "Call":
        """Return a call with arguments as a model wrote them, or raise `ToolError` with advice."""
        try:
            fitted = self._fitted(arguments)
            value = self.form.build(fitted)
            plain = self.form.plain(value)
            refuse_endless(fitted, {name: plain.get(name) for name in fitted})
            return Call(self, plain, self.form.keywords(value))
        except (UnfitError, InvalidError, UnicodeEncodeError) as error:
            raise ToolError(
                f"You called {self.name}{_WRONGLY} {error}. It takes {filled_in(self.form.schema)}"
            ) from error

    def read(self, arguments: Mapping[str, object] | str) -> dict[str, object]:
        """Return the arguments as the function takes them, or raise `ToolError` with advice."""
        return self.call(arguments).keywords

    def _fitted(self, arguments: Mapping[str, object] | str) -> dict[str, object]:
        definitions: Schema = self.form.schema.get("$defs", {})
        members: Mapping[str, Schema] = self.form.schema.get("properties", {})
        fitted = fit(arguments, self._parameters, self.form.into)
        return {name: bent(value, members[name], definitions) for name, value in fitted.items()}


def _parameters(schema: Schema) -> Iterator[Parameter]:
    definitions, required = schema.get("$defs", {}), schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        yield Parameter(name, name in required, takes_null(member, definitions))


@dataclass(frozen=True, slots=True)
class Call:
    """A tool with the arguments it is called with.

    `arguments` are those of the schema, in JSON's types and with defaults filled in; `keywords` are
    what the function is given.
    """

    tool: Tool
    arguments: dict[str, object]
    keywords: dict[str, object]

    def run(self) -> Observation:
        """Return what the tool answers, or raise `ToolError`."""
        return _observation(self.tool.function(**self.keywords))


def _observation(answer: object) -> Observation:
    match answer:
        case Observation():
            return answer
        case str():
            return Observation(answer)
        case None:
            return Observation("Done.")
        case _:
            return Observation(msgspec.json.encode(answer, enc_hook=_plain).decode())


def _plain(value: object) -> object:
    """Write what JSON has no form for: a pydantic model as it says, anything else as text."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


def is_refusal(error: str) -> bool:
    """Tell whether an error is what a call is told that could not be made."""
    return error.startswith(_UNKNOWN) or _WRONGLY in error.partition("\n")[0]


class Toolbox:
    """The tools of one conversation, found by the names models write for them.

    A typed function is taken for the tool it is. Raises `ToolDefectError` for one that is none, and
    for two of one name.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., object]]) -> None:
        self.tools = tuple(tool if isinstance(tool, Tool) else Tool.of(tool) for tool in tools)
        self._by_name = {tool.name: tool for tool in self.tools}
        if len(self._by_name) < len(self.tools):
            twice = [name for name, n in Counter(t.name for t in self.tools).items() if n > 1]
            raise ToolDefectError(f"there are two tools called {twice[0]!r}")

    def resolve(self, act: Act) -> Call:
        """Return the call an action means, or raise `ToolError` that says what there is."""
        name = meant(act.tool, self._by_name)
        if name is None:
            known = ", ".join(tool.signature for tool in self.tools) or "none; answer without tools"
            raise ToolError(f"{_UNKNOWN} {act.tool[:80]!r}. Tools: {known}")
        return self._by_name[name].call(act.arguments)


def listed(tools: Sequence[Tool]) -> str:
    """Return the list of the tools, empty where there are none."""
    return "\n".join(_lines(tools))


def _lines(tools: Sequence[Tool]) -> Iterator[str]:
    if tools:
        yield "You can use these tools:"
        yield ""
    for tool in tools:
        first, *rest = tool.description.strip().splitlines() or [""]
        yield f"- {tool.signature}: {first}"
        yield from (f"  {line.strip()}" for line in rest if line.strip())
        yield from (f"  {name}: {about}" for name, about in tool.about.items())
