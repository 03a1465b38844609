"""A reply is read as the first step it takes, in whatever dialect it is written.

Lenient for calls, strict for answers: a call that is understood does no harm, for its tool runs
within its bounds; an answer counts only where the model itself gives it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from chart_binder.react.parsing.advice import Defect, DialectRules
from chart_binder.react.parsing.answers import read_answer
from chart_binder.react.parsing.attribution import is_own, is_passed_on
from chart_binder.react.parsing.calls import (
    Taken,
    opens_turn,
    read_action,
    read_given,
    read_in_brackets,
)
from chart_binder.react.parsing.json_turns import (
    noted,
    read_turn,
)
from chart_binder.react.parsing.labels import Kind, Label, label_at
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    encodable_text,
    opens_object,
    scan,
    skip_space,
)
from chart_binder.react.parsing.lexer import (
    end_of_line,
    lowered,
    span_around,
    without_outer_fence,
)
from chart_binder.react.parsing.reply import INVENTED, Turn, find_turn
from chart_binder.react.parsing.tags import first_in_tags, identified
from chart_binder.react.parsing.thinking import Spoken, strip_thinking, tokens_as_tags
from chart_binder.react.steps import Act, Finish, Step

_MAX_CALLS: Final = 8
_MAX_OBJECTS: Final = 32
_NAME_AT_MOST: Final = 80
_FENCE_AT_MOST: Final = 80
_ENDS: Final[frozenset[Kind]] = frozenset({"thought", "action", "observation", "answer", "turn"})
_TURN: Final = frozenset({"thought", "action", "answer"})
_AROUND_PAUSE: Final = " \t*_`.()[]<>"
_LEFT_OVER: Final = " \t\n`~*_})]>;."
_CLOSERS: Final = re.compile(r"(?:\s{0,80}+</[\w ]{1,24}>)*+")
_FENCE_LEFT: Final = re.compile(r"(?:^|\s)(?:`{3}+\w{0,12}+|json|xml)$")
_NO_NAME: Final = re.compile(r"[\n{}()\[\]:：\"]")
_INLINE: Final = re.compile(
    r"Final Answer ?[:：]|Action ?[:：]|<(?:tool_call|response|final_answer|answer)\b"
)
_CALL: Final = re.compile(
    r"\n(?:<\|\w{4,24}+\|>)?+[ \t`]{0,4}+(?P<listed>\[[ ]?)?+(?:[a-z]\w{0,31}+ = )?+(?:print\()?+"
    r"(?:functions\.)?+(?P<name>[A-Za-z]\w{1,63}+)(?:\.call)?+"
    r"(?=\((?:[\"'“{]|[A-Za-z]\w{0,63}+ ?=))"
)
_BEGUN_BY_NAME: Final = re.compile(r"\s{0,80}+(?P<name>[a-z]\w{1,63}+)[ \t]{0,8}+\n?(?=\{)")
_ON_ONE_LINE: Final = re.compile(
    r"Action(?<=[.!?:)][ ]Action) ?: ?[^\s:]{2,64}[, ]{1,2}Action Input ?: ?(?=[{\"])"
)
_BEGUN: Final = re.compile(r"\{\s{0,80}+[\"'](?:name|action|tool|function|tool_calls?)[\"']")
_RETURNS: Final = re.compile(r"[)\]`]{0,3}[ ]?(?:[-=]+>|→|[:=：]|(?:returns?|returned)\b)")
_CALL_CLOSERS: Final = re.compile(r"(?:[`)\] \t;.]|<\|/?\w{4,24}+\|>)*+")
# In small letters.
_OBSERVED_KEY: Final = re.compile(
    r"[\"'“](?:observations?|obs|观察(?:结果)?|觀察|観察|tool_?(?:result|response|output)s?)[\"'”]"
    r"\s{0,8}+[:：]\s{0,8}+(?!null|none|\"\"|''|\[\]|\{\})"
)
_ANNOUNCED: Final = re.compile(r"[^\w\n]*+(?:[^\W_]{1,24}[ ]?){1,3}+\W*+(?:json\b\W*+)?+")


@dataclass(frozen=True, slots=True)
class _Reading:
    """A turn and the first step in it; `before` is what was said outside the turn, before it."""

    turn: Turn
    taken: Taken | None
    before: str = ""


def read_reply(reply: str, rules: DialectRules) -> Step:
    """Return the first step a reply takes; what follows it is left out, with a note.

    Takes any text in time linear in its length. Nothing counts that the model thought, quoted, or
    put into a tool's mouth. A step in another dialect counts where it comes first, with a note.
    """
    said = _spoken(reply, rules.said_in)
    reading = _read(said.text)
    if reading.taken is None:
        reading = _read_bare(reading)
    reading = _guarded(_unwrapped(_guarded(reading)))
    if reading.taken is None:
        defect = _defect(reply, said, reading.turn)
        notes = (*said.notes, *reading.turn.notes)
        return replace(defect, notes=notes).worded(rules.wording)
    return _finished(reading.taken, said, reading, rules)


def whole_answer(reply: str) -> str | None:
    """Return a reply that was asked for as an answer alone, and needs no label; or None.

    It is none where it holds a call or an observation, or an answer that the model only passes on.
    """
    said = _spoken(reply, frozenset())
    reading = _guarded(_read_bare(_read(said.text)))
    if reading.taken is not None:
        return reading.taken.step.answer if isinstance(reading.taken.step, Finish) else None
    turn = reading.turn
    kinds = {label.kind for label in turn.labels}
    is_invented = turn.notes or turn.result is not None or _OBSERVED_KEY.search(lowered(turn.text))
    if said.unclosed or is_invented or "action" in kinds or _call_before(turn, len(turn.text)):
        return None
    return turn.text.strip() if "{" in turn.text else None


def _spoken(reply: str, said_in: frozenset[str]) -> Spoken:
    text = encodable_text(reply).replace("\r\n", "\n").replace("\r", "\n")
    return strip_thinking(tokens_as_tags(text), said_in)


def _read(text: str) -> _Reading:
    turn = find_turn(text)
    taken = _first_labelled(turn)
    if turn.tags:
        asking = [label.start for label in turn.labels if label.kind in ("action", "answer")]
        taken = _earlier(turn, taken, first_in_tags(turn.text, turn.tags, asking))
    return _Reading(turn, taken)


def _earlier(turn: Turn, labelled: Taken | None, tagged: Taken | None) -> Taken | None:
    """Return the step that is written first; a label may announce the tag that stands after it."""
    if labelled is None or tagged is None:
        return labelled or tagged
    label = next((label for label in turn.labels if label.start == labelled.start), None)
    if label is None or labelled.start > tagged.start:
        return tagged
    between = turn.text[label.value : tagged.start].strip()
    is_name = len(between) <= _NAME_AT_MOST and not _NO_NAME.search(between)
    names_tool = label.kind == "action" and is_name and isinstance(tagged.step, Act)
    announces_tag = not between or names_tool
    return replace(tagged, start=labelled.start) if announces_tag else labelled


# Steps behind labels.


def _first_labelled(turn: Turn) -> Taken | None:
    """Return the step of the first live label that asks for something, or None.

    A label without words, or an action that names no tool, is passed over.
    """
    seen = 0
    for place, label in enumerate(turn.labels):
        taken: Taken | None = None
        if label.fenced:
            continue
        if label.kind == "answer":
            end = _end(turn, place, _ENDS)
            words, end = read_answer(turn.text, label.value, end, label.mark)
            taken = Taken(Finish(words), end) if words else None
        elif label.kind == "action":
            taken = _action(turn, place, label)
        elif label.kind == "object" and label.start >= seen:
            taken, seen = _object_turn(turn, label.value)
        if taken is not None:
            return replace(taken, start=label.start)
    return None


def _action(turn: Turn, place: int, label: Label) -> Taken | None:
    own = (label.value, _end(turn, place, _ENDS | {"input"}))
    later = _next(turn, place, _ENDS - {"thought"} | {"input"})
    if later is None or turn.labels[later].kind != "input":
        before = turn.labels[place - 1] if place else label
        turned = (before.value, label.start) if before.kind == "input" else None
        return _paused(turn, read_action(turn.text, own, turned))
    given = (turn.labels[later].value, _end(turn, later, _ENDS | {"input"}))
    taken = read_action(turn.text, own, given)
    return taken and replace(taken, writing="classic")


def _next(turn: Turn, place: int, kinds: frozenset[Kind]) -> int | None:
    later = range(place + 1, len(turn.labels))
    return next((other for other in later if turn.labels[other].kind in kinds), None)


def _end(turn: Turn, place: int, kinds: frozenset[Kind]) -> int:
    later = _next(turn, place, kinds)
    return len(turn.text) if later is None else turn.labels[later].start


def _paused(turn: Turn, taken: Taken | None) -> Taken | None:
    """Tell an action that pauses, and take a PAUSE at the end of its line out of its input."""
    if taken is None or not isinstance(taken.step, Act):
        return taken
    if turn.ended_by == "pause":
        return replace(taken, writing="pause")
    line_end = end_of_line(turn.text, taken.end)
    given = taken.step.arguments
    if not isinstance(given, str):
        is_pause = _before_pause(turn.text[taken.end : line_end]) == ""
        return replace(taken, end=line_end, writing="pause") if is_pause else taken
    words = _before_pause(given)
    if words is None or _before_pause(turn.text[taken.start : taken.end]) is None:
        return taken
    return replace(taken, step=replace(taken.step, arguments=words or {}), writing="pause")


def _before_pause(words: str) -> str | None:
    """Return the words before a PAUSE that they end with, if they do."""
    bare = words.rstrip(_AROUND_PAUSE)
    before = bare.removesuffix("PAUSE")
    if before == bare or (before and before[-1] not in _AROUND_PAUSE):
        return None
    return before.rstrip(_AROUND_PAUSE)


def _object_turn(turn: Turn, at: int) -> tuple[Taken | None, int]:
    """Read an object at a line start that is a whole turn, or say up to where there is none.

    What follows an object that cannot be read may be a part of it. One that stands among other
    words is quoted.
    """
    if not opens_turn(turn.text, at, len(turn.text)):
        return None, 0
    try:
        found = scan(turn.text, at)
    except LenientJSONError:
        return None, len(turn.text)
    step = read_turn(found.value) if isinstance(found.value, dict) else None
    if step is None or (
        not isinstance(step, Defect)
        and not is_own(turn.said_before(at), turn.said_after(found.end))
    ):
        return None, found.end
    return Taken(noted(step, *found.notes), found.end, 0, "object"), found.end


# Steps without labels, where only one thing can be meant.


def _read_bare(reading: _Reading) -> _Reading:
    """Read a turn that lacks labels or tags, or a call that stands in a fence."""
    turn = reading.turn
    taken = _bare_object(turn) or _bare_call(turn)
    if taken is not None:
        return replace(reading, taken=taken)
    outer = without_outer_fence(turn.text)
    spans = turn.regions.closed[-1:]
    if outer is not None:
        spans = [(turn.text.index(outer), turn.text.index(outer) + len(outer))]
    elif inline := _ON_ONE_LINE.search(turn.text):
        spans = [(inline.start(), len(turn.text))]
    for start, end in spans:
        said = "".join(turn.words(*span) for span in turn.thoughts) + turn.text[:start]
        inside = _read(turn.text[start:end]) if is_own(said, turn.text[end:]) else None
        if inside and inside.taken and not isinstance(inside.taken.step, Finish):
            return replace(inside, before=_thought(said.strip()))
    return reading


def _bare_object(turn: Turn) -> Taken | None:
    quoted: Taken | None = None
    for at in islice(_objects(turn), _MAX_OBJECTS):
        if not opens_object(turn.text, at) or turn.regions.quotes(at):
            continue
        fence = turn.text.find("```", at)
        try:
            found = scan(turn.text, at, fence if fence >= 0 else len(turn.text))
        except LenientJSONError as error:
            return Taken(Defect("turn", str(error)), len(turn.text), at, "object")
        step = read_turn(found.value) if isinstance(found.value, dict) else None
        own = step and is_own(turn.said_before(at), turn.said_after(found.end))
        if step is not None and (own or isinstance(step, Defect)):
            return Taken(noted(step, *found.notes), found.end, at, "object")
        if step is not None and quoted is None:
            quoted = Taken(Defect("among words"), found.end, at, "object")
    return quoted


def _objects(turn: Turn) -> list[int]:
    """Return where objects begin a line or a fence, in order."""
    found = [label.value for label in turn.labels if label.kind == "object"]
    for start, _ in turn.regions.fences:
        inside = skip_space(turn.text, start)
        if turn.text.startswith("[", inside):
            inside = skip_space(turn.text, inside + 1)
        if turn.text.startswith("{", inside):
            found.append(inside)
    return sorted(found)


def _bare_call(turn: Turn) -> Taken | None:
    for call, rest in _python_calls(turn):
        is_alone = _CALL_CLOSERS.fullmatch(rest) and not turn.regions.quotes(call.start)
        if is_alone and is_own(turn.said_before(call.start), turn.said_after(call.end)):
            return call
    return None


def _python_calls(turn: Turn) -> Iterator[tuple[Taken, str]]:
    """Yield the calls that begin a line, such as `add(a=1)`, each with the rest of its line."""
    text = f"\n{turn.text}"
    begun = [_BEGUN_BY_NAME.match(text)] if "{" in text else []
    calls = islice(_CALL.finditer(text), _MAX_CALLS) if "(" in text else ()
    for call in filter(None, (*begun, *calls)):
        try:
            read = read_given if text.startswith("{", call.end()) else read_in_brackets
            given = read(text, call.end(), len(text))
        except LenientJSONError:
            continue
        end = given.end - 1  # the line break that was put before the text moves every place
        line_end = end_of_line(turn.text, end)
        if call.re is _CALL and call["listed"]:
            end = turn.text.rfind("]", end, line_end) + 1 or end
        act = Act(call["name"], given.arguments, notes=given.notes)
        yield Taken(act, end, call.start(), "object"), turn.text[end:line_end]


def _objects_called(turn: Turn, end: int) -> Iterator[tuple[Taken, str]]:
    """Yield the objects before a place that are calls, each with the rest of its line.

    The last may be one that begins as a call, but cannot be read.
    """
    seen = 0
    for at in islice((at for at in _objects(turn) if at < end), _MAX_CALLS):
        if at < seen or not opens_object(turn.text, at):
            continue
        fence = turn.text.find("```", at, end)
        try:
            found = scan(turn.text, at, fence if fence >= 0 else end)
        except LenientJSONError:
            if _BEGUN.match(turn.text, at):
                yield Taken(Defect("called"), end, at, "object"), ""
            return
        seen = found.end
        step = read_turn(found.value) if isinstance(found.value, dict) else None
        if isinstance(step, Act):
            rest = turn.text[found.end : end_of_line(turn.text, found.end)]
            call = Taken(noted(step, *found.notes), found.end, at, "object")
            yield call, rest.partition("{")[0]


# What no answer may rest on.


def _guarded(reading: _Reading) -> _Reading:
    """Put in the place of an answer what stands before it: a call, or what it cannot rest on."""
    taken, turn = reading.taken, reading.turn
    if taken is None:
        return reading
    if _OBSERVED_KEY.search(lowered(turn.text), 0, taken.start):
        return replace(reading, taken=replace(taken, step=Defect("observation")))
    if not isinstance(taken.step, Finish):
        return reading
    if call := _call_before(turn, taken.start):
        return replace(reading, taken=call)
    defect = None
    if turn.result is not None and turn.result < taken.start:
        between = turn.text[turn.result : min(taken.start, turn.result + 80)]
        defect = None if _ANNOUNCED.fullmatch(between) else Defect("observation")
    if is_passed_on(turn.text, taken.start):
        defect = defect or Defect("passed on")
    return replace(reading, taken=replace(taken, step=defect)) if defect else reading


def _call_before(turn: Turn, end: int) -> Taken | None:
    """Return the first call without a label that begins before a place, a defect if it just shows.

    It shows in a fence, or where its line goes on. What is quoted, or passed on, is not seen.
    """
    calls = [
        (call, rest)
        for call, rest in _python_calls(turn)
        if call.start < end and (_CALL_CLOSERS.fullmatch(rest) or _RETURNS.match(rest))
    ]
    for call, rest in sorted(
        [*_objects_called(turn, end), *calls], key=lambda found: found[0].start
    ):
        if turn.regions.quotes(call.start) or is_passed_on(turn.text, call.start):
            continue
        is_fenced = span_around(turn.regions.closed, call.start) or turn.regions.is_open(call.start)
        shows = is_fenced or any(map(str.isalnum, rest))
        return replace(call, step=Defect("called")) if shows else call
    return None


def _unwrapped(reading: _Reading) -> _Reading:
    """Read a turn in labels that stands in an answer's tags as a whole."""
    taken, turn = reading.taken, reading.turn
    if taken is None or taken.writing != "tags" or not isinstance(taken.step, Finish):
        return reading
    label = label_at(taken.step.answer, 0)
    inside = _read(taken.step.answer) if label and label.kind in _TURN else None
    if inside is None or inside.taken is None:
        return reading
    notes = (*inside.turn.notes, *turn.notes)
    before = turn.words(0, taken.start)
    return replace(inside, turn=replace(inside.turn, notes=notes), before=before)


