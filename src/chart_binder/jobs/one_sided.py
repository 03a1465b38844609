"""What only one of two tables of paths has is one thing, not a difference in each of its fields."""

import re
from collections.abc import Iterator, Mapping

from chart_binder.llm.result import counted

_MEMBER = re.compile(r"\](?=\.)")
_NAMES = ("title", "first_release_date", "date", "country", "label")
"""What tells a recording, a release group or a release from another, where it is known."""


def folded(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    """Return the first table with each member of a list that the second lacks in one line.

    A table is that of `flat`: `recording_candidates[ID].rg_candidates[ID].title`.
    """
    there = {member for path in other for member in _members(path)}
    alone: dict[str, list[str]] = {}
    rest: dict[str, object] = {}
    for path, value in one.items():
        outermost = next((member for member in _members(path) if member not in there), None)
        if outermost is None:
            rest[path] = value
        else:
            alone.setdefault(outermost, []).append(path)
    return rest | {member: _described(member, paths, one) for member, paths in alone.items()}


def _members(path: str) -> Iterator[str]:
    """Yield the members of lists that a path is in, the outermost first."""
    return (path[: found.end()] for found in _MEMBER.finditer(path))


def _described(member: str, paths: list[str], table: Mapping[str, object]) -> str:
    known = (table.get(f"{member}.{name}") for name in _NAMES)
    named = ", ".join(str(each) for each in known if each)
    return f"{named or 'unnamed'} (in this run alone, {counted(len(paths), 'field')})"
