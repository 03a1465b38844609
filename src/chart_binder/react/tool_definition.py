"""A typed function with a docstring, or a model that can be called, is read as a tool."""

import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial, reduce
from operator import or_
from typing import Annotated, Any, Final, Literal, Union

import msgspec

_SECTION = re.compile(r"(Args|Arguments|Parameters|Params|Raises|Exceptions):\s*")
_OF_ARGUMENTS = frozenset({"Args", "Arguments", "Parameters", "Params"})
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Documented:
    """What a docstring says: of the whole, and of each argument by its name."""

    about: str
    arguments: Mapping[str, str]


def read_docstring(text: str) -> Documented:
    """Read a docstring whose arguments, if it tells of them, stand below `Args:` (Google style).

    What it raises is left out: a model is told when it happens. Everything else is kept.
    """
    lines = inspect.cleandoc(text).splitlines()
    about: list[str] = []
    arguments: dict[str, str] = {}
    at = 0
    while at < len(lines):
        section = _SECTION.fullmatch(lines[at])
        if section is None:
            about.append(lines[at].rstrip())
            at += 1
            continue
        end = _end(lines, at + 1)
        if section[1] in _OF_ARGUMENTS:
            arguments |= dict(_entries(lines[at + 1 : end]))
        at = end
    return Documented("\n".join(about).strip(), arguments)


def _end(lines: Sequence[str], start: int) -> int:
    """Return where a section ends: at the next line that is not indented."""
    for at in range(start, len(lines)):
        if lines[at].strip() and not lines[at][0].isspace():
            return at
    return len(lines)


def _entries(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each argument with its description; deeper lines go on with the one before."""
    indent = min((_indent(line) for line in lines if line.strip()), default=0)
    name, words = "", list[str]()
    for line in filter(str.strip, lines):
        entry = _ENTRY.fullmatch(line.strip()) if _indent(line) == indent else None
        if entry:
            if name:
                yield name, " ".join(words)
            name, words = entry[1], [entry[2]] if entry[2] else []
        else:
            words.append(line.strip())
    if name:
        yield name, " ".join(words)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


_LIMITS: Final = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")
_WORDS: Final = ("description", "documentation")


def understood(annotation: Any, description: str = "") -> Any:
    """Return a type with its limits and its description in the form that `msgspec` checks.

    In `Annotated`, a text is a description; what has attributes such as `ge`, `max_length` or
    `description` is read by them: `msgspec.Meta`, `annotated_types`, pydantic's `Field`. Marks that
    say nothing of the kind are passed over, as Python asks. `description` counts where the
    annotation has none. Raises `TypeError` or `ValueError` for limits that contradict each other.
    """
    kind, marks = annotation, list[object]()
    if typing.get_origin(annotation) is Annotated:
        kind, *marks = typing.get_args(annotation)
    limits = dict(_limits(marks))
    about = next(_words(marks), description)
    limited = _limited(_inside(kind), limits)
    return Annotated[limited, msgspec.Meta(description=about)] if about else limited


def _inside(kind: Any) -> Any:
    """Return a type with the types inside it understood."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is None or origin is Literal or not inner:
        return kind
    parts = tuple(part if part is Ellipsis else understood(part) for part in inner)
    return reduce(or_, parts) if _is_union(origin) else origin[parts]


def _limited(kind: Any, limits: dict[str, Any]) -> Any:
    """Lay limits on a type; on an optional one they hold for what is not null."""
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


def _limits(marks: Iterable[object]) -> Iterator[tuple[str, object]]:
    for mark in _unfolded(marks):
        for name in _LIMITS:
            if isinstance(value := getattr(mark, name, None), int | float | str):
                yield name, value


def _words(marks: Iterable[object]) -> Iterator[str]:
    for mark in _unfolded(marks):
        texts = (mark if isinstance(mark, str) else getattr(mark, name, None) for name in _WORDS)
        yield from (text for text in texts if isinstance(text, str) and text)


def _unfolded(marks: Iterable[object]) -> Iterator[object]:
    """Yield the marks, those inside a mark (a pydantic `Field`) too."""
    for mark in marks:
        yield mark
        within = getattr(mark, "metadata", None)
        if isinstance(within, list | tuple):
            yield from within


_SHOWN: Final = (str, int, float, bool, Enum, type(None))
"""Defaults of these types stand in the schema."""
_NAMED: Final = frozenset({"properties", "$defs"})
_LISTED: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})


class InvalidError(ValueError):
    """Arguments do not hold; the text is one clause that says which, and why."""


