"""Lenient JSON: the object that is meant is found, and a defect is named."""

import pytest

from chart_binder.react.parsing.lenient_json import LenientJSONError, read_json


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
