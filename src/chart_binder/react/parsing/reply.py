"""What is live in a reply: its labels and tags, up to the first observation it invents."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from chart_binder.react.parsing.attribution import LOOKED_AT
from chart_binder.react.parsing.labels import (
    Kind,
    Label,
    Sight,
    find_labels,
    find_observations,
)
from chart_binder.react.parsing.lexer import Regions, Span, lowered, span_around
from chart_binder.react.parsing.tags import Tag, find_tags, find_thoughts

INVENTED: Final = "invented observation discarded"
_MAX_OBJECTS: Final = 8
_OBJECT: Final = re.compile(
    r"\n(?=[ \t\[{<f])(?:(?:<\|\w{4,24}+\|>){1,3}+|functools)?+[ \t]*+(?:\[[ \t]{0,4}+)?+(?=\{)"
)
_OWN: Final[frozenset[Kind]] = frozenset({"thought", "action", "input", "answer"})
_ENDING: Final[frozenset[Kind]] = frozenset({"observation", "pause", "speaker"})
_STOP_WORDS: Final = ("observation:", "<observation", "<tool_response")
_DECORATION: Final = " \t*_#`-"
_LONGEST_LINE: Final = 64
# In small letters, after a line break; every way to begin has a character to search for.
_ASKED: Final = re.compile(
    r"\n[^\w\n<]{0,16}+(?:\d{1,3}[.)][ ]?)?(?:next )?"
    r"(?:action|tool|function|行动|行動|动作|動作|工具)[ \w-]{0,16}[\])*_`】✿]{0,4}[ ]?[:：\[(]"
    r"|<(?:\|?[ ]?(?:tool_?|function_?|tool-|function-)(?:calls?|use)\b|invoke\b|function=)"
    r"|\"(?:action|tool|name)[\"'][ ]?:"
    r"|'(?:action|tool|name)[\"'][ ]?:"
)
_QUOTE: Final = re.compile(r"(?:^[ \t]{0,8}+(?:[-*+][ ]{1,4}+)?+>[^\n]*+(?:\n|\Z))++", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Turn:
    """A model's own turn: what it said up to the first observation it invented.

    In `text` thoughts in tags are blank, `whole` has them and what was cut off. A label of kind
    `object` stands for a line that begins with an object; `hidden` are the kinds of labels that are
    not live. At `result` a line begins that tells what a tool may have said.
    """

    text: str
    whole: str
    regions: Regions
    labels: tuple[Label, ...] = ()
    tags: tuple[Tag, ...] = ()
    all_tags: tuple[Tag, ...] = ()
    thoughts: tuple[Span, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: frozenset[Kind] = field(default_factory=frozenset)
    ended_by: Kind | None = None
    result: int | None = None

    def said_before(self, at: int) -> str:
        """Return the last words said before a place, whole thoughts first."""
        thoughts = "\n".join(self.words(*span) for span in self.thoughts)
        return f"{thoughts[-LOOKED_AT:]}\n{self.text[max(0, at - LOOKED_AT) : at]}"

    def said_after(self, at: int) -> str:
        """Return what is said between a place and the next label."""
        end = next((label.start for label in self.labels if label.start >= at), len(self.text))
        return self.text[at:end]

    def words(self, start: int, end: int) -> str:
        """Return the words between two places, without the tags of thoughts around them."""
        words: list[str] = []
        for tag in self.all_tags:
            if start <= tag.start < end and tag.kind in ("thought", "calls"):
                words.append(self.whole[start : tag.start])
                start = min(tag.end, end)
        return "".join([*words, self.whole[start:end]])


def find_turn(text: str) -> Turn:
    """Find what is live in a text: outside thoughts, fences, quotations, block quotes, strings.

    It ends where an observation begins, or somebody else's turn. An exchange with a tool that is
    shown in a thought, a fence or a quotation was made up, too: the turn ends inside it.
    """
    regions = Regions(text)
    all_tags = tags = find_tags(text, regions)
    thoughts = find_thoughts(tags)
    said = text
    if thoughts:
        said = _blank(text, thoughts)
        regions = Regions(said)
        tags = find_tags(said, regions)
    imagined = [_imagined(text, span) for span in thoughts]
    observed = [tag.start for tag in tags if tag.is_observation][:1]
    cut = min([*observed, *(at for at in imagined if at >= 0)], default=len(text))
    end, labels, notes, ended_by, sights = _find_end(said[:cut], regions)
    notes = notes or ((INVENTED,) if cut < len(text) else ())
    live = [label for label in labels if not regions.hides(label.start)]
    shown = {label.kind for label in live if not regions.is_open(label.start)}
    here = [tag for tag in tags if tag.start < end]
    starts = [tag.start for tag in here]
    results = (sight.start for sight in sights if sight.kind == "result" and not sight.quoted)
    return Turn(
        said[:end],
        text,
        regions,
        tuple(_fenced(label, regions, starts) for label in live if label.start < end),
        tuple(here),
        tuple(all_tags),
        tuple(thoughts),
        notes,
        frozenset({label.kind for label in labels} - shown),
        ended_by,
        next((at for at in results if at < end and not regions.hides(at)), None),
    )


def _find_end(
    text: str, regions: Regions
) -> tuple[int, list[Label], tuple[str, ...], Kind | None, list[Sight]]:
    """Find all labels of a text, and where a model's own turn ends in it, with why."""
    sights = list(find_observations(text))
    labels = [*find_labels(text), *islice(_objects(text), _MAX_OBJECTS)]
    labels = sorted([*labels, *_observing(sights, labels)], key=lambda label: label.start)
    cuts = (sight.start for sight in sights if sight.cut and not sight.quoted)
    cut = next((at for at in cuts if not regions.hides(at)), len(text))
    shown = _shown_exchange(text, sights, regions)
    live = [label for label in labels if not regions.hides(label.start)]
    ending = next(_endings(live), None)
    ended = live[ending].start if ending is not None else len(text) + 1
    end = min(cut, _cut_stop_word(text), shown, ended)
    if ending is not None and end == ended:
        return end, labels, _after_end(text, live[ending:]), live[ending].kind, sights
    if end == len(text):
        return end, labels, (), None, sights
    is_invented = end == shown or "\n" in text[end:].strip()
    return end, labels, (INVENTED if is_invented else "cut stop word discarded",), None, sights


