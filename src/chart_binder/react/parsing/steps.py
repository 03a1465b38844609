"""A reply is read as the first step it takes, in whatever dialect it is written.

Lenient for calls, strict for answers: a call that is understood does no harm, for its tool runs
within its bounds; an answer counts only where the model itself gives it. A reply is read in four
moves: what is said aloud (`lexer`), the labels and tags in it (`labels`, `tags`), the first of
them that asks for something, and what it is given (`calls`, `lenient_json`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import count, islice
from typing import Final

from chart_binder.react.parsing.advice import Defect, DialectRules, Wording, Writing
from chart_binder.react.parsing.answers import read_answer_object
from chart_binder.react.parsing.calls import (
    Taken,
    is_finisher,
    read_action,
    read_in_brackets,
    read_object,
    step_named,
)
from chart_binder.react.parsing.labels import Directive, find_labels, label_at
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    opens_object,
    read_strictly,
    scan,
    skip_space,
)
from chart_binder.react.parsing.lexer import (
    Quotations,
    Span,
    Spoken,
    find_fences,
    find_observations,
    fold,
    holds_foreign,
    is_in_block,
    is_reported,
    is_within,
    speak,
)
from chart_binder.react.parsing.tags import (
    attributes_of,
    find_tags,
    is_talked_about,
    parameters_in,
)
from chart_binder.react.steps import Act, Finish, Step

_PLAIN_RULES: Final = DialectRules(
    "any", Wording("call", "answer", "observation", "call", "call", "answer")
)
INVENTED: Final = "invented observation discarded"
_MAX_OBJECTS: Final = 16
_MAX_REFUSED: Final = 4
"""After so many answers that are somebody else's no further one is looked at."""
_MAX_CALLS: Final = 8
_WELL_FORMED_ID: Final = re.compile(r"[\w.:-]{1,64}")
_OBJECT: Final = re.compile(r"\n(?:<\|\w{4,24}\|>|functools)?[ \t]*(?=\{|\[[ ]{0,4}\{)")
_PYTHON_CALL: Final = re.compile(
    r"\n(?:<\|\w{4,24}\|>)?[ \t`]{0,4}(?:\[[ ]?)?(?:[a-z]\w{0,31} = )?(?:print\()?(?:functions\.)?"
    r"(?P<name>[A-Za-z]\w{1,63})(?:\.call)?(?=\((?:[\"'“{]|[A-Za-z]\w{0,63} ?=))"
)
_NAME_AND_OBJECT: Final = re.compile(r"\s*(?P<name>[a-z]\w{1,63})[ \t]*\n?(?=\{)")
_CALL_INLINE: Final = re.compile(
    r"[.!?:)…\"”] (?=\**Action\**: ?[\w.]{2,64}[\s,]+\**Action Input\**: ?)"
)
_INLINE: Final = re.compile(
    r"Final Answer ?[:：]|Action ?[:：]|<(?:tool_call|response|final_answer|answer)\b"
)
_OBSERVED_KEY: Final = re.compile(
    r"[\"'“](?:observations?|obs|观察(?:结果)?|tool_?(?:result|response|output)s?)[\"'”]"
    r"\s{0,8}+[:：]\s{0,8}+(?!null|none|\"\"|''|\[\]|\{\})",
    re.IGNORECASE,
)
_LEFT_OVER: Final = " \t\n`~*_})]>;."
_CLOSING_TAGS: Final = re.compile(r"\A(?:\s{0,80}</[\w ]{1,24}>)*")


@dataclass(slots=True)
class _Turn:
    """A model's own turn, up to the first observation it invented or line of somebody else."""

    text: str
    rules: DialectRules
    is_inner: bool = False
    said: str = ""
    """The text with blanks for what stands in tags of thoughts."""
    directives: list[Directive] = field(default_factory=list)
    fences: list[Span] = field(default_factory=list)
    thoughts: list[Span] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended_by: str = ""
    end: int = 0
    refused: set[str] = field(default_factory=set)
    """What the turn has of what counts for nothing: `fenced`, `thought`, `no tool` ..."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A step or a defect, and where its words begin and end."""

    step: Taken
    start: int
    end: int
    writing: Writing = "labels"