@dataclass(frozen=True, slots=True)
class Form:
    """A JSON schema, and what turns an object that fits it into a value and back into JSON.

    `into` is the parameter that takes the whole value; where it is empty, the value's members are
    the arguments. `build` raises `InvalidError`.
    """

    schema: Mapping[str, Any]
    build: Callable[[Mapping[str, object]], Any]
    plain: Callable[[Any], dict[str, object]]
    into: str = ""

    def keywords(self, value: Any) -> dict[str, object]:
        """Return the arguments that the function is called with."""
        return {self.into: value} if self.into else msgspec.structs.asdict(value)


def refuse_endless(*values: object) -> None:
    """Raise `InvalidError` for a number without end, which JSON has none for."""
    try:
        json.dumps(values, allow_nan=False, default=str)
    except ValueError as error:
        raise InvalidError("a number must be finite") from error


def is_model(kind: object) -> bool:
    """Tell whether a type has members of its own: of pydantic, a dataclass or a struct."""
    if not isinstance(kind, type):
        return False
    is_struct = dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct)
    return is_struct or is_pydantic(kind)


def is_pydantic(kind: object) -> bool:
    """Tell a pydantic model by its methods, for pydantic is not known here."""
    return isinstance(kind, type) and all(
        callable(getattr(kind, name, None))
        for name in ("model_json_schema", "model_validate_json", "model_dump")
    )


def form_of_model(kind: Any, into: str, about: Mapping[str, str]) -> Form:
    """Return the form of a model's members; raises `TypeError` for one without a JSON schema.

    `about` describes members of a dataclass that say nothing; the others have ways of their own.
    """
    if is_pydantic(kind):
        schema = _untitled(kind.model_json_schema())
        return Form(schema, partial(_validated, kind), partial(_dumped, kind), into)
    if issubclass(kind, msgspec.Struct):
        return Form(_schema(kind), partial(_converted, kind), _plain, into)
    hints = typing.get_type_hints(kind, include_extras=True)
    members = form_of(inspect.signature(kind).parameters.values(), hints, about)
    return Form(members.schema, partial(_made, kind, members), _plain, into)


def form_of(
    parameters: Iterable[inspect.Parameter], hints: Mapping[str, Any], about: Mapping[str, str]
) -> Form:
    """Return the form of a function's parameters; `about` describes those that say nothing.

    Raises `TypeError` or `ValueError` for a type without a JSON schema.
    """
    fields = [
        (each.name, understood(hints[each.name], about.get(each.name, "")), *_default(each))
        for each in parameters
    ]
    kind = msgspec.defstruct("Arguments", fields, kw_only=True)
    return Form(_schema(kind), partial(_converted, kind), _plain)


def _default(parameter: inspect.Parameter) -> tuple[object, ...]:
    default = parameter.default
    if default is parameter.empty:
        return ()
    if isinstance(default, _SHOWN):
        return (default,)
    return (msgspec.field(default_factory=lambda: default),)


def _schema(kind: Any) -> dict[str, Any]:
    # msgspec builds a type when it is first read: two threads that do may end the process.
    msgspec.json.Decoder(kind)
    (reference,), components = msgspec.json.schema_components([kind])
    schema = components.pop(reference["$ref"].rpartition("/")[2])
    return {**schema, "$defs": components} if components else schema


