"""The answer in a reply: the JSON object among an answer's words, and a reply of nothing else."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias

from chart_binder.react.parsing.advice import NO_DIALECT
from chart_binder.react.parsing.attribution import (
    holds_foreign,
    is_given,
    is_withdrawn,
    without_thought,
)
from chart_binder.react.parsing.labels import Directive, fold, pattern
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    find_objects,
    read_strictly,
)
from chart_binder.react.parsing.lexer import speak
from chart_binder.react.parsing.steps import FoundStep, first_step
from chart_binder.react.parsing.turns import ASKING, find_turn
from chart_binder.react.steps import FinalAnswer

Answer: TypeAlias = tuple[dict[str, object], tuple[str, ...]]

_QUOTED: Final = "the JSON object stands among other words, as if you quoted it"
_FOREIGN: Final = re.compile(
    r"obs.*|observ.*|.*(?:search|tool|function|action|web)\w*(?:result|output|response)s?|tool|role"
    r"|searchresults?|toolcalls?|action|actioninput"
)
"""Keys that no answer has: those of a call, or of what a tool returned."""


def read_answer_object(text: str, key: str = "") -> Answer:
    """Return the one object in an answer's words, with notes on what was repaired.

    It may be fenced, amid prose, in a list or a string. Objects without `key` do not count beside
    one that has it. Raises `LenientJSONError` with the defect.
    """
    bare = text.strip()
    if bare.startswith('"{') and (string := read_strictly(bare, 0)) is not None:
        text = str(string.value)
    if '"' not in text and "&quot;" in text:
        text = html.unescape(text)
    found = list(_answers(text, key))
    found = [each for each in found if _has(each[0], key)] or found
    if not found:
        raise LenientJSONError("there is no JSON object in it")
    if any(value != found[0][0] for value, _ in found):
        raise LenientJSONError("there are two different JSON objects in it")
    _check_keys(found[0][0])
    return found[0]


def _has(members: Mapping[str, object], key: str) -> bool:
    return not key or key in {name.strip().casefold() for name in members}


def _check_keys(members: Mapping[str, object]) -> None:
    names = {name: re.sub(r"[\s_-]", "", fold(name)) for name in members}
    if len(set(names.values())) < len(names):
        raise LenientJSONError("it has one key twice")
    foreign = next((name for name, bare in names.items() if _FOREIGN.fullmatch(bare)), None)
    if foreign is not None:
        raise LenientJSONError(f"it has a key {foreign!r}, which no answer has")


def _answers(text: str, key: str) -> Iterator[Answer]:
    """Yield the objects in an answer's words; none of them may be quoted."""
    seen: object = None
    last: tuple[int, dict[str, object]] | None = None
    for at, found in find_objects(text, closed=True):
        if isinstance(found.value, dict):
            is_new = _has(found.value, key) and found.value != seen
            if is_new and not is_given(text[:at], text[found.end :], is_labelled=True):
                raise LenientJSONError(_QUOTED)
            seen = found.value
            last = (found.end, found.value) if _has(found.value, key) else last
            yield found.value, found.notes
    if last and is_withdrawn(text[last[0] :], last[1]):
        raise LenientJSONError("the words behind it take it back")


# An answer alone.


def whole_answer(reply: str) -> str | None:
    """Return a reply that was asked for as an answer alone, which needs no label, or None."""
    spoken = speak(reply)
    turn = find_turn(spoken.text, NO_DIALECT)
    outcome = first_step(turn)
    if (
        isinstance(outcome, FoundStep)
        and isinstance(outcome.step, FinalAnswer)
        and not spoken.undivided
    ):
        return outcome.step.answer
    is_broken_off = spoken.unclosed or turn.notes or turn.refused - {"unlabelled", "shown"}
    if outcome or is_broken_off or turn.ended_by or ASKING.search(turn.text):
        return None
    try:
        read_answer_object(turn.text)
    except LenientJSONError:
        return None
    before = turn.text.partition("{")[0]
    is_foreign = pattern("observed_key").search(turn.text) or holds_foreign(before)
    return None if is_foreign or pattern("amid").search(before[-400:]) else turn.text.strip()


_THOUGHT_TAGS: Final = frozenset({"thought", "thoughts"})
_THOUGHT_TAG: Final = re.compile(r"</?thoughts?>", re.IGNORECASE)
_OPENING_FENCE: Final = re.compile(
    r"(?:\A|\n)[ \t]*(?P<mark>`{3,}|~{3,})[ ]?(?:json\w?)?[ \t]*\n\s*\Z", re.IGNORECASE
)


def unlabelled_answer(reply: str, keys: Sequence[str] = ()) -> FinalAnswer | None:
    """Return the answer in a reply that is nothing but one JSON object, or None.

    The object may be fenced, and sentences may stand before it that are the model's own. It has the
    first of `keys`, and none that is not one of them; without `keys` any object is taken.
    """
    spoken = speak(reply, _THOUGHT_TAGS)
    turn = find_turn(spoken.text, NO_DIALECT)
    is_broken_off = spoken.unclosed or turn.ended_by or turn.notes or turn.refused
    if is_broken_off or ASKING.search(turn.text) or not all(map(_is_allowed, turn.directives)):
        return None
    try:
        objects = list(islice(find_objects(turn.said, closed=True), 2))
    except LenientJSONError:
        return None
    if len(objects) != 1 or not _has_keys(objects[0][1].value, keys):
        return None
    at, end = objects[0][0], objects[0][1].end
    before, after = turn.text[:at], turn.text[end:].strip()
    if fence := _OPENING_FENCE.search(before):
        before, after = f"{before[: fence.start()]}\n", after.removeprefix(fence["mark"])
    before = _THOUGHT_TAG.sub("\n", before)
    if after or "```" in before or "~~~" in before or not is_given(before, is_labelled=False):
        return None
    notes = (*spoken.notes, "an answer without its label")
    return FinalAnswer(turn.text[at:end], without_thought(before.strip()), notes)


def _is_allowed(directive: Directive) -> bool:
    """Tell whether a label may stand in the reply: a thought's, or the object itself."""
    is_object = directive.kind == "object" or directive.name.casefold() == "json"
    return is_object or (directive.kind == "thought" and not directive.is_tag)


def _has_keys(value: object, keys: Sequence[str]) -> bool:
    names = [str(name).strip().casefold() for name in value] if isinstance(value, Mapping) else []
    is_known = not keys or (keys[0] in names and {*names} <= {*keys})
    return bool(names) and is_known and len({*names}) == len(names)
