"""A chat model is somebody else's code: it gives a whole reply, or there is a `ChatError`."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from chart_binder.react.conversation import ChatError, ChatModel, Message, Reply, Terms
from chart_binder.react.foreign import foreign

_log = logging.getLogger(__name__)
_MOST_TOKENS: Final = 2**53  # far more than there are, few enough for any reader of JSON


class PlayedWrongError(AssertionError):
    """What plays a model in a test was asked what it must not be: this passes through the loop."""


def ask(chat: ChatModel, messages: Sequence[Message], terms: Terms) -> Reply:
    """Return the model's reply in text that UTF-8 can hold, counts that make no sense left out.

    Raises `ChatError` for whatever the model raises or gives in place of a reply. What the listener
    raises is the caller's own, and passes through.
    """
    listener = _Listener(terms)

    def defect(error: Exception) -> Exception:
        if listener.is_hearing:
            return error
        _log.warning("the chat model %r failed", chat.model_id, exc_info=error)
        return ChatError(
            f"the chat model {chat.model_id!r} failed, by a defect of its plug-in: look into the"
            " log"
        )

    with foreign(defect, ChatError, PlayedWrongError):
        reply = chat.reply(messages, listener.terms)
    if not (isinstance(reply, Reply) and isinstance(reply.content, str)):
        raise ChatError(
            f"the chat model {chat.model_id!r} gave no reply: its plug-in must return a Reply with"
            " text"
        )
    return _legible(reply)


@dataclass(slots=True)
class _Listener:
    """Hears for the one in the terms, and knows whether that one was hearing when it failed."""

    wanted: Terms
    is_hearing: bool = False

    @property
    def terms(self) -> Terms:
        return self.wanted if self.wanted.listen is None else replace(self.wanted, listen=self.hear)

    def hear(self, piece: str) -> None:
        assert self.wanted.listen is not None
        self.is_hearing = True
        self.wanted.listen(piece)
        self.is_hearing = False


def _legible(reply: Reply) -> Reply:
    """Replace lone surrogates: a server that streams tokens may send half a letter."""
    return Reply(
        _whole(reply.content),
        _whole(reply.thinking) if isinstance(reply.thinking, str) else None,
        _whole(reply.done_reason) if isinstance(reply.done_reason, str) else None,
        _count(reply.prompt_tokens),
        _count(reply.completion_tokens),
        _seconds(reply.seconds),
    )


def _whole(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _count(tokens: object) -> int | None:
    return tokens if isinstance(tokens, int) and 0 <= tokens <= _MOST_TOKENS else None


def _seconds(taken: object) -> float:
    return taken if isinstance(taken, int | float) and 0 <= taken < math.inf else 0.0
