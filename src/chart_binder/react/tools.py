"""Tools that a model may call: made from typed functions, listed for the prompt, found by name."""

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from types import CodeType
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import msgspec

from chart_binder.react.arguments import (
    ArgumentsError,
    Schema,
    alternatives_of,
    bind,
    choices,
    clean_name,
    resolved,
    same_name,
)
from chart_binder.react.steps import Observation as Observation  # noqa: PLC0414 (for plug-ins)
from chart_binder.react.steps import ToolCall
from chart_binder.react.tool_definition import (
    ArgumentModel,
    ToolDefectError,
    define_tool,
    require_finite,
)

T = TypeVar("T")
SAYS_NOTHING: Final = "This says nothing about what exists."
"""Tells the model that a failed service is not an answer."""


class ToolError(Exception):
    """A tool could not do its work; the text is one sentence for the model, without internals."""


class ServiceFailedError(ToolError):
    """A service that a tool needs failed; the model is told that this is not an answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason} {SAYS_NOTHING}")


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call by name, with its description and its arguments.

    `per_run` makes the function for each run.
    """

    name: str
    description: str
    function: Callable[..., object]
    arguments: ArgumentModel
    per_run: Callable[["RunContext"], Callable[..., object]] | None = None

    @classmethod
    def of(
        cls,
        function: Callable[..., object],
        *,
        name: str | None = None,
        description: str | None = None,
    ) -> "Tool":
        """Derive a tool from a typed function and its docstring, or from a model with `__call__`.

        What it returns is shown to the model: text, an `Observation`, or any other value as JSON.
        Raises `ToolDefectError` that names the function and all that is missing.
        """
        return cls(*define_tool(function, name, description))

    def for_run(self, run: "RunContext") -> "Tool":
        """Return the tool as it is in one run."""
        return replace(self, function=self.per_run(run)) if self.per_run else self

    @property
    def schema(self) -> dict[str, object]:
        """The arguments as a JSON schema."""
        return {**self.arguments.schema, "title": self.name}

    @property
    def signature(self) -> str:
        """The call as the prompt shows it, such as `web_search(query)`."""
        return f"{self.name}({', '.join(_signature_parameters(self.arguments.schema))})"

    @property
    def about(self) -> dict[str, str]:
        """What each argument means, of those that are described."""
        members: Mapping[str, Schema] = self.arguments.schema.get("properties", {})
        return {
            name: each["description"] for name, each in members.items() if each.get("description")
        }

    def call(self, arguments: Mapping[str, object] | str) -> "BoundCall":
        """Return a call with arguments as a model wrote them, or raise `ToolError` with advice."""
        try:
            bound = bind(arguments, self.arguments.schema, self.arguments.model_parameter)
            value = self.arguments.build(bound.values)
            plain = self.arguments.to_json(value)
            require_finite(bound.values, {name: plain.get(name) for name in bound.values})
            return BoundCall(self, plain, self.arguments.keywords(value), bound.notes)
        except (ArgumentsError, UnicodeEncodeError) as error:
            takes = _object_form(self.arguments.schema)
            raise ToolError(
                f"You called {self.name} with wrong arguments: {error}. It takes {takes}"
            ) from error


class PlainFunction(Protocol):
    """A function as mypy sees it in a list of functions that have different parameters."""

    @property
    def __code__(self) -> CodeType:
        """The code of the function."""


ToolLike: TypeAlias = Tool | Callable[..., object] | PlainFunction
"""A `Tool`, or a function that becomes one."""


