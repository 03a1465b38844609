"""Text from outside, as a terminal only shows it."""

import re
import shutil
import unicodedata
from collections.abc import Iterator

WIDEST = 100
"""Lines longer than this are hard to read, however wide a terminal is."""

_STRUNG = re.compile(r"[^;]*;|[^;]+")
# A space that is no ASCII, such as U+00A0 and U+3000, is part of a name.
_WORD = re.compile(r"([ \t\n\r\f\v]*)([^ \t\n\r\f\v]+)")


def terminal_width() -> int:
    """Return how wide lines may be: as the terminal or `COLUMNS` says, `WIDEST` at most."""
    return min(shutil.get_terminal_size((WIDEST, 0)).columns, WIDEST)


def columns(text: str) -> int:
    """Return how many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_letter, text))


def fitted(text: str, width: int) -> str:
    """Return a text of exactly `width` columns: filled up, or cut with `..` at the end."""
    taken = columns(text)
    if taken > width:
        dots = ".."[:width]
        text, taken = _beginning(text, width - len(dots))
        text, taken = text + dots, taken + len(dots)
    return text + " " * (width - taken)


def wrapped(text: str, width: int, head: str, indent: int) -> Iterator[str]:
    """Yield lines of a text, the first with `head` in front, the others indented.

    Words stay whole, also one that is longer than a line: an id or an address can be copied. Only
    what is strung together by semicolons, as the trace of a decision, may end a line with one.
    """
    line, taken, is_begun = head, columns(head), False
    for gap, word in _pieces(text, width - indent):
        length = columns(word)
        if is_begun and taken + len(gap) + length > width:
            yield line
            line, taken, is_begun = " " * indent, indent, False
        between = len(gap) if is_begun else 0
        line += " " * between + word
        taken += between + length
        is_begun = True
    if is_begun:
        yield line


def _pieces(text: str, room: int) -> Iterator[tuple[str, str]]:
    """Yield the words, each with the gap before it; what has no room is parted at semicolons."""
    for gap, word in _WORD.findall(text):
        parts = _STRUNG.findall(word) if columns(word) > room else [word]
        yield from zip([gap, *[""] * (len(parts) - 1)], parts, strict=True)


def _beginning(text: str, width: int) -> tuple[str, int]:
    taken = 0
    for place, letter in enumerate(text):
        if taken + _letter(letter) > width:
            return text[:place], taken
        taken += _letter(letter)
    return text, taken


def _letter(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def harmless(text: str) -> str:
    """Return text in which escape sequences and changes of direction do nothing.

    The latter (U+202A to U+202E, U+2066 to U+2069) let what stands on a line be read in another
    order than it has: https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters.
    """
    return text.translate(_ACTIVE)


_ACTIVE = dict.fromkeys(
    (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    "\ufffd",
)
