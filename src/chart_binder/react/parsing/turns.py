"""A model's own turn: the labels and tags in it that are live, in order.

Live is what stands outside thoughts, quotations and blocks, up to the first observation that the
model made up, or a line of somebody else. What stands in a fence is kept, for a call may.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from chart_binder.react.parsing.advice import DialectRules
from chart_binder.react.parsing.labels import Directive, find_labels, kind_of
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    read_strictly,
    scan,
    skip_space,
)
from chart_binder.react.parsing.lexer import Span, is_used
from chart_binder.react.parsing.shown import (
    find_blocks,
    find_fences,
    find_quotations,
    is_within,
    merged,
)
from chart_binder.react.parsing.tags import find_tags, is_talked_about

INVENTED: Final = "invented observation discarded"
ASKING: Final = re.compile(
    r"Final Answer ?[:：]|Action ?[:：]|<(?:tool_call|response|final_answer|answer)\b"
)
"""What begins a step in the form of any dialect."""
_MAX_REPAIRED: Final = 16
_THOUGHT_ENDS: Final = re.compile(r"</thoughts?>", re.IGNORECASE)
_ROLE: Final = re.compile(r"[*_#\s]*(?:user|human|system)\b", re.IGNORECASE)
_FENCE_WORDS: Final = re.compile(r"[\s>*+•\d.)-]{0,40}+(?:`{3,80}+|~{3,80}+)[ ]?(\w{3,24})")
_OUTPUTS: Final = ("output", "outputs", "result", "results")


@dataclass(slots=True)
class Turn:
    """A turn: its directives, and what of its text is shown or thought.

    `ended_by` is the kind of the label or tag that ends it at `end`. `refused` holds what there is
    of what counts for nothing: `fenced`, `thought`, `no tool` and other keys of advice.
    """

    text: str
    rules: DialectRules
    said: str = ""
    directives: list[Directive] = field(default_factory=list)
    fences: list[Span] = field(default_factory=list)
    blocks: list[Span] = field(default_factory=list)
    shown: list[Span] = field(default_factory=list)
    thoughts: list[Span] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended_by: str = ""
    end: int = 0
    refused: set[str] = field(default_factory=set)


def find_turn(text: str, rules: DialectRules) -> Turn:
    """Return the turn in what a model says aloud."""
    turn = Turn(text, rules, end=len(text))
    tags = find_tags(text)
    turn.thoughts = _thoughts_in(text, tags)
    turn.said = blanked(text, turn.thoughts)
    turn.fences = find_fences(turn.said)
    found = sorted([*find_labels(turn.said), *tags], key=lambda each: each.start)
    own = [each for each in found if not is_within(turn.thoughts, each.start)]
    bodies = list(_bodies(text, own, turn.fences))
    said = blanked(turn.said, bodies)
    last = found[-1].start + 1 if found else 0
    turn.blocks = find_blocks(said)
    turn.shown = merged([*find_quotations(said, last), *turn.blocks])
    for each in found:
        if is_within(bodies, each.start):
            continue
        if _ends_turn(turn, each):
            turn.end, turn.ended_by = each.start, each.kind
            break
        if _is_live(turn, each):
            turn.directives.append(each)
    if (output := _output_fence(turn)) is not None and output < turn.end:
        turn.end, turn.ended_by = output, "observation"
        turn.directives = [each for each in turn.directives if each.start < output]
    if turn.ended_by == "observation":
        turn.notes.append(INVENTED)
    return turn


def blanked(text: str, spans: Sequence[Span]) -> str:
    """Return a text with blanks in place of some spans of it, which are in order."""
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept += [text[at:start], "\n" * (end > start), " " * (end - start - 1)]
        at = end
    return "".join([*kept, text[at:]])


def object_end(text: str, start: int, *, repairs: bool = True) -> int:
    """Return the end of the JSON object that follows a label, where nothing is live; or `start`."""
    at = skip_space(text, start)
    if text.startswith("```", at):
        at = text.find("{", at, at + 20) if "{" in text[at : at + 20] else at
    if not text.startswith("{", at):
        return start
    try:
        found = scan(text, at, closed=True) if repairs else read_strictly(text, at)
    except LenientJSONError:
        return start
    return found.end if found else start


def _bodies(text: str, found: Sequence[Directive], fences: list[Span]) -> Iterator[Span]:
    """Yield the objects under labels, and what stands in the tags of calls and answers."""
    end = count = 0
    for each in found:
        if each.start < end:
            continue
        if each.is_tag and each.kind in ("call", "answer") and not is_talked_about(text, each):
            start, end = each.start + 1, each.after
        elif each.kind in ("answer", "input") and not is_within(fences, each.start):
            start, count = each.value, count + 1
            end = object_end(text, start, repairs=count < _MAX_REPAIRED)
        elif each.kind in ("answer", "input", "action"):
            start, end = each.value, object_end(text, each.value, repairs=False)
        else:
            continue
        if end > start:
            yield start, end


def _ends_turn(turn: Turn, found: Directive) -> bool:
    """Tell whether a label or tag is not of the model's own turn any more."""
    if is_within(turn.thoughts, found.start):
        return found.is_tag and found.kind == "observation"
    if found.kind not in ("observation", "speaker", "pause"):
        return False
    if _is_shown(turn, found) or (found.is_tag and is_talked_about(turn.text, found)):
        return False
    is_fenced = is_within(turn.fences, found.start)
    if found.kind == "speaker" and not found.is_tag and not turn.directives:
        is_asked_by_itself = _ROLE.match(turn.text, found.start) is None
        return not is_asked_by_itself and not is_fenced
    if found.kind == "observation" and is_fenced:
        turn.refused.add("observation in a fence")
    return found.kind == "pause" or not is_fenced


def _is_live(turn: Turn, found: Directive) -> bool:
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
    if _is_shown(turn, found):
        turn.refused.add("fenced")
        return False
    return found.kind != "speaker" or is_within(turn.fences, found.start)


def _is_shown(turn: Turn, found: Directive) -> bool:
    line_start = turn.text.rfind("\n", 0, found.start) + 1
    is_block_quote = turn.text[line_start : line_start + 80].lstrip()[:1] == ">"
    return is_block_quote or is_within(turn.shown, found.start, inside=1)


def _output_fence(turn: Turn) -> int | None:
    """Return where a fence begins that says in its first line that it holds a tool's output."""
    for start, _ in islice(turn.fences, _MAX_REPAIRED):
        words = _FENCE_WORDS.match(turn.text, start)
        name = words[1] if words else ""
        if name.casefold() in _OUTPUTS or (name and kind_of(name) == "observation"):
            return start
    return None


def _thoughts_in(text: str, tags: list[Directive]) -> list[Span]:
    """Return the thoughts in tags; all before a closing tag that nothing opens is one."""
    spans: list[Span] = []
    for tag in tags:
        if tag.kind == "thought" and tag.closed and (not spans or tag.start >= spans[-1][1]):
            spans.append((tag.start, tag.after))
    used = (end for end in _THOUGHT_ENDS.finditer(text) if not spans and is_used(text, end))
    ends = [end.span() for end in islice(used, _MAX_REPAIRED)]
    if ends and not is_within(find_fences(text), ends[-1][0]):
        return [(0, ends[-1][1])]
    return spans
