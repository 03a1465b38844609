"""A query is searched for, not obeyed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.web.searxng import LONGEST_QUERY, plain_query


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Killer Queen Queen 1974", "Killer Queen Queen 1974"),
        ("sum 41", "Sum 41"),
        ("random access memories", "Random access memories"),
        ("the sum of us", "the sum of us"),
        ("!!! Louden Up Now", "!!! Louden Up Now"),
        (":wumpscut: 1993", ":wumpscut: 1993"),
        ("!music homework", '"!music" homework'),
        ("homework !music", 'homework "!music"'),
        ("!!g homework", '"!!g" homework'),
        ("!! homework", '"!!" homework'),
        ("?yt homework", '"?yt" homework'),
        (":de Kraftwerk", '":de" Kraftwerk'),
        ("<3 homework", '"<3" homework'),
        ('"hello :de world" x', '"hello de world" x'),
        ('!"odd', '"!odd"'),
        ("Who? What!", "Who? What!"),
        ("a\nb\t c\u2028d", "a b c d"),
        ("zero\u200bwidth", "zerowidth"),
        ("椎名林檎", "椎名林檎"),
        (" \n ", ""),
        ("", ""),
    ],
)
def test_syntax_becomes_words(written: str, asked: str) -> None:
    assert plain_query(written) == asked


def test_a_long_query_is_cut_between_words() -> None:
    asked = plain_query("daft punk " * 500)
    assert len(asked) <= LONGEST_QUERY
    assert asked.endswith(("daft", "punk"))


@given(st.text(max_size=500))
def test_a_query_never_grows_much_nor_breaks_its_line(written: str) -> None:
    asked = plain_query(written)
    assert len(asked) <= 2 * LONGEST_QUERY
    assert asked == " ".join(asked.split())
    assert asked.isprintable() or not asked.isascii()


@given(st.lists(st.sampled_from(["!g", ":de", "<3", '"', "sum", "41", "!!", "x", '"a', 'b"'])))
def test_no_word_that_is_syntax_is_left(words: list[str]) -> None:
    asked = plain_query(" ".join(words)).split()
    assert not {"!g", ":de", "<3", "!!"} & set(asked)
    assert not asked or asked[0] != "sum"