def _untitled(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out titles, which only say a name once more; a member may be called `title`."""
    plain: dict[str, Any] = {}
    for key, part in schema.items():
        if key in _NAMED:
            plain[key] = {name: _untitled(each) for name, each in part.items()}
        elif isinstance(part, dict) and key != "default":
            plain[key] = _untitled(part)
        elif key in _LISTED:
            plain[key] = [_untitled(each) for each in part]
        elif key != "title":
            plain[key] = part
    return plain


def _converted(kind: Any, given: Mapping[str, object]) -> object:
    try:
        return msgspec.convert(given, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise InvalidError(str(error).replace("`$.", "`")) from error


def _made(kind: Any, members: Form, given: Mapping[str, object]) -> object:
    try:
        return kind(**members.keywords(members.build(given)))
    except ValueError as error:  # what a dataclass has to say of its own members
        raise InvalidError(str(error)) from error


def _plain(value: object) -> dict[str, object]:
    # By way of JSON, for a replay has what was written to a transcript.
    return msgspec.json.decode(msgspec.json.encode(value, order="deterministic"), type=dict)


def _validated(kind: Any, given: Mapping[str, object]) -> object:
    """Validate as JSON, for a strict model takes a date in that form only."""
    try:
        return kind.model_validate_json(msgspec.json.encode(given))
    except ValueError as error:  # what pydantic raises is one
        raise InvalidError("; ".join(_clauses(error))) from error


def _clauses(error: ValueError) -> Iterable[str]:
    details = getattr(error, "errors", None)
    if not callable(details):
        return [str(error)]
    return [f"{detail['msg']} - at `{'.'.join(map(str, detail['loc']))}`" for detail in details()]


def _dumped(kind: Any, value: Any) -> dict[str, object]:
    dumped: dict[str, object] = kind.model_dump(value, mode="json", by_alias=True)
    return dumped


_NAME: Final = re.compile(r"[^\W\d_][\w.-]{0,63}")
_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class ToolDefectError(TypeError):
    """A function cannot be a tool; the text names it and says all that is missing."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What is derived from a function: its name, what it is for, how it is called."""

    name: str
    description: str
    function: Callable[..., object]
    form: Form


def define(
    function: Callable[..., object], name: str | None = None, description: str | None = None
) -> Definition:
    """Derive a tool from a typed function, or from a model class with a `__call__`.

    One parameter that is a model (of pydantic, a dataclass, a struct) gives its members as the
    arguments. `name` and `description` go before what the function says of itself. Raises
    `ToolDefectError`.
    """
    called = name if name is not None else _name(function)
    said = read_docstring(description if description is not None else _doc(function))
    defects = [] if _NAME.fullmatch(called) else [f"{called!r} cannot be the name of a tool"]
    if not said.about:
        defects.append("it has no docstring, which tells the model what it is for")
    reading = _of_class if isinstance(function, type) else _of_function
    form = reading(function, said, defects)
    if form is None or defects:
        raise ToolDefectError(f"{_place(function)} cannot be a tool: {'; '.join(defects)}")
    run = _run if isinstance(function, type) else function
    return Definition(called, said.about, run, form)


def _of_class(kind: Any, said: Documented, defects: list[str]) -> Form | None:
    if is_model(kind) and any("__call__" in vars(base) for base in kind.__mro__):
        return _tried(partial(form_of_model, kind, "model", said.arguments), "it", defects)
    defects.append("a class must be a model (pydantic, dataclass, struct) with a `__call__`")
    return None


def _run(model: Callable[[], object]) -> object:
    return model()


def _of_function(
    function: Callable[..., object], said: Documented, defects: list[str]
) -> Form | None:
    if inspect.iscoroutinefunction(function):
        defects.append("it is a coroutine function, and nothing here awaits")
    try:
        hints = _hints(function)
        parameters = tuple(inspect.signature(function).parameters.values())
    except (NameError, AttributeError, TypeError, ValueError) as error:
        defects.append(f"its annotations cannot be resolved ({error})")
        return None
    before = len(defects)
    defects += _unfit(parameters, hints)
    if len(defects) > before:
        return None
    if len(parameters) == 1 and is_model(hints[parameters[0].name]):
        only = parameters[0].name
        make = partial(form_of_model, hints[only], only, said.arguments)
        return _tried(make, f"parameter {only!r}", defects)
    form = _tried(partial(form_of, parameters, hints, said.arguments), "a parameter", defects)
    if form is None:  # one by one, to say which it is
        named: list[str] = []
        for each in parameters:
            _tried(partial(form_of, [each], hints, {}), f"parameter {each.name!r}", named)
        defects[before:] = named or defects[before:]
    return form


def _unfit(parameters: tuple[inspect.Parameter, ...], hints: Mapping[str, Any]) -> Iterator[str]:
    for each in parameters:
        if each.kind not in _BY_NAME:
            yield f"parameter {str(each).split(':')[0]!r} cannot be given by name"
        elif each.name not in hints:
            yield f"parameter {each.name!r} has no type annotation"
        elif len(parameters) > 1 and is_pydantic(hints[each.name]):
            yield f"parameter {each.name!r} is a pydantic model, which must be the only parameter"


def _tried(make: Callable[[], Form], what: str, defects: list[str]) -> Form | None:
    try:
        return make()
    except (TypeError, ValueError) as error:
        defects.append(f"{what} has a type without a JSON schema ({str(error).splitlines()[-1]})")
    return None


def _hints(function: Any) -> Mapping[str, Any]:
    routine = function if inspect.isroutine(function) else type(function).__call__
    return typing.get_type_hints(routine, include_extras=True)


def _name(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    is_class = not inspect.isroutine(function)
    return _HUMP.sub("_", name).lower() if is_class else name


def _doc(function: Any) -> str:
    """Return the docstring of the very thing: none that it inherits, none that was made for it."""
    if inspect.isroutine(function):
        return inspect.getdoc(function) or ""
    kind = function if isinstance(function, type) else type(function)
    text = vars(kind).get("__doc__") or ""
    return "" if text.startswith(f"{kind.__name__}(") else text


def _place(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or repr(function)
    return f"{getattr(function, '__module__', '?')}.{name}"