def _finished(taken: Taken, said: Spoken, reading: _Reading, rules: DialectRules) -> Step:
    step, turn = taken.step, reading.turn
    if isinstance(step, Finish) and not step.answer.strip():
        step = Defect("empty answer", notes=step.notes)
    if isinstance(step, Defect):
        notes = (*said.notes, *step.notes, *turn.notes)
        return replace(step, notes=notes).worded(rules.wording)
    notes = rules.notes_on(taken.writing)
    closers = _CLOSERS.match(turn.text, taken.end)
    if turn.text[closers.end() if closers else taken.end :].strip(_LEFT_OVER):
        kind = "final answer" if isinstance(step, Finish) else "action"
        notes += (f"text after the {kind} discarded",)
    if isinstance(step, Act):
        calls = identified(step.calls) if rules.several else [replace(step, id="")]
        notes += ("further calls discarded",) if len(calls) < len(step.calls) else ()
        step = replace(calls[0], also=tuple(calls[1:]))
    thought = f"{reading.before}\n{_thought(turn.words(0, taken.start).strip())}".strip()
    notes = (*said.notes, *step.notes, *notes, *turn.notes)
    return replace(step, thought=step.thought or thought, notes=notes)


def _thought(before: str) -> str:
    """Return the words before a step without the label of the first thought."""
    first = label_at(before, 0)
    before = before[first.value :].strip() if first and first.kind == "thought" else before
    fence = _FENCE_LEFT.search(before, max(0, len(before) - _FENCE_AT_MOST))
    return before[: fence.start()] if fence else before


