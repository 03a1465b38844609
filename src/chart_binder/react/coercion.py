"""Values coerced to a tool's JSON schema where they can mean one thing only, before validation.

Our own code rather than a validator's lax mode: pydantic's takes `True` for 1 and `"86400"` for a
date, and refuses a choice in another case.
"""

import contextlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, TypeAlias

from chart_binder.react.arguments import same_name
from chart_binder.react.parsing.lenient_json import LenientJSONError, scan

Schema: TypeAlias = Mapping[str, Any]

_MAX_REFERENCES: Final = 10
_INTEGER: Final = re.compile(r"([+-]?[0-9]{1,30})(?:\.0{1,30})?")
_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?"
)
_DATE: Final = re.compile(
    r"([0-9]{4})(?:([-/.])([0-9]{1,2})\2([0-9]{1,2})|([0-9]{2})([0-9]{2}))"
    r"(?:[T ]00:00(?::00(?:\.0+)?)?Z?)?"
)
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_BOOLEANS: Final = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
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


def coerce(value: object, schema: Schema, definitions: Schema) -> object:
    """Return a value in the type that a schema asks for, or as it is where that is not certain.

    `"3"` becomes 3 and 3 becomes `"3"`, `"True"` true, `"null"` null where no text is wanted; a
    lone item becomes a list of one, JSON in a text the list or object that it writes; a name the
    choice that it equals but for case and punctuation; `1975/10/31` a date. Text with commas
    becomes a list of numbers or choices, but never of texts, for a title may contain a comma. The
    result is still to be validated.
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
    kind = schema.get("type")
    if kind == "array":
        return _to_list(value, schema, definitions)
    if kind == "object":
        return _to_object(value, schema, definitions)
    for convert in (_BY_TYPE.get(kind or ""), _BY_FORMAT.get(schema.get("format", ""))):
        value = convert(value) if convert else value
    return value


def _to_one_of(value: object, alternatives: Sequence[Schema], definitions: Schema) -> object:
    """Take the alternative that a value has already, else the one that it can be bent to.

    Of several that it has, one goes first in which nothing needs to be bent.
    """
    bent = [(schema, coerce(value, schema, definitions)) for schema in alternatives]
    own = [new for schema, new in bent if _has_type(value, schema, definitions)]
    if own:
        return next((new for new in own if repr(new) == repr(value)), own[0])
    fitted = [new for schema, new in bent if _has_type(new, schema, definitions)]
    return fitted[0] if fitted and all(new == fitted[0] for new in fitted) else value


def _has_type(value: object, schema: Schema, definitions: Schema) -> bool:
    """Return whether a value has the type that is wanted; its limits are not looked at."""
    schema = resolved(schema, definitions)
    if choice := choices(schema):
        return _is_among(value, choice)
    if shape := _FORMAT_PATTERNS.get(schema.get("format", "")):
        return isinstance(value, str) and bool(shape.fullmatch(value))
    kinds = _PYTHON_TYPES.get(schema.get("type", ""))
    return kinds is None or type(value) in kinds


def _is_among(value: object, choice: Sequence[object]) -> bool:
    return any(type(item) is type(value) and item == value for item in choice)


def _to_list(value: object, schema: Schema, definitions: Schema) -> object:
    value = _parsed(value, "[")
    items = schema.get("items")
    item = resolved(items, definitions) if isinstance(items, dict) else {}
    if isinstance(value, list):
        first: Sequence[Schema] = schema.get("prefixItems", ())
        kinds = [*first, *([item] * max(0, len(value) - len(first)))]
        return [coerce(part, kind, definitions) for part, kind in zip(value, kinds, strict=False)]
    if value is None or not (choices(item) or item.get("type") in _BY_TYPE):
        return value
    return _split_items(value, item, definitions)


def _split_items(value: object, item: Schema, definitions: Schema) -> object:
    """Return a list of one item, or of those between commas where each is a number or a choice."""
    if not isinstance(value, str) or "," not in value:
        return [coerce(value, item, definitions)]
    parts = [coerce(part.strip(), item, definitions) for part in value.split(",")]
    is_title = item.get("type") == "string" and item.get("format") not in _FORMAT_PATTERNS
    if is_title and not choices(item):
        return value
    return parts if all(_has_type(part, item, definitions) for part in parts) else value


def _to_object(value: object, schema: Schema, definitions: Schema) -> object:
    value = _parsed(value, "{")
    if not isinstance(value, dict):
        return value
    members: Mapping[str, Schema] = schema.get("properties", {})
    others = schema.get("additionalProperties")
    other: Schema = others if isinstance(others, dict) else {}
    fitted: dict[str, object] = {}
    for key, part in value.items():
        name = same_name(key, members) or key
        fitted.setdefault(name, coerce(part, members.get(name, other), definitions))
    return fitted


def _parsed(value: object, opener: str) -> object:
    """Return the list or object that a text writes in JSON, else the value."""
    if not isinstance(value, str) or not value.strip().startswith(opener):
        return value
    text = value.strip()
    try:
        found = scan(text, 0)
    except LenientJSONError:
        return text
    return text if text[found.end :].strip() else found.value


def resolved(schema: Schema, definitions: Schema) -> Schema:
    """Return the schema that a reference leads to."""
    for _ in range(_MAX_REFERENCES):
        whole = schema.get("allOf", ())
        reference = (whole[0] if len(whole) == 1 else schema).get("$ref")
        if reference is None:
            break
        schema = definitions.get(reference.rpartition("/")[2], {})
    return schema


def takes_null(schema: Schema, definitions: Schema) -> bool:
    """Return whether null is a value of its own."""
    schema = resolved(schema, definitions)
    return any(part.get("type") == "null" for part in alternatives_of(schema) or (schema,))


def choices(schema: Schema) -> Sequence[object]:
    """Return the only values that are allowed, if the schema lists them."""
    return (schema["const"],) if "const" in schema else schema.get("enum", ())


def alternatives_of(schema: Schema) -> Sequence[Schema]:
    """Return the schemas of which one must hold, if there are several."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    return schema.get("anyOf") or schema.get("oneOf") or ()