def read_reply(reply: str, rules: DialectRules) -> Step:
    """Return the first step a reply takes; what follows it is left out, with a note.

    Takes any text in time linear in its length. Nothing counts that the model thought, quoted, or
    put into a tool's mouth. A step in another dialect counts where it comes first, with a note.
    """
    said = speak(reply, rules.said_in)
    turn = _turn_of(said.text, rules)
    found = _first(turn) or _inline_call(turn)
    notes = (*said.notes, *turn.notes)
    if found is None:
        return replace(_defect(reply, said, turn), notes=notes).worded(rules.wording)
    return _finished(found, turn, notes)


def whole_answer(reply: str) -> str | None:
    """Return a reply that was asked for as an answer alone, and needs no label; or None.

    It is none where it holds a call or an observation, or an answer that the model only passes on.
    """
    said = speak(reply, frozenset())
    turn = _turn_of(said.text, _PLAIN_RULES)
    found = _first(turn)
    if found is not None and not (
        isinstance(found.step, Defect) and found.step.kind == "unlabelled"
    ):
        return found.step.answer if isinstance(found.step, Finish) else None
    brace = said.text.find("{")
    if brace < 0 or said.unclosed or turn.notes or turn.ended_by or "fenced call" in turn.refused:
        return None
    is_quoted = is_reported(said.text[:brace]) or _OBSERVED_KEY.search(said.text)
    is_quoted = is_quoted or holds_foreign(said.text[:brace])
    try:
        read_answer_object(said.text)
    except LenientJSONError:
        return None
    return None if is_quoted else said.text.strip()


# The turn: labels and tags in order, and what of them is live.


def _turn_of(text: str, rules: DialectRules, *, is_inner: bool = False) -> _Turn:
    turn = _Turn(text, rules, is_inner, end=len(text))
    tags = find_tags(text)
    turn.thoughts = _thoughts_in(text, tags)
    turn.said = said = _blank(text, turn.thoughts)
    directives = sorted(
        [*find_labels(said), *tags, *_observed(said)], key=lambda found: found.start
    )
    turn.fences = find_fences(said)
    quotations = Quotations(said)
    seen = 0  # up to here words belong to a directive that was kept
    for found in directives:
        is_thought = is_within(turn.thoughts, found.start)
        if is_thought and found.is_tag and found.kind == "observation":
            _close(turn, found.start, "observation")
            break
        if found.start < seen or (is_thought and found.kind != "thought"):
            continue
        if found.is_tag and found.kind == "thought" and found.closed:
            if _asks(text[found.value : found.end]):
                turn.refused.add("thought")
            continue
        if found.is_tag and is_talked_about(text, found):
            turn.refused.add("inline")
            continue
        if quotations.is_open_at(found.start) or _is_block_quote(text, found.start):
            turn.refused.add("fenced")
            continue
        fenced = is_within(turn.fences, found.start)
        if found.kind in ("observation", "speaker") and not fenced:
            if (
                found.kind == "speaker"
                and not found.is_tag
                and not turn.directives
                and not _is_role(text, found)
            ):
                continue  # a question that the model asks itself
            _close(turn, found.start, found.kind)
            break
        if found.kind == "pause":
            _close(turn, found.start, "pause")
            break
        turn.directives.append(found)
        if found.is_tag and found.kind in ("call", "answer"):
            seen = found.after
        elif found.kind in ("answer", "input") and not fenced:
            seen = _object_end(text, found.value, len(turn.directives) < _MAX_OBJECTS)
    return turn


def _observed(text: str) -> Iterator[Directive]:
    end = len(text)
    for at in find_observations(fold(text)):
        yield Directive("observation", at, at, end, end)


