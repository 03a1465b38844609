"""Days are counted between dates of any precision, and a range is told as one."""

import contextlib
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.llm.tools import days_between
from chart_binder.react.tools import ToolError

UNTOLD = (
    "It cannot be told which is earlier: 1974 is at most 311 days before 1974-11-08 and at most 53"
    " days after it."
)
COUNTED = [
    ("1974-10-11", "1974-11-08", "1974-10-11 is 28 days before 1974-11-08."),
    ("1974-11-08", "1974-10-11", "1974-11-08 is 28 days after 1974-10-11."),
    ("1974-10-11", "1974-10-12", "1974-10-11 is 1 day before 1974-10-12."),
    ("1974-10-11", "1974-10-11", "1974-10-11 and 1974-10-11 are the same day."),
    ("1974-09", "1974-11-08", "1974-09 is between 39 and 68 days before 1974-11-08."),
    ("1974-11-08", "1974-10", "1974-11-08 is between 8 and 38 days after 1974-10."),
    ("1974-12-31", "1975", "1974-12-31 is between 1 and 365 days before 1975."),
    ("1974", "1974-11-08", UNTOLD),
]


@pytest.mark.parametrize(("first", "second", "said"), COUNTED)
def test_the_days_between_two_dates_are_told(first: str, second: str, said: str) -> None:
    assert days_between(first, second) == said


@pytest.mark.parametrize(
    "written",
    ["1974/10/11", "1974.10.11", "11 October 1974", "October 11, 1974", "Oct. 11th 1974",
     "11th of October 1974", " 1974-10-11. ", "`1974-10-11`", "11 oct 1974", "11.10.1974",
     "1974年10月11日", "1974 10 11",
     "١٩٧٤-١٠-١١", "１１ October １９７４",
     "11. Oktober 1974", "11 de octubre de 1974", "昭和49年10月11日"],
)  # fmt: skip
def test_a_date_is_read_as_models_write_it(written: str) -> None:
    assert days_between(written, "1974-10-12") == "1974-10-11 is 1 day before 1974-10-12."


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("10/11/1974", "'10/11/1974' is no date: YYYY, YYYY-MM or YYYY-MM-DD is allowed."),
        ("1974-02-30", "is no day of the calendar"),
        ("mayhem 1974", "is no date"),
        ("circa 1974", "is no date"),
        ("11 October 24", "is no date"),
        ("????-05", "A date without a year"),
        ("", "A date without a year"),
        ("__import__('os')", "is no date"),
        ("1" * 100_000, "is no date"),
    ],
)
def test_what_is_no_date_is_refused_with_what_is_allowed(written: str, words: str) -> None:
    with pytest.raises(ToolError) as raised:
        days_between(written, "1974")
    assert words in str(raised.value)
    assert len(str(raised.value)) < 200


@given(st.dates(), st.dates())
def test_every_two_days_are_counted_as_the_calendar_does(one: date, other: date) -> None:
    days = abs((other - one).days)
    said = days_between(one.isoformat(), other.isoformat())
    assert f" {days} day" in said or (days == 0 and "same day" in said)


@given(st.text(max_size=60))
def test_any_text_is_counted_with_or_refused(text: str) -> None:
    with contextlib.suppress(ToolError):
        assert days_between(text, "1974").endswith(".")
