"""A reply is read as the first step it takes, in whatever dialect it is written.

Lenient for calls, strict for answers: a call that is understood does no harm, for its tool runs
within its bounds; an answer counts only where the model itself gives it. `lexer` leaves out the
thoughts, `labels` finds labels and tags, `turns` keeps those that are live, and the first that asks
for something is read here, with what it is given (`calls`, `lenient_json`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeAlias

from chart_binder.react.parsing.advice import NO_DIALECT, SENTENCES, Defect, DialectRules, Writing
from chart_binder.react.parsing.answers import is_introduced, read_answer_object
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
    holds_foreign,
    kind_of,
    label_at,
)
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    opens_object,
    read_strictly,
    skip_space,
)
from chart_binder.react.parsing.lexer import speak
from chart_binder.react.parsing.thinking import Spoken
from chart_binder.react.parsing.turns import (
    ASKING,
    INVENTED,
    Turn,
    find_turn,
    object_end,
)
from chart_binder.react.steps import Act, Finish, Step

_MAX_REFUSED: Final = 4
"""After so many answers that are somebody else's no further one is looked at."""
_MAX_CALLS: Final = 8
_MAX_LINES: Final = 64
_OBJECT_OF_TURN: Final = re.compile(
    r"\[?\s*\{\s*[\"'](?:thought|action|name|tool|function|tool_calls?)[\"']"
)
_CALL_INLINE: Final = re.compile(
    r"[.!?:)…\"”] (?=\**Action\**: ?[\w.]{2,64}[\s,]+\**Action Input\**: ?)"
)
_OBSERVED_KEY: Final = re.compile(
    r"[\"'“](?:observations?|obs|观察(?:结果)?|tool_?(?:result|response|output)s?)[\"'”]"
    r"\s{0,8}+[:：]\s{0,8}+(?!null|none|\"\"|''|\[\]|\{\})",
    re.IGNORECASE,
)
_LEFT_OVER: Final = " \t\n`~*_})]>;."
_THOUGHT_BEGINS: Final = re.compile(r"\A(?:```\w*\s+)?<thoughts?>", re.IGNORECASE)
_WRAPPER_BEGINS: Final = re.compile(
    r"(?:^|\s)(?:(?:`{3,}|~{3,})\w{0,12}|json|xml|<tool_calls>|<function_calls>)\Z"
)
_CLOSING_TAGS: Final = re.compile(r"\A(?:\s{0,80}</[\w ]{1,24}>)*")


@dataclass(frozen=True, slots=True)
class Found:
    """A step, and where its words begin and end."""

    step: Act | Finish
    start: int
    end: int
    writing: Writing = "labels"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why what asks for a step is none; if it is `last`, nothing behind it counts either."""

    defect: Defect
    last: bool = False


@dataclass(frozen=True, slots=True)
class SkipTo:
    """Nothing is asked for before this place."""

    at: int


Reading: TypeAlias = Found | Refused | SkipTo


def _taken(step: Taken, start: int, end: int, writing: Writing) -> Found | Refused:
    if isinstance(step, Defect):
        return Refused(step, last=True)
    return Found(step, start, end, writing)


def read_reply(reply: str, rules: DialectRules) -> Step:
    """Return the first step a reply takes; what follows it is left out, with a note.

    Takes any text in time linear in its length. Nothing counts that the model thought, quoted, or
    put into a tool's mouth. A step in another dialect counts where it comes first, with a note.
    """
    said = speak(reply, rules.said_in)
    turn = find_turn(_CALL_INLINE.sub(r"\g<0>\n", said.text), rules)
    found = _first(turn)
    notes = (*said.notes, *turn.notes)
    if isinstance(found, Found) and isinstance(found.step, Finish) and said.undivided:
        found = Refused(Defect("thought"))
    if isinstance(found, Found):
        return _finished(found, turn, notes)
    defect = found.defect if found else _defect(said, turn)
    return replace(defect, notes=(*notes, *defect.notes)).worded(rules.wording)


def whole_answer(reply: str) -> str | None:
    """Return a reply that was asked for as an answer alone, and needs no label; or None.

    It is none where it holds a call, a label or an observation, or an answer that the model only
    passes on.
    """
    said = speak(reply, frozenset())
    turn = find_turn(said.text, NO_DIALECT)
    found = _first(turn)
    if isinstance(found, Found) and isinstance(found.step, Finish) and not said.undivided:
        return found.step.answer
    if found is not None:
        return None
    is_doubtful = (
        said.unclosed or turn.notes or turn.ended_by or turn.refused - {"unlabelled", "shown"}
    )
    if is_doubtful or ASKING.search(turn.text) or _OBSERVED_KEY.search(turn.text):
        return None
    try:
        read_answer_object(turn.text)
    except LenientJSONError:
        return None
    before = turn.text.partition("{")[0]
    return None if holds_foreign(before) or _is_passed_on(before) else turn.text.strip()


def _is_passed_on(before: str) -> bool:
    """Tell whether a line before an object has its label amid words: `The page says: Answer:`."""
    line = before.rstrip(" \n`").removesuffix("```json").strip().rpartition("\n")[2]
    words, colon, label = line.rstrip(":： *").replace("：", ":").rpartition(":")
    is_answer = kind_of(label.strip(" #*_")) == "answer"
    return bool(colon and words.strip()) and is_answer and label_at(line) is None


# The first step.


def _first(turn: Turn) -> Found | Refused | None:
    """Return the step of what comes first: a label, a tag, an object, a call as in Python."""
    shown: Found | None = None
    passed_on = read = 0  # up to `read` all belongs to a step before it
    for place, directive in enumerate(turn.directives):
        reader = _READERS.get(directive.kind)
        if reader is None or directive.start < read or passed_on == _MAX_REFUSED:
            continue
        found = reader(turn, place)
        if isinstance(found, SkipTo):
            read = found.at
            continue
        call = found if isinstance(found, Found) and isinstance(found.step, Act) else None
        is_shown = directive.is_fenced and (call is not None or directive.kind != "object")
        if isinstance(found, Found) and call is None and not is_shown:
            found = _answered(turn, found, is_called=shown is not None)
        if isinstance(found, Refused) and not found.last:
            turn.refused.add(found.defect.kind)
            passed_on += found.defect.kind == "passed on"
        elif not is_shown:
            return found
        else:
            turn.refused.add("fenced")
            shown = shown or call
            read = (call.end if call else directive.after) if directive.kind == "call" else read
    return shown


def _answered(turn: Turn, found: Found, *, is_called: bool) -> Found | Refused:
    """Return an answer, unless it is somebody else's or rests on what the model made up."""
    if is_called:
        return Refused(Defect("called"), last=True)
    if is_introduced(turn.said, found.start):
        return Refused(Defect("passed on"))
    if _rests_on_observation(turn, found.start):
        return Refused(Defect("observation"), last=True)
    return found


