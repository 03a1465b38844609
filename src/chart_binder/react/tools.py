"""The tools that a model may call: made from functions, listed in the prompt, found by name."""

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from types import CodeType
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import msgspec

from chart_binder.react.arguments import ArgumentsError, bind
from chart_binder.react.coercion import (
    Schema,
    alternatives_of,
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
)

T = TypeVar("T")


class ToolError(Exception):
    """A tool could not answer; the text is one sentence for the model, without internals."""


class ServiceFailedError(ToolError):
    """A service that a tool needs failed; the model is told that this is not an answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason} This says nothing about what exists.")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call by name, with its description and its arguments.

    If there is `per_run`, it makes the function for each run.
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

        The model is shown what it returns: text, an `Observation`, or any other value as JSON.
        Raises `ToolDefectError`, which names the function and everything that is missing.
        """
        return cls(*define_tool(function, name, description))

    def for_run(self, run: "RunContext") -> "Tool":
        """Return the tool for one run, with the function that `per_run` makes, if any."""
        return replace(self, function=self.per_run(run)) if self.per_run else self

    @property
    def schema(self) -> dict[str, object]:
        """The arguments as a JSON schema; its title is the name of the tool."""
        return {**self.arguments.schema, "title": self.name}

    @property
    def signature(self) -> str:
        """The call as the prompt shows it, such as `web_search(query)`."""
        return f"{self.name}({', '.join(_signature_parameters(self.arguments.schema))})"

    @property
    def about(self) -> dict[str, str]:
        """The descriptions of the arguments that have one."""
        members: Mapping[str, Schema] = self.arguments.schema.get("properties", {})
        texts = {name: member.get("description") for name, member in members.items()}
        return {name: text for name, text in texts.items() if text}

    def call(self, arguments: Mapping[str, object] | str) -> "BoundCall":
        """Return a call with the arguments that a model wrote, or raise `ToolError` with advice."""
        try:
            bound = bind(arguments, self.arguments.schema, self.arguments.model_parameter)
            value = self.arguments.build(bound.values)
            plain = self.arguments.to_json(value)
            return BoundCall(self, plain, self.arguments.keywords(value), bound.notes)
        except (ArgumentsError, UnicodeEncodeError) as error:
            takes = _object_form(self.arguments.schema)
            raise ToolError(
                f"You called {self.name} with wrong arguments: {error}. It takes {takes}"
            ) from error


class PlainFunction(Protocol):
    """A function, as mypy infers it from a list of functions with different parameters."""

    @property
    def __code__(self) -> CodeType:
        """The code of the function."""


ToolLike: TypeAlias = Tool | Callable[..., object] | PlainFunction
"""A `Tool`, or a function that becomes one."""


