"""Coerces the values that a model wrote to a JSON schema, if only one meaning is possible.

The lax mode of pydantic is not used, because it reads `True` as 1 and `"86400"` as a date, and
refuses a choice in another case.
"""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from itertools import chain, repeat
from typing import Any, Final, TypeAlias

from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    Repair,
    scan,
)

Schema: TypeAlias = Mapping[str, Any]

_DECORATION: Final = " \t\n*`\"'“”‘’「」.,;:：!。，"
_BRACKETS: Final = {"[": "]", "(": ")", "<": ">", "{": "}", "【": "】"}
_NAMESPACES: Final = re.compile(
    r"\A(?:(?:functions?|tools?|actions?|api|default_api)\.(?=.)){1,3}", re.IGNORECASE
)
CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""The place between two words of a name in camel case."""
_MAX_REFERENCES: Final = 10
_INTEGER: Final = re.compile(r"([+-]?[0-9]{1,30})(?:\.0{1,30})?")
_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?"
)
_DATE: Final = re.compile(
    r"([0-9]{4})(?:([-/.])([0-9]{1,2})\2([0-9]{1,2})|([0-9]{2})([0-9]{2}))"
    r"(?:[T ]00:00(?::00(?:\.0+)?)?Z?)?"
)
_BOOLEANS: Final = dict.fromkeys(("true", "yes", "on"), True) | dict.fromkeys(
    ("false", "no", "off"), False
)
_NULLS: Final = frozenset({"", "null", "none", "nil"})
_PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def clean_name(text: str) -> str:
    """Return a name without the emphasis, quotes or brackets around it, `()` and `functions.`.

    In Markdown a backslash may precede an underscore.
    """
    name = text.replace("\\_", "_").strip(_DECORATION).removesuffix("()").strip(_DECORATION)
    if name and name[-1] == _BRACKETS.get(name[0]):
        name = name[1:-1].strip(_DECORATION)
    return _NAMESPACES.sub("", name)


def folded(name: str) -> str:
    """Return a name without case, width, spaces, hyphens and underscores."""
    if name.isascii() and name.isidentifier():
        return name.replace("_", "").lower()
    return re.sub(r"[\s_-]", "", unicodedata.normalize("NFKC", name)).casefold()


def same_name(text: str, names: Collection[str]) -> str | None:
    """Return the name that equals a text, else the only name that equals it when folded."""
    if text in names:
        return text
    folded_text = folded(text)
    matches = [name for name in names if folded(name) == folded_text]
    return matches[0] if len(matches) == 1 else None


def coerce(value: object, schema: Schema, definitions: Schema) -> object:
    """Return a value converted to the type of a schema, or unchanged if its meaning is not certain.

    `"3"` becomes 3, 3 becomes `"3"`, `"True"` becomes true, and `"null"` becomes null unless text
    is expected. A single item becomes a list, and JSON in a text becomes its list or object. A name
    becomes the choice that differs only in case and punctuation, and `1975/10/31` a date. Text with
    commas becomes a list of numbers or choices, but never of texts, because a title may contain a
    comma. The result must still be validated.
    """
    schema = resolved(schema, definitions)
    if alternatives := alternatives_of(schema):
        return _to_one_of(value, alternatives, definitions)
    if choice := choices(schema):
        if type(value) not in (str, int) or _is_among(value, choice):
            return value
        by_name = {str(item): item for item in choice}
        name = same_name(str(value), by_name)
        return value if name is None else by_name[name]
    kind = schema.get("type", "")
    if kind == "array":
        return _to_list(value, schema, definitions)
    if kind == "object":
        return _to_object(value, schema, definitions)
    convert = _to_date if schema.get("format") == "date" else _BY_TYPE.get(kind)
    return convert(value) if convert else value


def _to_one_of(value: object, alternatives: Sequence[Schema], definitions: Schema) -> object:
    """Return a value coerced to the alternative whose type it has, else to one that it can become.

    If it has the types of several, an alternative that leaves it unchanged is preferred. If it can
    become several different values, it is returned unchanged.
    """
    coerced = [(schema, coerce(value, schema, definitions)) for schema in alternatives]
    unchanged = [new for schema, new in coerced if has_type(value, schema, definitions)]
    if unchanged:
        return next((new for new in unchanged if repr(new) == repr(value)), unchanged[0])
    fitted = [new for schema, new in coerced if has_type(new, schema, definitions)]
    return fitted[0] if fitted and all(new == fitted[0] for new in fitted) else value


def has_type(value: object, schema: Schema, definitions: Schema) -> bool:
    """Return whether a value has the type of a schema; the limits are not checked."""
    schema = resolved(schema, definitions)
    if choice := choices(schema):
        return _is_among(value, choice)
    if schema.get("format") == "date":
        return isinstance(value, str) and bool(_DATE.fullmatch(value)) and _to_date(value) == value
    kinds = _PYTHON_TYPES.get(schema.get("type", ""))
    return kinds is None or type(value) in kinds


def _is_among(value: object, choice: Sequence[object]) -> bool:
    return any(type(item) is type(value) and item == value for item in choice)


def _to_list(value: object, schema: Schema, definitions: Schema) -> object:
    value = parsed_text(value, "[")
    items = schema.get("items")
    item = resolved(items, definitions) if isinstance(items, dict) else {}
    if isinstance(value, list):
        kinds = chain(schema.get("prefixItems", ()), repeat(item))
        return [coerce(part, kind, definitions) for part, kind in zip(value, kinds, strict=False)]
    if value is None or not (choices(item) or item.get("type") in _BY_TYPE):
        return value
    return _split_items(value, item, definitions)


def _split_items(value: object, item: Schema, definitions: Schema) -> object:
    """Return a list of one item, or of the numbers or choices between commas."""
    if not isinstance(value, str) or "," not in value:
        return [coerce(value, item, definitions)]
    parts = [coerce(part.strip(), item, definitions) for part in value.split(",")]
    is_title = item.get("type") == "string" and item.get("format") != "date"
    if is_title and not choices(item):
        return value
    return parts if all(has_type(part, item, definitions) for part in parts) else value


def _to_object(value: object, schema: Schema, definitions: Schema) -> object:
    value = parsed_text(value, "{")
    if not isinstance(value, dict):
        return value
    members: Mapping[str, Schema] = schema.get("properties", {})
    additional = schema.get("additionalProperties")
    additional_schema: Schema = additional if isinstance(additional, dict) else {}
    fitted: dict[str, object] = {}
    for key, part in value.items():
        name = same_name(key, members) or key
        fitted.setdefault(name, coerce(part, members.get(name, additional_schema), definitions))
    return fitted


def parsed_text(value: object, opener: str) -> object:
    """Return the list or object that a text contains as JSON, else the value itself."""
    if not isinstance(value, str) or not value.strip().startswith(opener):
        return value
    parsed = whole_value(value.strip())
    return value if parsed is None else parsed


def resolved(schema: Schema, definitions: Schema) -> Schema:
    """Return the schema that a reference points to; any other schema is returned unchanged."""
    for _ in range(_MAX_REFERENCES):
        combined = schema.get("allOf", ())
        reference = (combined[0] if len(combined) == 1 else schema).get("$ref")
        if reference is None:
            break
        schema = definitions.get(reference.rpartition("/")[2], {})
    return schema


def takes_null(schema: Schema, definitions: Schema) -> bool:
    """Return whether a schema allows null."""
    schema = resolved(schema, definitions)
    return any(part.get("type") == "null" for part in alternatives_of(schema) or (schema,))


def choices(schema: Schema) -> Sequence[object]:
    """Return the allowed values if the schema lists them."""
    return (schema["const"],) if "const" in schema else schema.get("enum", ())


def alternatives_of(schema: Schema) -> Sequence[Schema]:
    """Return the alternatives of a schema, if there are several."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    return schema.get("anyOf") or schema.get("oneOf") or ()


