"""A turn in labelled lines, read as the first step it takes."""

from dataclasses import replace
from typing import Final

from chart_binder.react.json.scanner import scan
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.reading.answers import read_answer
from chart_binder.react.reading.calls import Span, Taken, noted, opens_turn, read_action
from chart_binder.react.reading.label_names import Kind
from chart_binder.react.reading.labels import Label
from chart_binder.react.reading.live import Script
from chart_binder.react.reading.own_words import is_own_turn
from chart_binder.react.reading.turn_object import read_turn
from chart_binder.react.steps import Act, Finish

_ENDS: Final[frozenset[Kind]] = frozenset({"thought", "action", "observation", "answer", "turn"})
_PAUSE: Final = "PAUSE"
_AROUND_PAUSE: Final = " \t*_`.()[]<>"


def first_labelled(live: Script) -> Taken | None:
    """Return the step of the first live label that asks for something, or None.

    A label without words, or an action that names no tool, is passed over.
    """
    seen = 0
    for place, label in enumerate(live.labels):
        if label.fenced:
            continue
        taken: Taken | None = None
        if label.kind == "answer":
            taken = _answer(live, place, label)
        elif label.kind == "action":
            taken = _action(live, place, label)
        elif label.kind == "object" and label.start >= seen:
            taken, seen = _object(live, place)
        if taken is not None:
            return replace(taken, start=label.start)
    return None


def _answer(live: Script, place: int, label: Label) -> Taken | None:
    words, end = read_answer(live.text, label.value, _end(live, place, _ENDS), label.mark)
    return Taken(Finish(words), end) if words else None


def _action(live: Script, place: int, label: Label) -> Taken | None:
    own = Span(label.value, _end(live, place, _ENDS | {"input"}))
    later = _next(live, place, _ENDS - {"thought"} | {"input"})
    if later is None or live.labels[later].kind != "input":
        before = live.labels[place - 1] if place else label
        turned = Span(before.value, label.start) if before.kind == "input" else None
        return _paused(live, read_action(live.text, own, turned))
    given = Span(live.labels[later].value, _end(live, later, _ENDS | {"input"}))
    taken = read_action(live.text, own, given)
    return taken and replace(taken, writing="classic")


def _paused(live: Script, taken: Taken | None) -> Taken | None:
    """Tell an action that pauses, and take a PAUSE at the end of its line out of its input."""
    if taken is None or not isinstance(taken.step, Act):
        return taken
    if live.ended_by == "pause":
        return replace(taken, writing="pause")
    line_end = live.text.find("\n", taken.end)
    line_end = line_end if line_end >= 0 else len(live.text)
    given = taken.step.arguments
    if not isinstance(given, str):
        rest = live.text[taken.end : line_end]
        return replace(taken, end=line_end, writing="pause") if _before_pause(rest) == "" else taken
    words = _before_pause(given)
    if words is None or _before_pause(live.text[taken.start : taken.end]) is None:
        return taken
    return replace(taken, step=replace(taken.step, arguments=words or {}), writing="pause")


def _before_pause(words: str) -> str | None:
    """Return the words before a PAUSE that they end with, if they do."""
    bare = words.rstrip(_AROUND_PAUSE)
    before = bare.removesuffix(_PAUSE)
    if before == bare or (before and before[-1] not in _AROUND_PAUSE):
        return None
    return before.rstrip(_AROUND_PAUSE)


def _object(live: Script, place: int) -> tuple[Taken | None, int]:
    """Read an object at a line start that is a whole turn, or say up to where there is none.

    What follows an object that cannot be read may be a part of it. One that stands among other
    words is quoted.
    """
    at = live.labels[place].value
    if not opens_turn(live.text, at, len(live.text)):
        return None, 0
    try:
        found = scan(live.text, at)
    except LenientJSONError:
        return None, len(live.text)
    step = read_turn(found.value) if isinstance(found.value, dict) else None
    if step is None:
        return None, found.end
    if isinstance(step, Act | Finish) and not is_own_turn(
        live.said_before(at), live.text[found.end : live.next_label(found.end)]
    ):
        return None, found.end
    return Taken(noted(step, *found.notes), found.end, 0, "object"), found.end


def _next(live: Script, place: int, kinds: frozenset[Kind]) -> int | None:
    for later in range(place + 1, len(live.labels)):
        if live.labels[later].kind in kinds:
            return later
    return None


def _end(live: Script, place: int, kinds: frozenset[Kind]) -> int:
    later = _next(live, place, kinds)
    return len(live.text) if later is None else live.labels[later].start
