"""A label at the start of a line says what a model means by the words after it."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from chart_binder.react.reading.label_names import (
    ALONE,
    BARE,
    KINDS,
    NEEDS_FLOWERS,
    NEEDS_HEADING,
    QWEN,
    SIGNS,
    Kind,
    folded,
)
from chart_binder.react.reading.near import lines_near, lowered

MAX_LABELS: Final = 256
COLONS: Final = ":：﹕︓"
_LONGEST: Final = 400

_ASKING: Final = frozenset({"action", "input", "answer"})

# A bounded look at the beginning of a line; possessive quantifiers try nothing twice.
_LINE = re.compile(
    r"[^\w\n\"'“”‘’„«「『>＞‹›{(|/\\<\[【✿*`]{0,16}+"  # spaces, bullets, emoji
    r"(?:\*[ \t]{1,8}+)?+(?:\d{1,3}+[.)、][ \t]{0,8}+)?+"  # a bullet, a number
    r"(?:[Ss]tep[ ]\d{1,3}+[ ]?[:.–-][ ]?)?+"
    r"(?:\((?:\d{1,3}+|[a-z])\)[ ]{0,2}+)?+(?P<markup><(?:b|i|u|p|em|strong|h[1-6])>)?+"
    r"(?P<mark>[*_`]{0,4}+)(?:\d{1,3}+[.)、][ ]?)?+(?:(?P<angle><)|(?P<bracket>[\[【])|✿)?+[ ]?"
    r"(?P<name>[^\W\d_]{2,24}+"
    r"(?:(?:[ ]\#?\d{1,3}+)?+(?:[^\S\n]{1,3}+|\\?+[_-]|(?<=[ ][lL])['’]|['’](?=s[ _-]))"
    r"[^\W\d_]{1,24}+){0,5}+)"
    r"(?:[ ]?\#?\d{1,3}+)?+(?:[ ]?\([^()\n]{0,40}+\))?+"
    r"(?(angle)(?:[ ]\w{1,20}+=[^<>\n]{0,80}+)?+)[^\S\n]{0,4}+"
    r"(?:(?(markup)</\w{1,6}+>|(?!)))?+"
    r"(?P<close>[*_`]{0,4}+)(?P<shut>[\]】>✿])?+[*_`]{0,4}+[^\S\n]{0,4}+"
    rf"(?:(?P<colon>[{COLONS}])|(?=\n|\Z)|"
    r"(?:[-–—=]{1,2}+>?[ ]{0,2}+)?+(?=\{)|(?(shut)|(?!)))"
)
_AFTER_COLON = re.compile(r"[ ]?(?:</(?:b|i|u|p|em|strong|h[1-6])>|[\]】])")


class Label(msgspec.Struct, frozen=True, gc=False):
    """A label: `start` is where its line begins, `value` where the words it labels begin.

    `mark` is the emphasis or back-quote it opens with, which its words may close. One that is
    `fenced`, in a code fence that nothing closes, asks for nothing, but ends what was asked before.
    """

    kind: Kind
    start: int
    value: int
    mark: str = ""
    fenced: bool = False


def labels(text: str) -> Iterator[Label]:
    """Yield the labels at line starts, whatever they stand in.

    Read are decorated ones (`**Action:**`, `1. Action:`, `### Final Answer`, `[Action]`),
    other spellings (`action_input`, `Tool Input`), Chinese, Japanese or Korean ones. What a model
    piles up beyond `MAX_LABELS` labels, or lines with the same word of one, is not looked at.
    """
    starts = lines_near(SIGNS, lowered(text), MAX_LABELS)
    yield from islice(filter(None, (label_at(text, start) for start in starts)), MAX_LABELS)


def label_at(text: str, start: int) -> Label | None:
    """Return the label of the line that begins at `start`, if it has one."""
    found = _LINE.match(text, start)
    return _label(found, folded(found["name"])) if found else None


def is_label(text: str, start: int, end: int) -> bool:
    """Tell whether all there is between two places of a line is a label."""
    if end - start > _LONGEST:
        return False
    before = text[start:end]
    found = label_at(before, 0)
    return found is not None and not before[found.value :].strip()


def _label(found: re.Match[str], name: str) -> Label | None:
    kind = _kind(found, name)
    if kind is None or not _is_set_off(found, name, kind):
        return None
    if kind in _ASKING and "~~" in found.string[found.start() : found.start("name")]:
        return None  # struck out
    mark, value = found["mark"], found.end()
    if mark.endswith("```") and mark in found.string[value : _line_end(found.string, value)]:
        return None  # a fence on one line
    if mark and found["close"]:
        mark = ""
    elif mark and found["colon"] and found.string.startswith(mark, value):
        value += len(mark)
        mark = ""
    if (found["markup"] or found["bracket"]) and (after := _AFTER_COLON.match(found.string, value)):
        value = after.end()
    return Label(kind, found.start(), value, mark)


def _kind(found: re.Match[str], name: str) -> Kind | None:
    if found["shut"] == "✿":
        return QWEN.get(name)
    if name in NEEDS_FLOWERS or (name in NEEDS_HEADING and not _is_heading(found)):
        return None
    return "speaker" if _is_alone(found, name) else KINDS.get(name)


def _is_heading(found: re.Match[str]) -> bool:
    return "#" in found.string[found.start() : found.start("name")]


def _is_alone(found: re.Match[str], name: str) -> bool:
    """Tell whether all of a line is the name of somebody else who speaks."""
    is_all = name in ALONE and found[0].rstrip() == name
    return is_all and not found.string.startswith("{", found.end())


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _is_set_off(found: re.Match[str], name: str, kind: Kind) -> bool:
    """Tell whether something separates the label from prose that begins with the same word."""
    if found["colon"] or found["shut"]:
        return True
    if kind == "speaker" and (_is_heading(found) or _is_alone(found, name)):
        return True
    return name in BARE or bool(found["mark"] and found["close"])