def _defect(reply: str, said: Spoken, turn: Turn) -> Defect:
    """Name the one defect that explains best why there is no step."""
    kinds: set[str] = {label.kind for label in turn.labels if not label.fenced}
    asking = [tag for tag in turn.all_tags if tag.kind in ("call", "answer") and tag.opens]
    outside = [tag for tag in asking if not span_around(turn.thoughts, tag.start)]
    kinds |= {tag.kind for tag in outside if not tag.fenced}
    inline = _INLINE.search(turn.text)
    begins = inline and not turn.text[: inline.start()].rpartition("\n")[2].strip()
    found = inline.group() if inline else ""
    has_object = "object" in kinds or any(True for _ in _objects(turn))
    defects = (
        ("empty", not reply.strip()),
        ("unclosed thinking", said.unclosed),
        ("only thinking", not said.text.strip() and said.thought),
        ("empty", not said.text.strip()),
        ("observation", INVENTED in turn.notes),
        ("speaker", turn.ended_by in ("speaker", "turn")),
        ("pause", turn.ended_by == "pause"),
        ("empty answer", "answer" in kinds),
        ("no tool", bool({"action", "call"} & kinds)),
        ("input", "input" in kinds),
        ("thought", len(outside) < len(asking)),
        ("fenced", bool(turn.hidden & {"action", "answer"}) or bool(asking) or bool(begins)),
        ("inline", inline is not None),
        ("unlabelled", has_object),
    )
    kind = next((name for name, is_so in defects if is_so), "neither")
    return Defect(kind, f"{found}>" if found.startswith("<") else found.rstrip(" :："))
