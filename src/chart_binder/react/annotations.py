"""An annotation's limits are understood whichever library they were written with."""

import types
import typing
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from typing import Annotated, Any, Final, Literal, Union

import msgspec

_LIMITS: Final = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")
_WORDS: Final = ("description", "documentation")


def understood(annotation: Any, description: str = "") -> Any:
    """Return a type with its limits and its description in the form that `msgspec` checks.

    In `Annotated`, a text is a description; what has attributes such as `ge`, `max_length` or
    `description` is read by them: `msgspec.Meta`, `annotated_types`, pydantic's `Field`. Marks that
    say nothing of the kind are passed over, as Python asks. `description` counts where the
    annotation has none. Raises `TypeError` or `ValueError` for limits that contradict each other.
    """
    kind, marks = annotation, list[object]()
    if typing.get_origin(annotation) is Annotated:
        kind, *marks = typing.get_args(annotation)
    limits = dict(_limits(marks))
    about = next(_words(marks), description)
    limited = _limited(_inside(kind), limits)
    return Annotated[limited, msgspec.Meta(description=about)] if about else limited


def _inside(kind: Any) -> Any:
    """Return a type with the types inside it understood."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is None or origin is Literal or not inner:
        return kind
    parts = tuple(part if part is Ellipsis else understood(part) for part in inner)
    return reduce(or_, parts) if _is_union(origin) else origin[parts]


def _limited(kind: Any, limits: dict[str, Any]) -> Any:
    """Lay limits on a type; on an optional one they hold for what is not null."""
    if not limits:
        return kind
    if _is_union(typing.get_origin(kind)):
        parts = typing.get_args(kind)
        kinds = [part for part in parts if part is not types.NoneType]
        if len(kinds) == 1 < len(parts):
            return _limited(kinds[0], limits) | None
    return Annotated[kind, msgspec.Meta(**limits)]


def _is_union(origin: Any) -> bool:
    return origin in {Union, types.UnionType}


def _limits(marks: Iterable[object]) -> Iterator[tuple[str, object]]:
    for mark in _unfolded(marks):
        for name in _LIMITS:
            if isinstance(value := getattr(mark, name, None), int | float | str):
                yield name, value


def _words(marks: Iterable[object]) -> Iterator[str]:
    for mark in _unfolded(marks):
        texts = (mark if isinstance(mark, str) else getattr(mark, name, None) for name in _WORDS)
        yield from (text for text in texts if isinstance(text, str) and text)


def _unfolded(marks: Iterable[object]) -> Iterator[object]:
    """Yield the marks, those inside a mark (a pydantic `Field`) too."""
    for mark in marks:
        yield mark
        within = getattr(mark, "metadata", None)
        if isinstance(within, list | tuple):
            yield from within