def _to_text(value: object) -> object:
    """Write a number out; take the one text out of a list."""
    if type(value) in (int, float):
        return json.dumps(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return value


def _to_integer(value: object) -> object:
    """Read a whole number, also one with zeros behind its point."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    found = _INTEGER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(found[1]) if found else value


def _to_number(value: object) -> object:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return value
    whole = _to_integer(value)
    read = float(value)
    return whole if isinstance(whole, int) else read if math.isfinite(read) else value


def _to_boolean(value: object) -> object:
    if type(value) is int and value in (0, 1):
        return bool(value)
    return _BOOLEANS.get(value.strip().casefold(), value) if isinstance(value, str) else value


def _to_null(value: object) -> object:
    return None if isinstance(value, str) and value.strip().casefold() in _NULLS else value


def _to_date(value: object) -> object:
    """Read a date that begins with its year: others have two meanings."""
    found = _DATE.fullmatch(str(value).strip()) if type(value) in (str, int) else None
    if found is None:
        return value
    year, month, day = found[1], found[3] or found[5], found[4] or found[6]
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return value


def _to_datetime(value: object) -> object:
    """Read a date with a time, in any form of ISO 8601."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return datetime.fromisoformat(value.strip()).isoformat()
    return value


Coercion = Callable[[object], object]
_BY_TYPE: Final[Mapping[str, Coercion]] = {
    "string": _to_text,
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "null": _to_null,
}
"""How each type of a JSON schema is read."""
_BY_FORMAT: Final[Mapping[str, Coercion]] = {"date": _to_date, "date-time": _to_datetime}
"""How a text is read that has a format."""
_FORMAT_PATTERNS: Final[Mapping[str, re.Pattern[str]]] = {
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "date-time": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.{0,20}"),
}
"""What a text of that format looks like once it is read."""
