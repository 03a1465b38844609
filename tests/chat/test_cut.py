"""A text ends before the first stop string in it, however it comes in pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.chat.cut import Cut


def through(stop: tuple[str, ...], *pieces: str) -> tuple[list[str], bool]:
    cut = Cut(stop)
    return [*(cut.let_through(piece) for piece in pieces), cut.rest()], cut.made


@pytest.mark.parametrize(
    ("stop", "pieces", "heard", "made"),
    [
        (("\nObs:",), ("Act: x\nObs: y",), ["Act: x", ""], True),
        (("\nObs:",), ("Act", ": x\n", "O", "bs", ": y", "z"), ["Act", ": x", *[""] * 5], True),
        (("\nObs:",), ("x\n", "Other"), ["x", "\nOther", ""], False),
        (("\nObs:",), ("x\nOb",), ["x", "\nOb"], False),
        (("aab",), ("aaab",), ["a", ""], True),
        (("aab",), ("a", "a", "a", "b"), ["", "", "a", "", ""], True),
        (("abcd", "bc"), ("abcd",), ["a", ""], True),
        (("abc", "bc"), ("xabc",), ["x", ""], True),
        (("", "x"), ("ax",), ["a", ""], True),
        ((), ("any", "thing"), ["any", "thing", ""], False),
    ],
)
def test_nothing_of_a_stop_string_comes_through(
    stop: tuple[str, ...], pieces: tuple[str, ...], heard: list[str], made: bool
) -> None:
    assert through(stop, *pieces) == (heard, made)


LETTERS = "ab\n"


@given(
    st.lists(st.text(LETTERS, min_size=1, max_size=4), max_size=3),
    st.text(LETTERS, max_size=30),
    st.sets(st.integers(0, 30)),
)
def test_the_cut_is_the_same_however_the_text_is_split(
    stop: list[str], text: str, at: set[int]
) -> None:
    bounds = sorted({0, len(text), *(each for each in at if each < len(text))})
    pieces = [text[start:end] for start, end in pairwise(bounds)]
    whole, made = through(tuple(stop), text)
    split, split_made = through(tuple(stop), *pieces)
    assert ("".join(split), split_made) == ("".join(whole), made)
    assert text.startswith("".join(whole))
    assert not any(each in "".join(whole) for each in stop)
    assert made == any(each in text for each in stop)
