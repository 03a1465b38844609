"""A name or arguments written loosely mean one tool's call, or none."""

import pytest

from chart_binder.react.arguments import clean_name
from chart_binder.react.parsing.lenient_json import LenientJSONError, read_json
from chart_binder.react.steps import Act
from chart_binder.react.tools import Tool, Toolbox, ToolError, find_tool

KNOWN = ("add", "multiply", "web_search")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("add", "add"),
        ("Add", "add"),
        ("`add`", "add"),
        ("add()", "add"),
        ("functions.add", "add"),
        ("the add tool", "add"),
        ("add the numbers", None),
        ("add (the two numbers)", "add"),
        ("web search", "web_search"),
        ("WebSearch", "web_search"),
        ("web_search, to be sure", "web_search"),
        ("Use web_search for this", "web_search"),
        ("search", None),
        ("web", None),
        ("web_search_v2", None),
        ("web_searches", None),
        ("adder", None),
        ("address", None),
        ("add_or_multiply", None),
        ("add or multiply", None),
        ("add, then multiply", None),
        ("do not add", None),
        ("I can't add", None),
        ("shell.add", None),
        ("", None),
    ],
)
def test_a_name_means_one_tool_or_none(written: str, name: str | None) -> None:
    assert find_tool(written, KNOWN) == name


def test_a_name_is_cleaned_of_decoration_alone() -> None:
    assert clean_name(" **`functions.web_search()`** ") == "web_search"
    assert clean_name("os.system") == "os.system"


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
        ("add", {"a": 2, "b": 3}, "5.0"),
        ("add", {"a": "2", "b": "3"}, "5.0"),
        ("add", {"A": 2, "B": 3}, "5.0"),
        ("add", {"x": 2}, "3.0"),
        ("add", {"a": 2, "b": None}, "3.0"),
        ("add", "2", "3.0"),
        ("add", "2, 3", None),
        ("add", "a=2, b=3", "5.0"),
        ("add", "a: 2\nb: 3", "5.0"),
        ("add", {"x": 2, "y": 3}, None),
        ("add", {"b": 3}, None),
        ("add", {"a": "two"}, None),
        ("add", {}, None),
        ("greet", {"name": 1974}, "1974"),
        ("greet", {"name": ["Ann"]}, "Ann"),
        ("greet", {"name": "Ann", "loud": "true"}, "ANN"),
        ("greet", "Ann", "Ann"),
        ("greet", 'name="Ann"', "Ann"),
        ("greet", {"input": {"name": "Ann"}}, "Ann"),
        ("greet", {"name": "Ann", "reason": "politeness"}, "Ann"),
        ("greet", {"name": {"first": "Ann"}}, None),
        ("greet", {"reason": "politeness"}, None),
        ("greet", {"reason": "politeness", "who": "Ann"}, "Ann"),
        ("greet", "name", None),
        ("greet", "Name:", None),
        ("greet", '"Ann", "Bob"', None),
        ("greet", '"Ann" or "Bob"', '"Ann" or "Bob"'),
        ("greet", '"Ann", loud=True', "ANN"),
        ("greet", '["Ann", "Bob"]', None),
        ("greet", "[Ann, Bob]", "[Ann, Bob]"),
        ("greet", "- name: Ann\n- loud: yes", "ANN"),
        ("greet", '"name": "Ann", "loud": true', "ANN"),
        ("greet", 'name: "Ann",\nwhy: politeness', "Ann"),
        ("greet", 'name: "Ann" or so', '"Ann" or so'),
        ("greet", "Ann: a name", "Ann: a name"),
        ("add", "[2, 3]", None),
        ("now", {}, "noon"),
        ("now", {"input": ""}, "noon"),
    ],
)
def test_arguments_fit_in_one_way_or_are_refused(
    tool: str, arguments: dict[str, object] | str, answer: str | None
) -> None:
    act = Act(tool, arguments)
    if answer is None:
        with pytest.raises(ToolError, match=f"You called {tool} with wrong arguments"):
            TOOLS.resolve(act)
    else:
        assert TOOLS.resolve(act).run().content == answer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('words {C1} ```json\n{"a": 1}\n``` words', {"a": 1}),
        ('{"a": 1} or ```{"a": 2}```', {"a": 2}),
        ('{"a": 1} {"a": 2}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ("{'a': True, b: None, /* c */ \"d\": [1, 2,],}", {"a": True, "b": None, "d": [1, 2]}),
        ('{"a": 1, "a": 1}', {"a": 1}),
        ("{}", {}),
    ],
)
def test_the_object_meant_is_found(text: str, value: object) -> None:
    assert read_json(text)[0] == value


@pytest.mark.parametrize(
    ("text", "problem", "cut"),
    [
        ("nothing", "no JSON object", False),
        ('{"a": "b', "never closed", True),
        ('{"a": 1', "ends inside", True),
        ('{"a": [1', "ends inside", True),
        ('{"a": {"b": 2 ', "ends without", True),
        ('{"a": 1, "a": 2}', "given twice", False),
        ('{"a": Infinity}', "not a JSON value", False),
        ("{'a': -inf}", "not a JSON value", False),
        ("{'a': 1e999}", "too large", False),
        ('{"a": b: c}', "not in quotes", False),
        ('{"a" 1} {"a": 2}', "no colon", False),
        ("{'a': " + "[" * 60 + "]" * 60 + "}", "deep", False),
        ("{" + "'a': 1, " * 2000 + "}", "too long to be repaired", False),
    ],
)
def test_a_defect_is_named(text: str, problem: str, cut: bool) -> None:
    with pytest.raises(LenientJSONError, match=problem) as caught:
        read_json(text)
    assert caught.value.cut == cut


def test_the_former_name_of_the_reader_of_json_warns() -> None:
    with pytest.warns(DeprecationWarning, match="parsing.lenient_json"):
        from chart_binder.react.json.lenient import read_json as former
    assert former is read_json
