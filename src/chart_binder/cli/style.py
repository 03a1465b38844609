"""Colour: the words of a printed line that get a style, and the streams that show it.

Lines are coloured when they are printed, after wrapping; the code that makes them knows no style.
"""

import os
import re
import sys
from contextvars import ContextVar

import click

_GOOD, _WAITING, _BAD, _DATE = "green", "yellow", "red", "cyan"
_STATES = {
    **dict.fromkeys(("decided", "ok", "written", "put back"), _GOOD),
    **dict.fromkeys(
        ("review", "undecided", "unmatched", "unreadable", "warning", "not written"), _WAITING
    ),
    **dict.fromkeys(("error", "failed"), _BAD),
}
"""The colour of each state."""
_STYLED = re.compile(
    r"https?://\S+"  # addresses stay plain
    r"|(?<=  )(?P<before>(?:(?!  |; ).){1,40}?) -> (?P<after>.+)"
    # States and bare years count only as labels or cells, not within sentences.
    rf"|(?:^ *|(?<=  )|(?<=: ))(?P<state>{'|'.join(_STATES)})(?=  |:|,|$)"
    r"|(?P<date>(?<![\w/-])(?:1[89]|20)\d\d-\d\d(?:-\d\d)?(?![\w-])"
    r"|(?:^ *|(?<=  )|(?<=\()|(?<=released ))(?:1[89]|20)\d\d(?=  |\)|,| or earlier|\?|$))"
)
_colour_choice: ContextVar[str] = ContextVar("colour", default="auto")


def choose_colour(when: str) -> None:
    """Colour the lines of this call `always`, `never`, or `auto`: on terminals only."""
    _colour_choice.set(when)


def is_coloured(*, err: bool) -> bool:
    """Return whether a stream is coloured; for `auto`, `NO_COLOR` (no-color.org) turns it off."""
    if _colour_choice.get() != "auto":
        return _colour_choice.get() == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return (sys.stderr if err else sys.stdout).isatty()


def coloured(line: str) -> str:
    """Return a line with its states, dates and changes in colour."""
    return _STYLED.sub(_styled, line)


def _styled(match: re.Match[str]) -> str:
    text = match[0]
    if match["before"]:
        return f"{click.style(match['before'], _BAD)} -> {click.style(match['after'], _GOOD)}"
    for name in ("state", "date"):
        if word := match[name]:
            words = word.lstrip(" ")
            colour = _DATE if name == "date" else _STATES[words]
            return text.removesuffix(words) + click.style(words, colour)
    return text
