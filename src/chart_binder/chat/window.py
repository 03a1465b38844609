"""What the lengths of texts say about the tokens they take."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatError, Message

# Plain English prose stays below five characters a token in the vocabularies of today's models,
# lists of ids and dates are near two and a half, Chinese or Japanese below two.
LOOSEST = 6  # more characters than a token holds on average over any prompt
LOOSE = 5  # more than it usually holds: worth a question
TIGHT_BYTES = 2  # fewer bytes of UTF-8 than a token usually holds
SMALLEST_WINDOW = 2_048  # of what any server allots unasked
TEMPLATE_TOKENS = 16  # what a chat template puts around one message, at most


def refuse_overflow(messages: Sequence[Message], config: LLMConfig) -> None:
    """Raise `ChatError` for a prompt that cannot leave room for a reply."""
    fewest = fewest_tokens(messages)
    if fewest + config.max_tokens > config.num_ctx:
        raise ChatError(
            f"the prompt takes at least {fewest} tokens and llm.max_tokens = {config.max_tokens} "
            f"more, which is over llm.num_ctx = {config.num_ctx}: raise llm.num_ctx"
        )


class Gauge:
    """Holds each conversation of a thread against what its server counted in it a turn before."""

    def __init__(self) -> None:
        self._here = threading.local()

    def doubts(self, messages: tuple[Message, ...], tokens: int) -> bool:
        """Tell whether the server looks to have dropped a part of the prompt."""
        now = Measured(messages, tokens)
        before: Measured | None = getattr(self._here, "measured", None)
        self._here.measured = now
        return looks_cut(now, before)


@dataclass(frozen=True, slots=True)
class Measured:
    """A conversation with the tokens its server counted in it."""

    messages: tuple[Message, ...]
    tokens: int


def fewest_tokens(messages: Sequence[Message]) -> int:
    """Return a number of tokens the messages certainly take."""
    return _characters(messages) // LOOSEST


def most_tokens(messages: Sequence[Message]) -> int:
    """Return a number of tokens the messages hardly exceed."""
    size = sum(len(message.content.encode("utf-8", "replace")) for message in messages)
    return size // TIGHT_BYTES + TEMPLATE_TOKENS * len(messages)


def looks_cut(now: Measured, before: Measured | None) -> bool:
    """Tell whether the server counted too few tokens for the text, or no more than before it grew.

    A server that cuts a prompt keeps about half of its window.
    """
    if now.tokens < _characters(now.messages) // LOOSE:
        return True
    return before is not None and _grew(before, now) and now.tokens <= before.tokens


def _grew(before: Measured, now: Measured) -> bool:
    old = len(before.messages)
    return len(now.messages) > old and now.messages[:old] == before.messages


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message.content) for message in messages)