def _thoughts_in(text: str, tags: list[Directive]) -> list[Span]:
    """Return what stands in tags of thoughts; all before a closing one that nothing opens is thought."""
    spans: list[Span] = []
    for tag in tags:
        if tag.kind == "thought" and tag.closed and (not spans or tag.start >= spans[-1][1]):
            spans.append((tag.start, tag.after))
    last = None
    for last in _THOUGHT_ENDS.finditer(text):
        pass
    if last and not spans and not is_within(find_fences(text), last.start()):
        return [(0, last.end())]
    return spans


def _blank(text: str, spans: list[Span]) -> str:
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept += [text[at:start], "\n" * (end > start), " " * (end - start - 1)]
        at = end
    return "".join([*kept, text[at:]])


_THOUGHT_ENDS: Final = re.compile(r"</thoughts?>", re.IGNORECASE)
_CALL_TAG: Final = re.compile(r"<(?:tool_call|function_call|invoke|function=)")
_ROLE: Final = re.compile(r"[*_#\s]*(?:user|human|system)\b", re.IGNORECASE)


def _is_role(text: str, found: Directive) -> bool:
    return _ROLE.match(text, found.start) is not None


def _close(turn: _Turn, at: int, by: str) -> None:
    turn.end, turn.ended_by = at, by
    if by == "observation":
        turn.notes.append(INVENTED)


def _is_block_quote(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 :].lstrip()[:1] == ">" if at < len(text) else False


def _object_end(text: str, start: int, may_repair: bool) -> int:  # noqa: FBT001
    """Return the end of a JSON object that follows a label, so that nothing in it is live."""
    at = skip_space(text, start)
    if not text.startswith("{", at):
        return start
    try:
        found = scan(text, at, closed=True) if may_repair else read_strictly(text, at)
    except LenientJSONError:
        return start
    return found.end if found else start


def _asks(words: str) -> bool:
    return _INLINE.search(words) is not None


# The first step.


def _first(turn: _Turn) -> _Found | None:
    """Return the step of what comes first: a label, a tag, an object, a call as in Python."""
    bare = sorted(_bare(turn), key=_start)
    shown: _Found | None = None
    passed_on: _Found | None = None
    refused = 0
    for found in merge(_directed(turn), bare, key=_start):
        is_answer = isinstance(found.step, Finish)
        fenced = is_within(turn.fences, found.start)
        if fenced:
            turn.refused.add("fenced")
            if (
                isinstance(found.step, Act)
                and shown is None
                and not is_reported(_before_fence(turn, found.start))
            ):
                turn.refused.add("fenced call")
                shown = found
            continue
        if not is_answer:
            return found
        if shown is not None:
            return replace(found, step=Defect("called"))
        if _OBSERVED_KEY.search(turn.text, 0, found.start):
            return replace(found, step=Defect("observation"))
        said = turn.said[: found.start + 4 * turn.said.startswith("    ", found.start)]
        if holds_foreign(said):
            return replace(found, step=Defect("observation"))
        if is_in_block(said) or is_reported(said) or said.rstrip().endswith(("(", "[")):
            passed_on = passed_on or replace(found, step=Defect("passed on"))
            refused += 1
            if refused == _MAX_REFUSED:
                break
            continue
        return found
    return shown or passed_on


def _start(found: _Found) -> int:
    return found.start


def _before_fence(turn: _Turn, at: int) -> str:
    start = next(start for start, end in turn.fences if start <= at < end)
    return turn.text[:start]


