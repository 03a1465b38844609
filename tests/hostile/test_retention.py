"""What is shown of a long page are its dated facts, not its beginning."""

from hostile.retention import LEAST, MOST_CHARS, retained
from web.shapes import SHAPES


def test_nine_in_ten_dated_facts_are_shown_of_pages_of_many_shapes() -> None:
    every = sum(len(shape.facts) for shape in SHAPES)
    counts = [retained(shape) for shape in SHAPES]
    shown, beginning = (sum(count[at] for count in counts) / every for at in (0, 1))
    assert len(SHAPES) >= 12
    assert shown >= LEAST, dict(zip([shape.name for shape in SHAPES], counts, strict=True))
    assert beginning < LEAST / 2


def test_the_pages_are_longer_than_what_is_shown_of_them() -> None:
    assert all(len(shape.body) > MOST_CHARS for shape in SHAPES)
