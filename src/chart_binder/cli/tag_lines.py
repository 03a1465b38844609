"""Changes of tags as lines for a person, and as JSON."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from chart_binder.cli.columns import terminal_width, wrapped
from chart_binder.cli.harmless import harmless
from chart_binder.cli.results import readable
from chart_binder.jobs.tag_changes import FieldChange

_STEP = 2
_LABEL = 20
_LEAST = 50
"""A terminal narrower than this has values below their field, not beside it."""


def change_lines(changes: tuple[FieldChange, ...], indent: int = _STEP) -> Iterator[str]:
    """Yield what each field says beside what it is to say, `-` old and `+` new."""
    width = terminal_width()
    for change in changes:
        head = f"{'':{indent}}{change.field.replace('_', ' '):<{_LABEL}} "
        if width - len(head) < _LEAST:
            yield head.rstrip()
            head = " " * (indent + _STEP)
        for sign, texts in (("-", change.old), ("+", change.new)):
            for text in texts:
                lines = wrapped(f"{sign} {text}", width, head, len(head) + 2)
                yield from (harmless(line) for line in lines)
                head = " " * len(head)


def told_line(label: str, text: str, indent: int = _STEP) -> Iterator[str]:
    """Yield a label with its text, wrapped."""
    head = f"{'':{indent}}{label}: "
    yield from map(harmless, wrapped(text, terminal_width(), head, indent + _STEP))


def json_line(path: str, more: dict[str, Any], changes: tuple[FieldChange, ...]) -> bytes:
    """Return one file as a line of JSON; a name that is no UTF-8 is there as bytes too."""
    return file_line(path, more | {"changes": changes})


def file_line(path: str, more: dict[str, Any]) -> bytes:
    """Return what is said of one file as a line of JSON."""
    line: dict[str, Any] = {"path": readable(path)}
    if line["path"] != path:
        line["path_b64"] = base64.b64encode(os.fsencode(path)).decode()
    return msgspec.json.encode(line | more)


def shown_path(path: Path) -> str:
    """Return a path as a terminal may show it."""
    return harmless(readable(str(path)))
