"""A word in a date's own clause says that it is of no release, where no word of release does."""

import time
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.domain.dates_in_text import Mention, find_dates
from chart_binder.web.clauses import clause_around, doubt_in_clause, other_issue

CASES = tomllib.loads(Path(__file__).with_name("clauses.toml").read_text("utf-8"))


def mention_in(text: str) -> Mention:
    [mention] = [each for each in find_dates(text) if str(each.dates[0]) == "1974-05-05"]
    return mention


def doubt(text: str, *titles: str) -> str | None:
    mention = mention_in(text)
    return doubt_in_clause(text, mention.start, mention.end, titles)


@pytest.mark.parametrize(("text", "word"), [*chain(*CASES["else"].values())])
def test_a_word_of_something_else_is_told(text: str, word: str) -> None:
    assert doubt(text) == word
    assert doubt(f"It was released in London. It is so: {text}.") == word


@pytest.mark.parametrize("text", [*chain(*CASES["none"].values())])
def test_beside_a_word_of_release_or_elsewhere_or_quoted_it_does_not_count(text: str) -> None:
    assert doubt(text) is None


def test_a_word_of_release_counts_for_the_date_it_is_beside() -> None:
    assert doubt("Released 31 October 1975, recorded 5 May 1974") == "recorded"
    assert doubt("1974年5月5日録音、1975年10月31日発売") == "録音"


def test_words_of_a_title_that_is_asked_about_do_not_count() -> None:
    assert doubt("Peaked | 5 May 1974 | EMI") == "Peaked"
    assert doubt("Peaked | 5 May 1974 | EMI", "peaked", " ") is None


@pytest.mark.parametrize(("said", "text"), CASES["instead"]["cases"])
def test_what_came_out_in_place_of_the_record_is_told(said: str, text: str) -> None:
    at = mention_in(text)
    issue = other_issue(text, at.start, at.end, ("Mercury Lane",), ("Australia",))
    assert issue == (said or None)


@pytest.mark.parametrize(("clause", "text"), CASES["clause"]["cases"])
def test_a_clause_ends_with_its_sentence_line_and_at_some_commas(clause: str, text: str) -> None:
    mention = mention_in(text)
    assert clause_around(text, mention.start, mention.end) == clause


@given(st.text(max_size=60), st.text(alphabet="recordeleas,.;\n|“”'\" 録音0179", max_size=60))
def test_any_text_has_a_clause_in_which_its_date_stands(before: str, after: str) -> None:
    text = f"{before} 1974-05-05 {after}"
    for mention in find_dates(text):
        assert text[mention.start : mention.end] in clause_around(text, mention.start, mention.end)
        doubt_in_clause(text, mention.start, mention.end, (before, after))
        other_issue(text, mention.start, mention.end, (before, after), ("Australia",))


@pytest.mark.parametrize("junk", [". ", ",", "recorded ", "“", "a. ", "1974 ", "no. 1", "re-"])
def test_a_long_text_around_a_date_takes_no_long_time(junk: str) -> None:
    around = junk * (100_000 // len(junk))
    text = f"{around}; 1974-05-05 {around}"
    mention = mention_in(text)
    began = time.process_time()
    for _ in range(5):
        doubt_in_clause(text, mention.start, mention.end)
        other_issue(text, mention.start, mention.end, ("no. 1",), ("Australia",))
    assert time.process_time() - began < 0.5