def _rests_on_observation(turn: Turn, at: int) -> bool:
    """Tell whether an observation that the model made up stands before an answer."""
    is_shown = "observation in a fence" in turn.refused
    is_member = is_shown or _OBSERVED_KEY.search(turn.text, 0, at) is not None
    return is_member or holds_foreign(turn.said[:at])


def _words(turn: Turn, place: int) -> tuple[str, int]:
    """Return the words of a label or tag, and where they end at the latest."""
    found = turn.directives[place]
    following = turn.directives[place + 1 : place + 2]
    limit = following[0].start if following else turn.end
    if found.is_tag:
        limit = min(limit, found.end) if found.closed else limit
    elif found.is_fenced:
        limit = min(limit, found.limit)
    return _without_emphasis(turn.text[found.value : limit].strip(), found), limit


def _without_emphasis(words: str, found: Directive) -> str:
    """Return words without the emphasis that began before their label."""
    mark = found.emphasis
    is_closed = mark and words.endswith(mark) and "[" not in mark
    return words.removesuffix(mark).rstrip() if is_closed else words


def _read_action_at(turn: Turn, place: int) -> Reading:
    found = turn.directives[place]
    own, end = _words(turn, place)
    given: str | None = None
    kinds = [each.kind for each in turn.directives[place + 1 :]]
    behind = next((at for at, kind in enumerate(kinds) if kind != "thought"), None)
    if behind is not None and kinds[behind] == "input":
        given, end = _words(turn, place + 1 + behind)
    step = read_action(own, given)
    if step is None:
        return Refused(Defect("no tool"))
    writing: Writing = "tags" if found.is_tag else "labels" if given is None else "classic"
    writing = "pause" if given is None and turn.ended_by == "pause" else writing
    return _taken(step, found.start, end, writing)


def _read_answer_at(turn: Turn, place: int) -> Reading:
    """Return the answer in a tag, or under a label up to what asks for something else."""
    found = turn.directives[place]
    further = turn.directives[place + 1 :]
    if found.is_tag:
        words = turn.text[found.value : found.end if found.closed else turn.end].strip()
        label = label_at(words)
        words = words[label.value :] if label and label.kind == "answer" else words
        other = next((each for each in further if each.kind == "answer"), None)
        if other and other.closed and not other.is_fenced and "{" in words:
            words += f"\n{turn.text[other.value : other.end]}"  # two that differ are none
    else:
        end = max(turn.end, object_end(turn.text, found.value, repairs=False))
        asking = (
            each.start
            for each in further
            if each.kind in (("call",) if each.is_tag else ("thought", "action", "answer"))
            and not (each.kind == "answer" and each.is_fenced)
        )
        words = turn.text[found.value : next(asking, end)].strip()
        words = _without_emphasis(words, found)
    answer = without_closing_tags(words).strip()
    writing: Writing = "tags" if found.is_tag else "labels"
    end = found.after if found.is_tag else turn.end
    if not answer:
        return Refused(Defect("empty answer"))
    return Found(Finish(answer), found.start, end, writing)


