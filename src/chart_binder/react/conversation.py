"""A conversation with a chat model: messages, replies, and the protocol that a model implements."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, runtime_checkable

_log = logging.getLogger(__name__)

MAX_PROBLEM_CHARS: Final = 1_000

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    With `answer_stands`, it sends an answer back that counts unless another follows. A server is
    not told so.
    """

    role: Role
    content: str
    answer_stands: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a model; `done_reason` is why it ended (`stop`, `length`, ...).

    The server counts the tokens; `seconds` is wall-clock time.
    """

    content: str
    thinking: str | None = None
    done_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """The options of one reply. A model ignores those that it cannot follow.

    The reply ends before any of the texts `stop`, follows the JSON `schema`, and is complete within
    `seconds`. `on_token` is called with each piece of the text as it arrives. `temperature`
    replaces the configured one. Without `may_think` the model answers at once, unless the
    configuration makes it think.
    """

    stop: tuple[str, ...] = ()
    schema: Mapping[str, object] | None = None
    on_token: Callable[[str], None] | None = None
    seconds: float | None = None
    temperature: float | None = None
    may_think: bool = True


class ChatError(Exception):
    """A model could not be asked; the text tells the operator why, and what to do.

    The text may quote a server, so it is reduced to one printable line of `MAX_PROBLEM_CHARS`.
    """

    def __init__(self, problem: object = "") -> None:
        super().__init__(plain_line(str(problem), MAX_PROBLEM_CHARS))


class UnreachableError(ChatError):
    """Nothing answers at the model's address, so other requests would fail as well."""


class ChatModel(Protocol):
    """A model that continues a conversation."""

    @property
    def model_id(self) -> str:
        """The model's name, as results and transcripts show it."""

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the next reply, or raise `ChatError`."""


@runtime_checkable
class ModelWithContext(ChatModel, Protocol):
    """A model that knows its context: a prompt has at most `num_ctx` minus `max_tokens` tokens."""

    @property
    def num_ctx(self) -> int:
        """The context in tokens."""

    @property
    def max_tokens(self) -> int:
        """The largest number of tokens of a reply."""


def plain_line(text: str, max_chars: int) -> str:
    """Return a text as one line of at most `max_chars` printable characters."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text[: 8 * max_chars])
    line = " ".join(printable.split())
    return line if len(line) <= max_chars else f"{line[:max_chars]}..."


@contextmanager
def wrap_plugin_errors(
    wrap: Callable[[Exception], Exception], *passed_on: type[Exception]
) -> Iterator[None]:
    """Run a plug-in's code; raise `wrap(error)` for any exception other than `passed_on`.

    This is the one broad `except` around code of other packages, whose defects must not affect
    other files or other turns. If `wrap` returns the error itself, it is raised again unchanged.
    """
    try:
        yield
    except passed_on:
        raise
    except Exception as error:
        wrapped = wrap(error)
        if wrapped is error:
            raise
        raise wrapped from error


def ask(chat: ChatModel, messages: Sequence[Message], options: GenerationOptions) -> Reply:
    """Return the model's reply, as text that UTF-8 can encode.

    Raises `ChatError` if the model raises an exception or returns anything but a reply. Exceptions
    of `on_token`, which belongs to the caller, are passed on.
    """
    name, on_token, is_listening = f"the chat model {chat.model_id!r}", options.on_token, False

    def listen(piece: str) -> None:
        nonlocal is_listening
        is_listening = True
        assert on_token is not None
        on_token(piece)
        is_listening = False

    def wrap(error: Exception) -> Exception:
        if is_listening:
            return error
        _log.warning("%s failed", name, exc_info=error)
        return ChatError(f"{name} failed with {type(error).__name__}: look into the log")

    with wrap_plugin_errors(wrap, ChatError):
        reply = chat.reply(messages, replace(options, on_token=listen) if on_token else options)
    if not (isinstance(reply, Reply) and isinstance(reply.content, str)):
        raise ChatError(f"{name} returned no Reply with text")
    thinking = encodable(reply.thinking) if reply.thinking else None
    return replace(reply, content=encodable(reply.content), thinking=thinking)


def encodable(text: str) -> str:
    """Replace lone surrogates in a text, because a server may stream half a character."""
    return text.encode("utf-8", "replace").decode()
