"""Removes the thinking of a model from a reply; each family of models marks it differently."""

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
    """How a family of models marks its thinking; `marks.toml` explains the fields."""

    name: str
    opens: str
    closes: str
    alone: str = "all"


MARKS: Final = tomli.loads((files(__package__) / "marks.toml").read_text("utf-8"))
FAMILIES: Final = tuple(_Family(**family) for family in MARKS["thinking"])
"""The marks of each family; a mark may also close the thinking of another family."""
_MEANINGS: Final = {
    f"{sign}{at}": (sign == "opens", family)
    for at, family in enumerate(FAMILIES)
    for sign in ("opens", "closes")
}


@dataclass(frozen=True, slots=True)
class VisibleText:
    """The text of a reply outside its thoughts; `notes` name what was removed.

    `is_unclosed` means that the end of the thinking was not marked. If `is_undivided`, words marked
    the beginning of an unclosed thought, so that the thought is still in `text` and no answer
    counts. If `has_too_many_marks`, the reply cannot be read.
    """

    text: str
    notes: tuple[str, ...] = ()
    has_thought: bool = False
    is_unclosed: bool = False
    is_undivided: bool = False
    has_too_many_marks: bool = False


def strip_thinking(text: str, dialect_tags: frozenset[str] = frozenset()) -> VisibleText:
    """Return a reply without its thinking: between marks, before a single end mark, or unclosed.

    The tags `dialect_tags` belong to the dialect and do not mark thinking.
    """
    marks = list(islice(_marks(text, dialect_tags), MAX_MARKS + 1))
    if not marks:
        return VisibleText(text)
    if len(marks) > MAX_MARKS:
        return VisibleText("", ("thinking discarded",), has_thought=True, is_unclosed=True)
    blocks, opened = _thoughts(text, marks)
    notes = ("thinking discarded",) * bool(blocks)
    undivided = opened is not None and opened.alone == "before"
    return VisibleText(_without(text, blocks), notes, bool(blocks), opened is not None, undivided)


def compile_mark(text: str) -> re.Pattern[str]:
    """Compile a pattern of `marks.toml`."""
    for name, part in MARKS["parts"].items():
        text = text.replace(f"@{name}@", part)
    return re.compile(text.replace("\n", ""), re.MULTILINE)


_SIGN: Final = compile_mark(MARKS["sign"])


@cache
def _marks_of_all() -> re.Pattern[str]:
    pairs = (
        f"(?P<opens{at}>{f.opens})|(?P<closes{at}>{f.closes})" for at, f in enumerate(FAMILIES)
    )
    return compile_mark(f"(?i){'|'.join(pairs)}")


def _marks(text: str, dialect_tags: frozenset[str]) -> Iterator[re.Match[str]]:
    end = 0
    for sign in _SIGN.finditer(text):
        mark = _marks_of_all().match(text, sign.start()) if sign.start() >= end else None
        if mark and mark[0].strip("<>|/ ").lower() not in dialect_tags and is_used(text, mark):
            end = mark.end()
            yield mark


# An open string of a JSON object: the quotation mark follows `{`, `[`, `:` or a comma.
_IN_STRING: Final = re.compile(r"[{:,\[][ ]{0,4}(?:\"(?:[^\"\\\n]|\\.)*|'[^'\n]*)\Z")


def is_used(text: str, mark: re.Match[str]) -> bool:
    """Return whether a tag is used and not just mentioned in quotation marks."""
    char_before, char_after = (
        text[mark.start() - 1 : mark.start()],
        text[mark.end() : mark.end() + 1],
    )
    if (
        char_before
        and char_before in "`\"'"
        and (
            char_after in "`\"'"
            or (char_before == "`" and text[mark.start() - 3 : mark.start()] != "```")
        )
    ):
        return False
    start = max(text.rfind("\n", 0, mark.start()) + 1, mark.start() - _LONGEST_LINE)
    line = text[start : mark.start()]
    return _IN_STRING.search(line) is None


def _thoughts(text: str, marks: list[re.Match[str]]) -> tuple[list[Span], _Family | None]:
    """Return the blocks of thinking, and the family that marks the beginning of an unclosed one."""
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
        # The words on both sides must not form a label; after a sentence a new line may begin.
        ends = {**dict.fromkeys(".!?。", "\n"), **dict.fromkeys(":：", " ")}
        pieces += [text[at:start], ends.get(line[-1], " … ") if line else ""]
        at = end
    return "".join([*pieces, text[at:]]) if blocks else text
