"""A value is bent towards the JSON schema of a parameter, where it can mean one thing only."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from chart_binder.react.json.scanner import scan
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.scalars import FORMATS, KINDS, SHAPES
from chart_binder.react.tool_names import same_name

Schema: TypeAlias = Mapping[str, Any]

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
_MOST_REFERENCES: Final = 10


def bent(value: object, schema: Schema, definitions: Schema) -> object:
    """Return a value as the schema wants it, or as it is where it cannot be bent.

    `"3"` is 3 where a number is wanted, 3 is `"3"` where text is, `"True"` is true, `"null"` is
    null where no text is wanted; a lone item is a list of one, JSON in a text is the list or object
    it writes out; a name is the member of a choice that it matches but for case and punctuation;
    `1975/10/31` is a date. Text with commas is a list of numbers or choices, never one of texts,
    for a title may hold a comma. What comes out is still to be validated.
    """
    schema = resolved(schema, definitions)
    if alternatives := alternatives_of(schema):
        return _one_of(value, alternatives, definitions)
    if choice := choices(schema):
        return _member(value, choice)
    kind = schema.get("type")
    if kind == "array":
        return _as_list(value, schema, definitions)
    if kind == "object":
        return _as_object(value, schema, definitions)
    for bend in (KINDS.get(kind or ""), FORMATS.get(schema.get("format", ""))):
        value = bend(value) if bend else value
    return value


def resolved(schema: Schema, definitions: Schema) -> Schema:
    """Return the schema that a reference leads to."""
    for _ in range(_MOST_REFERENCES):
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


def _one_of(value: object, alternatives: Sequence[Schema], definitions: Schema) -> object:
    """Take the alternative that a value has already, else the one that it can be bent to.

    Of several that it has, one goes first in which nothing needs to be bent.
    """
    own = [
        bent(value, schema, definitions)
        for schema in alternatives
        if _conforms(value, schema, definitions)
    ]
    if own:
        return next((new for new in own if repr(new) == repr(value)), own[0])
    fitted = [
        new
        for schema in alternatives
        if _conforms(new := bent(value, schema, definitions), schema, definitions)
    ]
    return fitted[0] if fitted and all(new == fitted[0] for new in fitted) else value


def _conforms(value: object, schema: Schema, definitions: Schema) -> bool:
    """Tell whether a value has the type that is wanted; its limits are not looked at."""
    schema = resolved(schema, definitions)
    if choice := choices(schema):
        return _is_among(value, choice)
    if shape := SHAPES.get(schema.get("format", "")):
        return isinstance(value, str) and bool(shape.fullmatch(value))
    kinds = _TYPES.get(schema.get("type", ""))
    return kinds is None or type(value) in kinds


def _is_among(value: object, choice: Sequence[object]) -> bool:
    return any(type(item) is type(value) and item == value for item in choice)


def _member(value: object, choice: Sequence[object]) -> object:
    if type(value) not in (str, int) or _is_among(value, choice):
        return value
    by_name = {str(item): item for item in choice}
    name = same_name(str(value), by_name)
    return value if name is None else by_name[name]


def _as_list(value: object, schema: Schema, definitions: Schema) -> object:
    if isinstance(value, str) and value.strip()[:1] == "[":
        value = _written_out(value.strip())
    items = schema.get("items")
    item = resolved(items, definitions) if isinstance(items, dict) else {}
    if isinstance(value, list):
        first: Sequence[Schema] = schema.get("prefixItems", ())
        kinds = [*first, *([item] * max(0, len(value) - len(first)))]
        return [bent(part, kind, definitions) for part, kind in zip(value, kinds, strict=False)]
    if value is None or not (choices(item) or item.get("type") in KINDS):
        return value
    return _items(value, item, definitions)


def _items(value: object, item: Schema, definitions: Schema) -> object:
    """Return a list of one item, or of those between commas where each is a number or a choice."""
    if not isinstance(value, str) or "," not in value:
        return [bent(value, item, definitions)]
    parts = [bent(part.strip(), item, definitions) for part in value.split(",")]
    certain = choices(item) or item.get("type") != "string" or item.get("format") in SHAPES
    return parts if certain and all(_conforms(part, item, definitions) for part in parts) else value


def _as_object(value: object, schema: Schema, definitions: Schema) -> object:
    if isinstance(value, str) and value.strip()[:1] == "{":
        value = _written_out(value.strip())
    if not isinstance(value, dict):
        return value
    members: Mapping[str, Schema] = schema.get("properties", {})
    others = schema.get("additionalProperties")
    other: Schema = others if isinstance(others, dict) else {}
    fitted: dict[str, object] = {}
    for key, part in value.items():
        name = same_name(key, members) or key
        fitted.setdefault(name, bent(part, members.get(name, other), definitions))
    return fitted


def _written_out(text: str) -> object:
    """Return the list or object that a text writes out in JSON, or the text."""
    try:
        found = scan(text, 0)
    except LenientJSONError:
        return text
    return text if text[found.end :].strip() else found.value
