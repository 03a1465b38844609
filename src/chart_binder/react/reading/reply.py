"""A reply is read as the first step it takes, in whatever dialect it is written."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from chart_binder.react.json.strict import encodable_text
from chart_binder.react.reading.advice import Defect, worded
from chart_binder.react.reading.around import Around, within
from chart_binder.react.reading.calls import Taken
from chart_binder.react.reading.labelled import first_labelled
from chart_binder.react.reading.labels import label_at
from chart_binder.react.reading.live import Script, script
from chart_binder.react.reading.manner import Manner, foreign
from chart_binder.react.reading.native import in_tags
from chart_binder.react.reading.own_words import is_own_turn
from chart_binder.react.reading.resting import sound
from chart_binder.react.reading.shown import imagined_exchange
from chart_binder.react.reading.tagged import first_tagged, identified
from chart_binder.react.reading.tags import Tag, tags, thoughts
from chart_binder.react.reading.thinking import Spoken, spoken
from chart_binder.react.reading.unlabelled import read_unlabelled, without_outer_fence
from chart_binder.react.steps import Act, Finish, Step

_INLINE = re.compile(
    r"Final Answer ?[:：]|Action ?[:：]|<(?:tool_call|response|final_answer|answer)\b"
)
_FENCE_LEFT = re.compile(r"(?:^|\s)(?:`{3}+\w{0,12}+|json|xml)$")
_FENCE_AT_MOST: Final = 80
_LEFT_OVER: Final = " \t\n`~*_})]>;."
_CLOSERS = re.compile(r"(?:\s{0,80}+</[\w ]{1,24}>)*+")
_NAME_AT_MOST: Final = 80
_NO_NAME = re.compile(r"[\n{}()\[\]:：\"]")
_TURN: Final = frozenset({"thought", "action", "answer"})
_INVENTED: Final = "invented observation discarded"


@dataclass(frozen=True, slots=True)
class Turn:
    """What is live in a reply: its script, its tags, the passages of its thoughts, the first step.

    In the script the thoughts are blank; `text` has them. `before` is what was said before.
    """

    text: str
    live: Script
    tags: tuple[Tag, ...]
    thoughts: tuple[tuple[int, int], ...]
    taken: Taken | None
    before: str = ""


def read_reply(reply: str, manner: Manner) -> Step:
    """Return the first step a reply takes; what follows it is left out, with a note.

    Takes any text in time linear in its length. Nothing counts that the model thought, quoted, or
    put into a tool's mouth. A step in another dialect counts where it comes first, with a note.
    """
    text = encodable_text(reply).replace("\r\n", "\n").replace("\r", "\n")
    said = spoken(in_tags(text), manner.spoken)
    turn = _read(said.text)
    if turn.taken is None:
        turn = _read_bare(turn)
    turn = _sound(_unwrapped(_sound(turn)))
    if turn.taken is None:
        defect = _defect(reply, said, turn)
        return worded(replace(defect, notes=(*said.notes, *turn.live.notes)), manner.wording)
    return _finished(turn.taken, said, turn, manner)


def _read(text: str) -> Turn:
    around = Around(text)
    found = live_tags = tags(text, around)
    spans = thoughts(found)
    said = text
    if spans:
        said = _blank(text, spans)
        around = Around(said)
        live_tags = tags(said, around)
    ends = [next((tag.start for tag in live_tags if _ends(tag)), -1)]
    ends.append(imagined_exchange(text, spans))
    end = min((end for end in ends if end >= 0), default=len(text))
    live = script(said[:end], around)
    if end < len(text) and not live.notes:
        live = structs.replace(live, notes=(_INVENTED,))
    here = [tag for tag in live_tags if tag.start < len(live.text)]
    said_inside = "\n".join(_words(text, found, start, end) for start, end in spans)
    live = structs.replace(_without_tag_labels(live, here), thoughts=said_inside)
    taken = first_labelled(live)
    if here:
        asking = [label.start for label in live.labels if label.kind in ("action", "answer")]
        taken = _earlier(live, taken, first_tagged(live, here, asking))
    return Turn(text, live, tuple(found), tuple(spans), taken)


def _blank(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text with blanks for some passages, each a line, every other place as it was."""
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept += [text[at:start], "\n", " " * (end - start - 2), "\n"]
        at = end
    return "".join([*kept, text[at:]])


def _ends(tag: Tag) -> bool:
    return tag.kind == "observation" and (tag.leads or tag.closes)


def _without_tag_labels(live: Script, found: Sequence[Tag]) -> Script:
    """Let a label that is a tag as well (`<tool_call>`) end what is before, and ask for nothing."""
    starts = [tag.start for tag in found]
    changed = tuple(
        structs.replace(label, kind="turn") if _holds(starts, label.start, label.value) else label
        for label in live.labels
    )
    return structs.replace(live, labels=changed)


def _holds(places: Sequence[int], start: int, end: int) -> bool:
    place = bisect_left(places, start)
    return place < len(places) and places[place] < end


