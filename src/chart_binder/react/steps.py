"""The step that one reply of a model asks for, and the observation that follows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. `arguments` is a mapping, or the bare text that the model wrote instead.

    In a dialect with several calls a turn, `further_calls` are those after the first, and `id`
    names the observation of the call.
    """

    tool: str
    arguments: Mapping[str, object] | str
    thought: str = ""
    notes: tuple[str, ...] = ()
    id: str = ""
    further_calls: tuple["ToolCall", ...] = ()

    @property
    def calls(self) -> tuple["ToolCall", ...]:
        """All calls of the turn, in order."""
        return (self, *self.further_calls)


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """A final answer, as the text that the model wrote."""

    answer: str
    thought: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reply without a step; `advice` tells the model what to write instead."""

    advice: str
    notes: tuple[str, ...] = ()


Step: TypeAlias = ToolCall | FinalAnswer | Unreadable


@dataclass(frozen=True, slots=True)
class Document:
    """What was shown of one source: a page, or an entry in search results with its `number`.

    `address` is the final address of the source, and `aliases` are others that lead to it.
    `headings` stand above the whole text, the most general first; in the text, a line that begins
    with `#` is a heading. `is_fetched` means that the page itself was read and not a search
    engine's excerpt. `links` are the texts and addresses of links on the page worth following.
    """

    address: str
    title: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""
    is_fetched: bool = False
    aliases: tuple[str, ...] = ()
    number: int | None = None
    links: tuple[tuple[str, str], ...] = ()


class ObservationStatus(Enum):
    """Whether a step was carried out, and how that ended."""

    OK = "ok"
    """The tool answered."""
    FAILED = "failed"
    """The tool ran and could not answer."""
    UNAVAILABLE = "unavailable"
    """A service that the tool needs failed, which says nothing about what exists."""
    REFUSED = "refused"
    """Nothing ran; the content is advice."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the model is shown after a step: a tool's answer, or advice.

    `sources` are the addresses that the content was read from, and `documents` hold what it shows
    of each. `error` is the reason if there is no answer; the status is then never `OK`. `remark` is
    what code adds below the content. `seconds` is the wall-clock time that the tool took.
    """

    content: str
    sources: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    documents: tuple[Document, ...] = ()
    remark: str | None = None
    status: ObservationStatus = ObservationStatus.OK

    def __post_init__(self) -> None:
        if self.error is not None and self.status is ObservationStatus.OK:
            object.__setattr__(self, "status", ObservationStatus.FAILED)

    @property
    def shown(self) -> str:
        """The content with the remark below it."""
        return f"{self.content}\n{self.remark}" if self.remark else self.content