class RunContext:
    """What the tools of one run share: the subject of the run in words, and values by key."""

    def __init__(self, about: str = "") -> None:
        self.about = about
        self._values: dict[str, Any] = {}
        self._lock = Lock()

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """Return the value of a key; the first call makes it."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            value: T = self._values[key]
            return value


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A tool with complete arguments: as JSON values, and as the keywords to call it with.

    `notes` say which of the arguments that the model wrote are ignored.
    """

    tool: Tool
    arguments: dict[str, object]
    keywords: dict[str, object]
    notes: tuple[str, ...] = ()

    def run(self) -> Observation:
        """Call the tool and return its observation, or raise `ToolError`."""
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
    """Return a JSON value for an object that msgspec cannot encode."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


def tool_from_plugin(plugin: Any, settings: object, client: object | None = None) -> Tool:
    """Return the tool that an installed plug-in is or makes.

    A function makes a tool if it is annotated `-> Tool`, or if its first parameter is annotated
    with the type of the settings or called `config`. A `client` is the second argument.
    """
    if _makes_tool(plugin, type(settings)):
        arguments = (settings,) if inspect.signature(plugin).parameters else ()
        plugin = plugin(*arguments, *((client,) if client else ()))
    return plugin if isinstance(plugin, Tool) else Tool.of(plugin)


def _makes_tool(plugin: object, settings: type) -> bool:
    if not inspect.isroutine(plugin):
        return False
    signature = inspect.signature(plugin)
    if _names(signature.return_annotation, Tool):
        return True
    first_parameter = next(iter(signature.parameters.values()), None)
    return first_parameter is not None and (
        _names(first_parameter.annotation, settings)
        or (
            first_parameter.name == "config" and first_parameter.annotation is first_parameter.empty
        )
    )


def _names(annotation: object, kind: type) -> bool:
    """Return whether an annotation is a type, or a string that names it."""
    if isinstance(annotation, str):
        return annotation.strip("\"' ").rpartition(".")[2] == kind.__name__
    return annotation is kind


def call_key(tool: str, arguments: object) -> str:
    """Return a key that is equal for equal calls."""
    return f"{tool} {json.dumps(arguments, sort_keys=True, default=str)}"


class Toolbox:
    """The tools of one conversation, found by the names that models write.

    Only code may call the tools `for_code`. Raises `ToolDefectError` for a function that cannot be
    a tool, for two tools with the same name, and for a name that means the final answer or no tool.
    """

    def __init__(self, tools: Iterable[ToolLike], for_code: Iterable[Tool] = ()) -> None:
        from chart_binder.react.parsing.calls import is_answer_name, is_no_tool  # loads the parser

        functions: Iterable[Any] = tools
        self.tools = tuple(tool if isinstance(tool, Tool) else Tool.of(tool) for tool in functions)
        self._by_name: dict[str, Tool] = {}
        self._for_code = {tool.name: tool for tool in for_code}
        for tool in self.tools:
            if self._by_name.setdefault(tool.name, tool) is not tool:
                raise ToolDefectError(f"there are two tools called {tool.name!r}")
            if is_answer_name(tool.name) or is_no_tool(tool.name):
                raise ToolDefectError(
                    f"a tool cannot be called {tool.name!r}, because a call of that name is read as"
                    f" {'the final answer' if is_answer_name(tool.name) else 'no call at all'}"
                )

    def resolve(self, call: ToolCall, *, is_by_code: bool = False) -> BoundCall:
        """Return the tool of a call with its arguments, or raise `ToolError` with advice."""
        if is_by_code and call.tool in self._for_code:
            return self._for_code[call.tool].call(call.arguments)
        name = find_tool(call.tool, self._by_name)
        if name is None:
            tools = ", ".join(tool.signature for tool in self.tools) or "none; answer without tools"
            raise ToolError(f"There is no tool {call.tool[:80]!r}. Tools: {tools}")
        return self._by_name[name].call(call.arguments)


def listed(tools: Sequence[Tool]) -> str:
    """Return the list of tools for the prompt; an empty text if there are none."""
    lines = ["You can use these tools:", ""] if tools else []
    for tool in tools:
        first_line, *further_lines = tool.description.strip().splitlines() or [""]
        lines.append(f"- {tool.signature}: {first_line}")
        lines += [f"  {line.strip()}" for line in further_lines if line.strip()]
        lines += [f"  {name}: {about}" for name, about in tool.about.items()]
    return "\n".join(lines)


def _object_form(schema: Schema) -> str:
    """Return the object that a call takes, such as `{"query": ..., "limit": integer}`."""
    definitions = schema.get("$defs", {})
    members: Mapping[str, Any] = schema.get("properties", {})
    forms = (
        f"{json.dumps(name, ensure_ascii=False)}: {_type_name(member, definitions) or '...'}"
        for name, member in members.items()
    )
    return f"{{{', '.join(forms)}}}"


def _signature_parameters(schema: Schema) -> Iterator[str]:
    """Yield each parameter, such as `query` or `limit: integer = 5`; one without a type is text."""
    definitions = schema.get("$defs", {})
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        kind = _type_name(member, definitions)
        text = f"{name}: {kind}" if kind else name
        if name in required:
            yield text
        elif member.get("default") is not None:
            yield f"{text} = {json.dumps(member['default'], ensure_ascii=False)}"
        else:
            yield f"{text} (optional)"


def _type_name(schema: Schema, definitions: Schema) -> str:
    """Return the name of a type, as the prompt shows it; it is empty for text, the default type."""
    schema = resolved(schema, definitions)
    if choice := choices(schema):
        return " | ".join(json.dumps(item, ensure_ascii=False) for item in choice)
    if alternatives := alternatives_of(schema):
        kinds = [_type_name(part, definitions) or "text" for part in alternatives]
        kinds_without_null = [kind for kind in dict.fromkeys(kinds) if kind != "null"]
        return "" if kinds_without_null == ["text"] else " | ".join(kinds_without_null)
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
"""Words that may precede a name."""
_WORD: Final = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*|[^\W_a-z0-9]+|[^\w\s]", re.IGNORECASE)
_REMARK: Final = re.compile(
    r"(?:[ _-]?(?:tool|function|工具))?(?:[\s.,:;!?)*_`…-]*|[:#]\d{1,3}|<\|.*"
    r"|\s*[-–:]?\s*[(（](?!\)).*|\s+(?:[-–]\s*)?(?:about|because|for|in|on|to|using|via|with)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
"""What may follow a name."""
_SUFFIX: Final = re.compile(r"(?:[ _-]|(?<=[a-z]))(?:Tool|Function|(?<=[ _-])(?:tool|function))$")
_MAX_NAME_CHARS: Final = 600
_MAX_WORDS: Final = 6


def find_tool(text: str, names: Collection[str]) -> str | None:
    """Return the name of the tool that a model means, or None.

    Case, spaces, hyphens, underscores and camel case are ignored if only one name matches. Words
    that introduce a tool may precede the name, and a remark may follow it (`use the web_search tool
    to find the date`). A name does not match if it is merely similar, goes on
    (`web_search.images`), is denied (`not web_search`) or stands beside another name.
    """
    name = clean_name(text).replace("`", "")
    if exact := same_name(name, names) or same_name(_SUFFIX.sub("", name), names):
        return exact
    words = [*_WORD.finditer(name)] if len(name) <= _MAX_NAME_CHARS else []
    occurrences = [*_occurrences(name, words, names)]
    if len(occurrences) != 1:
        return None
    first_word, end, tool_name = occurrences[0]
    is_introduced = all(word.group().casefold() in _LEAD for word in words[:first_word])
    return tool_name if is_introduced and _REMARK.fullmatch(name, end) else None


def _occurrences(
    text: str, words: Sequence[re.Match[str]], names: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    """Yield each name in a text: the index of its first word, its end in the text, and the name."""
    at = 0
    while at < len(words):
        for last in range(min(at + _MAX_WORDS, len(words)) - 1, at - 1, -1):
            end = words[last].end()
            is_word = words[last].group()[0].isalnum()
            if is_word and (name := same_name(text[words[at].start() : end], names)):
                yield at, end, name
                at = last
                break
        at += 1
