"""A call is shown with the types of its arguments, in the words that models know."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from chart_binder.react.coercion import Schema, alternatives_of, choices, resolved


def signature(name: str, schema: Schema) -> str:
    """Return a call such as `search(query, limit: integer = 5)`; what has no type is text."""
    return f"{name}({', '.join(_parameters(schema))})"


def filled_in(schema: Schema) -> str:
    """Return the object that a call takes, such as `{"query": ..., "limit": integer}`."""
    definitions = schema.get("$defs", {})
    members: Mapping[str, Any] = schema.get("properties", {})
    forms = (
        f"{json.dumps(name, ensure_ascii=False)}: {_kind(each, definitions) or '...'}"
        for name, each in members.items()
    )
    return f"{{{', '.join(forms)}}}"


def _parameters(schema: Schema) -> Iterator[str]:
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
