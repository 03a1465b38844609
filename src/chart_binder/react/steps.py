"""The step that one reply of a model asks for, and the observation that follows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Act:
    """Call a tool. `arguments` is a mapping, or the bare text a model wrote in place of one.

    Where a dialect allows several calls a turn, `also` are the further ones, and `id` is the name
    by which the model will know the observation.
    """

    tool: str
    arguments: Mapping[str, object] | str
    thought: str = ""
    notes: tuple[str, ...] = ()
    id: str = ""
    also: tuple["Act", ...] = ()

    @property
    def calls(self) -> tuple["Act", ...]:
        """Every call of the turn, in the order they were written."""
        return (self, *self.also)


@dataclass(frozen=True, slots=True)
class Finish:
    """End with an answer, still as the text the model wrote."""

    answer: str
    thought: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Malformed:
    """Neither: `advice` tells the model, in the second person, what to write instead."""

    advice: str
    notes: tuple[str, ...] = ()


Step: TypeAlias = Act | Finish | Malformed


@dataclass(frozen=True, slots=True)
class Observation:
    """What the model is shown after a step: a tool's answer, or advice.

    `sources` are the addresses the content was read from, `error` is why there is no answer;
    `seconds` is the wall-clock time the tool took.
    """

    content: str
    sources: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0
