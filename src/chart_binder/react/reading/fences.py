"""Code fences, as models open them or forget to close them."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from chart_binder.react.reading.labels import is_label

MAX_FENCES: Final = 1024

# A run is looked at once, from its first mark on; both sides begin with a letter to search for.
_RUN = re.compile(r"(?:```(?<!````)`*+[^`\n]*+|~~~(?<!~~~~)~*+[^\n]*+)$", re.MULTILINE)
_OPENER = re.compile(r"\s*+(?:`{3,}+|~{3,}+)(?:[ \t]*+\w{0,12}+(?=[ \t]*+[\n{\[]))?+\s*+")


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
    tag. After more than `MAX_FENCES` of their lines the rest of the text counts as fenced.
    """
    if "```" not in text and "~~~" not in text:
        return ()
    found: list[Fence] = []
    opened, marks = -1, ""
    runs = list(islice(_RUN.finditer(text), MAX_FENCES + 1))
    for run in runs[:MAX_FENCES]:
        if opened < 0:
            if _may_open(run, text):
                opened, marks = run.end(), _parts(run)[0]
        elif _closes(run, marks):
            found.append(Fence(opened, run.start()))
            opened = -1
    if opened >= 0:
        found.append(Fence(opened, None))
    elif len(runs) > MAX_FENCES:
        found.append(Fence(runs[-1].end(), None))
    return tuple(found)


def skip_opener(text: str, start: int) -> int:
    """Return the place after the opening of a fence with its language, if one opens here."""
    opener = _OPENER.match(text, start)
    return opener.end() if opener else start


def _may_open(run: re.Match[str], text: str) -> bool:
    line = text.rfind("\n", 0, run.start()) + 1
    before = _BULLET.sub("", text[line : run.start()].strip())
    is_tag = before.startswith("<") and before.endswith(">")
    return not before or is_tag or is_label(text, line, run.start())


def _closes(run: re.Match[str], opened: str) -> bool:
    marks, words = _parts(run)
    is_last = not words.strip() or words.lstrip().startswith("</")
    return is_last and marks.startswith(opened)


def _parts(run: re.Match[str]) -> tuple[str, str]:
    """Return the marks of a run, with the words after them."""
    text = run.group()
    words = text.lstrip(text[0])
    return text[: len(text) - len(words)], words
