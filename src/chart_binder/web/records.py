"""Data made for programs, told as lines: a record of a list is a line, or a few under its name.

`releases[3]: title: Killer Queen | date: 1974-10-11`; a value that is in no list is a line of its
own, `artist.name: Queen`.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

Value: TypeAlias = "Mapping[str, Value] | list[Value] | str | float | bool | None"

_LONGEST_LINE = 240
_LONGEST_NAME = 60
_NAMES = ("title", "name")
_BETWEEN = " | "
_END = object()


def told(document: object) -> Iterator[str]:
    """Yield a document as lines, in its order; what is null or empty is left out."""
    return _told(document, "")


def _told(value: object, path: str) -> Iterator[str]:
    # Iterators, not lists: a list of a hundred thousand empty objects has as many names.
    pending: list[Iterator[tuple[str, object]]] = [iter([(path, value)])]
    while pending:
        path, value = next(pending[-1], (path, _END))
        if value is _END:
            pending.pop()
        elif isinstance(value, Mapping):
            pending.append(_members(path, value))
        elif isinstance(value, list):
            pending.append(_items(path, value))
        elif isinstance(value, _Record):
            yield from _lines(path, value.members)
        elif value not in (None, ""):
            yield f"{path}: {value}" if path else str(value)


def _members(path: str, value: "Mapping[str, object]") -> Iterator[tuple[str, object]]:
    return ((f"{path}.{name}".lstrip("."), member) for name, member in value.items())


def _items(path: str, value: list[object]) -> Iterator[tuple[str, object]]:
    return (
        (f"{path}[{at}]", _Record(item) if isinstance(item, Mapping) else item)
        for at, item in enumerate(value)
    )


class _Record:
    """An object in a list."""

    def __init__(self, members: Mapping[str, object]) -> None:
        self.members = members


def _lines(path: str, record: Mapping[str, object]) -> Iterator[str]:
    """Put the values of a record side by side; where it takes several lines, each has its name."""
    names = (record.get(name) for name in _NAMES)
    name = next((name[:_LONGEST_NAME] for name in names if isinstance(name, str) and name), "")
    again = f"{path} ({name}): " if name else f"{path}: "
    line, is_empty = f"{path}: ", True
    for value in _leaves(record):
        if not is_empty and len(line) + len(_BETWEEN) + len(value) > _LONGEST_LINE:
            yield line
            line, is_empty = again, True
        line += value if is_empty else _BETWEEN + value
        is_empty = False
    if not is_empty:
        yield line


def _leaves(record: Mapping[str, object]) -> Iterator[str]:
    """Yield `path: value` for every value of a record; the only item of a list needs no number."""
    pending: list[tuple[str, object]] = [("", record)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Mapping):
            inner = [(f"{path}.{name}".lstrip("."), value[name]) for name in value]
            pending.extend(reversed(inner))
        elif isinstance(value, list):
            alone = len(value) == 1
            items = [(path if alone else f"{path}[{at}]", each) for at, each in enumerate(value)]
            pending.extend(reversed(items))
        elif value not in (None, ""):
            yield f"{path}: {value}"
