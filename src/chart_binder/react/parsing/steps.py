"""A reply is read as the first step it takes, in whatever dialect it is written.

`lexer` leaves out the thoughts, `labels` finds labels and tags, `turns` keeps those that are live,
and the first that asks for something is read here, with what it is given (`calls`).
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeAlias

from chart_binder.react.parsing.advice import SENTENCES, Defect, DialectRules, Writing
from chart_binder.react.parsing.attribution import (
    holds_foreign,
    is_given,
    is_introduced,
    is_withdrawn,
)
from chart_binder.react.parsing.calls import (
    Taken,
    call_in,
    identified,
    is_finisher,
    read_action,
    read_in_brackets,
    read_object,
    without_closing_tags,
)
from chart_binder.react.parsing.labels import (
    Directive,
    begins_observation,
    find_labels,
    find_tags,
    kind_of,
    label_at,
    pattern,
)
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    encodable_text,
    find_objects,
    opens_object,
    read_strictly,
    skip_space,
)
from chart_binder.react.parsing.lexer import own_turn, speak
from chart_binder.react.parsing.thinking import Spoken
from chart_binder.react.parsing.turns import ASKING, INVENTED, ReplyTurn, find_turn, object_end
from chart_binder.react.steps import FinalAnswer, Step, ToolCall

_MAX_REFUSED: Final = 4
"""After so many answers that are somebody else's no further one is looked at."""
_MAX_CALLS: Final = 8
_OBJECT_OF_TURN: Final = re.compile(
    r"\[?\s*\{\s*[\"'](?:thought|action|name|tool|function|tool_calls?)[\"']"
)
_CALL_INLINE: Final = re.compile(
    r"[.!?:)…\"”] (?=\**Action\**: ?[\w.]{2,64}[\s,]+\**Action Input\**: ?)"
)
_ANSWER_INLINE: Final = re.compile(
    r"[.!?。！？][ ]?(?=\**(?:Final )?Answer\**:\**(?P<space>\s*)(?:```(?:json)?\s*)?\{)"
)
_OBSERVING: Final = re.compile(r"[\W_]{0,12}obs", re.IGNORECASE)
_MAX_LINES: Final = 64
_LEFT_OVER: Final = " \t\n`~*_})]>;."
_THOUGHT_BEGINS: Final = re.compile(r"\A(?:```\w*\s+)?<thoughts?>", re.IGNORECASE)
_WRAPPER_BEGINS: Final = re.compile(
    r"(?:^|\s)(?:(?:`{3,}|~{3,})\w{0,12}|json|xml|<tool_calls>|<function_calls>)\Z"
)
_CLOSING_TAGS: Final = re.compile(r"\A(?:\s{0,80}</[\w ]{1,24}>)*")


@dataclass(frozen=True, slots=True)
class FoundStep:
    """A step, and where its words begin and end."""

    step: ToolCall | FinalAnswer
    start: int
    end: int
    writing: Writing = "labels"


@dataclass(frozen=True, slots=True)
class RefusedStep:
    """Why words that ask for a step are not taken; if `last`, nothing behind them counts either."""

    defect: Defect
    last: bool = False


@dataclass(frozen=True, slots=True)
class SkipTo:
    """Nothing before this place asks for a step: the next reader begins there."""

    at: int


Reading: TypeAlias = FoundStep | RefusedStep | SkipTo


def _taken(step: Taken | None, start: int, end: int, writing: Writing) -> FoundStep | RefusedStep:
    """Return a step with its place, or what a defect refuses in its place."""
    if isinstance(step, ToolCall | FinalAnswer):
        return FoundStep(step, start, end, writing)
    return RefusedStep(step, last=True) if step else RefusedStep(Defect("no tool"))


def read_reply(reply: str, rules: DialectRules) -> Step:
    """Return the first step a reply takes, in any dialect; takes time linear in its length."""
    spoken = speak(reply, rules.dialect_tags)
    turn = find_turn(_on_own_lines(spoken.text), rules)
    outcome = first_step(turn)
    notes = (*spoken.notes, *turn.notes)
    if (
        isinstance(outcome, FoundStep)
        and isinstance(outcome.step, FinalAnswer)
        and spoken.undivided
    ):
        outcome = RefusedStep(Defect("thought"))
    if isinstance(outcome, FoundStep):
        step = _finished(outcome, turn, notes)
        return (
            replace(step, answer=_literal(reply, step.answer))
            if isinstance(step, FinalAnswer)
            else step
        )
    defect = outcome.defect if outcome else _defect(spoken, turn)
    return replace(defect, notes=(*notes, *defect.notes)).worded(rules.wording)


