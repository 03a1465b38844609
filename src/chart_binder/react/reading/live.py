"""A label is live where a model says it itself, at the start of a line."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec
from msgspec.structs import replace

from chart_binder.react.reading.around import Around
from chart_binder.react.reading.label_names import Kind
from chart_binder.react.reading.labels import Label, labels
from chart_binder.react.reading.observed import Sight, sights
from chart_binder.react.reading.own_words import LOOKED_AT
from chart_binder.react.reading.shown import invented_exchange

_MAX_OBJECTS: Final = 8
_OBJECT = re.compile(
    r"\n(?=[ \t\[{<f])(?:(?:<\|\w{4,24}+\|>){1,3}+|functools)?+[ \t]*+(?:\[[ \t]{0,4}+)?+(?=\{)"
)
_OWN: Final[frozenset[Kind]] = frozenset({"thought", "action", "input", "answer"})
_ENDING: Final[frozenset[Kind]] = frozenset({"observation", "pause", "speaker"})
_STOP_WORDS: Final = ("observation:", "<observation", "<tool_response")
_DECORATION: Final = " \t*_#`-"
_LONGEST_LINE: Final = 64


class Script(msgspec.Struct, frozen=True):
    """What a model said up to the first observation it invented, with the live labels in it.

    A label of kind `object` stands for a line that begins with an object; `hidden` are the kinds of
    labels that are not live; `around` is what shows or quotes. `thoughts` are those in tags, which
    the text has blanks for. At `result` a line begins that tells what a tool may have said.
    """

    text: str
    around: Around
    labels: tuple[Label, ...]
    notes: tuple[str, ...] = ()
    hidden: frozenset[Kind] = frozenset()
    ended_by: Kind | None = None
    thoughts: str = ""
    result: int | None = None

    def said_before(self, at: int) -> str:
        """Return the last words said before a place, whole thoughts first."""
        return f"{self.thoughts[-LOOKED_AT:]}\n{self.text[max(0, at - LOOKED_AT) : at]}"

    def next_label(self, at: int) -> int:
        """Return where the first label after a place begins, or the end."""
        return next((label.start for label in self.labels if label.start >= at), len(self.text))


def script(text: str, around: Around) -> Script:
    """Find the live labels of a text: outside fences, quotations, block quotes or JSON strings.

    `around` is what surrounds things in it, or in a longer text that it is the beginning of. The
    text ends where an observation begins, or somebody else's turn. An exchange with a tool that is
    shown in a fence or a quotation was made up, too: the text ends inside it.
    """
    found = [*labels(text), *islice(_objects(text), _MAX_OBJECTS)]
    seen = [*sights(text)]
    found += _observing(seen, found)
    live = sorted(_live(found, around), key=lambda label: label.start)
    hidden = {label.kind for label in found} - {label.kind for label in live if not label.fenced}
    cut = min(_stop_word(text), _first_cut(seen, around, len(text)))
    shown = invented_exchange(text, seen, around)
    place, label = next(_endings(live), (0, None))
    end = min(cut, shown, label.start if label else len(text))
    kept = tuple(label for label in live if label.start < end)
    told = Script(
        text[:end],
        around.before(end),
        kept,
        hidden=frozenset(hidden),
        result=_result(seen, around, end),
    )
    if end == len(text):
        return told
    if label and end == label.start:
        return replace(told, notes=_after_end(text, live[place:]), ended_by=label.kind)
    follows = end == shown or "\n" in text[end:].strip()
    notes = ("invented observation discarded" if follows else "cut stop word discarded",)
    return replace(told, notes=notes)


def _endings(live: Sequence[Label]) -> Iterator[tuple[int, Label]]:
    """Yield what ends a model's own turn; a question does after words of the model's own."""
    is_begun = False
    for at, label in enumerate(live):
        if label.kind in _ENDING or (is_begun and label.kind == "turn"):
            yield at, label
        is_begun = is_begun or label.kind in _OWN


def _result(seen: Sequence[Sight], around: Around, end: int) -> int | None:
    results = (sight.start for sight in seen if sight.kind == "result" and not sight.quoted)
    return next((at for at in results if at < end and not around.hides(at)), None)


def _observing(seen: Sequence[Sight], found: Sequence[Label]) -> Iterator[Label]:
    """Yield what begins an observation in a form that the labels do not know."""
    acted = min((label.start for label in found if label.kind == "action"), default=None)
    for sight in seen:
        is_sure = sight.sure or (acted is not None and sight.start > acted)
        if is_sure and not sight.quoted and not sight.cut and sight.kind != "result":
            yield Label(sight.kind, sight.start, sight.start)


def _first_cut(seen: Sequence[Sight], around: Around, otherwise: int) -> int:
    """Return where a stop word stands that was cut, though the model went on."""
    cuts = (sight.start for sight in seen if sight.cut and not sight.quoted)
    return next((at for at in cuts if not around.hides(at)), otherwise)


def _after_end(text: str, labels_left: Sequence[Label]) -> tuple[str, ...]:
    """Tell what is discarded from the label on that ended the turn."""
    if labels_left[0].kind in ("speaker", "turn"):
        return ("words of somebody else discarded",)
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
