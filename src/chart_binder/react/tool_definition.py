"""The definition of a tool, derived from a typed function with a docstring or a callable model.

Our own code does this, because it reports all defects at once and does not import pydantic.
"""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial, reduce
from itertools import chain
from operator import or_
from textwrap import dedent
from typing import Annotated, Any, Final, Literal, Union

import msgspec

from chart_binder.react.arguments import ArgumentsError
from chart_binder.react.coercion import CAMEL_CASE

_NAME: Final = re.compile(r"[^\W\d_][\w.-]{0,63}")
_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_SECTION: Final = re.compile(
    r"^(Args|Arguments|Parameters|Raises):[ \t]*\n((?:[ \t].*(?:\n|\Z)|\n)*)", re.MULTILINE
)
_ENTRY: Final = re.compile(r"^\*{0,2}(\w+)[ ]*(?:\([^)\n]*\))?[ ]*:", re.MULTILINE)
_LIMITS: Final = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")
_DESCRIPTIONS: Final = ("description", "documentation")
_SCHEMA_DEFAULTS: Final = (str, int, float, bool, Enum, type(None))
"""The types of defaults that the schema contains."""


class ToolDefectError(TypeError):
    """A function cannot be a tool; the text names it and everything that is missing."""


def define_tool(
    function: Callable[..., object], name: str | None = None, description: str | None = None
) -> "tuple[str, str, Callable[..., object], ArgumentModel]":
    """Return a tool's name, description, function and arguments, or raise `ToolDefectError`.

    The arguments are the parameters, or the members of a single parameter that is a model
    (pydantic, dataclass, struct).
    """
    tool_name = getattr(function, "__name__", type(function).__name__) if name is None else name
    if name is None and not inspect.isroutine(function):
        tool_name = CAMEL_CASE.sub("_", tool_name).lower()
    docstring = description if description is not None else _own_docstring(function)
    summary, argument_texts = read_docstring(docstring)
    defects = [] if _NAME.fullmatch(tool_name) else [f"{tool_name!r} cannot be the name of a tool"]
    if not summary:
        defects.append("it has no docstring, which tells the model what it is for")
    arguments = None
    if not isinstance(function, type):
        arguments = _function_arguments(function, argument_texts, defects)
    elif is_model(function) and any("__call__" in vars(base) for base in function.__mro__):
        arguments = _made_or_none(
            partial(from_model, function, "model", argument_texts), "it", defects
        )
    else:
        defects.append("a class must be a model (pydantic, dataclass, struct) with a `__call__`")
    if arguments is None or defects:
        place = getattr(function, "__qualname__", None) or repr(function)
        raise ToolDefectError(
            f"{getattr(function, '__module__', '?')}.{place} cannot be a tool: {'; '.join(defects)}"
        )
    is_class = isinstance(function, type)
    return tool_name, summary, (lambda model: model()) if is_class else function, arguments


def _function_arguments(
    function: Callable[..., object], argument_texts: Mapping[str, str], defects: list[str]
) -> "ArgumentModel | None":
    """Return the arguments of a function; None, with new entries in `defects`, if it has none."""
    if inspect.iscoroutinefunction(function):
        defects.append("it is a coroutine function, which is not supported")
    routine: Any = function if inspect.isroutine(function) else type(function).__call__
    try:
        hints = typing.get_type_hints(routine, include_extras=True)
        parameters = tuple(inspect.signature(function).parameters.values())
    except (NameError, AttributeError, TypeError, ValueError) as error:
        defects.append(f"its annotations cannot be resolved ({error})")
        return None
    defects_before = len(defects)
    single = parameters[0].name if len(parameters) == 1 else ""
    if single and parameters[0].kind in _BY_NAME and is_model(hints.get(single)):
        make = partial(from_model, hints[single], single, argument_texts)
    else:
        make = partial(from_parameters, parameters, hints, argument_texts)
        for parameter in parameters:
            _check_parameter(parameter, hints, defects, is_only=bool(single))
    if len(defects) > defects_before:
        return None
    return _made_or_none(make, f"parameter {single!r}" if single else "a parameter", defects)


