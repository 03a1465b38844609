"""Code fences, as models open them or forget to close them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from chart_binder.react.reading.labels import is_label

MAX_FENCES: Final = 1024

# A run is looked at once, from its first mark on; both sides begin with a letter to search for.
_RUN = re.compile(r"(?:```(?<!````)`*+[^`\n]*+|~~~(?<!~~~~)~*+[^\n]*+)$", re.MULTILINE)
_OPENER = re.compile(r"\s*+(?:`{3,}+|~{3,}+)(?:[ \t]*+\w{0,12}+(?=[ \t]*+[\n{\[]))?+\s*+")
_LANGUAGE = re.compile(r"[ \t]{0,4}[A-Za-z][\w+-]{0,11}[ \t]{0,4}")
_BULLET = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\Z")


@dataclass(frozen=True, slots=True)
class Fence:
    """What stands between the lines of a fence; `end` is None where nothing closes it."""

    start: int
    end: int | None


@lru_cache(4)  # a reply is asked about more than once
def fences(text: str) -> tuple[Fence, ...]:
    """Return the fences of a text, in order.

    A fence may open after a bullet, a label or a tag on the same line, and close before a closing
    tag. One inside another, with a language, after a bullet or further in, is a part of it if both
    are closed.
    After more than `MAX_FENCES` of their lines the rest of the text counts as fenced.
    """
    if "```" not in text and "~~~" not in text:
        return ()
    runs = list(islice(_RUN.finditer(text), MAX_FENCES + 1))
    found = _paired(runs[:MAX_FENCES], text, nested=True)
    if found and found[-1].end is None:
        found = _paired(runs[:MAX_FENCES], text, nested=False)
    if len(runs) > MAX_FENCES and not (found and found[-1].end is None):
        found.append(Fence(runs[-1].end(), None))
    return tuple(found)


def _paired(runs: Sequence[re.Match[str]], text: str, *, nested: bool) -> list[Fence]:
    found: list[Fence] = []
    opened: re.Match[str] | None = None
    inside, marks = 0, ""
    for run in runs:
        if opened is None:
            if _may_open(run, text):
                opened, marks = run, _parts(run)[0]
        elif nested and _opens_inside(run, opened, text, begun=inside > 0):
            inside += 1
        elif _closes(run, marks):
            if not inside:
                found.append(Fence(opened.end(), run.start()))
                opened = None
            inside = max(0, inside - 1)
    return [*found, Fence(opened.end(), None)] if opened else found


def skip_opener(text: str, start: int) -> int:
    """Return the place after the opening of a fence with its language, if one opens here."""
    opener = _OPENER.match(text, start)
    return opener.end() if opener else start


def _may_open(run: re.Match[str], text: str) -> bool:
    before = _BULLET.sub("", _before(run, text).strip())
    is_tag = before.startswith("<") and before.endswith(">")
    line = text.rfind("\n", 0, run.start()) + 1
    return not before or is_tag or is_label(text, line, run.start())


def _opens_inside(run: re.Match[str], opened: re.Match[str], text: str, *, begun: bool) -> bool:
    marks, words = _parts(run)
    if not marks.startswith(_parts(opened)[0]):
        return False
    before = _before(run, text)
    if _BULLET.fullmatch(before.strip()):
        return True
    if before.strip(" \t>"):
        return False
    is_further_in = not begun and not words.strip() and len(before) > len(_before(opened, text))
    return is_further_in or _LANGUAGE.fullmatch(words) is not None


def _before(run: re.Match[str], text: str) -> str:
    return text[text.rfind("\n", 0, run.start()) + 1 : run.start()]


def _closes(run: re.Match[str], opened: str) -> bool:
    marks, words = _parts(run)
    is_last = not words.strip() or words.lstrip().startswith("</")
    return is_last and marks.startswith(opened)


def _parts(run: re.Match[str]) -> tuple[str, str]:
    """Return the marks of a run, with the words after them."""
    text = run.group()
    words = text.lstrip(text[0])
    return text[: len(text) - len(words)], words
