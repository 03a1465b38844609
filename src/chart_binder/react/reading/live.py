"""A label is live where a model says it itself, at the start of a line."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from chart_binder.react.reading.fences import fences
from chart_binder.react.reading.labels import Kind, Label, labels
from chart_binder.react.reading.quoted import quoted_passages

_MAX_OBJECTS: Final = 8
_OBJECT = re.compile(r"\n(?:<\|\w{4,24}+\|>|functools)?+[ \t]*+(?:\[[ \t]{0,4}+)?+(?=\{)")
_STOP_WORD: Final = "observation:"
_DECORATION: Final = " \t*_#`-"


@dataclass(frozen=True, slots=True)
class Script:
    """What a model said up to the first observation it invented, with the live labels in it.

    A label of kind `object` stands for a line that begins with an object; `hidden` are the kinds of
    labels that are not live.
    """

    text: str
    labels: tuple[Label, ...]
    notes: tuple[str, ...] = ()
    hidden: frozenset[Kind] = frozenset()


def script(text: str) -> Script:
    """Find the live labels of a text: outside fences, quotations, block quotes or JSON strings."""
    found = [*labels(text), *islice(_objects(text), _MAX_OBJECTS)]
    live = sorted(_live(text, found), key=lambda label: label.start)
    hidden = {label.kind for label in found} - {label.kind for label in live if not label.fenced}
    for place, label in enumerate(live):
        if label.kind == "observation":
            note = "invented observation discarded"
            return Script(text[: label.start], tuple(live[:place]), (note,), frozenset(hidden))
    cut = _stop_word(text)
    if cut < len(text):
        kept = tuple(label for label in live if label.start < cut)
        return Script(text[:cut], kept, ("cut stop word discarded",), frozenset(hidden))
    return Script(text, tuple(live), (), frozenset(hidden))


def _live(text: str, found: Sequence[Label]) -> Iterator[Label]:
    if not found:
        return
    closed, open_at = _fenced(text)
    passages = quoted_passages(text)
    for label in found:
        if not _within(closed, label.start) and not _within(passages, label.start):
            yield replace(label, fenced=True) if label.start >= open_at else label


def _objects(text: str) -> Iterator[Label]:
    if "{" in text:
        for found in _OBJECT.finditer(f"\n{text}"):
            yield Label("object", found.start(), found.end() - 1)


def _fenced(text: str) -> tuple[list[tuple[int, int]], int]:
    """Return the closed fences, with the place after which a fence is open."""
    closed: list[tuple[int, int]] = []
    open_at = len(text) + 1
    for fence in fences(text):
        if fence.end is None:
            open_at = fence.start
        else:
            closed.append((fence.start, fence.end))
    return closed, open_at


def _within(spans: list[tuple[int, int]], at: int) -> bool:
    place = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return place >= 0 and spans[place][0] <= at < spans[place][1]


def _stop_word(text: str) -> int:
    """Return where a stop word begins that was cut in the middle (`Observ`), or the end."""
    start = text.rstrip().rfind("\n") + 1
    last = text[start:].strip().lstrip(_DECORATION)
    is_cut = last[:1] in ("O", "o") and _STOP_WORD.startswith(last.casefold()) and last != "o"
    return start if is_cut else len(text)