def _check_parameter(
    parameter: inspect.Parameter, hints: Mapping[str, Any], defects: list[str], *, is_only: bool
) -> None:
    label = f"parameter {parameter.name!r}"
    if parameter.kind not in _BY_NAME:
        defects.append(f"parameter {str(parameter).split(':')[0]!r} cannot be given by name")
    elif parameter.name not in hints:
        defects.append(f"{label} has no type annotation")
    elif not is_only and is_pydantic(hints[parameter.name]):
        defects.append(f"{label} is a pydantic model, which must be the only parameter")
    else:
        _made_or_none(partial(from_parameters, [parameter], hints, {}), label, defects)


def _made_or_none(
    make: Callable[[], "ArgumentModel"], label: str, defects: list[str]
) -> "ArgumentModel | None":
    """Return what `make` returns; None, with a new defect, if a type has no JSON schema."""
    try:
        return make()
    except (TypeError, ValueError) as error:
        defects.append(f"{label} has a type without a JSON schema ({str(error).splitlines()[-1]})")
    return None


def _own_docstring(function: Any) -> str:
    """Return the docstring of a function, unless it is inherited or generated."""
    if inspect.isroutine(function):
        return inspect.getdoc(function) or ""
    kind = function if isinstance(function, type) else type(function)
    text = vars(kind).get("__doc__") or ""
    return "" if text.startswith(f"{kind.__name__}(") else text


@dataclass(frozen=True, slots=True)
class ArgumentModel:
    """The arguments of a tool: their JSON schema, and the value that is built from them.

    `convert` validates an object and returns the value, or raises `ValueError`; `to_json` converts
    the value back. The parameter `model_parameter` takes the whole value; if it is empty, the
    members of the value are the arguments.
    """

    schema: Mapping[str, Any]
    convert: Callable[[Mapping[str, object]], Any]
    to_json: Callable[[Any], dict[str, object]]
    model_parameter: str = ""

    def build(self, arguments: Mapping[str, object]) -> Any:
        """Return the value for an object, or raise `ArgumentsError`."""
        try:
            return self.convert(arguments)
        except ValueError as error:  # as msgspec, pydantic and dataclasses raise it
            raise ArgumentsError("; ".join(_clauses(error))) from error

    def keywords(self, value: Any) -> dict[str, object]:
        """Return the keyword arguments for the function."""
        if self.model_parameter:
            return {self.model_parameter: value}
        return msgspec.structs.asdict(value)


def _clauses(error: ValueError) -> Iterable[str]:
    details = getattr(error, "errors", None)  # of pydantic
    if not callable(details):
        return [str(error).replace("`$.", "`")]
    return [f"{detail['msg']} - at `{'.'.join(map(str, detail['loc']))}`" for detail in details()]


def is_model(kind: object) -> bool:
    """Return whether a type is a pydantic model, a dataclass or a struct."""
    return isinstance(kind, type) and (
        dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct) or is_pydantic(kind)
    )


def is_pydantic(kind: object) -> bool:
    """Return whether a type has the methods of a pydantic model; pydantic is not imported here."""
    return isinstance(kind, type) and all(
        callable(getattr(kind, name, None))
        for name in ("model_json_schema", "model_validate_json", "model_dump")
    )


def from_model(kind: Any, parameter: str, argument_texts: Mapping[str, str]) -> ArgumentModel:
    """Return a model's members as arguments; `argument_texts` describe those of a dataclass.

    Raises `TypeError` for a model without a JSON schema.
    """
    if is_pydantic(kind):
        return ArgumentModel(
            kind.model_json_schema(),
            # As JSON, because a strict model accepts a date only in that form.
            lambda arguments: kind.model_validate_json(msgspec.json.encode(arguments)),
            partial(kind.model_dump, mode="json", by_alias=True),
            parameter,
        )
    if issubclass(kind, msgspec.Struct):
        return _from_struct(kind, parameter)
    hints = typing.get_type_hints(kind, include_extras=True)
    members = from_parameters(inspect.signature(kind).parameters.values(), hints, argument_texts)
    return dataclasses.replace(
        members,
        convert=lambda arguments: kind(**members.keywords(members.build(arguments))),
        model_parameter=parameter,
    )


