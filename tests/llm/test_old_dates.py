"""Dates are found in prose, and not found where they do not stand."""

import re
import time
import tomllib
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.domain.dates import PartialDate
from chart_binder.llm.old_dates import contains_date, find_dates, single_date

CORPUS = tomllib.loads((Path(__file__).parent / "old_dates.toml").read_text("utf-8"))
THE_DAY = PartialDate.parse("1974-10-11")


@pytest.mark.parametrize("text", CORPUS["same_day"])
def test_a_day_is_found_however_it_is_written(text: str) -> None:
    assert contains_date(THE_DAY, f"It came out ({text}) in London.")
    assert contains_date(PartialDate.parse("1974"), text)


@pytest.mark.parametrize(("value", "text"), CORPUS["dates"])
def test_a_date_is_found_in_other_languages_and_without_its_day(value: str, text: str) -> None:
    assert contains_date(PartialDate.parse(value), f"({text})")


@pytest.mark.parametrize("text", CORPUS["another_day"])
def test_another_day_or_what_only_looks_like_it_is_not_taken_for_it(text: str) -> None:
    assert not contains_date(THE_DAY, text)


@pytest.mark.parametrize(("value", "text"), CORPUS["not_dates"])
def test_a_part_a_span_or_a_number_is_no_date(value: str, text: str) -> None:
    assert not contains_date(PartialDate.parse(value), text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("11 October 1974", "1974-10-11"), ("October 1974.", "1974-10"),
     ("8. November 1974", "1974-11-08"), ("(1974)", "1974"),
     ("1974-10-11T00:00:00Z", "1974-10-11")],
)  # fmt: skip
def test_a_text_that_is_nothing_but_a_date_is_that_date(text: str, value: str) -> None:
    assert single_date(text) == PartialDate.parse(value)


@pytest.mark.parametrize(
    "text", ["10/11/1974", "EMI 1974", "1974 and 1975", "31 February 1974", "", "a"]
)
def test_a_text_that_says_more_or_may_mean_two_days_is_no_date(text: str) -> None:
    assert single_date(text) is None


@pytest.mark.parametrize(("value", "text"), CORPUS["spans"])
def test_an_end_of_a_span_or_one_of_two_is_no_date(value: str, text: str) -> None:
    assert not contains_date(PartialDate.parse(value), f"It is of {text}.")


@pytest.mark.parametrize(
    "before",
    [
        "was not released on", "was never issued in the UK, and not on", "did not come out on",
        "wasn't released", "cancelled; planned for", "scheduled for Friday,", "cancelled",
        "circa late", "circa:", "before the end of", "no later than", "by", "~", "possibly",
        "probably on", "est.", "war nicht",
    ],
)  # fmt: skip
def test_what_did_not_happen_or_is_not_known_is_no_date(before: str) -> None:
    for text in (f"{before} 1974", f"{before} 11 October 1974", f"{before} October 11, 1974"):
        assert not contains_date(PartialDate.parse("1974"), f"The single {text}.")


@pytest.mark.parametrize("after", ["?", " ?", " (?)", " (cancelled)", " (not released)"])
def test_a_date_with_a_doubt_behind_it_is_no_date(after: str) -> None:
    assert not contains_date(PartialDate.parse("1974"), f"11 October 1974{after}, 1974{after}")


@pytest.mark.parametrize("text", CORPUS["unsure"] + CORPUS["cancelled"] + CORPUS["before_or_after"])
def test_a_doubt_is_known_in_every_language_whose_dates_are(text: str) -> None:
    for value in ("1974-10-11", "1974-10", "1974"):
        assert not contains_date(PartialDate.parse(value), f"Queen: {text}.")


@pytest.mark.parametrize("text", CORPUS["statements"])
def test_a_plain_statement_is_believed_in_every_language(text: str) -> None:
    assert contains_date(THE_DAY, f"Queen: {text}.")


@pytest.mark.parametrize("text", CORPUS["other_events"])
def test_the_date_of_something_else_is_the_date_of_no_release(text: str) -> None:
    assert contains_date(THE_DAY, f"Queen: {text}.")
    assert not contains_date(THE_DAY, f"Queen: {text}.", of_release=True)
    assert contains_date(THE_DAY, f"{text}, and released on 11 October 1974.", of_release=True)


@pytest.mark.parametrize("text", CORPUS["releases"])
def test_a_release_that_is_told_beside_something_else_is_believed(text: str) -> None:
    assert contains_date(THE_DAY, f"Queen: {text}.", of_release=True)


DAYS = st.dates(date(1880, 1, 1), date(2030, 12, 31))
WRITTEN = [
    "{:%Y-%m-%d}", "{:%d %B %Y}", "{:%B %d, %Y}", "{:%b. %d %Y}", "{:%d.%m.%Y}", "{:%Y/%m/%d}",
    "{0.year}年{0.month}月{0.day}日", "{0.day} {0:%B} {0.year}", "{0:%B} {0.day}, {0.year}",
    "{0.day}.{0.month}.{0.year}", "{0:%d-%b-%Y}",
]  # fmt: skip
AROUND = st.text(alphabet=" ,.()|abcxyz\n:;年発", max_size=12)


@given(DAYS, st.sampled_from(WRITTEN), AROUND, AROUND)
def test_the_day_that_was_written_is_the_only_one_found(
    day: date, form: str, before: str, after: str
) -> None:
    text = f"{before} ({form.format(day)}) {after}"
    found = {known.text for dates, _ in find_dates(text) for known in dates}
    assert found <= {day.isoformat()}
    if "\n" not in before and not re.search(r"\b(?:c\.|ca\.?|by)[^a-z年発]*$", before):
        assert found == {day.isoformat()}


@given(DAYS, DAYS, st.sampled_from(WRITTEN))
def test_no_other_day_is_read_out_of_a_date(day: date, other: date, form: str) -> None:
    wanted = PartialDate.parse(other.isoformat())
    assert contains_date(wanted, f"x {form.format(day)} y") == (day == other)


@given(DAYS, st.sampled_from(WRITTEN), st.sampled_from("0123456789"))
def test_a_digit_more_on_either_side_spoils_a_date(day: date, form: str, digit: str) -> None:
    wanted, text = PartialDate.parse(day.isoformat()), form.format(day)
    if text[0].isdigit():
        assert not contains_date(wanted, f"5{text}")
    if text[-1].isdigit():
        assert not contains_date(wanted, f"{text}{digit}")


@given(st.text(alphabet="0123456789-/.,' :年月日昭和octberjanmayof\n", max_size=60))
def test_whatever_stands_there_is_read_without_complaint(text: str) -> None:
    for dates, _ in find_dates(text):
        assert dates


@pytest.mark.parametrize(
    "junk", ["1 ", "11 October ", "january ", "1974-", "10.10.", "昭和", "of the ", "1974年(", "'"]
)
def test_long_texts_take_no_long_time(junk: str) -> None:
    began = time.process_time()
    contains_date(PartialDate.parse("1974-10-11"), junk * (20_000 // len(junk)))
    assert time.process_time() - began < 2
