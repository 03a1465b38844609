"""Arguments bound to parameters, and values coerced to a schema, where they mean one thing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.react.coercion import coerce
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import Tool, Toolbox, ToolError
from corpus import rows

WHOLE, NUMBER, TEXT, TRUTH = ({"type": t} for t in ("integer", "number", "string", "boolean"))
DAY = {"type": "string", "format": "date"}
KIND = {"enum": ["Album", "Single", "Mixtape/Street"]}
NULL = {"type": "null"}
WHOLES, TEXTS = {"type": "array", "items": WHOLE}, {"type": "array", "items": TEXT}
DEFINITIONS: dict[str, Any] = {
    "Kind": KIND,
    "Tree": {"anyOf": [WHOLE, {"type": "array", "items": {"$ref": "#/$defs/Tree"}}]},
    "Loop": {"$ref": "#/$defs/Loop"},
    "Point": {"type": "object", "properties": {"x": WHOLE, "y": {"$ref": "#/$defs/Kind"}}},
}


@pytest.mark.parametrize(("value", "schema", "expected"), rows(__file__, "values"))
def test_a_value_fits_its_schema(value: object, schema: dict[str, Any], expected: object) -> None:
    assert coerce(value, schema, DEFINITIONS) == expected
    assert type(coerce(value, schema, DEFINITIONS)) is type(expected)


@pytest.mark.parametrize(("value", "schema"), [
    ("three", WHOLE), ("1,000", WHOLE), ("٣", WHOLE), ("9" * 5000, WHOLE), (True, WHOLE),
    (["a", "b"], TEXT), ("03/04/1975", DAY), ("1975-13-45", DAY), ("EP", KIND),
    ("Crosby, Stills & Nash", TEXTS), (None, WHOLES), ("x", {"$ref": "#/$defs/Nowhere"}),
])  # fmt: skip
def test_a_value_with_two_meanings_or_none_stays(value: object, schema: dict[str, Any]) -> None:
    assert coerce(value, schema, DEFINITIONS) is value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
SCHEMAS = st.recursive(
    st.sampled_from([{}, WHOLE, NUMBER, TEXT, TRUTH, NULL, DAY, KIND])
    | st.sampled_from([{"$ref": f"#/$defs/{name}"} for name in DEFINITIONS]),
    lambda inner: st.builds(lambda s: {"type": "array", "items": s}, inner)
    | st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner)
    | st.builds(lambda s: {"type": "object", "properties": {"a": s}}, inner),
    max_leaves=4,
)  # fmt: skip


@given(JSON, SCHEMAS)
def test_nothing_raises_and_what_is_bent_once_stays(value: object, schema: dict[str, Any]) -> None:
    once = coerce(value, schema, DEFINITIONS)
    again = coerce(once, schema, DEFINITIONS)
    assert repr(again) == repr(once)


def add(a: float, b: float = 1.0) -> str:
    """Add."""
    return str(a + b)


def greet(name: str, *, loud: bool = False) -> str:
    """Greet."""
    return name.upper() if loud else name


def now() -> str:
    """Tell the time."""
    return "noon"


TOOLS = Toolbox([Tool.of(add), Tool.of(greet), Tool.of(now)])


@pytest.mark.parametrize(("tool", "arguments", "answer"), rows(__file__, "arguments"))
def test_arguments_fit_in_one_way_or_are_refused(
    tool: str, arguments: dict[str, object] | str, answer: str | None
) -> None:
    call = ToolCall(tool, arguments)
    if answer is None:
        with pytest.raises(ToolError, match=f"You called {tool} with wrong arguments"):
            TOOLS.resolve(call)
    else:
        assert TOOLS.resolve(call).run().content == answer
