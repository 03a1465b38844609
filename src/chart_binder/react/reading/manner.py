"""What tells one dialect's turns from another's when a reply is read."""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from chart_binder.react.reading.advice import Wording

Writing: TypeAlias = Literal["classic", "pause", "labels", "tags", "object"]
"""How a step was written; `labels` are those that `classic` and `pause` share."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How one dialect's replies are read.

    `spoken` are the tags that other dialects take for hidden thinking; where `several` calls a turn
    are allowed, each has an id.
    """

    name: str
    wording: Wording
    spoken: frozenset[str] = field(default_factory=frozenset)
    several: bool = False


_DIALECT_OF: Final[dict[Writing, tuple[str, ...]]] = {
    "classic": ("classic",),
    "pause": ("pause",),
    "labels": ("classic", "pause"),
    "tags": ("xml",),
}
"""The dialects that a writing belongs to; a turn written as an object belongs to all."""


def foreign(writing: Writing, manner: Manner) -> tuple[str, ...]:
    """Return a note where a step was written in another dialect than the one asked for."""
    dialects = _DIALECT_OF.get(writing, (manner.name,))
    return () if manner.name in dialects else (f"written in the {dialects[0]} dialect",)
