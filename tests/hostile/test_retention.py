"""What is shown of a long page are its dated facts, not its beginning."""

from hostile.retention import LEAST, MOST_CHARS, retained
from web.shapes import shapes


def test_nine_in_ten_dated_facts_are_shown_of_pages_of_many_shapes() -> None:
    every = sum(len(shape.facts) for shape in shapes())
    counts = [retained(shape) for shape in shapes()]
    shown, beginning = (sum(count[at] for count in counts) / every for at in (0, 1))
    assert len(shapes()) >= 12
    assert shown >= LEAST, dict(zip([shape.name for shape in shapes()], counts, strict=True))
    assert beginning < LEAST / 2


def test_the_pages_are_longer_than_what_is_shown_of_them() -> None:
    assert all(len(shape.body) > MOST_CHARS for shape in shapes())
