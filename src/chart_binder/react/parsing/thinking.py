"""The thinking of models: how each family marks it, and a reply without it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import tomli

Span: TypeAlias = tuple[int, int]

MAX_MARKS: Final = 256
_LONGEST_LINE: Final = 2000


class _Family(NamedTuple):
    """How a family of models marks its thinking, as `marks.toml` explains it."""

    name: str
    opens: str
    closes: str
    alone: str = "all"


MARKS: Final = tomli.loads((files(__package__) / "marks.toml").read_text("utf-8"))
FAMILIES: Final = tuple(_Family(**family) for family in MARKS["thinking"])
"""What opens and closes the thinking of each family; a mark may close another family's, too."""
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


def mark(text: str) -> re.Pattern[str]:
    """Compile a pattern of `marks.toml`."""
    for name, part in MARKS["parts"].items():
        text = text.replace(f"@{name}@", part)
    return re.compile(text.replace("\n", ""), re.MULTILINE)


_SIGN: Final = mark(MARKS["sign"])


@cache
def _marks_of_all() -> re.Pattern[str]:
    pairs = (
        f"(?P<opens{at}>{f.opens})|(?P<closes{at}>{f.closes})" for at, f in enumerate(FAMILIES)
    )
    return mark(f"(?i){'|'.join(pairs)}")


def _marks(text: str, dialect_tags: frozenset[str]) -> Iterator[re.Match[str]]:
    end = 0
    for sign in _SIGN.finditer(text):
        mark = _marks_of_all().match(text, sign.start()) if sign.start() >= end else None
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
        between = (
            "" if not line else "\n" if line[-1] in ".!?。" else " " if line[-1] in ":：" else " … "
        )
        pieces += [text[at:start], between]
        at = end
    return "".join([*pieces, text[at:]]) if blocks else text