def _directed(turn: _Turn) -> Iterator[_Found]:
    """Yield the steps of labels and tags, in order."""
    directives = turn.directives
    read = 0  # up to here calls belong to one before them
    for place, found in enumerate(directives):
        if found.start < read:
            continue
        following = directives[place + 1 : place + 2]
        end = following[0].start if following else turn.end
        if not found.is_tag and is_within(turn.fences, found.start):
            end = min(end, next(stop for start, stop in turn.fences if start <= found.start < stop))
        step: Taken | None = None
        writing: Writing = "tags" if found.is_tag else "labels"
        match found.kind:
            case "action":
                at = next(
                    (
                        n
                        for n in range(place + 1, len(directives))
                        if directives[n].kind != "thought"
                    ),
                    -1,
                )
                given = directives[at] if at > 0 and directives[at].kind == "input" else None
                given_end = directives[at + 1].start if given and directives[at + 1 :] else turn.end
                if given is None and place and directives[place - 1].kind == "input":
                    given, given_end = directives[place - 1], found.start
                own = turn.text[found.value : _value_end(turn, found, end)]
                if (
                    following
                    and following[0].is_tag
                    and following[0].kind == "call"
                    and len(own.split()) < 2
                ):
                    continue
                words = (
                    None
                    if given is None
                    else turn.text[given.value : _value_end(turn, given, given_end)]
                )
                step = read_action(
                    _emphasis_off(own, found),
                    words if words is None else _emphasis_off(words, given),
                )
                end = max(end, given_end) if given else end
                writing = "tags" if found.is_tag else "classic" if given else "labels"
                if given is None and (
                    turn.ended_by == "pause" or own.rstrip(" *_`.").endswith("PAUSE")
                ):
                    writing = "pause"
                if step is None:
                    turn.refused.add("no tool")
            case "answer":
                step = _answer(turn, found, end)
                end = found.after if found.is_tag else turn.end
                if step is None:
                    turn.refused.add("empty answer")
            case "call":
                step, read = _tagged_call(turn, place)
                end = found.after
                if step is None:
                    turn.refused.add("no tool")
            case "calls":
                if not (following and following[0].kind == "call"):
                    step = _call_in(turn.text[found.value : found.end], found)
                    end = found.after
            case "input":
                turn.refused.add("input")
            case _:
                pass
        if step is not None:
            yield _Found(step, found.start, end, writing)


def _value_end(turn: _Turn, found: Directive, limit: int) -> int:
    return min(limit, found.end) if found.is_tag and found.closed else limit


def _emphasis_off(words: str, found: Directive | None) -> str:
    """Return words without the emphasis that began before their label and ends behind them."""
    words = words.strip()
    mark = found.emphasis if found else ""
    return (
        words.removesuffix(mark).rstrip()
        if mark and words.endswith(mark) and "[" not in mark
        else words
    )


def _answer(turn: _Turn, found: Directive, end: int) -> Taken | None:
    """Return the answer whose words follow a label or stand in a tag."""
    if found.is_tag:
        words = (
            turn.text[found.value : found.end].strip()
            if found.closed
            else turn.text[found.value : turn.end].strip()
        )
        inner = label_at(words)
        if (
            not turn.is_inner
            and (inner is not None and inner.kind in ("thought", "action", "answer"))
            or _CALL_TAG.match(words)
        ):
            inside = _turn_of(words, turn.rules, is_inner=True)
            step = _first(inside)
            turn.notes += inside.notes
            if inside.ended_by == "observation" and (step is None or isinstance(step.step, Finish)):
                return Defect("observation")
            return step.step if step else None
        nested = re.fullmatch(r"<(answer|final_answer|response)>(.*)</\1>", words, re.DOTALL)
        words = nested[2].strip() if nested else words
    else:
        at = _object_end(turn.text, found.value, may_repair=False)
        words = turn.text[found.value : max(turn.end, at)]
        words = _until_next_step(turn, found, words)
        words = _emphasis_off(words, found)
    words = re.sub(r"\s*</[\w ]{1,24}>\s*\Z", "", words).strip()
    if is_observed := _foreign_in(words[: max(words.find("{"), 0)]):
        return Defect(is_observed)
    return Finish(words) if words else None


