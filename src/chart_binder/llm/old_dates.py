"""A date is found in prose, in whatever way it is written."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.month_names import (
    AMBIGUOUS_MONTHS,
    ENGLISH_MONTHS,
    MONTHS,
    month_pattern,
)
from chart_binder.domain.vocabulary import fold
from chart_binder.llm import doubt_words as behind
from chart_binder.llm import doubt_words as said

ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
ERAS |= {"民国": 1911, "民國": 1911}
"""The year before the first of each: Japan's eras, the Republic of China's."""

# No part of a longer number, word or code. Letters here are Latin ones: 発売日1974年 is no word.
_LEFT = r"(?<![0-9a-z_$£€#])(?<![0-9][-–./,:])"
_RIGHT = r"(?![0-9a-z_%])(?![-/][0-9])(?![.,:][0-9])"
_NO_LETTER_BEFORE, _NO_LETTER_AFTER = r"(?<![^\W\d_])", r"(?![^\W\d_])"


def _date_forms_month(*left_out: str) -> str:
    names = month_pattern(MONTHS.keys() - {*left_out})
    return f"{_NO_LETTER_BEFORE}(?P<name>{names}){_NO_LETTER_AFTER}"


_NAME = _date_forms_month()
_CLEAR_NAME = _date_forms_month(*AMBIGUOUS_MONTHS)
# Of Hungarian: a year with a full stop ends a sentence in other languages.
_INFLECTED = _date_forms_month(*(name for name in MONTHS if not name.endswith(("ban", "ben"))))
_OF = r"(?:[ ]?\b(?:of|the|de|del|di|den|der|do|του)\b)?"
_TO = r"[ ]?(?:[-–—/&+]|and|und|et|y|e|to|bis)[ ]?"
_NUMBER = r"[0-9]{1,2}"
_DAY = rf"(?P<day>{_NUMBER})(?:st|nd|rd|th|er|o|a|°|e|-?го|ης?)?"
_OF_YEAR = r"(?:'[^\W\d_]{1,4}|[ ]yilinin)?"  # 1974'ün Ekim ayında
_MONTH = rf"(?P<month>{_NUMBER})"
_RANGE = rf"(?P<range>{_NUMBER})"
_YEAR = r"(?P<year>[12][0-9]{3})"
_SHORT = r"(?P<short>[0-9]{2})"
# 28 September-31 October 1975 is of no year 31
_NO_OTHER_YEAR = rf"(?!,?[ ]?[12][0-9]{{3}})(?![ ](?:{month_pattern()})(?![^\W\d_]))"

ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_ROMAN = rf"(?:{'|'.join(sorted(ROMAN, key=len, reverse=True))})"
_CJK = "0-9〇零一二三四五六七八九十"
_OF_ERA = rf"(?P<era>{'|'.join(ERAS)})(?P<of_era>[{_CJK}]{{1,3}}|元)"
_CJK_YEAR = rf"(?<![{_CJK}])(?:{_OF_ERA}|(?P<cjk>[{_CJK}]{{4}}))[ ]?[年년]"
_CJK_MONTH = rf"[ ]?(?P<cjk_month>[{_CJK}]{{1,3}})[ ]?[月월]"
_CJK_DAY = rf"[ ]?(?P<cjk_day>[{_CJK}]{{1,3}})[ ]?[日号號일]"

_DAYS = (
    _CJK_YEAR + _CJK_MONTH + _CJK_DAY,
    # 1974-10-11, also with a time behind it
    (
        rf"{_LEFT}{_YEAR}(?P<joint>-|/|\.[ ]?){_MONTH}(?P=joint)(?P<day>{_NUMBER})"
        r"(?:(?=[t ][0-9]{2}:)|(?![0-9a-z_])(?![-/.][0-9]))"
    ),
    # 1974 October 11
    rf"{_LEFT}{_YEAR}[-, ]{{1,2}}{_NAME}[-. ]{{1,2}}{_DAY}{_RIGHT}{_NO_OTHER_YEAR}",
    # 1974. október 11., 1974. október 11-én
    (rf"{_LEFT}{_YEAR}\.[ ]?{_NAME}[ ]{_DAY}(?:\.|(?=-[^\W\d_])){_RIGHT}{_NO_OTHER_YEAR}"),
    # 11 October 1974, the 11th of Oct., '74
    (
        rf"{_LEFT}(?:{_RANGE}\.?{_TO})?{_DAY}(?P<dot>\.)?{_OF}[-/ ]?{_NAME}\.?,?{_OF}[-/ ]?"
        rf"(?:{_YEAR}|'?{_SHORT}{_NO_OTHER_YEAR}){_RIGHT}"
    ),
    # October 11, 1974
    (
        rf"{_LEFT}{_NAME}\.?{_OF}[ ]?{_DAY}(?:{_TO}{_RANGE})?(?:,[ ]?|{_OF}[ ])"
        rf"(?:{_YEAR}|'{_SHORT}){_RIGHT}"
    ),
    # 11.10.1974
    rf"{_LEFT}(?P<day>{_NUMBER})\.[ ]?{_MONTH}\.[ ]?{_YEAR}{_RIGHT}",
    # 11.X.1974; with blanks around it `i` is a word, and a letter is a letter
    (
        rf"{_LEFT}(?P<day>{_NUMBER})(?:(?P<joint>\.[ ]?|[-/])(?P<roman>{_ROMAN})\.?(?P=joint)"
        rf"|\.? (?P<roman_too>(?![ivx] ){_ROMAN})\.? ){_YEAR}{_RIGHT}"
    ),
    # 10/11/1974: one day in London and another in New York
    (
        rf"{_LEFT}(?P<one>{_NUMBER})(?P<joint>[-/.])(?P<other>{_NUMBER})(?P=joint)"
        rf"(?:{_YEAR}|{_SHORT}){_RIGHT}"
    ),
)
_MONTHS = (
    _CJK_YEAR + _CJK_MONTH,
    rf"{_LEFT}{_CLEAR_NAME}\.?,?{_OF}[- ]?(?:{_YEAR}|'{_SHORT}){_RIGHT}",
    rf"{_LEFT}{_YEAR}{_OF_YEAR}[-, ]{{1,2}}{_CLEAR_NAME}(?![ ]?[0-9])",
    rf"{_LEFT}{_YEAR}\.[ ]{_INFLECTED}",
    rf"{_LEFT}{_YEAR}[-/](?P<month>0[1-9]|1[0-2]){_RIGHT}",
    rf"{_LEFT}(?P<month>0?[1-9]|1[0-2])[/.]{_YEAR}{_RIGHT}",
)
_YEARS = (
    # 1970年代 is a decade
    rf"{_CJK_YEAR}(?![代대])",
    # EMC-1974 is a catalogue number, 1970-1974 a span
    (
        rf"{_LEFT}(?:(?<![^\W\d_][-./])|(?<=mid-)|(?<=early-)|(?<=late-)){_YEAR}"
        rf"(?<![0-9][ ][-–][ ][0-9]{{4}}){_RIGHT}"
        r"(?![-–](?!b[ae]n\b)|—[0-9]|[ ][-–—][ ]?[0-9]|'s|'l[aei]|[ ]?[年년])"
    ),
)

FORMS = tuple(re.compile(form) for form in (*_DAYS, *_MONTHS, *_YEARS))
"""Every form, the longer before what could be a part of it."""

_ANY_ERA = rf"(?:{'|'.join(ERAS)})[{_CJK}元]{{1,3}}"
_ERA_ASIDE = re.compile(rf"(?<=[年년])[ ]?\({_ANY_ERA}年\)")
_YEAR_ASIDE = re.compile(rf"{_ANY_ERA}年?[ ]?\(([0-9]{{4}})年?\)[ ]?年?")


def without_asides(text: str) -> str:
    """Return text with each year told once: 昭和49年(1974年)10月11日 is 1974年10月11日."""
    return _YEAR_ASIDE.sub(r"\1年", _ERA_ASIDE.sub("", text))


NEAR = 60
"""How many characters on either side of a date are looked at."""

_MOST_BETWEEN = 8
_LONGEST_PHRASE = 3
_CELL = "|"
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*\.?|[;!?|\n.]")


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(fold(word)) for word in sorted(words, key=len, reverse=True))


_MONTH_BESIDE = rf"(?:{month_pattern()})(?![^\W\d_])"
_AND, _BETWEEN, _TO_BESIDE = _any(said.AND), _any(said.BETWEEN), _any(said.TO)
_TIMES = rf"(?:(?:{_any(said.TIMES.whole)}),?[- ]+){{0,5}}"
_DAY_BESIDE = r"[0-9]{1,2}(?:st|nd|rd|th|er)?\.?"
_YEARS_BESIDE = rf"[ ](?:{_any(said.TO_YEARS)})[ ]"

_BEFORE = re.compile(
    "(?:"
    # circa1974, c.1974
    r"\b(?:circa|ca?\.)|[~≈±][ ]?|"
    rf"\b(?:{_BETWEEN}) (?:[^.;\n]{{1,40}}[ ](?:{_AND})[ ])?{_TIMES}|"
    # 1970 to, 28 September -, October or
    rf"(?:[0-9|]|{_MONTH_BESIDE})[ ](?:{_TO_BESIDE})[ ]{_TIMES}|"
    rf"(?:\||\b[12][0-9]{{3}}){_YEARS_BESIDE}|"
    rf"\b(?:{_DAY_BESIDE} ?{_MONTH_BESIDE}|{_MONTH_BESIDE}\.? ?{_DAY_BESIDE}),?[ ]?[-–—/][ ]?|"
    rf"\b{_MONTH_BESIDE}\.?[-–—/]|"
    rf"(?:{_any(behind.CJK_BEFORE)}):?[ ]?|[0-9年月日년월일|][ ]?(?:{_any(behind.CJK_TO)})[ ]?"
    ")$"
)
# 1974'te, 11-e, 11 Ekim 1974 tarihinde
_CASE, _NAMED = r"['-][^\W\d_]{1,5}", rf"[ ](?:{_any(behind.BEHIND_TIMES)})"
_BEHIND = rf"\.?(?:{_CASE})?(?:{_NAMED})?[ ]"
_AFTER = re.compile(
    rf"{_BEHIND}(?:{_any(behind.BEHIND)})(?!\w)|-ig(?!\w)|"
    rf"(?:{_CASE}|{_NAMED})[ ](?:{_any(behind.BEHIND_CASES)})(?!\w)|"
    rf"[ ](?:{_any(said.AND)})[ ](?:\|+|[12][0-9]{{3}}) (?:{_any(behind.SPANNED)})(?!\w)|"
    rf"[ ]?\(?\?|[ ](?:{_TO_BESIDE})[ ]{_TIMES}(?:[0-9|]|'[0-9]|{_MONTH_BESIDE})|"
    rf"{_YEARS_BESIDE}(?:\||[12][0-9]{{3}}\b)|,?[ ](?:{_any(said.AFTER)})(?!\w)|"
    rf"[ ]?(?:{_any(behind.CJK_OUT)}){{0,4}}[ ]?(?:{_any(behind.CJK_AFTER)})|"
    rf"[ ]?(?:{_any(behind.CJK_TO)})[ ]?[0-9|]"
)
_OF_ELSE = re.compile(
    rf"[ ]?(?:{_any(behind.CJK_OUT)}){{0,2}}[ ]?(?:{_any(behind.CJK_OTHERWISE)})|"
    rf"{_BEHIND}(?:{_any(behind.BEHIND_OTHERWISE)})(?!\w)"
)
_ASIDE = re.compile(r"[ ]?[(\[]([^)\]]+)")


def is_doubted(before: str, after: str) -> bool:
    """Whether what stands next to a date, in folded text, keeps it from being told.

    Signs and words of vagueness (circa, before, possibly, 1974?), of what did not come about (not
    released on, planned for), and either end of a span (from 1970 to 1974, 1974 or 1975).
    """
    near = before[-NEAR:]
    return bool(_leads_from_doubt(near) or _BEFORE.search(near) or _is_doubtful(after[:NEAR]))


def is_of_else(before: str, after: str) -> bool:
    """Whether what stands next to a date says that of something else than a release it is.

    Of a recording, a concert, a birth, a visit to a page: `recorded on`, `Retrieved`, `録音`.
    """
    if _OF_ELSE.match(after[:NEAR]):
        return True
    words = _WORD.findall(before[-NEAR:])
    if words[-1:] == [_CELL]:
        words.pop()  # Recorded | 24 August 1975
    return any(
        any(phrase in said.OTHERWISE for phrase in phrases)
        for only_times, phrases in _steps_back(words)
        if only_times
    )


def _leads_from_doubt(before: str) -> bool:
    """Walk back from a date over what names its time, and what came out, to a doubt."""
    words = _WORD.findall(before)
    if words and words[-1] in said.ABOUT_NEXT:
        return True
    return any(
        any(_is_doubt(phrase, only_times=only_times) for phrase in phrases)
        for only_times, phrases in _steps_back(words)
    )


def _steps_back(words: Sequence[str]) -> Iterator[tuple[bool, Iterator[str]]]:
    """Yield the phrases that end in each word before a date, back to the first that says else.

    With them stands whether all between them and the date names its time.
    """
    only_times = True
    for end in range(len(words), max(0, len(words) - _MOST_BETWEEN), -1):
        starts = range(max(0, end - _LONGEST_PHRASE), end)
        yield only_times, (" ".join(words[start:end]) for start in starts)
        if words[end - 1] not in said.TIMES:
            if words[end - 1] not in said.CAME_OUT:
                return
            only_times = False


def _is_doubt(phrase: str, *, only_times: bool) -> bool:
    if only_times and phrase in said.ABOUT:
        return True
    return phrase in said.HEDGES or phrase in said.DENIED or phrase.endswith("n't")


def _is_doubtful(after: str) -> bool:
    if _AFTER.match(after):
        return True
    aside = _ASIDE.match(after)
    words = _WORD.findall(aside[1])[:_LONGEST_PHRASE] if aside else []
    return any(_is_doubt(word, only_times=False) or word in said.AFTER for word in words)


_DIGITS = {digit: number for number, digit in enumerate("〇一二三四五六七八九")} | {"零": 0}
_OLDEST_OF_SHORT_YEARS = 50
"""`'74` is 1974; `'24` may be 1924 or 2024."""
_CONSUMED = "|"

_NOTHING_ELSE = re.compile(r"[ .(]*\|+(?:t[0-9:.]+z?)?[ .)]*")
_SIGNS = str.maketrans({"\u2019": "'", "\u2010": "-", "\u2011": "-"})
_BLANKS = re.compile(r"[^\S\n]+")


def contains_date(value: PartialDate, text: str, *, of_release: bool = False) -> bool:
    """Whether the text names this very date, to the same precision or a finer one.

    With `of_release` the date of a recording, a concert, a visit to a page does not count.

    What can be read in two ways (`10/11/1974`) counts only where both are the date. Every form is
    taken out before a shorter one is looked for: `21 October 1974` is no `1 October 1974`.
    """
    return any(
        all(value.first <= date.first and date.last <= value.last for date in dates)
        for dates, _ in find_dates(text, of_release=of_release)
    )


def single_date(text: str) -> PartialDate | None:
    """Return the date that is all that a text says, if it can be read in one way only.

    `8. November 1974` is a day here: where nothing else stands there is no list to be numbered.
    """
    told = list(find_dates(text))
    if len(told) != 1 or not _NOTHING_ELSE.fullmatch(told[0][1]):
        return None
    first, *others = told[0][0]
    is_within_all = all(each.first <= first.first and first.last <= each.last for each in others)
    return first if is_within_all else None


def find_dates(
    text: str, *, of_release: bool = False
) -> Iterator[tuple[tuple[PartialDate, ...], str]]:
    """Yield every mention of a date: what it may mean, and the text without all mentions."""
    plain = fold(text).translate(_SIGNS)
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
    if is_line_start and "dot" in parts and parts["name"] in ENGLISH_MONTHS:
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