def _blank(text: str, spans: Sequence[Span]) -> str:
    """Return a text with blanks for some passages, each a line, every other place as it was."""
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept += [text[at:start], "\n", " " * (end - start - 2), "\n"]
        at = end
    return "".join([*kept, text[at:]])


def _fenced(label: Label, regions: Regions, starts: Sequence[int]) -> Label:
    """Return a label as one that asks for nothing where it is a tag, too, or in an open fence."""
    place = bisect_left(starts, label.start)
    is_tag = place < len(starts) and starts[place] < label.value
    return label._replace(
        kind="turn" if is_tag else label.kind, fenced=regions.is_open(label.start)
    )


def _objects(text: str) -> Iterator[Label]:
    if "{" in text:
        for found in _OBJECT.finditer(f"\n{text}"):
            yield Label("object", found.start(), found.end() - 1)


def _observing(sights: Sequence[Sight], labels: Sequence[Label]) -> Iterator[Label]:
    """Yield what begins an observation in a form that the labels do not know."""
    acted = min((label.start for label in labels if label.kind == "action"), default=None)
    for sight in sights:
        is_sure = sight.sure or (acted is not None and sight.start > acted)
        if is_sure and not sight.quoted and not sight.cut and sight.kind != "result":
            yield Label(sight.kind, sight.start, sight.start)


def _endings(live: Sequence[Label]) -> Iterator[int]:
    """Yield what ends a model's own turn; a question does after words of the model's own."""
    is_begun = False
    for place, label in enumerate(live):
        if label.kind in _ENDING or (is_begun and label.kind == "turn"):
            yield place
        is_begun = is_begun or label.kind in _OWN


def _after_end(text: str, left: Sequence[Label]) -> tuple[str, ...]:
    """Tell what is discarded from the label on that ended the turn."""
    if left[0].kind in ("speaker", "turn"):
        return ("words of somebody else discarded",)
    if any(label.kind == "observation" for label in left):
        return (INVENTED,)
    after_pause = text[left[0].value :].strip(_DECORATION + "\n.")
    return ("text after PAUSE discarded",) if after_pause else ()


def _cut_stop_word(text: str) -> int:
    """Return where a stop word begins that was cut in the middle (`Observ`), or the end."""
    start = text.rstrip().rfind("\n") + 1
    last = text[start : start + _LONGEST_LINE].strip().lstrip(_DECORATION).casefold()
    is_cut = len(last) > 1 and any(word.startswith(last) for word in _STOP_WORDS)
    return start if is_cut else len(text)


def _shown_exchange(text: str, sights: Sequence[Sight], regions: Regions) -> int:
    """Return where an observation begins that is shown with the call before it, or the end.

    Nobody but the model has put it there. One that a fence begins with counts, too.
    """
    is_any = any(sight.quoted for sight in sights)
    quotes = [found.span() for found in _QUOTE.finditer(text)] if is_any else []
    for sight in sights:
        if sight.kind != "observation":
            continue
        spans = quotes if sight.quoted else regions.closed
        span = span_around(spans, sight.start)
        if span is None:
            continue
        is_first = not sight.quoted and not text[span[0] : sight.start].strip(" \t\n`~")
        if is_first or _first_call(text[span[0] : sight.start]) >= 0:
            return sight.start
    return len(text)


def _imagined(text: str, span: Span) -> int:
    """Return where an observation begins that a thought holds with the call before it, or -1."""
    asked = _first_call(text[slice(*span)])
    sights = find_observations(text[slice(*span)]) if asked >= 0 else ()
    found = (sight.start for sight in sights if sight.kind == "observation")
    return next((span[0] + at for at in found if asked < at), -1)


def _first_call(text: str) -> int:
    """Return where the first call begins in a text, or -1."""
    asked = _ASKED.search("\n" + lowered(text).replace(">", " "))
    # the line break that was put before the text is that of the first line
    return asked.start() - (not asked.group().startswith("\n")) if asked else -1