def _read_call_at(turn: Turn, place: int) -> Reading:
    """Return the call in a tag, with those in the tags that follow it."""
    found = turn.directives[place]
    further = turn.directives[place + 1 :]
    if found.kind == "calls" and further and further[0].kind == "call":
        return SkipTo(found.value)  # a tag around calls with a tag each
    step = call_in(turn.text[found.value : found.end], found)
    if not isinstance(step, Act):
        none = Refused(Defect("no tool"))
        return none if step is None else _taken(step, found.start, found.after, "tags")
    end = found.after
    also = list(step.also)
    for other in (each for each in further if each.kind != "thought"):
        is_next = other.kind == "call" and other.is_fenced == found.is_fenced
        next_step = call_in(turn.text[other.value : other.end], other) if is_next else None
        if not isinstance(next_step, Act) or len(also) >= _MAX_CALLS:
            break
        also += [replace(next_step, also=()), *next_step.also]
        end = other.after
    return Found(replace(step, also=tuple(also)), found.start, end, "tags")


# Steps without label or tag.


def _read_object_at(turn: Turn, place: int) -> Reading:
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
            return Refused(Defect("turn", str(error)), last=True)
        return SkipTo(turn.end)
    end = at + length
    before, after = turn.text[:at], turn.text[end : turn.end]
    is_amid = before.strip(" \t\n`~json") or after.strip(_LEFT_OVER)
    if step is None or (isinstance(step, Finish) and is_amid):
        turn.refused.add("unlabelled" if step is None else "among words")
        return SkipTo(end)
    if isinstance(step, Finish) and _OBSERVED_KEY.search(body, 0, length):
        step = Defect("observation")
    return _taken(step, at, end, "object")


def _read_named_at(turn: Turn, place: int) -> Reading:
    """Read the call of a tool by its name, unless words go on behind it."""
    call = turn.directives[place]
    given = turn.text[call.value : turn.end]
    if call.closed:  # an object stands behind the name
        is_name = call.name[0].islower() and call.name not in ("json", "xml")
        is_alone = not turn.text[: call.start].strip()
        if not is_name or ("_" not in call.name and not is_alone):
            return SkipTo(call.start)
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
        step = Act(call.name, arguments, notes=notes)
    if not isinstance(step, Act):
        return SkipTo(call.start)
    return Found(step, call.start, turn.end, "object")


_READERS: Final[Mapping[str, Callable[[Turn, int], Reading]]] = {
    "action": _read_action_at,
    "answer": _read_answer_at,
    "call": _read_call_at,
    "calls": _read_call_at,
    "input": lambda _turn, _place: Refused(Defect("input")),  # it counts with its action alone
    "object": _read_object_at,
    "named": _read_named_at,
}


# What a reply comes to.


def _finished(found: Found, turn: Turn, notes: tuple[str, ...]) -> Act | Finish:
    step = found.step
    own = turn.rules.notes_on(found.writing)
    rest = turn.text[min(found.end, len(turn.text)) :]
    rest = _CLOSING_TAGS.sub("", rest, count=1)
    paused = re.match(r"\W*PAUSE\b", rest)
    rest = rest[paused.end() if paused else 0 :]
    if INVENTED not in notes and any(map(begins_observation, islice(rest.split("\n"), _MAX_LINES))):
        notes += (INVENTED,)
    if rest.strip(_LEFT_OVER):
        last = "final answer" if isinstance(step, Finish) else "PAUSE" if paused else "action"
        own += (f"text after {'' if paused else 'the '}{last} discarded",)
    if isinstance(step, Act):
        calls = identified(step.calls) if turn.rules.several else [replace(step, id="")]
        own += ("further calls discarded",) if len(calls) < len(step.calls) else ()
        step = replace(calls[0], also=tuple(calls[1:]))
    thought = step.thought or _thought(turn, found.start)
    return replace(step, thought=thought, notes=(*notes, *step.notes, *own))


def _thought(turn: Turn, end: int) -> str:
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


def _defect(said: Spoken, turn: Turn) -> Defect:
    """Name the one defect that explains best why there is no step."""
    inline = ASKING.search(turn.text)
    shown = f"{inline[0]}>" if inline and inline[0][0] == "<" else inline[0] if inline else ""
    found = {
        turn.ended_by,
        *turn.refused,
        *(["empty"] * (not said.text.strip() and not said.thought)),
        *(["thinking"] * (said.unclosed or (not said.text.strip() and said.thought))),
        *(["countless"] * said.countless),
        *(["inline"] * (inline is not None)),
    }
    kind = next((kind for kind in SENTENCES if kind in found), "neither")
    return Defect(kind, shown.rstrip(" :：") or turn.inline)
