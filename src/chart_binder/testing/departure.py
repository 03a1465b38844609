"""A conversation that departs from its transcript, told turn by turn."""

import json
from collections.abc import Iterable, Iterator
from difflib import unified_diff

from chart_binder.react.asking import PlayedWrongError

_HOW_TO_MEND = "If the change is meant, record the run anew: docs/testing.md says how."
_MOST_COMPARED, _MOST_LINES, _MOST_CHARACTERS = 1_000, 40, 500


class Departure(PlayedWrongError):  # noqa: N818 (it is what happened, and pytest shows its name)
    """The conversation is not the recorded one: what was played, what was expected, what came."""


def departure(name: str, where: str, expected: str, found: str, played: Iterable[str]) -> Departure:
    """Return the departure from the transcript `name`, after what was `played` as recorded."""
    lines = [
        f"the conversation departs from {name}: {where}",
        *(f"  as recorded  {line}" for line in played),
        *_versus(expected, found),
        _HOW_TO_MEND,
    ]
    return Departure("\n".join(lines))


def brief(text: str, most: int = 90) -> str:
    """Return text on one line, cut to `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def call_text(tool: str | None, arguments: object) -> str:
    """Return a call as a person reads it."""
    return f"{tool} {json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)}"


def _versus(expected: str, found: str) -> Iterator[str]:
    """Yield both where they are a line each, else the lines that differ."""
    a, b = (text.splitlines()[:_MOST_COMPARED] for text in (expected, found))
    if max(len(a), len(b)) <= 1:
        yield f"  expected     {''.join(a)[:_MOST_CHARACTERS]}"
        yield f"  found        {''.join(b)[:_MOST_CHARACTERS]}"
        return
    yield "  expected (-) and found (+):"
    differing = list(unified_diff(a, b, lineterm="", n=1))[3:]
    yield from (f"    {line[:_MOST_CHARACTERS]}" for line in differing[:_MOST_LINES])
    if len(differing) > _MOST_LINES:
        yield f"    ... {len(differing) - _MOST_LINES} lines more"