def _to_text(value: object) -> object:
    """Return a number, or a list of one text, as text; return any other value unchanged."""
    if type(value) in (int, float):
        return json.dumps(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return value


def _to_integer(value: object) -> object:
    """Return a whole number (`"3"`, 3.0) as an integer; return any other value unchanged."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    match = _INTEGER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(match[1]) if match else value


def _to_number(value: object) -> object:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return value
    integer = _to_integer(value)
    number = float(value)
    return integer if isinstance(integer, int) else number if math.isfinite(number) else value


def _to_boolean(value: object) -> object:
    if type(value) is int and value in (0, 1):
        return bool(value)
    return _BOOLEANS.get(value.strip().casefold(), value) if isinstance(value, str) else value


def _to_null(value: object) -> object:
    return None if isinstance(value, str) and value.strip().casefold() in _NULLS else value


def _to_date(value: object) -> object:
    """Return a date that begins with its year in ISO form; return any other value unchanged."""
    match = _DATE.fullmatch(str(value).strip()) if type(value) in (str, int) else None
    if match is None:
        return value
    year, month, day = match[1], match[3] or match[5], match[4] or match[6]
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return value


Coercion = Callable[[object], object]
_BY_TYPE: Final[Mapping[str, Coercion]] = {
    "string": _to_text,
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "null": _to_null,
}
"""The coercion for each type of a JSON schema."""


def whole_value(text: str, doubtful: frozenset[Repair] = frozenset()) -> Any:
    """Return the value of a JSON text; None if it is not JSON or needs a `doubtful` repair."""
    try:
        scanned = scan(text, 0)
    except LenientJSONError:
        return None
    is_certain = doubtful.isdisjoint(scanned.repairs) and not text[scanned.end :].strip()
    return scanned.value if is_certain else None
