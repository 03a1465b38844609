"""How a date may be written, in text without case, accents and runs of blanks."""

import re

from chart_binder.llm.month_names import MONTHS, OTHER_WORDS, any_month

ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
ERAS |= {"民国": 1911, "民國": 1911}
"""The year before the first of each: Japan's eras, the Republic of China's."""

# No part of a longer number, word or code. Letters here are Latin ones: 発売日1974年 is no word.
_LEFT = r"(?<![0-9a-z_$£€#])(?<![0-9][-–./,:])"
_RIGHT = r"(?![0-9a-z_%])(?![-/][0-9])(?![.,:][0-9])"
_NO_LETTER_BEFORE, _NO_LETTER_AFTER = r"(?<![^\W\d_])", r"(?![^\W\d_])"


def _month(*left_out: str) -> str:
    names = any_month(MONTHS.keys() - {*left_out})
    return f"{_NO_LETTER_BEFORE}(?P<name>{names}){_NO_LETTER_AFTER}"


_NAME = _month()
_CLEAR_NAME = _month(*OTHER_WORDS)
# Of Hungarian: a year with a full stop ends a sentence in other languages.
_INFLECTED = _month(*(name for name in MONTHS if not name.endswith(("ban", "ben"))))
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
_NO_OTHER_YEAR = rf"(?!,?[ ]?[12][0-9]{{3}})(?![ ](?:{any_month()})(?![^\W\d_]))"

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
