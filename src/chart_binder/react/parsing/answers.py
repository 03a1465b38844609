"""Reads answers: the JSON object in the text of an answer, and replies that are only an answer."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias

from chart_binder.react.parsing.advice import NO_DIALECT
from chart_binder.react.parsing.attribution import (
    is_own_answer,
    is_withdrawn,
    without_thought,
)
from chart_binder.react.parsing.labels import Directive, fold
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    find_objects,
    read_strictly,
)
from chart_binder.react.parsing.lexer import visible_text
from chart_binder.react.parsing.turns import ASKING, find_turn
from chart_binder.react.steps import FinalAnswer

Answer: TypeAlias = tuple[dict[str, object], tuple[str, ...]]

_QUOTED: Final = "the JSON object stands among other words, as if you quoted it"
_FOREIGN: Final = re.compile(
    r"obs.*|observ.*|.*(?:search|tool|function|action|web)\w*(?:result|output|response)s?|tool|role"
    r"|searchresults?|toolcalls?|action|actioninput"
)
"""Keys that no answer has: those of a call or of a tool's result."""


def read_answer_object(text: str, key: str = "") -> Answer:
    """Return the only object in the text of an answer, with notes on repairs.

    The object may stand in a fence, in prose, in a list or in a string. If an object has `key`,
    those without it are ignored. Raises `LenientJSONError` if there is no such object, or more than
    one.
    """
    bare = text.strip()
    if bare.startswith('"{') and (string := read_strictly(bare, 0)) is not None:
        text = str(string.value)
    if '"' not in text and "&quot;" in text:
        text = html.unescape(text)
    answers = list(_answers(text, key))
    answers = [answer for answer in answers if _has_key(answer[0], key)] or answers
    if not answers:
        raise LenientJSONError("there is no JSON object in it")
    if any(value != answers[0][0] for value, _ in answers):
        raise LenientJSONError("there are two different JSON objects in it")
    _check_keys(answers[0][0])
    return answers[0]


def _has_key(members: Mapping[str, object], key: str) -> bool:
    return not key or key in {name.strip().casefold() for name in members}


def _check_keys(members: Mapping[str, object]) -> None:
    names = {name: re.sub(r"[\s_-]", "", fold(name)) for name in members}
    if len(set(names.values())) < len(names):
        raise LenientJSONError("it has one key twice")
    foreign = next((name for name, bare in names.items() if _FOREIGN.fullmatch(bare)), None)
    if foreign is not None:
        raise LenientJSONError(f"it has a key {foreign!r}, which no answer has")


def _answers(text: str, key: str) -> Iterator[Answer]:
    """Yield the objects in the text of an answer; none of them may be a quotation."""
    previous: object = None
    end, answer = 0, dict[str, object]()
    for at, scanned in find_objects(text, closed=True):
        members = scanned.value
        if not isinstance(members, dict):
            continue
        if _has_key(members, key):
            words = text[:at], text[scanned.end :]
            if members != previous and not is_own_answer(*words, is_labelled=True):
                raise LenientJSONError(_QUOTED)
            end, answer = scanned.end, members
        previous = members
        yield members, scanned.notes
    if end and is_withdrawn(text[end:], answer):
        raise LenientJSONError("the words behind it take it back")


# Replies that are only an answer.


_THOUGHT_TAGS: Final = frozenset({"thought", "thoughts"})
_THOUGHT_TAG: Final = re.compile(r"</?thoughts?>", re.IGNORECASE)
_OPENING_FENCE: Final = re.compile(
    r"(?:\A|\n)[ \t]*(?P<mark>`{3,}|~{3,})[ ]?(?:json\w?)?[ \t]*\n\s*\Z", re.IGNORECASE
)


def unlabelled_answer(reply: str, keys: Sequence[str] = ()) -> FinalAnswer | None:
    """Return the answer in a reply that consists of one JSON object, or None.

    The object may stand in a fence, and sentences of the model may precede it. It must have the
    first of `keys` and no others than `keys`; without `keys` any object is accepted.
    """
    visible = visible_text(reply, _THOUGHT_TAGS)
    turn = find_turn(visible.text, NO_DIALECT)
    is_broken_off = visible.is_unclosed or turn.ended_by or turn.notes or turn.rejections
    if is_broken_off or ASKING.search(turn.text) or not all(map(_is_allowed, turn.directives)):
        return None
    try:
        objects = list(islice(find_objects(turn.text_without_thoughts, closed=True), 2))
    except LenientJSONError:
        return None
    if len(objects) != 1 or not _has_keys(objects[0][1].value, keys):
        return None
    at, end = objects[0][0], objects[0][1].end
    text_before, text_after = turn.text[:at], turn.text[end:].strip()
    if fence := _OPENING_FENCE.search(text_before):
        text_before = f"{text_before[: fence.start()]}\n"
        text_after = text_after.removeprefix(fence["mark"])
    text_before = _THOUGHT_TAG.sub("\n", text_before)
    is_fenced = "```" in text_before or "~~~" in text_before
    if text_after or is_fenced or not is_own_answer(text_before, is_labelled=False):
        return None
    notes = (*visible.notes, "an answer without its label")
    return FinalAnswer(turn.text[at:end], without_thought(text_before.strip()), notes)


def _is_allowed(directive: Directive) -> bool:
    """Return whether a directive may stand in the reply: the label of a thought, or the object."""
    is_object = directive.kind == "object" or directive.name.casefold() == "json"
    return is_object or (directive.kind == "thought" and not directive.is_tag)


def _has_keys(value: object, keys: Sequence[str]) -> bool:
    names = [str(name).strip().casefold() for name in value] if isinstance(value, Mapping) else []
    is_known = not keys or (keys[0] in names and {*names} <= {*keys})
    return bool(names) and is_known and len({*names}) == len(names)
