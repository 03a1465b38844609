"""A conversation with a model that answers in text."""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

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


@contextmanager
def foreign(
    translated: Callable[[Exception], Exception], *known: type[Exception]
) -> Iterator[None]:
    """Run a plug-in's code: what it raises becomes what `translated` returns, but for `known`.

    A broad except, for a plug-in's own defect must not cost the files and turns beside it.
    """
    try:
        yield
    except known:
        raise
    except Exception as error:
        told = translated(error)
        if told is error:
            raise
        raise told from error


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
