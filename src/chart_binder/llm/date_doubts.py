"""Words around a date may say that it is not known, is no date of its own, or did not happen."""

import re
from collections.abc import Iterable, Iterator, Sequence

from chart_binder.llm import doubt_words as said
from chart_binder.llm import doubt_words_behind as behind
from chart_binder.llm.month_names import any_month, folded

NEAR = 60
"""How many characters on either side of a date are looked at."""

_MOST_BETWEEN = 8
_LONGEST_PHRASE = 3
_CELL = "|"
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*\.?|[;!?|\n.]")


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(folded(word)) for word in sorted(words, key=len, reverse=True))


_MONTH = rf"(?:{any_month()})(?![^\W\d_])"
_AND, _BETWEEN, _TO = _any(said.AND), _any(said.BETWEEN), _any(said.TO)
_TIMES = rf"(?:(?:{_any(said.TIMES.whole)}),?[- ]+){{0,5}}"
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th|er)?\.?"
_YEARS = rf"[ ](?:{_any(said.TO_YEARS)})[ ]"

_BEFORE = re.compile(
    "(?:"
    # circa1974, c.1974
    r"\b(?:circa|ca?\.)|[~≈±][ ]?|"
    rf"\b(?:{_BETWEEN}) (?:[^.;\n]{{1,40}}[ ](?:{_AND})[ ])?{_TIMES}|"
    # 1970 to, 28 September -, October or
    rf"(?:[0-9|]|{_MONTH})[ ](?:{_TO})[ ]{_TIMES}|"
    rf"(?:\||\b[12][0-9]{{3}}){_YEARS}|"
    rf"\b(?:{_DAY} ?{_MONTH}|{_MONTH}\.? ?{_DAY}),?[ ]?[-–—/][ ]?|"
    rf"\b{_MONTH}\.?[-–—/]|"
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
    rf"[ ]?\(?\?|[ ](?:{_TO})[ ]{_TIMES}(?:[0-9|]|'[0-9]|{_MONTH})|"
    rf"{_YEARS}(?:\||[12][0-9]{{3}}\b)|,?[ ](?:{_any(said.AFTER)})(?!\w)|"
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
