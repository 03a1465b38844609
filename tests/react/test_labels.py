"""A label is found by one of a few words, of which its name must have one."""

import pytest

from chart_binder.react.reading.label_names import NAMES, NEEDS_FLOWERS, NEEDS_HEADING
from chart_binder.react.reading.labels import labels


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind, names in NAMES.items()
        for name in names
        if name not in NEEDS_FLOWERS | NEEDS_HEADING
    ],
)
def test_a_label_is_found_by_its_name(kind: str, name: str) -> None:
    assert [label.kind for label in labels(f"so\n{name.title()}: x")] == [kind]


@pytest.mark.parametrize("name", sorted(NEEDS_HEADING))
def test_a_label_that_is_a_word_of_every_day_is_found_as_a_heading(name: str) -> None:
    assert [label.kind for label in labels(f"so\n### {name.title()}:\nx")] == ["speaker"]
    assert not list(labels(f"so\n{name.title()}: x"))


@pytest.mark.parametrize(("name", "kind"), [("result", "observation"), ("RETURN", "answer")])
def test_a_label_between_flowers_is_found_by_its_name(name: str, kind: str) -> None:
    assert [label.kind for label in labels(f"✿{name}✿: x")] == [kind]
