"""Tags that a model writes its turn in, where they are live."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from chart_binder.react.reading.around import Around
from chart_binder.react.reading.labels import is_label
from chart_binder.react.reading.near import lowered
from chart_binder.react.reading.quoted import outside_strings

TagKind: TypeAlias = Literal["thought", "call", "calls", "observation", "answer"]

MAX_TAGS: Final = 256

# Written with spaces; hyphens, underscores or nothing may stand in their place. In small letters.
_NAMES: Final[dict[TagKind, tuple[str, ...]]] = {
    "thought": ("thought", "thoughts"),
    "call": ("tool call", "function call", "tool use", "invoke", "function", "tool", "action"),
    "calls": ("tool calls", "function calls"),
    "observation": (
        "observation",
        "observations",
        "tool response",
        "tool responses",
        "tool result",
        "tool results",
        "tool output",
        "function response",
        "function result",
        "function results",
        "search result",
        "search results",
        "result",
        "results",
    ),
    "answer": ("response", "answer", "final answer", "final response"),
}
_KINDS: Final[dict[str, TagKind]] = {
    name.replace(" ", ""): kind for kind, names in _NAMES.items() for name in names
}
_NEEDS_TOOL: Final = frozenset({"invoke", "function", "tool", "action"})
"""Tags that open a call only where they name its tool: `<function=web_search>`."""


def _after(first: str, names: Iterable[str]) -> str:
    """Return a pattern for all names that begin with a word, so that it is looked at once."""
    others = [name.partition(" ")[2] for name in names]
    if others == [""]:
        return first
    return f"{first}(?:[_-]?(?:{'|'.join(filter(None, others))})){'?' * ('' in others)}"


# In this order the longer of two names that begin alike comes first.
_WORDS: Final = sorted((name for names in _NAMES.values() for name in names), reverse=True)
_ANY_NAME: Final = "|".join(
    _after(first, names) for first, names in groupby(_WORDS, key=lambda name: name.split()[0])
)
_BEGINNINGS: Final = "|".join(sorted({name[:2] for name in _KINDS}))
# Each pattern looks a bounded distance ahead or back, whatever the text.
_TAG = re.compile(
    rf"<(?=[ /]|{_BEGINNINGS})[ ]{{0,2}}+(?P<close>/?+)[ ]{{0,2}}+(?:antml:)?+"
    rf"(?P<name>(?>{_ANY_NAME}))(?P<rest>[ \t=/][^<>\n]{{0,1000}}+)?+>"
)
_TOOL = re.compile(
    r"(?:^\s*=\s*|\b(?:(?:tool_?|function_?)?name|tool)\s*=\s*)[\"']?(?P<tool>[^\"'\s/>]{1,100})",
    re.IGNORECASE,
)
_ID = re.compile(r"\b(?:call_|tool_call_)?id\s*=\s*[\"']?(?P<id>[^\"'\s/>]{1,100})", re.IGNORECASE)
_LEAD = re.compile(r"[^\w\n\"'“”‘’„«「『>＞‹›{(|/\\<\[【✿`~]{0,16}+(?:\d{1,3}+[.)、][ ]?)?+")
_LEAD_AT_MOST: Final = 24


class Tag(msgspec.Struct, frozen=True, gc=False):
    """A tag that the protocol knows; `leads` tells whether it stands where one can be live.

    That is at the start of a line, or right after another tag or a label. `tool` and `id` are what
    its attributes say. One that is `fenced` stands in a code fence that nothing closes.
    """

    kind: TagKind
    name: str
    start: int
    end: int
    closes: bool = False
    leads: bool = True
    tool: str = ""
    id: str = ""
    fenced: bool = False

    @property
    def opens(self) -> bool:
        """Whether it begins something, where it is live."""
        return self.leads and not self.closes


def tags(text: str, around: Around) -> list[Tag]:
    """Return the tags outside fences, quotations, back-quotes or JSON strings, in order.

    What a model piles up beyond `MAX_TAGS` is not looked at.
    """
    if "<" not in text:
        return []
    said = islice(outside_strings(_TAG.finditer(lowered(text)), text), MAX_TAGS)
    return list(_live(text, said, around))


def thoughts(found: Sequence[Tag]) -> list[tuple[int, int]]:
    """Return from where to where closed thoughts go.

    A closing tag that nothing opened ends a thought that began with the reply; one that nothing
    closes hides nothing.
    """
    spans: list[tuple[int, int]] = []
    opened: Tag | None = None
    for tag in found:
        if tag.kind != "thought" or not (tag.closes or tag.leads):
            continue
        if not tag.closes:
            opened = tag
        elif opened is not None:
            spans.append((opened.start, tag.end))
            opened = None
        else:
            spans = [(0, tag.end)]
    return spans


def _live(text: str, found: Iterable[re.Match[str]], around: Around) -> Iterator[Tag]:
    led: dict[TagKind, bool] = {"thought": True}
    after = 0
    for match in found:
        start = match.start()
        if around.hides(start):
            continue
        tag = _read(text, match, leads=_leads(text, start, after), fenced=around.is_fenced(start))
        if tag.closes:
            tag = replace(tag, leads=led.get(tag.kind, False))
        elif tag.name in _NEEDS_TOOL and not tag.tool:
            continue
        led[tag.kind] = tag.leads
        after = tag.end if tag.leads else after
        yield tag


def _read(text: str, match: re.Match[str], *, leads: bool, fenced: bool) -> Tag:
    name = match["name"].replace("_", "").replace("-", "")
    rest = text[match.start("rest") : match.end("rest")]
    tool, its_id = (_TOOL.search(rest), _ID.search(rest)) if rest else (None, None)
    return Tag(
        _KINDS[name],
        name,
        match.start(),
        match.end(),
        closes=bool(match["close"]),
        leads=leads,
        tool=tool["tool"] if tool else "",
        id=its_id["id"] if its_id else "",
        fenced=fenced,
    )


def _leads(text: str, start: int, after: int) -> bool:
    """Tell whether a tag stands at the start of a line, or after a live tag or a label on it."""
    line = max(text.rfind("\n", 0, start) + 1, after)
    if not text[line:start].strip() or is_label(text, line, start):
        return True
    return start - line <= _LEAD_AT_MOST and _LEAD.fullmatch(text, line, start) is not None
