"""A dialect is a way for a model to write its steps as plain text."""

from collections.abc import Sequence
from typing import Protocol

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

    def tools(self, tools: Sequence[Tool]) -> str:
        """List the tools for the system prompt: the same text for the same ones, byte for byte."""
        ...

    def form(self, tools: Sequence[Tool]) -> str:
        """Say in the system prompt how to write a step, with `tools` to call or with none."""
        ...

    def parse(self, reply: str) -> Step:
        """Read one reply. Takes any text: it raises nothing and costs time linear in its length."""
        ...

    def render(self, step: Act | Finish) -> str:
        """Write a step so that `parse` reads it back equal but for the notes."""
        ...

    def observation(self, content: str, of: Act | None = None) -> str:
        """Write what came of one call, or of a turn that called nothing."""
        ...
