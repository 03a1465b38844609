"""Reads the first step of a reply, in whatever dialect it is written.

`lexer` removes the thoughts, `labels` finds labels and tags, and `turns` selects the live ones. The
first of them that asks for something is read here; `calls` reads a call with its arguments.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeAlias

from chart_binder.react.parsing.advice import ADVICE, DialectRules, ParseProblem, Writing
from chart_binder.react.parsing.attribution import (
    contains_foreign_words,
    is_attributed,
    is_own_answer,
    is_withdrawn,
)
from chart_binder.react.parsing.calls import (
    ParsedStep,
    call_in,
    is_answer_name,
    read_action,
    read_bracketed,
    read_object,
    with_ids,
    without_closing_tags,
)
from chart_binder.react.parsing.labels import (
    Directive,
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
from chart_binder.react.parsing.lexer import VisibleText, cut_at_turn_end, visible_text
from chart_binder.react.parsing.turns import ASKING, ReplyTurn, find_turn, object_end
from chart_binder.react.steps import FinalAnswer, Step, ToolCall

_MAX_REFUSED: Final = 4
"""The largest number of quoted answers that are read."""
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
_LEFT_OVER: Final = " \t\n`~*_})]>;."
_THOUGHT_BEGINS: Final = re.compile(r"\A(?:```\w*\s+)?<thoughts?>", re.IGNORECASE)
_WRAPPER_BEGINS: Final = re.compile(
    r"(?:^|\s)(?:(?:`{3,}|~{3,})\w{0,12}|json|xml|<tool_calls>|<function_calls>)\Z"
)
_CLOSING_TAGS: Final = re.compile(r"\A(?:\s{0,80}</[\w ]{1,24}>)*")


@dataclass(frozen=True, slots=True)
class LocatedStep:
    """A step, and where it begins and ends."""

    step: ToolCall | FinalAnswer
    start: int
    end: int
    writing: Writing = "labels"

    @property
    def is_call(self) -> bool:
        """Whether the step is a call."""
        return isinstance(self.step, ToolCall)


@dataclass(frozen=True, slots=True)
class RejectedStep:
    """Why a step does not count; if `is_final`, nothing after it counts either."""

    problem: ParseProblem
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class ContinueAt:
    """There is no step before this position, where the search continues."""

    position: int


ReadResult: TypeAlias = LocatedStep | RejectedStep | ContinueAt


def _located(
    step: ParsedStep | None, start: int, end: int, writing: Writing
) -> LocatedStep | RejectedStep:
    """Return a step with its place, or its problem."""
    if isinstance(step, ToolCall | FinalAnswer):
        return LocatedStep(step, start, end, writing)
    return RejectedStep(step, is_final=True) if step else RejectedStep(ParseProblem("no tool"))


def read_reply(reply: str, rules: DialectRules) -> Step:
    """Return the first step of a reply, in any dialect, in linear time."""
    visible = visible_text(reply, rules.dialect_tags)
    turn = find_turn(_on_own_lines(visible.text), rules)
    outcome = first_step(turn)
    notes = (*visible.notes, *turn.notes)
    if isinstance(outcome, LocatedStep) and (outcome.is_call or not visible.is_undivided):
        step = _completed(outcome, turn, notes)
        if isinstance(step, FinalAnswer):
            return replace(step, answer=_literal(reply, step.answer))
        return step
    if isinstance(outcome, LocatedStep):
        problem = ParseProblem("thought")
    else:
        problem = outcome.problem if outcome else _main_problem(visible, turn)
    return replace(problem, notes=(*notes, *problem.notes)).to_advice(rules.wording)


def _on_own_lines(text: str) -> str:
    """Put a call, or an answer whose object is last, on its own line if it follows a sentence."""
    text = _CALL_INLINE.sub(r"\g<0>\n", text)
    answer = _ANSWER_INLINE.search(text)
    if answer is None or text[object_end(text, answer.end("space")) :].strip(_LEFT_OVER):
        return text
    text_before = text[: answer.end()]
    is_own = is_own_answer(text_before, is_labelled=False)
    return f"{text_before}\n{text[answer.end() :]}" if is_own else text


def _literal(reply: str, answer: str) -> str:
    """Return an answer in words as the model wrote it, with signs, markup and tags."""
    text = encodable_text("\n".join(reply.splitlines()))
    if answer in text or "{" in answer:
        return answer
    places = (*find_labels(text), *find_tags(text))
    for directive in islice(
        (directive for directive in places if directive.kind == "answer"), _MAX_REFUSED
    ):
        words = cut_at_turn_end(text[directive.content_start : directive.end]).strip()
        if visible_text(words).text.split() == answer.split():
            return words
    return answer


# The first step.


def first_step(turn: ReplyTurn) -> LocatedStep | RejectedStep | None:
    """Return the first step: under a label, in a tag, as an object, or as a call in Python."""
    fenced_call: LocatedStep | None = None
    quoted_answers = resume_at = 0  # the text before `resume_at` belongs to an earlier step
    for place, directive in enumerate(turn.directives):
        reader = _READERS.get(directive.kind)
        if reader is None or directive.start < resume_at or quoted_answers == _MAX_REFUSED:
            continue
        result = reader(turn, place)
        if isinstance(result, ContinueAt):
            resume_at = result.position
            continue
        call = result if isinstance(result, LocatedStep) and result.is_call else None
        is_shown = directive.is_fenced and (call is not None or directive.kind != "object")
        if isinstance(result, LocatedStep) and call is None and not is_shown:
            result = _checked_answer(turn, place, result, is_called=fenced_call is not None)
        if isinstance(result, RejectedStep) and not result.is_final:
            turn.rejections.add(result.problem.kind)
            quoted_answers += result.problem.kind == "passed on"
        elif not is_shown:
            return result
        else:
            turn.rejections.add("fenced")
            fenced_call = fenced_call or call
            if directive.kind == "call":
                resume_at = call.end if call else directive.tag_end
    return fenced_call


def _checked_answer(
    turn: ReplyTurn, place: int, answer: LocatedStep, *, is_called: bool
) -> LocatedStep | RejectedStep:
    """Return an answer, unless it is a quotation or is based on an invented observation."""
    if is_called:
        return RejectedStep(ParseProblem("called"), is_final=True)
    if is_attributed(turn.text_without_thoughts, answer.start):
        return RejectedStep(ParseProblem("passed on"))
    is_observed = "observation in a fence" in turn.rejections or (
        pattern("observed_key").search(turn.text, 0, answer.start) is not None
    )
    if is_observed or contains_foreign_words(turn.text_without_thoughts[: answer.start]):
        return RejectedStep(ParseProblem("observation"), is_final=True)
    doubt = _reason_to_doubt(turn, place) if turn.directives[place].kind == "answer" else ""
    return RejectedStep(ParseProblem(doubt), is_final=doubt != "undone") if doubt else answer


def _reason_to_doubt(turn: ReplyTurn, place: int) -> str:
    """Return why an answer may not be final, or an empty text; a later call makes it `undone`."""
    answer, end = _answer_text(turn, place)
    meaning = _answer_value(answer)
    for at in range(len(turn.directives) - 1, place, -1):
        later = turn.directives[at]
        if later.kind in ("action", "call") and not later.is_fenced:
            call = _READERS[later.kind](turn, at)
            if "{" in answer and isinstance(call, LocatedStep) and call.is_call:
                return "undone"
        if later.kind == "answer" and not later.is_fenced:
            text, _ = _answer_text(turn, at)
            if text and text != answer and _answer_value(text) != meaning:
                return "several"
    if "{" in answer:
        members = meaning if isinstance(meaning, dict) else {}
        return "withdrawn" * is_withdrawn(turn.text[end : turn.end], members)
    return "cut" * _is_cut(turn, turn.directives[place], end)


def _content(turn: ReplyTurn, place: int) -> tuple[str, int]:
    """Return the content of a label or tag, and where it ends at the latest."""
    directive = turn.directives[place]
    later_starts = (later.start for later in turn.directives[place + 1 : place + 2])
    limit = min(next(later_starts, turn.end), directive.end)
    return _without_emphasis(turn.text[directive.content_start : limit].strip(), directive), limit


def _without_emphasis(words: str, directive: Directive) -> str:
    """Return words without the emphasis that began before their label."""
    mark = directive.emphasis
    return words if "[" in mark else words.removesuffix(mark).rstrip()


def _read_action_at(turn: ReplyTurn, place: int) -> ReadResult:
    directive = turn.directives[place]
    words, end = _content(turn, place)
    arguments: str | None = None
    places = range(place + 1, len(turn.directives))
    following = next((at for at in places if turn.directives[at].kind != "thought"), None)
    if following is not None and turn.directives[following].kind == "input":
        arguments, end = _content(turn, following)
    writing: Writing = "tags" if directive.is_tag else "labels" if arguments is None else "classic"
    writing = "pause" if arguments is None and turn.ended_by == "pause" else writing
    return _located(read_action(words, arguments), directive.start, end, writing)


def _read_answer_at(turn: ReplyTurn, place: int) -> ReadResult:
    """Return the answer in a tag, or under a label up to the next step."""
    directive = turn.directives[place]
    answer, _ = _answer_text(turn, place)
    if not answer:
        return RejectedStep(ParseProblem("empty answer"))
    if directive.is_tag:
        return LocatedStep(FinalAnswer(answer), directive.start, directive.tag_end, "tags")
    return LocatedStep(FinalAnswer(answer), directive.start, turn.end)


def _answer_text(turn: ReplyTurn, place: int) -> tuple[str, int]:
    """Return the text of an answer, and where it ends."""
    directive = turn.directives[place]
    if directive.is_tag:
        end = min(directive.end, turn.end)
        words = turn.text[directive.content_start : end].strip()
        label = label_at(words)
        words = words[label.content_start :] if label and label.kind == "answer" else words
    else:
        asking = (
            later.start
            for later in turn.directives[place + 1 :]
            if later.kind in (("call",) if later.is_tag else ("thought", "action", "answer"))
            and not later.is_fenced
        )
        end = next(asking, 0)
        end = end or max(turn.end, object_end(turn.text, directive.content_start, repairs=False))
        words = _without_emphasis(turn.text[directive.content_start : end].strip(), directive)
    return without_closing_tags(words).strip(), end


def _answer_value(answer: str) -> object:
    """Return the first object in the text of an answer, or the text itself."""
    with suppress(LenientJSONError):
        return next(
            (scanned.value for _, scanned in find_objects(answer)), " ".join(answer.split())
        )
    return answer


def _is_cut(turn: ReplyTurn, answer: Directive, end: int) -> bool:
    """Return whether an answer in words may continue after a line that looks like a label."""
    if answer.is_tag:
        return f"</{answer.name}" in turn.text[answer.tag_end : turn.end].casefold()
    is_stop = turn.ended_by == "pause" or _OBSERVING.match(turn.text, turn.end)
    return end < (turn.end if is_stop else len(turn.text))


def _read_call_at(turn: ReplyTurn, place: int) -> ReadResult:
    """Return the call in a tag, with the calls in the next tags."""
    directive = turn.directives[place]
    later_directives = turn.directives[place + 1 :]
    if directive.kind == "calls" and later_directives and later_directives[0].kind == "call":
        return ContinueAt(directive.content_start)  # a tag around the tags of calls
    step = call_in(turn.text[directive.content_start : directive.end], directive)
    if not isinstance(step, ToolCall):
        return _located(step, directive.start, directive.tag_end, "tags")
    end = directive.tag_end
    further_calls = list(step.further_calls)
    for later in (directive for directive in later_directives if directive.kind != "thought"):
        is_next = later.kind == "call" and later.is_fenced == directive.is_fenced
        next_step = call_in(turn.text[later.content_start : later.end], later) if is_next else None
        if not isinstance(next_step, ToolCall) or len(further_calls) >= _MAX_CALLS:
            break
        further_calls += [replace(next_step, further_calls=()), *next_step.further_calls]
        end = later.tag_end
    return LocatedStep(
        replace(step, further_calls=tuple(further_calls)), directive.start, end, "tags"
    )


# Steps without a label or tag.


def _read_object_at(turn: ReplyTurn, place: int) -> ReadResult:
    """Read an object at the beginning of a line as a whole turn, or skip it."""
    at = turn.directives[place].content_start
    body = turn.text[at : turn.end]
    if not opens_object(body, skip_space(body, 1) if body.startswith("[") else 0):
        return ContinueAt(at)
    fence = body.find("```")
    try:
        is_strict = fence < 0 or read_strictly(body, 0) is not None
        step, length = read_object(body if is_strict else body[:fence], tagged=False)
    except LenientJSONError as error:
        if _OBJECT_OF_TURN.match(body):
            return RejectedStep(ParseProblem("turn", str(error)), is_final=True)
        return ContinueAt(turn.end)
    end = at + length
    text_before, text_after = turn.text[:at], turn.text[end : turn.end]
    is_amid = text_before.strip(" \t\n`~json") or text_after.strip(_LEFT_OVER)
    if step is None or (isinstance(step, FinalAnswer) and is_amid):
        turn.rejections.add("unlabelled" if step is None else "among words")
        return ContinueAt(end)
    if isinstance(step, FinalAnswer) and pattern("observed_key").search(body, 0, length):
        step = ParseProblem("observation")
    return _located(step, at, end, "object")


def _read_named_at(turn: ReplyTurn, place: int) -> ReadResult:
    """Read a call that begins with the tool's name, unless words follow it."""
    call = turn.directives[place]
    text = turn.text[call.content_start : turn.end]
    if call.closed:  # an object follows the name
        is_name = call.name[0].islower() and call.name not in ("json", "xml")
        is_alone = not turn.text[: call.start].strip()
        if not is_name or ("_" not in call.name and not is_alone):
            return ContinueAt(call.start)
        if kind_of(call.name) == "action":  # `function_call` above an object
            return _located(read_action("", text), call.start, turn.end, "object")
        step = read_action(call.name, text)
    else:
        try:
            arguments, notes = read_bracketed(text)
        except LenientJSONError:
            return ContinueAt(call.start)
        line = text.partition("\n")[0]
        text_after = re.sub(r"<[^<>]*>", "", line[line.rfind(")") + 1 :]) if ")" in line else ""
        is_arrow = re.match(r"[)\]`]{0,3}[ ]?(?:[-=]+>|→|[:=：]|returns?)", text_after)
        if is_answer_name(call.name) or (re.search(r"\w", text_after) and not is_arrow):
            return ContinueAt(call.start)
        step = ToolCall(call.name, arguments, notes=notes)
    if not isinstance(step, ToolCall):
        return ContinueAt(call.start)
    return LocatedStep(step, call.start, turn.end, "object")


