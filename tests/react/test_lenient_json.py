"""Lenient JSON: the object that is meant is found, and a defect is named."""

import pytest

from chart_binder.react.parsing.lenient_json import LenientJSONError, read_json


@pytest.mark.parametrize(("text", "value"), [
    ('{"a": 1}', {"a": 1}),
    ('words {C1} ```json\n{"a": 1}\n``` words', {"a": 1}), ('{"a": 1} {"a": 2}', {"a": 1}),
    ('"{\\"a\\": 1}"', {"a": 1}),
    ("{'a': True, b: None, /* c */ \"d\": [1, 2,],}", {"a": True, "b": None, "d": [1, 2]}),
    ('{"a": 1, "a": 1}', {"a": 1}), ("{}", {}),
])  # fmt: skip
def test_the_object_meant_is_found(text: str, value: object) -> None:
    assert read_json(text)[0] == value


@pytest.mark.parametrize(("text", "problem"), [
    ("nothing", "no JSON object"), ('{"a": "b', "never closed"), ('{"a": 1', "ends inside"),
    ('{"a": [1', "ends inside"), ('{"a": {"b": 2 ', "ends without"),
    ('{"a": 1, "a": 2}', "given twice"), ('{"a": Infinity}', "not a JSON value"),
    ("{'a': -inf}", "not a JSON value"), ("{'a': 1e999}", "too large"),
    ('{"a": b: c}', "not in quotes"), ('{"a" 1} {"a": 2}', "':' delimiter"),
    ("{'a': " + "[" * 60 + "]" * 60 + "}", "deep"),
    ("{" + "'a': 1, " * 2000 + "}", "too long to be repaired"),
])  # fmt: skip
def test_a_defect_is_named(text: str, problem: str) -> None:
    with pytest.raises(LenientJSONError, match=problem):
        read_json(text)
