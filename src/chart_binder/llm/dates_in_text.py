"""A date is found in prose, in whatever way it is written."""

import re
from collections.abc import Iterable, Iterator
from itertools import product

from chart_binder.domain.dates import PartialDate
from chart_binder.llm.date_doubts import NEAR, is_doubted, is_of_else
from chart_binder.llm.date_forms import ERAS, FORMS, ROMAN, without_asides
from chart_binder.llm.month_names import ENGLISH, MONTHS, folded

_DIGITS = {digit: number for number, digit in enumerate("〇一二三四五六七八九")} | {"零": 0}
_OLDEST_OF_SHORT_YEARS = 50
"""`'74` is 1974; `'24` may be 1924 or 2024."""
_CONSUMED = "|"

_NOTHING_ELSE = re.compile(r"[ .(]*\|+(?:t[0-9:.]+z?)?[ .)]*")
_SIGNS = str.maketrans({"\u2019": "'", "\u2010": "-", "\u2011": "-"})
_BLANKS = re.compile(r"[^\S\n]+")


def stands_in(value: PartialDate, text: str, *, of_release: bool = False) -> bool:
    """Whether the text names this very date, to the same precision or a finer one.

    With `of_release` the date of a recording, a concert, a visit to a page does not count.

    What can be read in two ways (`10/11/1974`) counts only where both are the date. Every form is
    taken out before a shorter one is looked for: `21 October 1974` is no `1 October 1974`.
    """
    return any(
        all(value.first <= date.first and date.last <= value.last for date in dates)
        for dates, _ in dates_in(text, of_release=of_release)
    )


def only_date(text: str) -> PartialDate | None:
    """Return the date that is all that a text says, if it can be read in one way only.

    `8. November 1974` is a day here: where nothing else stands there is no list to be numbered.
    """
    told = list(dates_in(text))
    if len(told) != 1 or not _NOTHING_ELSE.fullmatch(told[0][1]):
        return None
    first, *others = told[0][0]
    is_within_all = all(each.first <= first.first and first.last <= each.last for each in others)
    return first if is_within_all else None


def dates_in(
    text: str, *, of_release: bool = False
) -> Iterator[tuple[tuple[PartialDate, ...], str]]:
    """Yield every mention of a date: what it may mean, and the text without all mentions."""
    plain = folded(text).translate(_SIGNS)
    plain = without_asides(_BLANKS.sub(" ", plain))
    found: list[tuple[PartialDate, ...]] = []

    def take(match: re.Match[str]) -> str:
        before = plain[max(0, match.start() - NEAR) : match.start()]
        after = plain[match.end() : match.end() + NEAR]
        counts = not (is_doubted(before, after) or (of_release and is_of_else(before, after)))
        if counts and (dates := tuple(_readings(match, before))):
            found.append(dates)
        return _CONSUMED * (match.end() - match.start())

    for form in FORMS:
        plain = form.sub(take, plain)
    yield from ((dates, plain) for dates in found)


def _readings(match: re.Match[str], before: str) -> Iterator[PartialDate]:
    """Yield every day, month or year that a mention may mean."""
    parts = {name: part for name, part in match.groupdict().items() if part}
    seen = set()
    for year, (month, day) in product(_years(parts), _days(parts, before)):
        try:
            date = PartialDate.parse("-".join(_padded(year, month, day)))
        except ValueError:
            continue
        if date not in seen:
            seen.add(date)
            yield date


def _padded(year: int, month: int | None, day: int | None) -> Iterator[str]:
    yield f"{year:04}"
    if month is not None:
        yield f"{month:02}"
    if day is not None:
        yield f"{day:02}"


def _years(parts: dict[str, str]) -> Iterable[int]:
    if year := parts.get("year"):
        return (int(year),)
    if short := parts.get("short"):
        year_of = int(short)
        return (
            (1900 + year_of,)
            if year_of >= _OLDEST_OF_SHORT_YEARS
            else (
                1900 + year_of,
                2000 + year_of,
            )
        )
    if era := parts.get("era"):
        return (ERAS[era] + (1 if parts["of_era"] == "元" else _counted(parts["of_era"])),)
    return (_counted(parts["cjk"]),)


def _days(parts: dict[str, str], before: str) -> Iterable[tuple[int | None, int | None]]:
    """Return the months and days that may be meant."""
    if "one" in parts:
        one, other = int(parts["one"]), int(parts["other"])
        return ((one, other), (other, one))
    month = _month(parts)
    written = parts.get("day") or parts.get("cjk_day")
    if month is None or written is None or "range" in parts:
        return ((month, None),)
    day = _counted(written)
    is_line_start = not before.strip(" ") or before.rstrip(" ").endswith("\n")
    # The 5th of May, or of a list with "May 1974" in it?
    if is_line_start and "dot" in parts and parts["name"] in ENGLISH:
        return ((month, day), (month, None))
    return ((month, day),)


def _month(parts: dict[str, str]) -> int | None:
    if name := parts.get("name"):
        return MONTHS[name]
    if roman := parts.get("roman") or parts.get("roman_too"):
        return ROMAN.index(roman) + 1
    written = parts.get("month") or parts.get("cjk_month")
    return _counted(written) if written else None


def _counted(written: str) -> int:
    """Return a number in Arabic or Chinese digits, of years one by one; 0 for what is none."""
    if written.isdecimal():
        return int(written)
    tens, ten, ones = written.partition("十")
    if ten:
        return 10 * (_DIGITS.get(tens, 0) if tens else 1) + (_DIGITS.get(ones, 0) if ones else 0)
    return int("".join(str(_DIGITS.get(digit, digit)) for digit in written))
