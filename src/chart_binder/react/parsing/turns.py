"""A model's own turn: the labels and tags in it that are live, in order.

Live is what stands outside thoughts and quotations, up to the first observation that the model
made up, or a line of somebody else. What stands in a fence is kept, for a call may: see `steps`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from chart_binder.react.parsing.advice import DialectRules
from chart_binder.react.parsing.labels import Directive, find_labels
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    read_strictly,
    scan,
    skip_space,
)
from chart_binder.react.parsing.lexer import Quotations, Span, find_fences, is_within
from chart_binder.react.parsing.observations import find_observations, fold
from chart_binder.react.parsing.tags import find_tags, is_talked_about

INVENTED: Final = "invented observation discarded"
ASKING: Final = re.compile(
    r"Final Answer ?[:：]|Action ?[:：]|<(?:tool_call|response|final_answer|answer)\b"
)
"""What begins a step in the form of any dialect."""
_MAX_REPAIRED: Final = 16
_THOUGHT_ENDS: Final = re.compile(r"</thoughts?>", re.IGNORECASE)
_ROLE: Final = re.compile(r"[*_#\s]*(?:user|human|system)\b", re.IGNORECASE)


@dataclass(slots=True)
class Turn:
    """A turn; `said` is its text with blanks for thoughts in tags.

    `ended_by` is the kind of the label or tag that ends it at `end`. `refused` holds what there is
    of what counts for nothing: `fenced`, `thought`, `no tool` and other keys of advice.
    """

    text: str
    rules: DialectRules
    is_inner: bool = False
    said: str = ""
    directives: list[Directive] = field(default_factory=list)
    fences: list[Span] = field(default_factory=list)
    thoughts: list[Span] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended_by: str = ""
    end: int = 0
    refused: set[str] = field(default_factory=set)


def find_turn(text: str, rules: DialectRules, *, is_inner: bool = False) -> Turn:
    """Return the turn in what a model says aloud; `is_inner` for one in the tag of an answer."""
    turn = Turn(text, rules, is_inner, end=len(text))
    tags = find_tags(text)
    turn.thoughts = _thoughts_in(text, tags)
    turn.said = said = _blanked(text, turn.thoughts)
    turn.fences = find_fences(said)
    quotations = Quotations(said)
    seen = 0  # up to here words belong to a directive that was kept
    for found in sorted([*find_labels(said), *tags, *_observed(said)], key=_start):
        if _ends_turn(turn, found, seen, quotations):
            turn.end, turn.ended_by = found.start, found.kind
            break
        if found.start < seen or not _is_live(turn, found, quotations):
            continue
        turn.directives.append(found)
        if found.is_tag and found.kind in ("call", "answer"):
            seen = found.after
        elif found.kind in ("answer", "input") and not is_within(turn.fences, found.start):
            repairs = len(turn.directives) < _MAX_REPAIRED
            seen = object_end(text, found.value, repairs=repairs)
    if turn.ended_by == "observation":
        turn.notes.append(INVENTED)
    return turn


def _ends_turn(turn: Turn, found: Directive, seen: int, quotations: Quotations) -> bool:
    """Tell whether a label or tag is not of the model's own turn any more."""
    if is_within(turn.thoughts, found.start):
        return found.is_tag and found.kind == "observation"
    if found.start < seen or found.kind not in ("observation", "speaker", "pause"):
        return False
    if _is_quoted(turn, found, quotations) or (found.is_tag and is_talked_about(turn.text, found)):
        return False
    if found.kind == "speaker" and not found.is_tag and not turn.directives:
        is_asked_by_itself = _ROLE.match(turn.text, found.start) is None
        return not is_asked_by_itself and not is_within(turn.fences, found.start)
    return found.kind == "pause" or not is_within(turn.fences, found.start)


def _is_live(turn: Turn, found: Directive, quotations: Quotations) -> bool:
    """Tell whether a label or tag counts, and note why it does not."""
    if found.is_tag and found.kind == "thought" and found.closed:
        if ASKING.search(turn.text, found.value, found.end):
            turn.refused.add("thought")
        return False
    if is_within(turn.thoughts, found.start):
        return found.kind == "thought"
    if found.is_tag and is_talked_about(turn.text, found):
        turn.refused.add("inline")
        return False
    if _is_quoted(turn, found, quotations):
        turn.refused.add("fenced")
        return False
    is_question = found.kind == "speaker" and not is_within(turn.fences, found.start)
    return not is_question


def _is_quoted(turn: Turn, found: Directive, quotations: Quotations) -> bool:
    line_start = turn.text.rfind("\n", 0, found.start) + 1
    is_block_quote = turn.text[line_start : line_start + 80].lstrip()[:1] == ">"
    return is_block_quote or quotations.is_open_at(found.start)


def _start(found: Directive) -> int:
    return found.start


def _observed(text: str) -> Iterator[Directive]:
    end = len(text)
    for at in find_observations(fold(text)):
        yield Directive("observation", at, at, end, end)


def _thoughts_in(text: str, tags: list[Directive]) -> list[Span]:
    """Return the thoughts in tags; all before a closing tag that nothing opens is one."""
    spans: list[Span] = []
    for tag in tags:
        if tag.kind == "thought" and tag.closed and (not spans or tag.start >= spans[-1][1]):
            spans.append((tag.start, tag.after))
    ends = [] if spans else [found.span() for found in _THOUGHT_ENDS.finditer(text)]
    if ends and not is_within(find_fences(text), ends[-1][0]):
        return [(0, ends[-1][1])]
    return spans


def _blanked(text: str, spans: list[Span]) -> str:
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept += [text[at:start], "\n" * (end > start), " " * (end - start - 1)]
        at = end
    return "".join([*kept, text[at:]])


def object_end(text: str, start: int, *, repairs: bool) -> int:
    """Return the end of the JSON object that follows a label, where nothing is live; or `start`."""
    at = skip_space(text, start)
    if not text.startswith("{", at):
        return start
    try:
        found = scan(text, at, closed=True) if repairs else read_strictly(text, at)
    except LenientJSONError:
        return start
    return found.end if found else start
