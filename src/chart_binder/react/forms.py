"""The arguments of a tool are a form: a JSON schema, and what reads an object by it."""

import dataclasses
import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Final

import msgspec

from chart_binder.react.annotations import understood

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
