"""A reply in labelled lines, read as the first step it takes."""

import re
from dataclasses import replace
from typing import Final

from chart_binder.react.json.scanner import scan
from chart_binder.react.json.strict import LenientJSONError, encodable_text
from chart_binder.react.reading import advice
from chart_binder.react.reading.answers import read_answer
from chart_binder.react.reading.calls import Span, Taken, noted, opens_turn, read_action
from chart_binder.react.reading.labels import Kind, Label, labels
from chart_binder.react.reading.live import Script, script
from chart_binder.react.reading.thinking import Spoken, spoken
from chart_binder.react.reading.turn_object import read_turn
from chart_binder.react.reading.unlabelled import read_unlabelled, without_outer_fence
from chart_binder.react.steps import Finish, Malformed, Step

_ENDS: Final[frozenset[Kind]] = frozenset({"thought", "action", "observation", "answer", "turn"})
_INLINE = re.compile(r"(?P<label>Final Answer|Action) ?[:：]")
_FENCE_LEFT = re.compile(r"(?:^|\s)(?:`{3}+\w{0,12}+|json)$")
_LEFT_OVER: Final = " \t\n`~*_})]>;."


def read_labelled(reply: str) -> Step:
    """Return the first step a reply takes; what follows it is left out, with a note.

    Takes any text in time linear in its length. Nothing counts that the model thought, quoted, or
    put into a tool's mouth. A label without words, or an action that names no tool, is passed over.
    """
    said = spoken(encodable_text(reply).replace("\r\n", "\n").replace("\r", "\n"))
    live = script(said.text)
    taken = _first(live) or read_unlabelled(live)
    if taken is None and (inside := without_outer_fence(live.text)):
        live = script(inside)
        taken = _first(live)
    if taken is None:
        return noted(Malformed(_advice(reply, said, live)), *said.notes, *live.notes)
    return _finished(taken, said, live)


def _first(live: Script) -> Taken | None:
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
            taken, seen = _object(live, label)
        if taken is not None:
            return replace(taken, start=label.start)
    return None


def _answer(live: Script, place: int, label: Label) -> Taken | None:
    words, end = read_answer(live.text, label, _end(live, place, _ENDS))
    return Taken(Finish(words), end) if words else None


def _action(live: Script, place: int, label: Label) -> Taken | None:
    own = Span(label.value, _end(live, place, _ENDS | {"input"}))
    later = _next(live, place, _ENDS - {"thought"} | {"input"})
    if later is None or live.labels[later].kind != "input":
        before = live.labels[place - 1] if place else label
        turned = Span(before.value, label.start) if before.kind == "input" else None
        return read_action(live.text, own, turned)
    given = Span(live.labels[later].value, _end(live, later, _ENDS | {"input"}))
    return read_action(live.text, own, given)


def _object(live: Script, label: Label) -> tuple[Taken | None, int]:
    """Read an object at a line start that is a whole turn, or say up to where there is none.

    What follows an object that cannot be read may be a part of it.
    """
    if not opens_turn(live.text, label.value, len(live.text)):
        return None, 0
    try:
        found = scan(live.text, label.value)
    except LenientJSONError:
        return None, len(live.text)
    step = read_turn(found.value) if isinstance(found.value, dict) else None
    return (Taken(noted(step, *found.notes), found.end) if step else None), found.end


def _next(live: Script, place: int, kinds: frozenset[Kind]) -> int | None:
    for later in range(place + 1, len(live.labels)):
        if live.labels[later].kind in kinds:
            return later
    return None


def _end(live: Script, place: int, kinds: frozenset[Kind]) -> int:
    later = _next(live, place, kinds)
    return len(live.text) if later is None else live.labels[later].start


def _finished(taken: Taken, said: Spoken, live: Script) -> Step:
    step = taken.step
    left = live.text[taken.end :].strip(_LEFT_OVER)
    kind = "final answer" if isinstance(step, Finish) else "action"
    if isinstance(step, Finish) and not step.answer.strip():
        step = Malformed(advice.about("empty answer"), step.notes)
    if isinstance(step, Malformed):
        return Malformed(step.advice, (*said.notes, *step.notes, *live.notes))
    after = (*((f"text after the {kind} discarded",) if left else ()), *live.notes)
    thought = step.thought or _thought(live.text[: taken.start])
    return replace(step, thought=thought, notes=(*said.notes, *step.notes, *after))


def _thought(before: str) -> str:
    """Return the words before a step without the label of the first thought."""
    first = next(labels(before), None)
    if first and first.kind == "thought" and not before[: first.start].strip():
        before = before[first.value :]
    return _FENCE_LEFT.sub("", before.strip())


def _advice(reply: str, said: Spoken, live: Script) -> str:
    """Name the one defect that explains best why there is no step."""
    kinds = {label.kind for label in live.labels if not label.fenced}
    inline = _INLINE.search(live.text)
    defects = (
        ("empty", not reply.strip()),
        ("unclosed thinking", said.unclosed),
        ("only thinking", not said.text.strip() and bool(said.notes)),
        ("observation", "invented observation discarded" in live.notes),
        ("empty answer", "answer" in kinds),
        ("no tool", "action" in kinds),
        ("input", "input" in kinds),
        ("fenced", bool(live.hidden & {"action", "answer"})),
        ("inline", inline is not None),
    )
    defect = next((name for name, is_so in defects if is_so), "neither")
    return advice.about(defect, label=inline["label"] if inline else "")
