"""A turn in tags, read as the first step it takes: all its calls, or its answer."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from chart_binder.react.json.words import skip_space
from chart_binder.react.reading.answers import read_answer
from chart_binder.react.reading.calls import Taken
from chart_binder.react.reading.live import Script
from chart_binder.react.reading.tag_calls import opens_list, read_tag_call
from chart_binder.react.reading.tags import Tag
from chart_binder.react.steps import Act, Finish

_CLOSERS = re.compile(r"(?:\s{0,80}+(?:`{3,}|</[\w ]{1,24}>))*+")
_MAX_DIRECTIVES: Final = 32
_WELL_FORMED_ID = re.compile(r"[\w.:-]{1,64}")


def first_tagged(said: Script, found: Sequence[Tag], ends: Sequence[int]) -> Taken | None:
    """Return the step of the first live tag that asks for something, or None.

    Calls go together up to the first tag or label (the places in `ends`, in order) that asks for
    something else. Of those after the first, one that cannot be read ends them, too.
    """
    calls: list[Act] = []
    notes: tuple[str, ...] = ()
    start = end = 0
    for taken in _directives(said.text, found):
        is_apart = bisect_left(ends, end) < bisect_left(ends, taken.start)
        if calls and (is_apart or not isinstance(taken.step, Act)):
            break
        if not isinstance(taken.step, Act):
            return taken
        start, end = (start if calls else taken.start), taken.end
        notes += taken.step.notes
        calls.append(replace(taken.step, notes=()))
    if not calls:
        return None
    first, *also = identified(calls)
    return Taken(replace(first, notes=notes, also=tuple(also)), end, start, "tags")


def identified(calls: Sequence[Act]) -> list[Act]:
    """Return calls each with an id of its own: the one it has, else the next free number."""
    used: set[str] = set()
    named: list[Act] = []
    for number, call in enumerate(calls, start=1):
        its_id = call.id
        if not _WELL_FORMED_ID.fullmatch(its_id) or its_id in used:
            taken = used.union(other.id for other in calls)
            its_id = next(free for free in map(str, count(number)) if free not in taken)
        used.add(its_id)
        named.append(replace(call, id=its_id))
    return named


def _directives(text: str, found: Sequence[Tag]) -> Iterator[Taken]:
    """Yield the calls and answers in order, up to an observation."""
    end = given = 0
    for place, tag in enumerate(found):
        if given == _MAX_DIRECTIVES:
            return
        if tag.start < end or tag.fenced:
            continue
        if tag.kind == "observation" and (tag.leads or tag.closes):
            return
        follows = end > 0 and not text[end : tag.start].strip()
        if tag.closes or not (tag.leads or follows):
            continue
        if tag.kind == "call" or (tag.kind == "calls" and opens_list(text, tag)):
            called = read_tag_call(text, tag, _limit(text, found, place))
            given += 1
            end = _after_closers(text, called.end)
            yield from (Taken(step, end, tag.start, "tags") for step in called.steps)
        elif tag.kind == "answer":
            inner = place + _opens_another(text, found, place)
            words, after = read_answer(text, found[inner].end, _limit(text, found, inner))
            given += 1
            end = _after_closers(text, after)
            if words:
                yield Taken(Finish(words), end, tag.start, "tags")


def _limit(text: str, found: Sequence[Tag], place: int) -> int:
    """Return where the words of a tag end: before its closing tag, or what else is live."""
    tag = found[place]
    for other in found[place + 1 :]:
        same = other.kind == tag.kind
        if other.closes and same and (tag.kind != "call" or other.name == tag.name):
            return other.start
        if other.opens and not (same and _is_inside(text, tag, other)) and other.kind != "calls":
            return other.start
    return len(text)


def _is_inside(text: str, tag: Tag, other: Tag) -> bool:
    """Tell whether a second tag of the same kind is how the words of the first are written."""
    return skip_space(text, tag.end) == other.start and (tag.kind, tag.name) != ("call", other.name)


def _opens_another(text: str, found: Sequence[Tag], place: int) -> bool:
    """Tell whether an answer's words begin with a tag for an answer of their own."""
    after = found[place + 1 : place + 2]
    return (
        bool(after)
        and after[0].kind == "answer"
        and not after[0].closes
        and (skip_space(text, found[place].end) == after[0].start)
    )


def _after_closers(text: str, end: int) -> int:
    closers = _CLOSERS.match(text, end)
    return closers.end() if closers else end