def _foreign_in(words: str) -> str:
    """Return what of somebody else stands before an answer's object: its defect."""
    if any(True for _ in find_observations(fold(words))):
        return "observation"
    kinds = ("observation", "speaker", "pause")
    return next((label.kind for label in find_labels(words) if label.kind in kinds), "")


def _until_next_step(turn: _Turn, found: Directive, words: str) -> str:
    """Cut an answer's words where another label begins, unless it stands in the answer's object."""
    for other in turn.directives:
        if (
            other.start > found.start
            and not other.is_tag
            and other.kind in ("thought", "action", "answer")
            and not is_within(turn.fences, other.start)
        ):
            return words[: other.start - found.value]
        if other.start > found.start and other.is_tag and other.kind == "call":
            return words[: other.start - found.value]
    return words


def _tagged_call(turn: _Turn, place: int) -> tuple[Taken | None, int]:
    """Return the call in tags, with those in the tags that follow it, and where these end."""
    found = turn.directives[place]
    fenced = is_within(turn.fences, found.start)
    read = found.after
    first = _call_in(turn.text[found.value : found.end], found)
    if not isinstance(first, Act):
        return first, 0
    also = list(first.also)
    for other in turn.directives[place + 1 :]:
        if other.kind == "thought":
            continue
        is_next = other.kind == "call" and is_within(turn.fences, other.start) == fenced
        if not is_next or len(also) >= _MAX_CALLS:
            break
        step = _call_in(turn.text[other.value : other.end], other)
        if not isinstance(step, Act):
            break
        also += [replace(step, also=()), *step.also]
        read = other.after
    return replace(first, also=tuple(also)), read


def _call_in(body: str, tag: Directive) -> Taken | None:
    """Return the call in a tag's body, or in its attributes."""
    attributes = attributes_of(tag.attributes)
    named = (
        attributes.pop("name", "") or attributes.pop("tool", "") or attributes.pop("function", "")
    )
    identifier = attributes.pop("id", "")
    if not named and (own := re.match(r"=\s*[\"']?([\w.-]{1,80})", tag.attributes)):
        named = own[1]
    body = _without_inner_tags(body)
    inner = re.match(
        r"\s*<(?:function|invoke|tool|name|tool_name)(?:=[\"']?([\w.-]{1,80})[\"']?|\s+name=[\"']([\w.-]{1,80})[\"'])?\s*>",
        body,
    )
    if not named and inner:
        named = inner[1] or inner[2] or body[inner.end() :].partition("<")[0].strip()
        body = (
            body[inner.end() :].partition("</name>")[2]
            if not (inner[1] or inner[2])
            else body[inner.end() :]
        )
    try:
        step = _named_call(named, attributes, body, tag) if named else _unnamed_call(body, tag)
    except LenientJSONError as error:
        return Defect("given", str(error), named)
    if isinstance(step, Act) and identifier:
        step = replace(step, id=identifier)
    return step


def _without_inner_tags(body: str) -> str:
    """Return a body without a second tag of a call that opens inside, or entities for its quotes."""
    body = re.sub(r"\A\s*<(?:tool_call|function_call)>", "", body)
    body = re.sub(r"\A\s*```(?:json|xml)?\s*|\s*```\s*\Z", "", body)
    return body.replace("&quot;", '"') if body.lstrip().startswith("{&quot;") else body


def _named_call(named: str, attributes: dict[str, str], body: str, tag: Directive) -> Taken:
    given = attributes.pop("arguments", "") or attributes.pop("input", "")
    words = re.sub(r"</(?:function|invoke|arguments|parameters|tool|input)>\s*", "", body)
    words = re.sub(r"\A\s*<(?:arguments|parameters|input|args)>", "", words).strip()
    if (attributes or given) and not words.startswith("{"):
        if words and tag.end > tag.value:
            raise LenientJSONError("there are attributes in its tag, and words inside")
        return step_named(named, given or attributes)
    if words.startswith("{"):
        step, _ = read_object(words, tagged=False)
        found = scan(words, 0)
        return (
            step
            if isinstance(step, Act)
            else replace_notes(step_named(named, found.value), found.notes)
        )
    if not tag.closed and re.search(r"<(?:parameter|arg_value)[^<]*\Z", body):
        raise LenientJSONError("a parameter is never closed", cut=True)
    parameters = parameters_in(words)
    if parameters:
        return step_named(named, parameters)
    step = read_action(named, words or None)
    return step if step is not None else Defect("no tool")