_READERS: Final[Mapping[str, Callable[[ReplyTurn, int], ReadResult]]] = {
    "action": _read_action_at,
    "answer": _read_answer_at,
    "call": _read_call_at,
    "calls": _read_call_at,
    "input": lambda _turn, _place: RejectedStep(
        ParseProblem("input")
    ),  # it counts only after an action
    "object": _read_object_at,
    "named": _read_named_at,
}


# The step with its thought and notes.


def _completed(
    located: LocatedStep, turn: ReplyTurn, notes: tuple[str, ...]
) -> ToolCall | FinalAnswer:
    step = located.step
    own_notes = turn.rules.notes_on(located.writing)
    text_after = turn.text[min(located.end, len(turn.text)) :]
    text_after = _CLOSING_TAGS.sub("", text_after, count=1)
    paused = re.match(r"\W*PAUSE\b", text_after)
    text_after = text_after[paused.end() if paused else 0 :]
    if text_after.strip(_LEFT_OVER):
        last = "final answer" if isinstance(step, FinalAnswer) else "PAUSE" if paused else "action"
        own_notes += (f"text after {'' if paused else 'the '}{last} discarded",)
    if isinstance(step, ToolCall):
        calls = with_ids(step.calls) if turn.rules.several else [replace(step, id="")]
        own_notes += ("further calls discarded",) if len(calls) < len(step.calls) else ()
        step = replace(calls[0], further_calls=tuple(calls[1:]))
    thought = step.thought or _thought(turn, located.start)
    return replace(step, thought=thought, notes=(*notes, *step.notes, *own_notes))


