"""A dialect is a way for a model to write its steps as plain text."""

from collections.abc import Sequence
from typing import Protocol

from chart_binder.react.conversation import Message
from chart_binder.react.steps import Act, Finish, Step
from chart_binder.react.tools import Tool


class Dialect(Protocol):
    """How steps are asked for, read, written, and answered.

    Only the model's own last reply is ever parsed, never the conversation. A dialect reads; it
    neither calls a tool nor knows which tools there are when it reads.
    """

    @property
    def name(self) -> str:
        """The name of its entry point, as configuration and a transcript show it."""
        ...

    @property
    def stop(self) -> tuple[str, ...]:
        """What a server should end a reply before; a reply may hold it all the same."""
        ...

    def instructions(self, tools: Sequence[Tool]) -> str:
        """Return the part of the system prompt that lists the tools and says how to write a step.

        The same tools give the same text, byte for byte.
        """
        ...

    def parse(self, reply: str) -> Step:
        """Read one reply. Takes any text: it raises nothing and costs time linear in its length."""
        ...

    def render(self, step: Act | Finish) -> str:
        """Write a step so that `parse` reads it back equal but for the notes."""
        ...

    def observation(self, content: str) -> Message:
        """Return the message that shows the model what came of its step."""
        ...