def replace_notes(step: Act | Finish, notes: tuple[str, ...]) -> Act | Finish:
    """Return a step with more notes, before those it has."""
    return replace(step, notes=(*notes, *step.notes))


def _opens_another(body: str, end: int) -> bool:
    return body.startswith("{", skip_space(body, end)) and body.count("{") <= 4 * _MAX_CALLS


def _unnamed_call(body: str, tag: Directive) -> Taken | None:
    at = skip_space(body, 0)
    if body[at : at + 1] in ("{", "[") and body[at:].strip():
        try:
            step, end = read_object(body, tagged=True)
            if isinstance(step, Act) and _opens_another(body, end):
                more = _unnamed_call(body[end:], tag)
                if isinstance(more, Act):
                    step = replace(step, also=(*step.also, replace(more, also=()), *more.also))
        except LenientJSONError as error:
            named = re.search(r"[\"'](?:name|tool|action)[\"']\s*:\s*[\"']([\w.-]{1,80})", body)
            kind = "given" if tag.closed or named else "turn"
            return Defect(kind, str(error), named[1] if named else "")
        is_none = re.search(r"[\"'](?:name|tool|action)[\"']\s*:", body)
        return step or (None if is_none else Defect("no tool in object"))
    if not body.strip():
        return None
    key = body.find("<arg_key>")
    if key > 0:
        if not tag.closed and re.search(r"<arg_value>[^<]*\Z", body):
            raise LenientJSONError("a value is never closed", cut=True)
        return step_named(body[:key].strip(), parameters_in(body))
    if element := re.fullmatch(r"\s*<(\w{2,64})>(.*)</\1>\s*", body, re.DOTALL):
        return step_named(element[1], parameters_in(element[2]))
    return read_action(body, None)


# Steps without label or tag.


def _bare(turn: _Turn) -> Iterator[_Found]:
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
    if "{" in text:
        for mark in islice(_OBJECT.finditer(text, 0, first_label + 1), _MAX_OBJECTS):
            at = mark.end() - 1
            if at < seen or is_within(taken, at) or is_within(turn.thoughts, at):
                continue
            found, seen = _object_turn(turn, at, seen)
            if found is not None:
                yield found
        named = _NAME_AND_OBJECT.match(turn.text)
        if named and not turn.directives:
            step = read_action(named["name"], turn.text[named.end() :])
            if isinstance(step, Act):
                yield _Found(step, 0, turn.end, "object")
    if "(" in text:
        yield from _python_calls(turn, text[: first_label + 1])


def _object_turn(turn: _Turn, at: int, seen: int) -> tuple[_Found | None, int]:
    """Read an object that begins a line as a whole turn."""
    body = turn.text[at : turn.end]
    inner = skip_space(body, 1) if body.startswith("[") else 0
    if not opens_object(body, inner):
        return None, seen
    fence = body.find("```")
    fenced = is_within(turn.fences, at)
    try:
        is_strict = fence < 0 or read_strictly(body, 0) is not None
        step, end = read_object(body if is_strict else body[:fence], tagged=False)
    except LenientJSONError as error:
        is_turn = re.match(
            r"\[?\s*\{\s*[\"'](?:thought|action|name|tool|function|tool_calls?)[\"']", body
        )
        return (
            _Found(Defect("turn", str(error)), at, turn.end, "object") if is_turn else None
        ), turn.end
    end += at
    if step is None:
        turn.refused.add("unlabelled")
        return None, end
    before, after = turn.text[:at], turn.text[end : turn.end]
    if isinstance(step, Finish) and (fenced or before.strip() or after.strip(_LEFT_OVER)):
        turn.refused.add("among words")
        return None, end
    if isinstance(step, Finish) and _OBSERVED_KEY.search(body, 0, end - at):
        return _Found(Defect("observation"), at, end, "object"), end
    if isinstance(step, Act) and _is_taken_back(before, after):
        return None, end
    return _Found(step, at, end, "object"), end


