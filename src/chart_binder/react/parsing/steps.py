"""A reply is read as the first step it takes, in whatever dialect it is written.

Lenient for calls, strict for answers: a call that is understood does no harm, for its tool runs
within its bounds; an answer counts only where the model itself gives it. A reply is read in four
moves: what is said aloud (`lexer`), the labels and tags in it (`labels`, `tags`), the first of
them that asks for something, and what it is given (`calls`, `lenient_json`).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Final

from chart_binder.react.parsing.advice import NO_DIALECT, Defect, DialectRules, Writing
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
from chart_binder.react.parsing.lexer import Spoken, speak
from chart_binder.react.parsing.turns import (
    ASKING,
    INVENTED,
    Turn,
    find_turn,
    is_within,
    object_end,
)
from chart_binder.react.steps import Act, Finish, Step

_MAX_OBJECTS: Final = 16
_MAX_REFUSED: Final = 4
"""After so many answers that are somebody else's no further one is looked at."""
_MAX_CALLS: Final = 8
_MAX_QUOTED: Final = 4
_MAX_LINES: Final = 64
_OBJECT: Final = re.compile(r"\n(?:<\|\w{4,24}\|>|functools)?[ \t]*(?=\{|\[[ ]{0,4}\{)")
_OBJECT_OF_TURN: Final = re.compile(
    r"\[?\s*\{\s*[\"'](?:thought|action|name|tool|function|tool_calls?)[\"']"
)
# A tool's name with brackets or an object behind it.
_NAMED_CALL: Final = re.compile(
    r"\n(?>(?:<\|\w{4,24}\|>)?)[ \t`]{0,4}+"
    r"(?>(?:[-*+•][ ]|\d{1,2}[.)][ ]|>>>[ ]|[Ss]tep \d: )?)\[?+[ ]?+"
    r"(?>(?:[a-z]\w{0,31}+ = |print\(|await |(?:Tool )?[Cc]all: ?|Tool: ?){0,2})"
    r"(?>(?:functions\.)?)"
    r"(?P<name>[A-Za-z]\w{1,63}+)(?>(?:\.call)?)"
    r"(?:(?=\((?:[\"'“{]|[A-Za-z]\w{0,63} ?=))|(?P<object>[ ]?:?[ ]?\n?(?=\{)))"
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
_CLOSING_TAGS: Final = re.compile(r"\A(?:\s{0,80}</[\w ]{1,24}>)*")
_TURN_TAG: Final = re.compile(r"<(?:tool_call|function_call|invoke|function=)")


@dataclass(frozen=True, slots=True)
class _Found:
    """A step or a defect, and where its words begin and end."""

    step: Taken
    start: int
    end: int
    writing: Writing = "labels"
    may_be_fenced: bool = False


def read_reply(reply: str, rules: DialectRules) -> Step:
    """Return the first step a reply takes; what follows it is left out, with a note.

    Takes any text in time linear in its length. Nothing counts that the model thought, quoted, or
    put into a tool's mouth. A step in another dialect counts where it comes first, with a note.
    """
    said = speak(reply, rules.said_in)
    turn = find_turn(_CALL_INLINE.sub(r"\g<0>\n", said.text), rules)
    found = _first(turn)
    is_later = found is not None and found.start > min(turn.quoted, default=0)
    if turn.quoted and not (is_later and found and isinstance(found.step, Act)):
        found, turn = _call_before_quoted(turn) or (found, turn)
    notes = (*said.notes, *turn.notes)
    if found is None:
        return replace(_defect(reply, said, turn), notes=notes).worded(rules.wording)
    return _finished(found, turn, notes)


def _call_before_quoted(turn: Turn) -> tuple[_Found, Turn] | None:
    """Return the call before an observation in a quotation, and its turn.

    Nothing behind an observation that the model made up may change how a call before it is read,
    as a mark would that closes a quotation only there.
    """
    for place in turn.quoted[:_MAX_QUOTED]:
        before = find_turn(turn.text[:place], turn.rules)
        found = _first(before)
        if found is not None and isinstance(found.step, Act):
            before.notes = list(dict.fromkeys([*before.notes, INVENTED]))
            return found, before
    return None


def whole_answer(reply: str) -> str | None:
    """Return a reply that was asked for as an answer alone, and needs no label; or None.

    It is none where it holds a call, a label or an observation, or an answer that the model only
    passes on.
    """
    said = speak(reply, frozenset())
    turn = find_turn(said.text, NO_DIALECT)
    found = _first(turn)
    if found is not None:
        return found.step.answer if isinstance(found.step, Finish) else None
    is_doubtful = said.unclosed or turn.notes or turn.ended_by or turn.refused - {"unlabelled"}
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


def _first(turn: Turn) -> _Found | None:
    """Return the step of what comes first: a label, a tag, an object, a call as in Python."""
    by_start = attrgetter("start")
    shown: _Found | None = None
    passed_on: _Found | None = None
    refused = 0
    for found in merge(_directed(turn), sorted(_bare(turn), key=by_start), key=by_start):
        is_answer = isinstance(found.step, Finish)
        if is_within(turn.fences, found.start) and not found.may_be_fenced:
            turn.refused.add("fenced")
            shown = shown or (found if isinstance(found.step, Act) else None)
        elif not is_answer:
            return found
        elif shown is not None:
            return replace(found, step=Defect("called"))
        elif is_introduced(turn.said, found.start):
            passed_on = passed_on or replace(found, step=Defect("passed on"))
            refused += 1
            if refused == _MAX_REFUSED:
                break
        elif _rests_on_observation(turn, found.start):
            return replace(found, step=Defect("observation"))
        else:
            return found
    return shown or passed_on


def _rests_on_observation(turn: Turn, at: int) -> bool:
    """Tell whether an observation that the model made up stands before an answer."""
    is_shown = "observation in a fence" in turn.refused
    is_member = is_shown or _OBSERVED_KEY.search(turn.text, 0, at) is not None
    return is_member or holds_foreign(turn.said[:at])


def _directed(turn: Turn) -> Iterator[_Found]:
    """Yield the steps of labels and tags, in order."""
    read = 0  # up to here calls belong to one before them
    for place, directive in enumerate(turn.directives):
        reader = _READERS.get(directive.kind)
        if reader is None or directive.start < read:
            continue
        found = reader(turn, place)
        if isinstance(found, str):
            turn.refused.add(found)
        elif found is not None:
            read = found.end if directive.kind == "call" else read
            yield found


def _words(turn: Turn, place: int) -> tuple[str, int]:
    """Return the words of a label or tag, and where they end at the latest."""
    found = turn.directives[place]
    following = turn.directives[place + 1 : place + 2]
    limit = following[0].start if following else turn.end
    if found.is_tag:
        limit = min(limit, found.end) if found.closed else limit
    else:
        fences = (stop for start, stop in turn.fences if start <= found.start < stop)
        limit = min(limit, *fences, limit)
    return _without_emphasis(turn.text[found.value : limit].strip(), found), limit


def _without_emphasis(words: str, found: Directive) -> str:
    """Return words without the emphasis that began before their label."""
    mark = found.emphasis
    is_closed = mark and words.endswith(mark) and "[" not in mark
    return words.removesuffix(mark).rstrip() if is_closed else words


def _read_action_at(turn: Turn, place: int) -> _Found | str | None:
    found = turn.directives[place]
    following = next(iter(turn.directives[place + 1 : place + 2]), None)
    own, end = _words(turn, place)
    is_call_next = following is not None and following.is_tag and following.kind == "call"
    if is_call_next and " " not in own:
        return None
    at = _place_of_input(turn, place)
    given, given_end = (None, end) if at is None else _words(turn, at)
    step = read_action(own, given)
    if step is None:
        return "no tool"
    end = max(end, given_end)
    is_paused = turn.ended_by == "pause" or own.rstrip(" *_`.").endswith("PAUSE")
    writing: Writing = "tags" if found.is_tag else "labels" if given is None else "classic"
    writing = "pause" if given is None and is_paused else writing
    return _Found(step, found.start, end, writing)


def _place_of_input(turn: Turn, place: int) -> int | None:
    """Return which label holds what an action is given: the next but for thoughts, or the last."""
    kinds = [found.kind for found in turn.directives]
    after = next((at for at in range(place + 1, len(kinds)) if kinds[at] != "thought"), None)
    if after is not None and kinds[after] == "input":
        return after
    return place - 1 if place and kinds[place - 1] == "input" else None


def _read_answer_at(turn: Turn, place: int) -> _Found | str:
    found = turn.directives[place]
    step = _tagged_answer(turn, found) if found.is_tag else _labelled_answer(turn, place)
    further = (each for each in turn.directives[place + 1 :] if each.kind == "answer")
    other = next(further, None) if found.is_tag and isinstance(step, Finish) else None
    is_second = other is not None and other.closed and not is_within(turn.fences, other.start)
    if other is not None and is_second and isinstance(step, Finish) and "{" in step.answer:
        # two answers that differ are none
        step = Finish(f"{step.answer}\n{turn.text[other.value : other.end]}")
    end = found.after if found.is_tag else turn.end
    writing: Writing = "tags" if found.is_tag else "labels"
    return "empty answer" if step is None else _Found(step, found.start, end, writing)


def _tagged_answer(turn: Turn, found: Directive) -> Taken | None:
    """Return the answer in a tag, or the step of a turn that stands there."""
    words = turn.text[found.value : found.end if found.closed else turn.end].strip()
    if nested := re.fullmatch(r"<(answer|final_answer|response)>(.*)</\1>", words, re.DOTALL):
        words = nested[2]
    inner = label_at(words.partition("\n")[0])
    is_turn = inner is not None and inner.kind not in ("input", "pause")
    if turn.is_inner or not (is_turn or _TURN_TAG.match(words)):
        return _answer(words)
    inside = find_turn(words, turn.rules, is_inner=True)
    step = _first(inside)
    turn.notes += inside.notes
    if inside.ended_by == "observation" and (step is None or isinstance(step.step, Finish)):
        return Defect("observation")
    return step.step if step else Defect("thought")


def _labelled_answer(turn: Turn, place: int) -> Taken | None:
    """Return the answer under a label, up to the next one that asks for something else."""
    found = turn.directives[place]
    end = max(turn.end, object_end(turn.text, found.value, repairs=False))
    for other in islice(turn.directives, place + 1, None):
        kinds = ("call",) if other.is_tag else ("thought", "action", "answer")
        is_fenced = other.kind == "answer" and is_within(turn.fences, other.start)
        if other.kind in kinds and not is_fenced:
            end = other.start
            break
    return _answer(_without_emphasis(turn.text[found.value : end].strip(), found))


def _answer(words: str) -> Finish | None:
    words = without_closing_tags(words).strip()
    return Finish(words) if words else None


def _read_call_at(turn: Turn, place: int) -> _Found | str | None:
    """Return the call in a tag, with those in the tags that follow it."""
    found = turn.directives[place]
    further = turn.directives[place + 1 :]
    if found.kind == "calls" and further and further[0].kind == "call":
        return None  # a tag around calls with a tag each
    step = call_in(turn.text[found.value : found.end], found)
    if not isinstance(step, Act):
        return "no tool" if step is None else _Found(step, found.start, found.after, "tags")
    end = found.after
    also = list(step.also)
    is_fenced = is_within(turn.fences, found.start)
    for other in (each for each in further if each.kind != "thought"):
        is_next = other.kind == "call" and is_within(turn.fences, other.start) == is_fenced
        next_step = call_in(turn.text[other.value : other.end], other) if is_next else None
        if not isinstance(next_step, Act) or len(also) >= _MAX_CALLS:
            break
        also += [replace(next_step, also=()), *next_step.also]
        end = other.after
    return _Found(replace(step, also=tuple(also)), found.start, end, "tags")


_READERS: Final[Mapping[str, Callable[[Turn, int], _Found | str | None]]] = {
    "action": _read_action_at,
    "answer": _read_answer_at,
    "call": _read_call_at,
    "calls": _read_call_at,
    "input": lambda _turn, _place: "input",  # it counts with its action alone
}


# Steps without label or tag.


def _bare(turn: Turn) -> Iterator[_Found]:
    """Yield objects that are a whole turn, and calls written as in Python."""
    text = f"\n{turn.text[: turn.end]}"
    taken = [
        (found.start, found.after if found.is_tag else found.start)
        for found in turn.directives
        if found.is_tag and found.kind != "thought"
    ]
    first_label = min(
        (found.start for found in turn.directives if found.kind in ("action", "answer", "call")),
        default=turn.end,
    )
    seen = 0
    for mark in islice(_OBJECT.finditer(text, 0, first_label + 1), _MAX_OBJECTS):
        at = mark.end() - 1
        if at < seen or any(is_within(spans, at) for spans in (taken, turn.thoughts, turn.blocks)):
            continue
        found, seen = _object_turn(turn, at, seen)
        if found is not None:
            yield found
    for call in islice(_NAMED_CALL.finditer(text, 0, first_label + 1), _MAX_CALLS):
        if not any(is_within(spans, call.start()) for spans in (turn.thoughts, turn.blocks)):
            yield from _named_call(turn, call, text)


def _object_turn(turn: Turn, at: int, seen: int) -> tuple[_Found | None, int]:
    """Read an object that begins a line as a whole turn; return where to look on, too."""
    body = turn.text[at : turn.end]
    if not opens_object(body, skip_space(body, 1) if body.startswith("[") else 0):
        return None, seen
    fence = body.find("```")
    try:
        is_strict = fence < 0 or read_strictly(body, 0) is not None
        step, length = read_object(body if is_strict else body[:fence], tagged=False)
    except LenientJSONError as error:
        defect = Defect("turn", str(error))
        found = _Found(defect, at, turn.end, "object") if _OBJECT_OF_TURN.match(body) else None
        return found, turn.end
    end = at + length
    before, after = turn.text[:at], turn.text[end : turn.end]
    is_amid = before.strip(" \t\n`~json") or after.strip(_LEFT_OVER)
    if step is None or (isinstance(step, Finish) and is_amid):
        turn.refused.add("unlabelled" if step is None else "among words")
        return None, end
    if isinstance(step, Finish):
        step = Defect("observation") if _OBSERVED_KEY.search(body, 0, length) else step
        return _Found(step, at, end, "object", may_be_fenced=True), end
    return _Found(step, at, end, "object"), end


def _named_call(turn: Turn, call: re.Match[str], text: str) -> Iterator[_Found]:
    """Yield the call of a tool by its name, unless words go on behind it."""
    is_alone = not turn.text[: call.start()].strip()
    given = text[call.end() :]
    if call["object"] is not None:
        is_name = call["name"][0].islower() and call["name"] not in ("json", "xml")
        if not is_name or ("_" not in call["name"] and not is_alone):
            return
        step = read_action(call["name"], given)
    else:
        try:
            arguments, notes = read_in_brackets(given)
        except LenientJSONError:
            return
        line = given.partition("\n")[0]
        rest = re.sub(r"<[^<>]*>", "", line[line.rfind(")") + 1 :]) if ")" in line else ""
        is_arrow = re.match(r"[)\]`]{0,3}[ ]?(?:[-=]+>|→|[:=：]|returns?)", rest)
        if is_finisher(call["name"]) or (re.search(r"\w", rest) and not is_arrow):
            return
        step = Act(call["name"], arguments, notes=notes)
    if isinstance(step, Act):
        yield _Found(step, call.start(), turn.end, "object")


# What a reply comes to.


def _finished(found: _Found, turn: Turn, notes: tuple[str, ...]) -> Step:
    step = found.step
    if isinstance(step, Defect):
        return replace(step, notes=(*notes, *step.notes)).worded(turn.rules.wording)
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
    said = tuple(note for note in notes if note != INVENTED)
    late = tuple(note for note in notes if note == INVENTED)
    return replace(step, thought=thought, notes=(*said, *step.notes, *own, *late))


def _thought(turn: Turn, end: int) -> str:
    """Return the words before a step without the label of the first thought, or tags around it."""
    words: list[str] = []
    at = 0
    for found in turn.thoughts:
        inner = turn.text[found[0] : found[1]]
        words += [turn.text[at : found[0]], re.sub(r"\A<[^<>]*>|</[^<>]*>\Z", "", inner).strip()]
        at = found[1]
    before = "".join([*words, turn.text[at : max(at, end)]]).strip()
    before = re.sub(
        r"\A(?:```\w*\s+)?<thoughts?>", "", before, count=1, flags=re.IGNORECASE
    ).strip()
    label = label_at(before)
    before = before[label.value :].strip() if label and label.kind == "thought" else before
    return re.sub(
        r"(?:^|\s)(?:(?:`{3,}|~{3,})\w{0,12}|json|xml|<tool_calls>|<function_calls>)\Z", "", before
    ).strip()


def _defect(reply: str, said: Spoken, turn: Turn) -> Defect:
    """Name the one defect that explains best why there is no step."""
    inline = ASKING.search(turn.text)
    shown = inline.group() if inline else ""
    defects = (
        ("empty", not reply.strip()),
        ("countless", said.countless),
        ("unclosed thinking", said.unclosed),
        ("only thinking", not said.text.strip() and said.thought),
        ("empty", not said.text.strip()),
        ("observation", turn.ended_by == "observation"),
        ("speaker", turn.ended_by == "speaker"),
        ("pause", turn.ended_by == "pause"),
        *(
            (kind, kind in turn.refused)
            for kind in ("empty answer", "no tool", "input", "thought", "fenced")
        ),
        ("inline", inline is not None or "inline" in turn.refused),
        ("among words", "among words" in turn.refused),
        ("unlabelled", "unlabelled" in turn.refused),
    )
    kind = next((name for name, is_so in defects if is_so), "neither")
    return Defect(kind, f"{shown}>" if shown.startswith("<") else shown.rstrip(" :："))
