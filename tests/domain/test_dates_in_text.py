"""Dates are found in text, at their places, and not found where they do not stand."""

import re
import time
import tomllib
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import (
    AMBIGUOUS_MONTHS,
    MONTHS,
    Mention,
    find_dates,
    find_periods,
    single_date,
    states,
)
from chart_binder.domain.vocabulary import fold

CORPUS = tomllib.loads((Path(__file__).parent / "dates_in_text.toml").read_text("utf-8"))
THE_DAY = "1974-10-11"


def is_stated(value: str, text: str) -> bool:
    return any(states(mention, PartialDate.parse(value)) for mention in find_dates(text))


def cases(table: str) -> list[object]:
    return [
        pytest.param(case, id=f"{kind}: {case}")
        for kind, listed in CORPUS[table].items()
        for case in listed
    ]


@pytest.mark.parametrize("text", cases("day"))
def test_a_day_is_found_however_it_is_written(text: str) -> None:
    around = f"Released ({text}) in London."
    [mention] = [each for each in find_dates(around) if states(each, PartialDate.parse(THE_DAY))]
    assert around[mention.start : mention.end] in text
    assert re.fullmatch(r"[\d一昭民1'].*[\d日號일.]", around[mention.start : mention.end]) or (
        around[mention.start].isalpha()
    )
    assert states(mention, PartialDate.parse("1974"))


@pytest.mark.parametrize("case", cases("stated"))
def test_a_date_is_found_in_other_forms_and_without_its_day(case: tuple[str, str]) -> None:
    value, text = case
    assert is_stated(value, f"({text})")


@pytest.mark.parametrize("case", cases("unstated"))
def test_another_date_a_span_or_a_guess_is_no_mention(case: tuple[str, str]) -> None:
    value, text = case
    assert not is_stated(value, f"{text}")
    assert not is_stated(value, f"It is of {text}.")


@pytest.mark.parametrize("text", cases("beside"))
def test_what_else_is_said_makes_it_no_less_of_a_date(text: str) -> None:
    assert is_stated(THE_DAY, f"Queen: {text}.")


@pytest.mark.parametrize("case", CORPUS["single"]["date"])
def test_a_text_that_is_nothing_but_a_date_is_that_date(case: tuple[str, str]) -> None:
    value, text = case
    assert single_date(text) == PartialDate.parse(value)


@pytest.mark.parametrize("text", CORPUS["single"]["other"])
def test_a_text_that_says_more_or_may_mean_two_days_is_no_date(text: str) -> None:
    assert single_date(text) is None


def test_a_date_that_can_be_read_in_two_ways_states_what_both_state() -> None:
    [mention] = find_dates("of 10/11/1974.")
    assert mention == Mention(
        3, 13, (PartialDate.parse("1974-10-11"), PartialDate.parse("1974-11-10"))
    )
    assert states(mention, PartialDate.parse("1974"))
    assert not states(mention, PartialDate.parse("1974-10-11"))


def test_places_are_those_of_the_text_as_given() -> None:
    text = "ﬁrst ㍿ ｅ\u0301t ẞ  1974-10-11 ﷺ １９７４年１０月１１日, e\u0301 11\u00a0 Oct 1974"
    told = [text[mention.start : mention.end] for mention in find_dates(text)]
    assert told == ["1974-10-11", "１９７４年１０月１１日", "11\u00a0 Oct 1974"]


NAMES = sorted(MONTHS.keys() - AMBIGUOUS_MONTHS)
DAYS = st.dates(date(1880, 1, 1), date(2030, 12, 31))
FORMS = [
    "{:%Y-%m-%d}", "{:%d.%m.%Y}", "{:%Y/%m/%d}", "{0.year}年{0.month}月{0.day}日",
    "{0.year}년 {0.month}월 {0.day}일", "{0.day}.{0.month}.{0.year}", "{0.day} {name} {0.year}",
    "{name} {0.day}, {0.year}", "{0.day}. {name} {0.year}", "{0.day} de {name} de {0.year}",
    "{0.year}. {name} {0.day}.", "{0.day}-{name}-{0.year}", "{name} {0.day} {0.year}",
]  # fmt: skip
AROUND = st.text(alphabet=" ,.()|abcxyz\n:;年発ß…é\u0301ﬁ", max_size=12)


@st.composite
def written_dates(draw: st.DrawFn) -> tuple[str, str]:
    """Return a day and how it may be written, in any language."""
    day = draw(DAYS)
    names = [name for name in NAMES if MONTHS[name] == day.month]
    name = draw(st.sampled_from(names))
    name = draw(st.sampled_from((name, name.title(), name.upper())))
    return day.isoformat(), draw(st.sampled_from(FORMS)).format(day, name=name)


@given(written_dates(), AROUND, AROUND)
@example(("2000-01-01", "1 January 2000"), "年by", "")
def test_the_day_that_was_written_is_the_only_one_found_and_in_its_place(
    written: tuple[str, str], before: str, after: str
) -> None:
    day, form = written
    text = f"{before} ({form}) {after}"
    found = find_dates(text)
    assert [str(first) for _, _, (first, *_), _ in found] in ([day], [])
    for mention in found:
        assert text[mention.start : mention.end] == form
    if not re.search(r"(?<![a-z])(?:c|ca|by|cca|a)\W*$", fold(before)):
        assert found


@given(written_dates(), written_dates(), st.sampled_from(("; ", "\n", " | ", ", ", " xyz ")))
def test_two_texts_side_by_side_give_the_dates_of_both(
    one: tuple[str, str], other: tuple[str, str], between: str
) -> None:
    text = f"{one[1]}{between}{other[1]}"
    assert [str(first) for _, _, (first, *_), _ in find_dates(text)] == [one[0], other[0]]


@given(written_dates(), st.sampled_from("0123456789"))
def test_a_digit_more_on_either_side_spoils_a_date(written: tuple[str, str], digit: str) -> None:
    day, form = written
    if form[0].isdigit():
        assert not is_stated(day, f"5{form}")
    if form[-1].isdigit():
        assert not is_stated(day, f"{form}{digit}")


@given(
    st.text(max_size=80)
    | st.text(alphabet="0123456789-/.,'~ :()年月日昭和octberjanmayoft\u0301\n", max_size=60)
)
def test_any_text_is_read_and_mentions_are_in_order(text: str) -> None:
    last = 0
    for start, end, dates, _ in find_dates(text):
        assert last <= start < end <= len(text)
        assert dates
        last = end
    single_date(text)


@pytest.mark.parametrize(
    "junk",
    ["1 ", "11 October ", "january ", "1974-", "10.10.", "昭和", "of the ", "1974年(", "'",
     "between ", "circa the ", "May 5 - ", "1974 - ", "11 October 1974 ", "\u0301", "年", "("],
)  # fmt: skip
def test_long_texts_take_no_long_time(junk: str) -> None:
    began = time.process_time()
    find_dates(junk * (100_000 // len(junk)))
    assert time.process_time() - began < 3


@pytest.mark.parametrize(("text", "said", "months"), CORPUS["period"]["months"])
def test_some_months_of_a_year_are_a_period(text: str, said: str, months: str) -> None:
    [period] = find_periods(text)
    assert (text[period.start : period.end], period.dates[0].text) == (said, months)
    assert not states(period, period.dates[0])


@pytest.mark.parametrize("text", CORPUS["period"]["none"])
def test_what_names_no_such_months_is_no_period(text: str) -> None:
    assert find_periods(text) == []