def _is_taken_back(before: str, after: str) -> bool:
    """Tell whether words before a call without label report it, and words go on behind it."""
    before = re.sub(r"(?:`{3,}|~{3,})\w*\s*\Z", "", before).rstrip()
    is_more = after.strip(_LEFT_OVER) and label_at(after.lstrip().partition("\n")[0]) is None
    return bool(is_more) and before[-1:] not in ".!?" and is_reported(f"{before}:")


def _python_calls(turn: _Turn, text: str) -> Iterator[_Found]:
    for call in islice(_PYTHON_CALL.finditer(text), _MAX_CALLS):
        at = call.start()
        if is_within(turn.thoughts, at):
            continue
        line_end = text.find("\n", call.end())
        try:
            arguments, notes = read_in_brackets(text[call.end() :])
        except LenientJSONError:
            continue
        line = text[call.end() : line_end if line_end >= 0 else len(text)]
        rest = line[line.rfind(")") + 1 :] if ")" in line else ""
        if re.search(r"\w", rest) and not re.match(
            r"[)\]`]{0,3}[ ]?(?:[-=]+>|→|[:=：]|returns?)", rest
        ):
            continue
        after = text[line_end:] if line_end >= 0 else ""
        if is_finisher(call["name"]) or _is_taken_back(text[1 : at + 1], after):
            continue
        yield _Found(Act(call["name"], arguments, notes=notes), at, turn.end, "object")


def _inline_call(turn: _Turn) -> _Found | None:
    """Return a call whose labels all stand on the line of a thought."""
    found = _CALL_INLINE.search(turn.text)
    if found is None:
        return None
    inside = _turn_of(turn.text[found.end() :], turn.rules)
    step = _first(inside)
    if step is None or not isinstance(step.step, Act):
        return None
    return replace(step, start=found.end(), end=turn.end, writing="classic")


# What a reply comes to.


def _finished(found: _Found, turn: _Turn, notes: tuple[str, ...]) -> Step:
    step = found.step
    if isinstance(step, Defect):
        return replace(step, notes=(*notes, *step.notes)).worded(turn.rules.wording)
    own = turn.rules.notes_on(found.writing)
    rest = turn.text[min(found.end, len(turn.text)) :]
    rest = _CLOSING_TAGS.sub("", rest, count=1)
    paused = re.match(r"\W*PAUSE\b", rest)
    rest = rest[paused.end() if paused else 0 :]
    if any(True for _ in find_observations(fold(rest))):
        notes = (*dict.fromkeys((*notes, INVENTED)),)
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


def _thought(turn: _Turn, end: int) -> str:
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


def identified(calls: tuple[Act, ...] | list[Act]) -> list[Act]:
    """Return calls each with an id of its own: the one it has, else the next free number."""
    used: set[str] = set()
    named: list[Act] = []
    for number, call in enumerate(calls, start=1):
        own = call.id
        if not _WELL_FORMED_ID.fullmatch(own) or own in used:
            taken = used.union(other.id for other in calls)
            own = next(free for free in map(str, count(number)) if free not in taken)
        used.add(own)
        named.append(replace(call, id=own, also=()))
    return named


def _defect(reply: str, said: Spoken, turn: _Turn) -> Defect:
    """Name the one defect that explains best why there is no step."""
    inline = _INLINE.search(turn.text)
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
