"""Dates are found in prose, and not found where they do not stand."""

import pytest

from chart_binder.domain.dates import PartialDate
from chart_binder.llm.dates_in_text import stands_in

SAME_DAY = [
    "1974-10-11", "11 October 1974", "October 11, 1974", "Oct. 11 1974", "11.10.1974",
    "11. 10. 1974", "11. Oktober 1974", "11 octobre 1974", "11 de octubre de 1974",
    "1974年10月11日", "1974/10/11", "the 11th of October, 1974", "OCTOBER 11TH 1974",
    "1974 Oct 11", "11-Oct-1974", "released 11 oct 1974.",
]  # fmt: skip


@pytest.mark.parametrize("text", SAME_DAY)
def test_a_day_is_found_however_it_is_written(text: str) -> None:
    assert stands_in(PartialDate.parse("1974-10-11"), f"It came out ({text}) in London.")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1974-10-11", "October 1974"),
        ("1974-10-11", "1974"),
        ("1974-10-11", "12 October 1974"),
        ("1974-10-11", "111 October 1974"),
        ("1974-10-11", "11 October 19745"),
        ("1974-10-11", "10/11/1974"),
        ("1974-10-01", "11 October 1974"),
        ("1974-01-01", "11.1.1974"),
        ("1974-10", "1974"),
        ("1974-01", "1974-011"),
        ("1974", "19741"),
        ("1974", "catalogue number 51974"),
    ],
)
def test_another_date_is_not_taken_for_it(value: str, text: str) -> None:
    assert not stands_in(PartialDate.parse(value), text)


@pytest.mark.parametrize(
    ("value", "text"),
    [("1974-10", "October 1974"), ("1974-10", "in Oct. 1974"), ("1974-10", "1974年10月"),
     ("1974", "(1974)"), ("1974-10", "11 October 1974"), ("1974", "11 October 1974")],
)  # fmt: skip
def test_a_month_or_a_year_is_found_too(value: str, text: str) -> None:
    assert stands_in(PartialDate.parse(value), text)