def _earlier(live: Script, labelled: Taken | None, tagged: Taken | None) -> Taken | None:
    """Return the step that is written first; a label may announce the tag that stands after it."""
    if labelled is None or tagged is None:
        return labelled or tagged
    label = next((label for label in live.labels if label.start == labelled.start), None)
    if label is None or labelled.start > tagged.start:
        return tagged
    between = live.text[label.value : tagged.start].strip()
    is_name = len(between) <= _NAME_AT_MOST and not _NO_NAME.search(between)
    names_tool = label.kind == "action" and is_name and isinstance(tagged.step, Act)
    announces = not between or names_tool
    return replace(tagged, start=labelled.start) if announces else labelled


def _sound(turn: Turn) -> Turn:
    return replace(turn, taken=sound(turn.taken, turn.live)) if turn.taken else turn


def _unwrapped(turn: Turn) -> Turn:
    """Read a turn in labels that stands in an answer's tags as a whole."""
    taken = turn.taken
    if taken is None or taken.writing != "tags" or not isinstance(taken.step, Finish):
        return turn
    label = label_at(taken.step.answer, 0)
    inside = _read(taken.step.answer) if label and label.kind in _TURN else None
    if inside is None or inside.taken is None:
        return turn
    live = structs.replace(inside.live, notes=(*inside.live.notes, *turn.live.notes))
    return replace(inside, live=live, before=_words(turn.text, turn.tags, 0, taken.start))


def _read_bare(turn: Turn) -> Turn:
    """Read a turn that lacks labels or tags, or that stands in a fence as a whole."""
    taken = read_unlabelled(turn.live)
    if taken is not None:
        return replace(turn, taken=taken)
    inside = without_outer_fence(turn.live.text)
    fenced = _read(inside) if inside and is_own_turn(turn.live.thoughts, "") else None
    if fenced is None or fenced.taken is None:
        return turn
    return replace(fenced, before=turn.live.thoughts)


def _finished(taken: Taken, said: Spoken, turn: Turn, manner: Manner) -> Step:
    step = taken.step
    if isinstance(step, Finish) and not step.answer.strip():
        step = Defect("empty answer", notes=step.notes)
    if isinstance(step, Defect):
        notes = (*said.notes, *step.notes, *turn.live.notes)
        return worded(replace(step, notes=notes), manner.wording)
    notes = foreign(taken.writing, manner)
    closers = _CLOSERS.match(turn.live.text, taken.end)
    left = turn.live.text[closers.end() if closers else taken.end :].strip(_LEFT_OVER)
    if left:
        kind = "final answer" if isinstance(step, Finish) else "action"
        notes += (f"text after the {kind} discarded",)
    if isinstance(step, Act):
        calls = identified(step.calls) if manner.several else [replace(step, id="")]
        notes += ("further calls discarded",) if len(calls) < len(step.calls) else ()
        step = replace(calls[0], also=tuple(calls[1:]))
    said_before = f"{turn.before}\n{_words(turn.text, turn.tags, 0, taken.start)}".strip()
    return replace(
        step,
        thought=step.thought or _thought(said_before),
        notes=(*said.notes, *step.notes, *notes, *turn.live.notes),
    )


def _words(text: str, found: Sequence[Tag], start: int, end: int) -> str:
    """Return the words between two places, without the tags of thoughts around them."""
    words: list[str] = []
    for tag in found[bisect_left(found, start, key=lambda tag: tag.start) :]:
        if tag.start >= end:
            break
        if tag.kind in ("thought", "calls"):
            words.append(text[start : tag.start])
            start = min(tag.end, end)
    return "".join([*words, text[start:end]])


def _thought(before: str) -> str:
    """Return the words before a step without the label of the first thought."""
    first = label_at(before, 0)
    before = before[first.value :].strip() if first and first.kind == "thought" else before
    fence = _FENCE_LEFT.search(before, max(0, len(before) - _FENCE_AT_MOST))
    return before[: fence.start()] if fence else before


def _defect(reply: str, said: Spoken, turn: Turn) -> Defect:
    """Name the one defect that explains best why there is no step."""
    live = turn.live
    kinds = {label.kind for label in live.labels if not label.fenced}
    asking = [tag for tag in turn.tags if tag.kind in ("call", "answer") and tag.opens]
    open_tags = {
        tag.kind for tag in asking if not tag.fenced and not within(turn.thoughts, tag.start)
    }
    inline = _INLINE.search(live.text)
    at_start = (
        inline
        and not live.text[live.text.rfind("\n", 0, inline.start()) + 1 : inline.start()].strip()
    )
    defects = (
        ("empty", not reply.strip()),
        ("unclosed thinking", said.unclosed),
        ("only thinking", not said.text.strip() and said.thought),
        ("empty", not said.text.strip()),
        ("observation", _INVENTED in live.notes),
        ("speaker", live.ended_by in ("speaker", "turn")),
        ("pause", live.ended_by == "pause"),
        ("empty answer", "answer" in kinds | open_tags),
        ("no tool", bool({"action", "call"} & (kinds | open_tags))),
        ("input", "input" in kinds),
        ("thought", any(within(turn.thoughts, tag.start) for tag in asking)),
        ("fenced", bool(live.hidden & {"action", "answer"}) or bool(asking) or bool(at_start)),
        ("inline", inline is not None),
    )
    kind = next((name for name, is_so in defects if is_so), "neither")
    return Defect(kind, _shown(inline.group()) if inline else "")


def _shown(inline: str) -> str:
    return f"{inline}>" if inline.startswith("<") else inline.rstrip(" :：")