def _on_own_lines(text: str) -> str:
    """Begin a line with a call behind a sentence, and with an answer there whose object is last."""
    text = _CALL_INLINE.sub(r"\g<0>\n", text)
    answer = _ANSWER_INLINE.search(text)
    if answer is None or text[object_end(text, answer.end("space")) :].strip(_LEFT_OVER):
        return text
    before = text[: answer.end()]
    return f"{before}\n{text[answer.end() :]}" if is_given(before, is_labelled=False) else text


def _literal(reply: str, answer: str) -> str:
    """Return an answer in words as it was written, with its signs, its markup and its tags."""
    text = encodable_text("\n".join(reply.splitlines()))
    if answer in text or "{" in answer:
        return answer
    places = (*find_labels(text), *find_tags(text))
    for found in islice((each for each in places if each.kind == "answer"), _MAX_REFUSED):
        words = own_turn(text[found.value : found.end]).strip()
        if speak(words).text.split() == answer.split():
            return words
    return answer


# The first step.


def first_step(turn: ReplyTurn) -> FoundStep | RefusedStep | None:
    """Return the step of what comes first: a label, a tag, an object, a call as in Python."""
    shown: FoundStep | None = None
    passed_on = read_to = 0  # what stands before `read_to` belongs to an earlier step
    for place, directive in enumerate(turn.directives):
        reader = _READERS.get(directive.kind)
        if reader is None or directive.start < read_to or passed_on == _MAX_REFUSED:
            continue
        reading = reader(turn, place)
        if isinstance(reading, SkipTo):
            read_to = reading.at
            continue
        call = (
            reading
            if isinstance(reading, FoundStep) and isinstance(reading.step, ToolCall)
            else None
        )
        is_shown = directive.is_fenced and (call is not None or directive.kind != "object")
        if isinstance(reading, FoundStep) and call is None and not is_shown:
            reading = _answered(turn, place, reading, is_called=shown is not None)
        if isinstance(reading, RefusedStep) and not reading.last:
            turn.refused.add(reading.defect.kind)
            passed_on += reading.defect.kind == "passed on"
        elif not is_shown:
            return reading
        else:
            turn.refused.add("fenced")
            shown = shown or call
            if directive.kind == "call":
                read_to = call.end if call else directive.after
    return shown


def _answered(
    turn: ReplyTurn, place: int, answer: FoundStep, *, is_called: bool
) -> FoundStep | RefusedStep:
    """Return an answer, unless it is somebody else's or rests on what the model made up."""
    if is_called:
        return RefusedStep(Defect("called"), last=True)
    if is_introduced(turn.said, answer.start):
        return RefusedStep(Defect("passed on"))
    is_observed = "observation in a fence" in turn.refused or (
        pattern("observed_key").search(turn.text, 0, answer.start) is not None
    )
    if is_observed or holds_foreign(turn.said[: answer.start]):
        return RefusedStep(Defect("observation"), last=True)
    doubt = _doubt(turn, place) if turn.directives[place].kind == "answer" else ""
    return RefusedStep(Defect(doubt), last=doubt != "undone") if doubt else answer


def _doubt(turn: ReplyTurn, place: int) -> str:
    """Return why an answer may not be all that the model means; a call makes one `undone`."""
    answer, end = _answer_words(turn, place)
    meaning = _meaning(answer)
    for at in range(len(turn.directives) - 1, place, -1):
        other = turn.directives[at]
        if other.kind in ("action", "call") and not other.is_fenced:
            call = _READERS[other.kind](turn, at)
            if "{" in answer and isinstance(call, FoundStep) and isinstance(call.step, ToolCall):
                return "undone"
        words = _answer_words(turn, at)[0] if other.kind == "answer" and not other.is_fenced else ""
        if words and words != answer and _meaning(words) != meaning:
            return "several"
    if "{" in answer:
        members = meaning if isinstance(meaning, dict) else {}
        return "withdrawn" * is_withdrawn(turn.text[end : turn.end], members)
    return "cut" * _is_cut(turn, turn.directives[place], end)


def _words(turn: ReplyTurn, place: int) -> tuple[str, int]:
    """Return the words of a label or tag, and where they end at the latest."""
    directive = turn.directives[place]
    following = (other.start for other in turn.directives[place + 1 : place + 2])
    limit = min(next(following, turn.end), directive.end)
    return _without_emphasis(turn.text[directive.value : limit].strip(), directive), limit


def _without_emphasis(words: str, directive: Directive) -> str:
    """Return words without the emphasis that began before their label."""
    mark = directive.emphasis
    return words if "[" in mark else words.removesuffix(mark).rstrip()


