"""What stands in quotation marks is not said by the one who quotes it."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from chart_binder.react.reading.markup import marked_passages

_NEAR: Final = 8
_MAX_MARKS: Final = 512
_MARK = re.compile(r"[\"']")
_INCHES = re.compile(r'\d"')
_BEFORE = "{[,:(=：，"
_AFTER = "}],:)：，>"
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
_ALONE = re.compile(
    r"'(?:(?=\w)(?<![\w']')(?P<opens>)(?![^'\n]{0,400}+(?:(?<=\w)'(?=\w)[^'\n]{0,400}+){0,8}+')"
    r"|(?<=[\w.!?,]')(?P<closes>)(?=[.,;:]?[ \t]{0,4}(?:\n|\Z))"
    r"|(?<![^\s:]')(?P<alone>)(?=[.,;:]?[ \t]{0,4}(?:\n|\Z)))"
)
_DIRECTED = re.compile("[" + "".join({*_CLOSERS, *_CLOSERS.values()}) + "]")


def outside_strings(found: Iterable[re.Match[str]], text: str) -> Iterator[re.Match[str]]:
    """Yield those matches, in order, that stand neither in a JSON string nor in back-quotes."""
    line_end = -1
    span, strings = (0, 0), iter(list[tuple[int, int]]())
    for match in found:
        at = match.start()
        if at > line_end:
            line_start = text.rfind("\n", 0, at) + 1
            line_end = _line_end(text, at)
            span, strings = (0, 0), _strings(text, line_start, line_end)
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
    found = (*_straight(text), *_single(text), *_directed(text), *marked_passages(text))
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _strings(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the JSON strings of one line begin or end, told from prose by punctuation."""
    opened = -1
    for found in islice(_MARK.finditer(text, start, end), _MAX_MARKS):
        mark = found.start()
        if opened >= 0:
            if text[mark] == text[opened] and _closes(text, mark, end):
                yield opened, mark
                opened = -1
        elif _opens(text, mark, start):
            opened = mark


def _opens(text: str, mark: int, start: int) -> bool:
    before = text[max(start, mark - _NEAR) : mark].rstrip()
    return before[-1] in _BEFORE if before else mark - start <= _NEAR


def _closes(text: str, mark: int, end: int) -> bool:
    before = text[max(0, mark - _NEAR) : mark]
    if (len(before) - len(before.rstrip("\\"))) % 2:
        return False
    after = text[mark + 1 : min(end, mark + _NEAR)].lstrip()
    return after[0] in _AFTER if after else end - mark <= _NEAR


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
    marks = text.count('"', start, end)
    if marks > _MAX_MARKS or not _INCHES.search(text, start, end):
        return text.rfind('"', start, end) if marks % 2 else -1
    last = -1
    at = text.find('"', start, end)
    while at >= 0:
        if last >= 0:
            last = -1
        elif not text[max(start, at - 1) : at].isdigit():
            last = at
        at = text.find('"', at + 1, end)
    return last


def _may_open(text: str, mark: int, start: int, end: int) -> bool:
    before, after = text[max(start, mark - 1) : mark], text[mark + 1 : min(end, mark + 2)]
    return (not before or before.isspace() or before in "([{:=,") and not after.isspace()


def _single(text: str) -> Iterator[tuple[int, int]]:
    """Yield passages in straight single marks, which apostrophes look like.

    Such a mark opens before a word on a line that has none to close it; it closes at the end of a
    line that has none to open it. One with a space before it and nothing after does either.
    """
    opened = -1
    if "'" not in text:
        return
    for mark in islice(_ALONE.finditer(text), _MAX_MARKS):
        if mark["closes"] is None and opened < 0:
            opened = _line_end(text, mark.end()) + 1
        elif mark["opens"] is None and 0 <= opened <= mark.start():
            yield opened, _line_end(text, mark.end())
            opened = -1


def _directed(text: str) -> Iterator[tuple[int, int]]:
    """Yield passages between marks that show their direction, such as “these”."""
    opened, closer = -1, ""
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