def from_parameters(
    parameters: Iterable[inspect.Parameter],
    hints: Mapping[str, Any],
    argument_texts: Mapping[str, str],
) -> ArgumentModel:
    """Return a function's parameters as arguments; `argument_texts` describe them by name.

    Raises `TypeError` or `ValueError` for a type without a JSON schema.
    """
    fields = [
        (
            parameter.name,
            with_limits(hints[parameter.name], argument_texts.get(parameter.name, "")),
            *_default(parameter),
        )
        for parameter in parameters
    ]
    return _from_struct(msgspec.defstruct("Arguments", fields, kw_only=True))


def _from_struct(kind: Any, parameter: str = "") -> ArgumentModel:
    # msgspec builds a type at first use; two threads that do so at once may crash the process.
    msgspec.json.Decoder(kind)
    (reference,), components = msgspec.json.schema_components([kind])
    schema = components.pop(reference["$ref"].rpartition("/")[2])
    return ArgumentModel(
        {**schema, "$defs": components} if components else schema,
        partial(msgspec.convert, type=kind, str_keys=True),
        _msgspec_json,
        parameter,
    )


def _default(parameter: inspect.Parameter) -> tuple[object, ...]:
    default = parameter.default
    if default is parameter.empty:
        return ()
    if isinstance(default, _SCHEMA_DEFAULTS):
        return (default,)
    return (msgspec.field(default_factory=lambda: default),)


def _msgspec_json(value: object) -> dict[str, object]:
    # Converted by way of JSON, because a replay gets the values from a transcript.
    return msgspec.json.decode(msgspec.json.encode(value, order="deterministic"), type=dict)


def with_limits(annotation: Any, description: str = "") -> Any:
    """Return a type with its limits and its description in the form that `msgspec` checks.

    The metadata of `Annotated` is read by its attributes: `ge`, `max_length`, `description` ...
    Raises `TypeError` or `ValueError` for limits that contradict each other.
    """
    kind, marks = annotation, list[object]()
    if typing.get_origin(annotation) is Annotated:
        kind, *marks = typing.get_args(annotation)
    nested_marks = [getattr(mark, "metadata", None) for mark in marks]  # of a pydantic `Field`
    marks += chain.from_iterable(group for group in nested_marks if isinstance(group, list | tuple))
    limits = {
        name: value
        for mark in marks
        for name in _LIMITS
        if isinstance(value := getattr(mark, name, None), int | float | str)
    }
    texts = (
        mark if isinstance(mark, str) else getattr(mark, name, None)
        for mark in marks
        for name in _DESCRIPTIONS
    )
    text = next((text for text in texts if isinstance(text, str) and text), description)
    limited = _limited(_inner_types(kind), limits)
    return Annotated[limited, msgspec.Meta(description=text)] if text else limited


def _inner_types(kind: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is None or origin is Literal or not arguments:
        return kind
    parts = tuple(part if part is Ellipsis else with_limits(part) for part in arguments)
    return reduce(or_, parts) if _is_union(origin) else origin[parts]


def _limited(kind: Any, limits: dict[str, Any]) -> Any:
    """Put limits on a type; on an optional type they apply to values other than null."""
    if not limits:
        return kind
    if _is_union(typing.get_origin(kind)):
        parts = typing.get_args(kind)
        kinds = [part for part in parts if part is not types.NoneType]
        if len(kinds) == 1 < len(parts):
            return _limited(kinds[0], limits) | None
    return Annotated[kind, msgspec.Meta(**limits)]


def _is_union(origin: Any) -> bool:
    return origin in {Union, types.UnionType}


def read_docstring(text: str) -> tuple[str, Mapping[str, str]]:
    """Return the description in a docstring (Google style), and those of the arguments."""
    text = inspect.cleandoc(text)
    arguments = [dedent(body) for heading, body in _SECTION.findall(text) if heading != "Raises"]
    _, *entries = _ENTRY.split("\n".join(arguments))
    pairs = zip(entries[::2], entries[1::2], strict=True)
    argument_texts = {name: " ".join(about.split()) for name, about in pairs}
    return _SECTION.sub("", text).strip(), argument_texts