def _thought(turn: ReplyTurn, end: int) -> str:
    """Return the words before a step, without the label or the tags of a thought."""
    words: list[str] = []
    at = 0
    for span in turn.thoughts:
        thought = turn.text[span[0] : span[1]]
        words += [turn.text[at : span[0]], re.sub(r"\A<[^<>]*>|</[^<>]*>\Z", "", thought).strip()]
        at = span[1]
    text_before = "".join([*words, turn.text[at : max(at, end)]]).strip()
    text_before = _THOUGHT_BEGINS.sub("", text_before, count=1).strip()
    label = label_at(text_before)
    text_before = (
        text_before[label.content_start :].strip()
        if label and label.kind == "thought"
        else text_before
    )
    return _WRAPPER_BEGINS.sub("", text_before).strip()


def _main_problem(visible: VisibleText, turn: ReplyTurn) -> ParseProblem:
    """Return the problem that explains best why there is no step."""
    inline = ASKING.search(turn.text)
    form = f"{inline[0]}>" if inline and inline[0][0] == "<" else inline[0] if inline else ""
    kinds = {
        turn.ended_by,
        *turn.rejections,
        *(["empty"] * (not visible.text.strip() and not visible.has_thought)),
        *(
            ["thinking"]
            * (visible.is_unclosed or (not visible.text.strip() and visible.has_thought))
        ),
        *(["countless"] * visible.has_too_many_marks),
        *(["inline"] * (inline is not None)),
    }
    kind = next((kind for kind in ADVICE if kind in kinds), "neither")
    return ParseProblem(kind, form.rstrip(" :：") or turn.inline)
