"""A model behind a server, whatever the server's kind."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Protocol

from chart_binder.chat.aloud import aloud
from chart_binder.chat.concessions import Concessions, Fields, Optional
from chart_binder.chat.deadline import Deadline
from chart_binder.chat.endpoint import Endpoint
from chart_binder.chat.patience import patiently
from chart_binder.chat.spoken import speakable
from chart_binder.chat.window import SMALLEST_WINDOW, Gauge, most_tokens, refuse_overflow
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatError, Message, Reply, Terms


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
