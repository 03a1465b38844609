"""A conversation with a model that answers in text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

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


class ChatError(Exception):
    """A model could not be asked; the text is one sentence for the operator, with what to do."""


class ChatModel(Protocol):
    """A model that continues a conversation."""

    @property
    def model_id(self) -> str:
        """The model's name, as a result and a transcript show it."""
        ...

    def reply(self, messages: Sequence[Message], *, stop: Sequence[str]) -> Reply:
        """Return the next reply, cut before any of `stop`, or raise `ChatError`."""
        ...
