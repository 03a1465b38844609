"""A model for smolagents that has its replies ready."""

from collections.abc import Sequence
from typing import Any

from smolagents import ChatMessage, Model


class Instant(Model):
    """Gives `replies` in turn, the first after the last."""

    def __init__(self, replies: Sequence[str]) -> None:
        super().__init__()
        self._replies = replies
        self._told = 0

    def generate(self, *_: Any, **__: Any) -> Any:
        """Return the next reply."""
        self._told += 1
        text = self._replies[(self._told - 1) % len(self._replies)]
        return ChatMessage(role="assistant", content=text)