class RunContext:
    """What the tools of one run have in common: in words what it is `about`, and shared values."""

    def __init__(self, about: str = "") -> None:
        self.about = about
        self._values: dict[str, Any] = {}
        self._lock = Lock()

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """Return the value of a key, which the first tool that asks for it makes."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            value: T = self._values[key]
            return value


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A tool with its arguments in JSON's types, defaults filled in, and as keywords to call it.

    `notes` say what was ignored of the arguments that the model wrote.
    """

    tool: Tool
    arguments: dict[str, object]
    keywords: dict[str, object]
    notes: tuple[str, ...] = ()

    def run(self) -> Observation:
        """Return what the tool answers, or raise `ToolError`."""
        answer = self.tool.function(**self.keywords)
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
    """Return a JSON value for what msgspec cannot encode: a pydantic model, else its text."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


def tool_of(found: Any, settings: object, client: object | None = None) -> Tool:
    """Return the tool that something installed is or makes.

    A function makes a tool if it is annotated `-> Tool`, or if its first parameter is annotated
    with the type of the settings, or called `config`. A `client` is handed over behind them.
    """
    if _makes_tool(found, type(settings)):
        given = (settings,) if inspect.signature(found).parameters else ()
        found = found(*given, *((client,) if client else ()))
    return found if isinstance(found, Tool) else Tool.of(found)


def _makes_tool(found: object, settings: type) -> bool:
    if not inspect.isroutine(found):
        return False
    signature = inspect.signature(found)
    if _names(signature.return_annotation, Tool):
        return True
    first = next(iter(signature.parameters.values()), None)
    return first is not None and (
        _names(first.annotation, settings)
        or (first.name == "config" and first.annotation is first.empty)
    )


def _names(annotation: object, kind: type) -> bool:
    """Return whether an annotation is a type, or names it in a string."""
    if isinstance(annotation, str):
        return annotation.strip("\"' ").rpartition(".")[2] == kind.__name__
    return annotation is kind


def call_key(tool: str, arguments: object) -> str:
    """Return a key that is the same for two calls that differ by white space alone."""
    return f"{tool} {json.dumps(_normal_space(arguments), sort_keys=True, default=str)}"


def _normal_space(value: object) -> object:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return {key: _normal_space(inner) for key, inner in value.items()}
    return [_normal_space(inner) for inner in value] if isinstance(value, list | tuple) else value


def _listed_tools(tools: Any) -> Iterable[Any]:
    if isinstance(tools, Iterable) and not isinstance(tools, str | bytes | Mapping | type):
        return tools
    raise ToolDefectError(
        f"tools must be a list of functions and Tools, such as [departures], not {tools!r}"
    )


def _as_tool(tool: Any) -> Tool:
    if isinstance(tool, Tool):
        return tool
    if callable(tool):
        return Tool.of(tool)
    raise ToolDefectError(f"a tool must be a function or a Tool, not {tool!r}")


class Toolbox:
    """The tools of one conversation, found by the names that models write for them.

    `for_code` are tools that no model may call. Raises `ToolDefectError` for a function that cannot
    be a tool, for two tools of one name, and for a name that would be read as the final answer or
    as no tool.
    """

    def __init__(self, tools: Iterable[ToolLike], for_code: Iterable[Tool] = ()) -> None:
        from chart_binder.react.parsing.calls import is_finisher, is_no_tool  # loads the parser

        self.tools = tuple(map(_as_tool, _listed_tools(tools)))
        self._by_name: dict[str, Tool] = {}
        self._for_code = {tool.name: tool for tool in for_code}
        for tool in self.tools:
            if self._by_name.setdefault(tool.name, tool) is not tool:
                raise ToolDefectError(f"there are two tools called {tool.name!r}")
            if is_finisher(tool.name) or is_no_tool(tool.name):
                raise ToolDefectError(
                    f"a tool cannot be called {tool.name!r}, because a call of that name is read as"
                    f" {'the final answer' if is_finisher(tool.name) else 'no call at all'}"
                )

    def resolve(self, act: ToolCall, *, is_by_code: bool = False) -> BoundCall:
        """Return the call an action means, or raise `ToolError` that says what there is."""
        if is_by_code and act.tool in self._for_code:
            return self._for_code[act.tool].call(act.arguments)
        name = find_tool(act.tool, self._by_name)
        if name is None:
            known = ", ".join(tool.signature for tool in self.tools) or "none; answer without tools"
            raise ToolError(f"There is no tool {act.tool[:80]!r}. Tools: {known}")
        return self._by_name[name].call(act.arguments)


def listed(tools: Sequence[Tool]) -> str:
    """Return the list of the tools for the prompt, empty where there are none."""
    lines = ["You can use these tools:", ""] if tools else []
    for tool in tools:
        first, *rest = tool.description.strip().splitlines() or [""]
        lines.append(f"- {tool.signature}: {first}")
        lines += [f"  {line.strip()}" for line in rest if line.strip()]
        lines += [f"  {name}: {about}" for name, about in tool.about.items()]
    return "\n".join(lines)


def _object_form(schema: Schema) -> str:
    """Return the object that a call takes, such as `{"query": ..., "limit": integer}`."""
    definitions = schema.get("$defs", {})
    members: Mapping[str, Any] = schema.get("properties", {})
    forms = (
        f"{json.dumps(name, ensure_ascii=False)}: {_type_name(each, definitions) or '...'}"
        for name, each in members.items()
    )
    return f"{{{', '.join(forms)}}}"


def _signature_parameters(schema: Schema) -> Iterator[str]:
    """Yield each parameter, such as `query` or `limit: integer = 5`; what has no type is text."""
    definitions = schema.get("$defs", {})
    required = schema.get("required", ())
    for name, each in schema.get("properties", {}).items():
        kind = _type_name(each, definitions)
        shown = f"{name}: {kind}" if kind else name
        if name in required:
            yield shown
        elif "default" in each and each["default"] is not None:
            yield f"{shown} = {json.dumps(each['default'], ensure_ascii=False)}"
        else:
            yield f"{shown} (optional)"


def _type_name(schema: Schema, definitions: Schema) -> str:
    """Return a type in words, an empty text for text."""
    schema = resolved(schema, definitions)
    if choice := choices(schema):
        return " | ".join(json.dumps(item, ensure_ascii=False) for item in choice)
    if alternatives := alternatives_of(schema):
        kinds = [_type_name(part, definitions) or "text" for part in alternatives]
        left = [kind for kind in dict.fromkeys(kinds) if kind != "null"]
        return "" if left == ["text"] else " | ".join(left)
    kind: str = schema.get("type", "")
    if kind == "array":
        items = schema.get("items")
        if not isinstance(items, dict):
            return "list"
        return f"list of {_type_name(items, definitions) or 'text'}"
    if kind == "string":
        shape: str = schema.get("format", "")
        return "YYYY-MM-DD" if shape == "date" else shape
    return kind


_LEAD: Final = frozenset(
    "use using call calling run running execute try do the a an my i will should need to now let me"  # noqa: SIM905
    " us tool function action name is perform 1 使用 调用".split()
)
"""Words that may stand before a name."""
_WORD: Final = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*|[^\W_a-z0-9]+|[^\w\s]", re.IGNORECASE)
_REMARK: Final = re.compile(
    r"(?:[ _-]?(?:tool|function|工具))?(?:[\s.,:;!?)*_`…-]*|[:#]\d{1,3}|<\|.*"
    r"|\s*[-–:]?\s*[(（](?!\)).*|\s+(?:[-–]\s*)?(?:about|because|for|in|on|to|using|via|with)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
"""What may stand behind a name."""
_SUFFIX: Final = re.compile(r"(?:[ _-]|(?<=[a-z]))(?:Tool|Function|(?<=[ _-])(?:tool|function))$")
_MAX_NAME_CHARS: Final = 600
_MAX_WORDS: Final = 6


def find_tool(written: str, known: Collection[str]) -> str | None:
    """Return the one known name that a model means, or None.

    Case, spaces, hyphens, underscores and camel case are ignored where that leaves one name. Words
    that introduce a tool may stand before it, and a remark behind it (`use the web_search tool to
    find the date`). A name that merely resembles a known one means nothing, nor does one that goes
    on (`web_search.images`), is denied (`not web_search`) or stands beside a second one.
    """
    name = clean_name(written)
    if exact := same_name(name, known) or same_name(_SUFFIX.sub("", name), known):
        return exact
    words = [*_WORD.finditer(name)] if len(name) <= _MAX_NAME_CHARS else []
    found = [*_occurrences(name, words, known)]
    if len(found) != 1:
        return None
    first, end, only = found[0]
    is_introduced = all(word.group().casefold() in _LEAD for word in words[:first])
    return only if is_introduced and _REMARK.fullmatch(name, end) else None


def _occurrences(
    text: str, words: Sequence[re.Match[str]], known: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    """Yield the number of the first word of each known name in a text, its end, and the name."""
    at = 0
    while at < len(words):
        for last in range(min(at + _MAX_WORDS, len(words)) - 1, at - 1, -1):
            end = words[last].end()
            is_word = words[last].group()[0].isalnum()
            if is_word and (name := same_name(text[words[at].start() : end], known)):
                yield at, end, name
                at = last
                break
        at += 1
