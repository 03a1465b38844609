"""Partial dates are spans of days; comparing them answers yes, no or unknown."""

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.domain.dates import UNKNOWN, PartialDate, before, same_day
from corpus import rows

YEARS = st.integers(1900, 2030)
WHOLE = st.dates(date(1900, 1, 1), date(2030, 12, 31)).map(date.isoformat)
TEXTS = st.one_of(
    WHOLE, WHOLE.map(lambda day: day[:7]), WHOLE.map(lambda day: day[:4]), st.just("")
)
DATES = TEXTS.map(PartialDate.parse)


@pytest.mark.parametrize(("text", "plain", "first", "last"), rows(__file__, "spans"))
def test_a_date_is_a_span_of_days(text: str, plain: str, first: str, last: str) -> None:
    parsed = PartialDate.parse(text)
    assert str(parsed) == parsed.text == plain
    assert date.fromordinal(parsed.first).isoformat() == first
    assert date.fromordinal(parsed.last).isoformat() == last
    assert parsed.is_known


@pytest.mark.parametrize("text", ["", "  ", "????", "????-05", "????-05-01"])
def test_a_date_without_its_year_is_unknown(text: str) -> None:
    parsed = PartialDate.parse(text)
    assert parsed is UNKNOWN
    assert not parsed.is_known
    assert str(parsed) == "unknown"


@pytest.mark.parametrize(
    "text",
    ["1975-13", "1975-00", "1975-02-30", "0000", "75", "1975-1", "1975-01-1", "1975/01", "x",
     "1975-01-01T00:00", "٢٠٢٠", "19745", "-1974"],
)  # fmt: skip
def test_what_is_no_date_is_refused_with_what_was_found(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a (date|day of the calendar)") as refusal:
        PartialDate.parse(text)
    assert repr(text) in str(refusal.value)


def test_a_long_text_is_not_repeated_in_full() -> None:
    with pytest.raises(ValueError, match="is not a date") as refusal:
        PartialDate.parse("9" * 1_000_000)
    assert len(str(refusal.value)) < 200


def test_equal_texts_are_equal_dates() -> None:
    assert PartialDate.parse("1974") == PartialDate.parse("1974-??")
    assert len({PartialDate.parse("1974"), PartialDate.parse("1974"), UNKNOWN}) == 2
    assert PartialDate.parse("1974") != "1974"
    assert repr(PartialDate.parse("1974")) == "PartialDate('1974')"


@pytest.mark.parametrize(("one", "other", "is_before", "is_same"), rows(__file__, "comparisons"))
def test_comparing_answers_yes_no_or_unknown(
    one: str, other: str, is_before: bool | None, is_same: bool | None
) -> None:
    first, second = PartialDate.parse(one), PartialDate.parse(other)
    assert before(first, second) is is_before
    assert same_day(first, second) is is_same


@given(DATES, DATES, st.data())
def test_a_certain_answer_holds_on_every_day(
    one: PartialDate, other: PartialDate, data: st.DataObject
) -> None:
    day, another = (data.draw(st.integers(span.first, span.last)) for span in (one, other))
    for answer, truth in (
        (before(one, other), day < another),
        (same_day(one, other), day == another),
    ):
        assert answer is None or answer is truth


@given(DATES, DATES)
def test_unknown_is_answered_only_when_both_can_be(one: PartialDate, other: PartialDate) -> None:
    earliest, latest = one.first < other.last, one.last >= other.first
    assert (before(one, other) is None) is (earliest and latest)


@given(st.text())
def test_any_text_is_a_date_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert PartialDate.parse(text).first <= PartialDate.parse(text).last
