"""A label is live where a model says it itself, at the start of a line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from chart_binder.react.reading.around import Around
from chart_binder.react.reading.labels import Kind, Label, labels

_MAX_OBJECTS: Final = 8
_OBJECT = re.compile(r"\n(?:<\|\w{4,24}+\|>|functools)?+[ \t]*+(?:\[[ \t]{0,4}+)?+(?=\{)")
_STOP_WORDS: Final = ("observation:", "<observation", "<tool_response")
_DECORATION: Final = " \t*_#`-"
_LONGEST_LINE: Final = 64


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
    ended_by: Kind | None = None


def script(text: str, around: Around) -> Script:
    """Find the live labels of a text: outside fences, quotations, block quotes or JSON strings.

    `around` is what surrounds things in it, or in a longer text that it is the beginning of.
    """
    found = [*labels(text), *islice(_objects(text), _MAX_OBJECTS)]
    live = sorted(_live(found, around), key=lambda label: label.start)
    hidden = {label.kind for label in found} - {label.kind for label in live if not label.fenced}
    for place, label in enumerate(live):
        if label.kind in ("observation", "pause"):
            notes = _after_end(text, live[place:])
            return Script(
                text[: label.start], tuple(live[:place]), notes, frozenset(hidden), label.kind
            )
    cut = _stop_word(text)
    if cut < len(text):
        kept = tuple(label for label in live if label.start < cut)
        return Script(text[:cut], kept, ("cut stop word discarded",), frozenset(hidden))
    return Script(text, tuple(live), (), frozenset(hidden))


def _after_end(text: str, labels_left: Sequence[Label]) -> tuple[str, ...]:
    """Tell what is discarded from the label on that ended the turn."""
    if any(label.kind == "observation" for label in labels_left):
        return ("invented observation discarded",)
    after_pause = text[labels_left[0].value :].strip(_DECORATION + "\n.")
    return ("text after PAUSE discarded",) if after_pause else ()


def _live(found: Sequence[Label], around: Around) -> Iterator[Label]:
    for label in found:
        if not around.hides(label.start):
            yield replace(label, fenced=True) if around.is_fenced(label.start) else label


def _objects(text: str) -> Iterator[Label]:
    if "{" in text:
        for found in _OBJECT.finditer(f"\n{text}"):
            yield Label("object", found.start(), found.end() - 1)


def _stop_word(text: str) -> int:
    """Return where a stop word begins that was cut in the middle (`Observ`), or the end."""
    start = text.rstrip().rfind("\n") + 1
    last = text[start : start + _LONGEST_LINE].strip().lstrip(_DECORATION).casefold()
    is_cut = len(last) > 1 and any(word.startswith(last) for word in _STOP_WORDS)
    return start if is_cut else len(text)
