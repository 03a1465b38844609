"""What stands in quotation marks is not said by the one who quotes it."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from chart_binder.react.reading.markup import marked_passages, ruled_passages

_MAX_MARKS: Final = 256
_MAX_SINGLE: Final = 2048
_MAX_LOOKED_AT: Final = 1024
_MAX_STRINGS: Final = 2048
_STRING = re.compile(
    # A JSON string on one line, told from prose by what stands around its marks.
    r"[\n{\[,:(=：，][^\S\n]{0,8}+(?P<inside>"
    r"\"(?:[^\"\\]++|\\.|\"(?!{after}))*+(?P<closed>\")?+"
    r"|'(?:[^'\\]++|\\.|'(?!{after}))*+(?P<closed_single>')?+)".replace(
        "{after}", r"[^\S\n]{0,7}+(?:[}\],:)：，>]|\Z)"
    )
)
_PAIRED = re.compile(r"(?:[^\"]++|(?<=\d)\"|\"[^\"]*+\")*+")
"""Pairs of marks on a line; a mark for inches (`12"`) opens none."""
_AFTER_QUOTATION = "}],:).;!?"
_CLOSERS = {
    "“": "”",
    "„": "“",
    "«": "»",
    "»": "«",
    "‹": "›",
    "›": "‹",
    "「": "」",
    "『": "』",
}
_NOT_INSIDE = re.compile(r"'(?:(?!\w)|(?<!\w'))")
_ALONE = re.compile(
    _NOT_INSIDE.pattern
    + r"(?:(?=\w)(?<![\w']')(?P<opens>)(?![^'\n]{0,400}+(?:(?<=\w)'(?=\w)[^'\n]{0,400}+){0,8}+')"
    r"|(?<=[\w.!?,]')(?P<closes>)(?=[.,;:]?[ \t]{0,4}(?:\n|\Z))"
    r"|(?<![^\s:]')(?P<alone>)(?=[.,;:]?[ \t]{0,4}(?:\n|\Z)))"
)
_DIRECTED = re.compile("[" + "".join({*_CLOSERS, *_CLOSERS.values()}) + "]")


def outside_strings(found: Iterable[re.Match[str]], text: str) -> Iterator[re.Match[str]]:
    """Yield those matches, in order, that stand neither in a JSON string nor in back-quotes.

    Those after the first `_MAX_LOOKED_AT`, or behind `_MAX_STRINGS` strings, are not looked at.
    """
    line_end = -1
    span, strings = (0, 0), iter(list[tuple[int, int]]())
    budget = iter(range(_MAX_STRINGS))
    for count, match in enumerate(found):
        at = match.start()
        if count >= _MAX_LOOKED_AT:
            yield match
            continue
        if at > line_end:
            line_start = text.rfind("\n", 0, at) + 1
            line_end = _line_end(text, at)
            span, strings = (0, 0), _strings(text, line_start, line_end, budget)
        while span[1] <= at and (following := next(strings, None)):
            span = following
        quoted = span[0] < at < span[1]
        if not quoted and not _in_back_quotes(text, at, match.end()):
            yield match


def quoted_passages(text: str) -> list[tuple[int, int]]:
    """Return from where to where whole lines stand inside a quotation that began on a line before.

    A quotation opens with a mark that no other closes on its line, and must be closed on a later
    one; a mark for inches (`12"`) opens nothing. After `_MAX_MARKS` lines with marks all is quoted.
    """
    merged: list[tuple[int, int]] = []
    shown = (*marked_passages(text), *ruled_passages(text))
    found = (*_straight(text), *_single(text), *_directed(text), *shown)
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _strings(text: str, start: int, end: int, budget: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Yield where the JSON strings of one line begin or end."""
    for string, _ in zip(_STRING.finditer(f"\n{text[start:end]}"), budget, strict=False):
        if not (string["closed"] or string["closed_single"]):
            return
        # the line break that was put before the line moves every place by one
        yield start + string.start("inside") - 1, start + string.end() - 2


def _in_back_quotes(text: str, start: int, end: int) -> bool:
    return text[end : end + 1] == "`" and text[start - 1 : start] == "`"


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _straight(text: str) -> Iterator[tuple[int, int]]:
    """Yield passages in straight double marks, by the mark of a line that has no partner there."""
    opened = -1
    at = text.find('"')
    for _ in range(_MAX_MARKS):
        if at < 0:
            return
        start, end = text.rfind("\n", 0, at) + 1, _line_end(text, at)
        last = _unclosed(text, start, end)
        may_close = opened >= 0 and (last + 1 == end or text[last + 1] in _AFTER_QUOTATION)
        if last >= 0 and _may_open(text, last, start, end) and not may_close:
            opened = end + 1
        elif last >= 0 and opened >= 0:
            yield opened, end
            opened = -1
        at = text.find('"', end)
    if at >= 0:
        yield at, len(text)


def _unclosed(text: str, start: int, end: int) -> int:
    """Return the place of the mark on a line that has no partner there, or -1."""
    paired = _PAIRED.match(text, start, end)
    return paired.end() if paired and paired.end() < end else -1


def _may_open(text: str, mark: int, start: int, end: int) -> bool:
    before, after = text[max(start, mark - 1) : mark], text[mark + 1 : min(end, mark + 2)]
    return (not before or before.isspace() or before in "([{:=,") and not after.isspace()


def _single(text: str) -> Iterator[tuple[int, int]]:
    """Yield passages in straight single marks, which apostrophes look like.

    Such a mark opens before a word on a line that has none to close it; it closes at the end of a
    line that has none to open it. One with a space before it and nothing after does either. After
    `_MAX_SINGLE` marks that are not inside a word all is quoted.
    """
    opened = -1
    if "'" not in text:
        return
    outside = islice(_NOT_INSIDE.finditer(text), _MAX_SINGLE, _MAX_SINGLE + 1)
    limit = next((mark.start() for mark in outside), len(text))
    if limit < len(text):
        yield limit, len(text)
    for mark in _ALONE.finditer(text, 0, limit):
        if mark["closes"] is None and opened < 0:
            opened = _line_end(text, mark.end()) + 1
        elif mark["opens"] is None and 0 <= opened <= mark.start():
            yield opened, _line_end(text, mark.end())
            opened = -1


def _directed(text: str) -> Iterator[tuple[int, int]]:
    """Yield passages between marks that show their direction, such as “these”."""
    opened, closer = -1, ""
    if text.isascii():
        return
    for count, found in enumerate(_DIRECTED.finditer(text)):
        mark, at = found.group(), found.start()
        if count == _MAX_MARKS:
            yield at, len(text)
            return
        if not closer:
            opened, closer = at, _CLOSERS.get(mark, "")
        elif mark == closer:
            first = _line_end(text, opened) + 1
            if first <= at:
                yield first, _line_end(text, at)
            closer = ""
