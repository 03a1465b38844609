"""A conversation as one text that the model goes on writing.

The system prompt, the evidence, the turns and their observations follow each other as they are,
each with an empty line after it: the dialect has put a label on every step and observation. A
message changes nothing of what stands before it, so each text begins with the one of the turn
before, which is what a server's prompt cache asks for.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Protocol

from chart_binder.chat.capabilities import Concessions, Fields, Optional, patiently
from chart_binder.chat.http import Deadline, Endpoint
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatError, Message, Reply, Terms
from chart_binder.react.parsing.thinking import strip_thinking


def speakable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages that say something, in text that UTF-8 can hold.

    Lone surrogates, as file names and broken pages hold them, are replaced. A message without
    content would be sent without the field by some libraries, and be refused by some servers.
    """
    return tuple(
        replace(message, content=message.content.encode("utf-8", "replace").decode())
        for message in messages
        if message.content
    )


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


class UnsaidError(ChatError):
    """A model stopped before it had said a word, though it was thinking."""


def aloud(ask: Callable[[tuple[str, ...]], Reply], stop: tuple[str, ...]) -> Reply:
    """Return what `ask` returns, told the stop strings to send; raise `ChatError` as it does.

    A model that thinks about its format writes the very words that are to end its turn, and a
    server looks for them in the thinking, too.
    """
    try:
        reply = ask(stop)
    except UnsaidError:
        if not stop:
            raise
        return ask(())
    if not (stop and reply.done_reason == "stop" and strip_thinking(reply.content).unclosed):
        return reply
    try:
        return ask(())
    except ChatError:  # half a thought is better than none: the model is told what to write
        return reply


@dataclass(frozen=True, slots=True)
class Question:
    """What a server is asked, over and over until it answers or the deadline is over.

    `stop` are the stop strings it is sent.
    """

    endpoint: Endpoint
    config: LLMConfig
    messages: tuple[Message, ...]
    terms: Terms
    deadline: Deadline
    stop: tuple[str, ...] = ()


class Kind(Protocol):
    """How servers of one kind are spoken to."""

    @property
    def name(self) -> str:
        """What sentences call such a server."""
        ...

    @property
    def more_context(self) -> str:
        """What to do where a server gives the model too little context."""
        ...

    @property
    def may_decline(self) -> tuple[Optional, ...]:
        """The optional fields of a request."""
        ...

    def optional(self, question: Question) -> Fields:
        """Return the optional fields that the question calls for."""
        ...

    def ask(self, question: Question, optional: Fields) -> Reply:
        """Ask once, with these optional fields; raise `ChatError`."""
        ...

    def allotted(self, question: Question) -> int | None:
        """Return the context in tokens the model really has, if its server tells."""
        ...


class Served:
    """A `ChatModel` that asks a server; threads may share it, each with one conversation.

    `timeout_s`, or less where the terms say so, is one deadline for a whole reply: loading the
    model, further tries, the last byte. A busy server and a failed connection are tried again as
    long as nothing of a reply has come.
    """

    def __init__(self, config: LLMConfig, endpoint: Endpoint, kind: Kind) -> None:
        self._config = config
        self._endpoint = endpoint
        self._kind = kind
        self._gauge = Gauge()
        self._concessions = Concessions(kind.may_decline)

    @property
    def model_id(self) -> str:
        """The model's name on its server."""
        return self._config.model_id

    def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:
        """Return the next reply, or raise `ChatError`.

        One that is streamed ends where nothing counts any more, whatever the server does. A reply
        that ran into `max_tokens` has the `done_reason` `length`. The listener hears the content
        and no thinking that stands apart from it.
        """
        said = speakable(messages)
        refuse_overflow(said, self._config)
        began = monotonic()
        most_s = self._config.timeout_s
        allowed_s = most_s if terms.seconds is None else min(most_s, terms.seconds)
        with Deadline(allowed_s) as deadline:
            question = Question(self._endpoint, self._config, said, terms, deadline)
            reply = aloud(lambda stop: self._ask(replace(question, stop=stop)), terms.stop)
            counted = reply.prompt_tokens
            if counted is not None and self._gauge.doubts(said, counted):
                self._refuse_cut(question, counted)
        return replace(reply, seconds=monotonic() - began)

    def _ask(self, question: Question) -> Reply:
        return self._concessions.ask(
            self._kind.optional(question),
            lambda fields: patiently(partial(self._kind.ask, question, fields), question.deadline),
        )

    def _refuse_cut(self, question: Question, counted: int) -> None:
        """Raise `ChatError` where the server dropped a part of the prompt, which it never says.

        Few tokens alone prove nothing (some versions count only what their cache did not hold):
        the prompt must also be long enough to overflow the context that was allotted.
        """
        most = most_tokens(question.messages)
        if most <= min(SMALLEST_WINDOW, self._config.num_ctx):
            return
        allotted = self._allotted(question)
        if allotted is None or most > allotted:
            has = f" (it has {allotted})" if allotted else ""
            raise ChatError(
                f"{self._kind.name} cut the prompt for model {self.model_id!r} to {counted} tokens"
                f"{has}, where llm.num_ctx = {self._config.num_ctx}: {self._kind.more_context}"
            )

    def _allotted(self, question: Question) -> int | None:
        try:
            return self._kind.allotted(question)
        except ChatError:  # it will not tell, so nothing speaks against the suspicion
            return None


def growing_text(messages: Sequence[Message]) -> str:
    """Return the conversation up to where the model goes on, at the beginning of a line."""
    return "".join(f"{message.content.rstrip()}\n\n" for message in messages)
