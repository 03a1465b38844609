"""Code fences, as models open them or forget to close them."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

import msgspec

from chart_binder.react.reading.labels import is_label

MAX_FENCES: Final = 256

# A run is looked at once, from its first mark on; both sides begin with a letter to search for.
_RUN = re.compile(r"(?:```(?<!````)`*+[^`\n]*+|~~~(?<!~~~~)~*+[^\n]*+)$", re.MULTILINE)
_OPENER = re.compile(r"\s*+(?:`{3,}+|~{3,}+)(?:[ \t]*+\w{0,12}+(?=[ \t]*+[\n{\[]))?+\s*+")
_BULLET_AT_MOST: Final = 4
_LANGUAGE = re.compile(r"[A-Za-z][\w+-]{0,11}")
_BULLET = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\Z")


class Fence(msgspec.Struct, frozen=True, gc=False):
    """What stands between the lines of a fence; `end` is None where nothing closes it."""

    start: int
    end: int | None


class _Run(msgspec.Struct, frozen=True, gc=False):
    """The marks of a fence that end a line, with the words after them and what is before."""

    line: int
    start: int
    end: int
    marks: str
    words: str
    before: str


def fences(text: str) -> tuple[Fence, ...]:
    """Return the fences of a text, in order.

    A fence may open after a bullet, a label or a tag on the same line, and close before a closing
    tag. One inside another, with a language, after a bullet or further in, is a part of it if both
    are closed.
    After more than `MAX_FENCES` of their lines the rest of the text counts as fenced.
    """
    if "```" not in text and "~~~" not in text:
        return ()
    runs = [_run(found, text) for found in islice(_RUN.finditer(text), MAX_FENCES + 1)]
    found, is_nested = _paired(runs[:MAX_FENCES], text, nested=True)
    if is_nested and found[-1].end is None:
        found, _ = _paired(runs[:MAX_FENCES], text, nested=False)
    if len(runs) > MAX_FENCES and not (found and found[-1].end is None):
        found.append(Fence(runs[-1].end, None))
    return tuple(found)


def _run(found: re.Match[str], text: str) -> _Run:
    line = text.rfind("\n", 0, found.start()) + 1
    written = found.group()
    words = written.lstrip(written[0])
    marks = written[: len(written) - len(words)]
    return _Run(line, found.start(), found.end(), marks, words.strip(), text[line : found.start()])


def _paired(runs: Sequence[_Run], text: str, *, nested: bool) -> tuple[list[Fence], bool]:
    """Return the fences, and whether one may have been inside another."""
    found: list[Fence] = []
    opened: _Run | None = None
    inside, is_nested = 0, False
    for run in runs:
        if opened is None:
            opened = run if _may_open(run, text) else None
        elif not run.marks.startswith(opened.marks):
            continue
        elif nested and _opens_inside(run, opened, begun=inside > 0):
            inside, is_nested = inside + 1, True
        elif not run.words or run.words.startswith("</"):
            if not inside:
                found.append(Fence(opened.end, run.start))
                opened = None
            inside = max(0, inside - 1)
    return ([*found, Fence(opened.end, None)] if opened else found), is_nested


def skip_opener(text: str, start: int) -> int:
    """Return the place after the opening of a fence with its language, if one opens here."""
    opener = _OPENER.match(text, start)
    return opener.end() if opener else start


def _may_open(run: _Run, text: str) -> bool:
    before = run.before.strip()
    if bullet := _BULLET.search(before, max(0, len(before) - _BULLET_AT_MOST)):
        before = before[: bullet.start()]
    is_tag = before.startswith("<") and before.endswith(">")
    return not before or is_tag or is_label(text, run.line, run.start)


def _opens_inside(run: _Run, opened: _Run, *, begun: bool) -> bool:
    before = run.before.strip(" \t>")
    if before:
        return _BULLET.fullmatch(before) is not None
    if run.words:
        return _LANGUAGE.fullmatch(run.words) is not None
    return not begun and len(run.before) > len(opened.before)