def _read_action_at(turn: ReplyTurn, place: int) -> Reading:
    directive = turn.directives[place]
    words, end = _words(turn, place)
    arguments: str | None = None
    places = range(place + 1, len(turn.directives))
    following = next((at for at in places if turn.directives[at].kind != "thought"), None)
    if following is not None and turn.directives[following].kind == "input":
        arguments, end = _words(turn, following)
    writing: Writing = "tags" if directive.is_tag else "labels" if arguments is None else "classic"
    writing = "pause" if arguments is None and turn.ended_by == "pause" else writing
    return _taken(read_action(words, arguments), directive.start, end, writing)


def _read_answer_at(turn: ReplyTurn, place: int) -> Reading:
    """Return the answer in a tag, or under a label up to what asks for something else."""
    directive = turn.directives[place]
    answer, _ = _answer_words(turn, place)
    if not answer:
        return RefusedStep(Defect("empty answer"))
    if directive.is_tag:
        return FoundStep(FinalAnswer(answer), directive.start, directive.after, "tags")
    return FoundStep(FinalAnswer(answer), directive.start, turn.end)


def _answer_words(turn: ReplyTurn, place: int) -> tuple[str, int]:
    """Return the words of an answer, and where they end."""
    directive = turn.directives[place]
    if directive.is_tag:
        end = min(directive.end, turn.end)
        words = turn.text[directive.value : end].strip()
        label = label_at(words)
        words = words[label.value :] if label and label.kind == "answer" else words
    else:
        asking = (
            other.start
            for other in turn.directives[place + 1 :]
            if other.kind in (("call",) if other.is_tag else ("thought", "action", "answer"))
            and not other.is_fenced
        )
        end = next(asking, 0)
        end = end or max(turn.end, object_end(turn.text, directive.value, repairs=False))
        words = _without_emphasis(turn.text[directive.value : end].strip(), directive)
    return without_closing_tags(words).strip(), end


def _meaning(answer: str) -> object:
    """Return the first object among the words of an answer, or its words."""
    with suppress(LenientJSONError):
        return next((found.value for _, found in find_objects(answer)), " ".join(answer.split()))
    return answer


def _is_cut(turn: ReplyTurn, answer: Directive, end: int) -> bool:
    """Tell whether an answer in words may go on behind its end, at what looks like a label."""
    if answer.is_tag:
        return f"</{answer.name}" in turn.text[answer.after : turn.end].casefold()
    is_stop = turn.ended_by == "pause" or _OBSERVING.match(turn.text, turn.end)
    return end < (turn.end if is_stop else len(turn.text))


def _read_call_at(turn: ReplyTurn, place: int) -> Reading:
    """Return the call in a tag, with those in the tags that follow it."""
    directive = turn.directives[place]
    further = turn.directives[place + 1 :]
    if directive.kind == "calls" and further and further[0].kind == "call":
        return SkipTo(directive.value)  # a tag around calls with a tag each
    step = call_in(turn.text[directive.value : directive.end], directive)
    if not isinstance(step, ToolCall):
        return _taken(step, directive.start, directive.after, "tags")
    end = directive.after
    further_calls = list(step.further_calls)
    for other in (each for each in further if each.kind != "thought"):
        is_next = other.kind == "call" and other.is_fenced == directive.is_fenced
        next_step = call_in(turn.text[other.value : other.end], other) if is_next else None
        if not isinstance(next_step, ToolCall) or len(further_calls) >= _MAX_CALLS:
            break
        further_calls += [replace(next_step, further_calls=()), *next_step.further_calls]
        end = other.after
    return FoundStep(
        replace(step, further_calls=tuple(further_calls)), directive.start, end, "tags"
    )


# Steps without label or tag.


def _read_object_at(turn: ReplyTurn, place: int) -> Reading:
    """Read an object that begins a line as a whole turn; or return where to look on."""
    at = turn.directives[place].value
    body = turn.text[at : turn.end]
    if not opens_object(body, skip_space(body, 1) if body.startswith("[") else 0):
        return SkipTo(at)
    fence = body.find("```")
    try:
        is_strict = fence < 0 or read_strictly(body, 0) is not None
        step, length = read_object(body if is_strict else body[:fence], tagged=False)
    except LenientJSONError as error:
        if _OBJECT_OF_TURN.match(body):
            return RefusedStep(Defect("turn", str(error)), last=True)
        return SkipTo(turn.end)
    end = at + length
    before, after = turn.text[:at], turn.text[end : turn.end]
    is_amid = before.strip(" \t\n`~json") or after.strip(_LEFT_OVER)
    if step is None or (isinstance(step, FinalAnswer) and is_amid):
        turn.refused.add("unlabelled" if step is None else "among words")
        return SkipTo(end)
    if isinstance(step, FinalAnswer) and pattern("observed_key").search(body, 0, length):
        step = Defect("observation")
    return _taken(step, at, end, "object")


