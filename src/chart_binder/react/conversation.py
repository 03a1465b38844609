"""A conversation with a model that answers in text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

MOST_OF_A_PROBLEM = 1_000

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered once.

    `done_reason` is why it ended (`stop`, `length`, ...), `thinking` what a server sent apart
    from the content; token counts are the server's own and `seconds` is wall-clock time.
    """

    content: str
    thinking: str | None = None
    done_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0


class Enough(Protocol):
    """Knows while a reply is being written whether the rest of it can count."""

    def suspects(self, line: str) -> bool:
        """Tell, at little cost, whether nothing may count from a line on, by its beginning."""
        ...

    def settled(self, text: str, line: str) -> bool:
        """Tell whether nothing counts from a suspected line on, with the text before it."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """How a reply is wanted. A model that cannot keep to one of them leaves it aside.

    The reply ends before any of `stop`; it has the form of the JSON schema `schema`; `listen` hears
    the text piece by piece, as it comes; it is whole within `seconds`. `enough` tells where one
    that is still being written may end, for want of it a line that begins with one of `stop`.
    """

    stop: tuple[str, ...] = ()
    schema: Mapping[str, object] | None = None
    listen: Callable[[str], None] | None = None
    seconds: float | None = None
    enough: Enough | None = None


class ChatError(Exception):
    """A model could not be asked; the text is one sentence for the operator, with what to do.

    It may hold words of a server: it is one line of at most `MOST_OF_A_PROBLEM` characters, and
    without any that do something to a terminal.
    """

    def __init__(self, problem: object = "") -> None:
        super().__init__(plain_line(str(problem), MOST_OF_A_PROBLEM))


def plain_line(text: str, most: int) -> str:
    """Return at most `most` characters of a text on one line, those left out that are unseen."""
    seen = "".join(letter if letter.isprintable() else " " for letter in text[: 8 * most])
    line = " ".join(seen.split())
    return line if len(line) <= most else f"{line[:most]}..."


class ChatModel(Protocol):
    """A model that continues a conversation."""

    @property
    def model_id(self) -> str:
        """The model's name, as a result and a transcript show it."""
        ...

    def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:
        """Return the next reply, or raise `ChatError`."""
        ...
