"""The thinking of models: how each family marks it, and a reply without it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

Span: TypeAlias = tuple[int, int]

MAX_MARKS: Final = 256
_LONGEST_LINE: Final = 2000


class _Family(NamedTuple):
    """How a family of models marks its thinking; each pattern begins with one of `_SIGN`.

    `alone` says what a closing mark without an opening one means. `all`: everything up to and with
    the mark is thinking. `before`: everything before the mark is, but not the mark. `first`: as
    `all`, unless a thought or a channel stands before the mark. `no`: the mark means nothing,
    because it also closes other things.
    """

    name: str
    opens: str
    closes: str
    alone: str = "all"


_NAMED: Final = (
    r"(?:\w{1,8}:)?(?:(?!begin|start|end)[\w-]{0,12}(?:think|thought|reason|reflect|analysis|scratch"
    r"|monolog|deliberat|brainstorm|planning|internal|critique)[\w-]{0,12}|cot|chain[-_]of[-_]\w+)"
    r"(?:[ ][^<>\n]{0,60})?[ ]{0,2}\|?>"
)
FAMILIES: Final = (
    _Family("Gemma 4", r"<\|channel>(?:thought\b)?", r"<channel\|>"),
    _Family("Apertus", r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),
    _Family("MiniCPM", r"<\|thought_start\|>", r"<\|thought_end\|>"),
    _Family("OpenThinker", r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    _Family("Command R", r"<\|start_thinking\|>", r"<\|end_thinking\|>"),
    _Family("Magistral, Kimi VL", r"[\[◁]think[\]▷]", r"[\[◁]/think[\]▷]"),
    _Family("Kimi K3", r"<\|open\|>think<\|sep\|>", r"<\|close\|>think<\|sep\|>"),
    _Family("Inkling", r"<\|content_thinking\|>", r"<\|end_message\|>", "no"),
    _Family("Solar", r"<\|think\|>", r"<\|end\|>\s?(?:<\|begin\|>assistant)?(?=<\|content\|>)"),
    _Family("Granite", r"^Here.{1,3} my thought process:", r"^Here.{1,3} my response:", "before"),
    _Family("Apriel", r"\AHere are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]"),
    _Family(  # also where the prompt began the analysis, or the server left the tokens out
        "gpt-oss",
        r"(?:\A|(?<=assistant)|(?<=commentary))(?-i:analysis ?(?=[A-Z\"“'(]|[^\x00-\x7f]))",
        r"assistantfinal ?|(?=assistant(?:commentary|analysis)? to=)"
        r"|<\|end\|>(?=<\|start\|>assistant)",
        "first",
    ),
    _Family(
        "gpt-oss",
        r"<\|channel\|>analysis[^<\n]{0,20}<\|message\|>",
        r"<\|(?:end|call)\|>|(?=<\|(?:start|channel)\|>)",
        "no",
    ),
    _Family("any tag", rf"<\|?[ ]{{0,2}}{_NAMED}", rf"<\|?[ ]{{0,2}}/[ ]{{0,2}}{_NAMED}"),
)
"""What opens and closes the thinking of each family; a mark may close another family's, too."""
_SIGN: Final = re.compile(
    r"<(?=[|/ \w])|\[(?=/?think\]|/?THINK\]|BEGIN )|◁|Here(?=['’ ]i?s my | are my )|assistant"
    r"|analysis"
)
_MEANINGS: Final = {
    f"{sign}{at}": (sign == "opens", family)
    for at, family in enumerate(FAMILIES)
    for sign in ("opens", "closes")
}


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a reply says outside its thoughts; `notes` name what was left out.

    `unclosed`: the end of its thinking was not marked. `undivided`: besides, words marked its
    beginning, so that it is still in `text` and no answer counts. `countless`: too many marks.
    """

    text: str
    notes: tuple[str, ...] = ()
    thought: bool = False
    unclosed: bool = False
    undivided: bool = False
    countless: bool = False


def strip_thinking(text: str, dialect_tags: frozenset[str] = frozenset()) -> Spoken:
    """Return a reply without its thinking: what is between marks, before a lone end, or unclosed.

    Tags named in `dialect_tags` belong to the dialect and do not mark thinking.
    """
    marks = list(islice(_marks(text, dialect_tags), MAX_MARKS + 1))
    if not marks:
        return Spoken(text)
    if len(marks) > MAX_MARKS:
        return Spoken("", ("thinking discarded",), thought=True, unclosed=True)
    blocks, opened = _thoughts(text, marks)
    notes = ("thinking discarded",) * bool(blocks)
    undivided = opened is not None and opened.alone == "before"
    return Spoken(_without(text, blocks), notes, bool(blocks), opened is not None, undivided)


@cache
def _mark() -> re.Pattern[str]:
    pairs = (
        f"(?P<opens{at}>{f.opens})|(?P<closes{at}>{f.closes})" for at, f in enumerate(FAMILIES)
    )
    return re.compile("|".join(pairs), re.IGNORECASE | re.MULTILINE)


def _marks(text: str, dialect_tags: frozenset[str]) -> Iterator[re.Match[str]]:
    end = 0
    for sign in _SIGN.finditer(text):
        mark = _mark().match(text, sign.start()) if sign.start() >= end else None
        if (
            mark is None
            or mark[0].strip("<>|/ ").lower() in dialect_tags
            or not is_used(text, mark)
        ):
            continue
        end = mark.end()
        yield mark


# A string of a JSON object is open: its quotation mark follows `{`, `[`, `:` or a comma.
_IN_STRING: Final = re.compile(r"[{:,\[][ ]{0,4}(?:\"(?:[^\"\\\n]|\\.)*|'[^'\n]*)\Z")


def is_used(text: str, mark: re.Match[str]) -> bool:
    """Tell whether a tag is used rather than mentioned in quotation marks."""
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    if (
        before
        and before in "`\"'"
        and (after in "`\"'" or (before == "`" and text[mark.start() - 3 : mark.start()] != "```"))
    ):
        return False
    start = max(text.rfind("\n", 0, mark.start()) + 1, mark.start() - _LONGEST_LINE)
    line = text[start : mark.start()]
    return _IN_STRING.search(line) is None


def _thoughts(text: str, marks: list[re.Match[str]]) -> tuple[list[Span], _Family | None]:
    """Return the blocks of thinking, and the family whose mark opens one that is never closed."""
    blocks: list[Span] = []
    begin, opened = 0, None
    for mark in marks:
        opens, family = _MEANINGS[mark.lastgroup or ""]
        if opens and opened is None:
            begin, opened = mark.start(), family
        elif not opens and opened is not None:
            if family is opened or family.alone in ("all", "first"):
                blocks.append((begin, mark.end()))
                opened = None
        elif opens or family.alone == "no":
            continue
        elif family.alone == "first" and (blocks or text.find("<|channel|>", 0, mark.start()) >= 0):
            blocks.append(mark.span())
        else:
            blocks = [(0, mark.start() if family.alone == "before" else mark.end())]
    if opened is not None and opened.alone != "before":
        blocks.append((begin, len(text)))
    return blocks, opened


def _without(text: str, blocks: list[Span]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in blocks:
        line = text[at:start].rpartition("\n")[2].strip()
        # The words on both sides must not join to a label; behind a sentence a new line may begin.
        between = "" if not line else "\n" if line[-1] in ".!?。" else " … "
        pieces += [text[at:start], between]
        at = end
    return "".join([*pieces, text[at:]]) if blocks else text