def _read_named_at(turn: ReplyTurn, place: int) -> Reading:
    """Read the call of a tool by its name, unless words go on behind it."""
    call = turn.directives[place]
    given = turn.text[call.value : turn.end]
    if call.closed:  # an object stands behind the name
        is_name = call.name[0].islower() and call.name not in ("json", "xml")
        is_alone = not turn.text[: call.start].strip()
        if not is_name or ("_" not in call.name and not is_alone):
            return SkipTo(call.start)
        if kind_of(call.name) == "action":  # `function_call` stands above an object
            return _taken(read_action("", given), call.start, turn.end, "object")
        step = read_action(call.name, given)
    else:
        try:
            arguments, notes = read_in_brackets(given)
        except LenientJSONError:
            return SkipTo(call.start)
        line = given.partition("\n")[0]
        rest = re.sub(r"<[^<>]*>", "", line[line.rfind(")") + 1 :]) if ")" in line else ""
        is_arrow = re.match(r"[)\]`]{0,3}[ ]?(?:[-=]+>|→|[:=：]|returns?)", rest)
        if is_finisher(call.name) or (re.search(r"\w", rest) and not is_arrow):
            return SkipTo(call.start)
        step = ToolCall(call.name, arguments, notes=notes)
    if not isinstance(step, ToolCall):
        return SkipTo(call.start)
    return FoundStep(step, call.start, turn.end, "object")


_READERS: Final[Mapping[str, Callable[[ReplyTurn, int], Reading]]] = {
    "action": _read_action_at,
    "answer": _read_answer_at,
    "call": _read_call_at,
    "calls": _read_call_at,
    "input": lambda _turn, _place: RefusedStep(Defect("input")),  # it counts with its action alone
    "object": _read_object_at,
    "named": _read_named_at,
}


# What a reply comes to.


def _finished(taken: FoundStep, turn: ReplyTurn, notes: tuple[str, ...]) -> ToolCall | FinalAnswer:
    step = taken.step
    own_notes = turn.rules.notes_on(taken.writing)
    after = turn.text[min(taken.end, len(turn.text)) :]
    after = _CLOSING_TAGS.sub("", after, count=1)
    paused = re.match(r"\W*PAUSE\b", after)
    after = after[paused.end() if paused else 0 :]
    if INVENTED not in notes and any(map(begins_observation, after.split("\n", _MAX_LINES))):
        notes += (INVENTED,)
    if after.strip(_LEFT_OVER):
        last = "final answer" if isinstance(step, FinalAnswer) else "PAUSE" if paused else "action"
        own_notes += (f"text after {'' if paused else 'the '}{last} discarded",)
    if isinstance(step, ToolCall):
        calls = identified(step.calls) if turn.rules.several else [replace(step, id="")]
        own_notes += ("further calls discarded",) if len(calls) < len(step.calls) else ()
        step = replace(calls[0], further_calls=tuple(calls[1:]))
    thought = step.thought or _thought(turn, taken.start)
    return replace(step, thought=thought, notes=(*notes, *step.notes, *own_notes))


def _thought(turn: ReplyTurn, end: int) -> str:
    """Return the words before a step without the label of the first thought, or tags around it."""
    words: list[str] = []
    at = 0
    for found in turn.thoughts:
        inner = turn.text[found[0] : found[1]]
        words += [turn.text[at : found[0]], re.sub(r"\A<[^<>]*>|</[^<>]*>\Z", "", inner).strip()]
        at = found[1]
    before = "".join([*words, turn.text[at : max(at, end)]]).strip()
    before = _THOUGHT_BEGINS.sub("", before, count=1).strip()
    label = label_at(before)
    before = before[label.value :].strip() if label and label.kind == "thought" else before
    return _WRAPPER_BEGINS.sub("", before).strip()


def _defect(spoken: Spoken, turn: ReplyTurn) -> Defect:
    """Name the one defect that explains best why there is no step."""
    inline = ASKING.search(turn.text)
    shown = f"{inline[0]}>" if inline and inline[0][0] == "<" else inline[0] if inline else ""
    kinds = {
        turn.ended_by,
        *turn.refused,
        *(["empty"] * (not spoken.text.strip() and not spoken.thought)),
        *(["thinking"] * (spoken.unclosed or (not spoken.text.strip() and spoken.thought))),
        *(["countless"] * spoken.countless),
        *(["inline"] * (inline is not None)),
    }
    kind = next((kind for kind in SENTENCES if kind in kinds), "neither")
    return Defect(kind, shown.rstrip(" :：") or turn.inline)
