"""Arguments bound to parameters, and values coerced to a schema, where they mean one thing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.react.arguments import coerce
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import Tool, Toolbox, ToolError

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


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        (" -3.0 ", WHOLE, -3),
        ("2e3", NUMBER, 2000.0),
        (3, TEXT, "3"),
        (["Queen"], TEXT, "Queen"),
        ("True", TRUTH, True),
        (1, TRUTH, True),
        ("null", {"anyOf": [WHOLE, NULL]}, None),
        ("3", {"type": ["integer", "null"]}, 3),
        ("3", {"anyOf": [WHOLE, TEXT]}, "3"),
        ("1975/10/31", DAY, "1975-10-31"),
        (19751031, DAY, "1975-10-31"),
        ("single", {"$ref": "#/$defs/Kind"}, "Single"),
        ("5", {"const": 5}, 5),
        (5, WHOLES, [5]),
        ("1, 2,3", WHOLES, [1, 2, 3]),
        ("album, Single", {"type": "array", "items": KIND}, ["Album", "Single"]),
        ("Abba", TEXTS, ["Abba"]),
        (["1", "b"], {"type": "array", "prefixItems": [WHOLE, TEXT], "items": False}, [1, "b"]),
        ('{"X": "1", "y": "ALBUM"}', {"$ref": "#/$defs/Point"}, {"x": 1, "y": "Album"}),
        ({"a": "1"}, {"type": "object", "additionalProperties": WHOLE}, {"a": 1}),
        (["1", ["2"]], {"$ref": "#/$defs/Tree"}, [1, [2]]),
    ],
)
def test_a_value_becomes_what_is_wanted(
    value: object, schema: dict[str, Any], expected: object
) -> None:
    assert coerce(value, schema, DEFINITIONS) == expected
    assert type(coerce(value, schema, DEFINITIONS)) is type(expected)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("three", WHOLE),
        ("1,000", WHOLE),
        ("٣", WHOLE),
        ("9" * 5000, WHOLE),
        (True, WHOLE),
        (["a", "b"], TEXT),
        ("03/04/1975", DAY),
        ("1975-13-45", DAY),
        ("EP", KIND),
        ("Crosby, Stills & Nash", TEXTS),
        (None, WHOLES),
        ("x", {"$ref": "#/$defs/Nowhere"}),
    ],
)
def test_a_value_with_two_meanings_or_none_stays_as_it_is(
    value: object, schema: dict[str, Any]
) -> None:
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


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("add", {"a": "2", "b": "3"}, "5.0"),
        ("add", {"x": 2}, "3.0"),
        ("add", {"a": 2, "b": None}, "3.0"),
        ("add", "2", "3.0"),
        ("add", "a=2, b=3", "5.0"),
        ("add", "a: 2\nb: 3", "5.0"),
        ("greet", {"name": "Ann", "loud": "true"}, "ANN"),
        ("greet", "Ann", "Ann"),
        ("greet", {"input": {"name": "Ann"}}, "Ann"),
        ("greet", {"name": "Ann", "reason": "politeness"}, "Ann"),
        ("greet", {"reason": "politeness", "who": "Ann"}, "Ann"),
        ("greet", '"Ann" or "Bob"', '"Ann" or "Bob"'),
        ("greet", '"Ann", loud=True', "ANN"),
        ("greet", "[Ann, Bob]", "[Ann, Bob]"),
        ("greet", "- name: Ann\n- loud: yes", "ANN"),
        ("greet", '"name": "Ann", "loud": true', "ANN"),
        ("greet", 'name: "Ann",\nwhy: politeness', "Ann"),
        ("greet", 'name: "Ann" or so', '"Ann" or so'),
        ("greet", "Ann: a name", "Ann: a name"),
        ("add", "2, 3", None),
        ("add", "[2, 3]", None),
        ("add", {"x": 2, "y": 3}, None),
        ("add", {"b": 3}, None),
        ("add", {"a": "two"}, None),
        ("greet", {"name": {"first": "Ann"}}, None),
        ("greet", {"reason": "politeness"}, None),
        ("greet", "name", None),
        ("greet", '"Ann", "Bob"', None),
        ("now", {"input": ""}, "noon"),
    ],
)
def test_arguments_fit_in_one_way_or_are_refused(
    tool: str, arguments: dict[str, object] | str, answer: str | None
) -> None:
    call = ToolCall(tool, arguments)
    if answer is None:
        with pytest.raises(ToolError, match=f"You called {tool} with wrong arguments"):
            TOOLS.resolve(call)
    else:
        assert TOOLS.resolve(call).run().content == answer
