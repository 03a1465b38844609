"""A model on an Ollama server."""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from chart_binder.chat.deadline import Deadline
from chart_binder.chat.endpoint import Endpoint
from chart_binder.chat.patience import patiently
from chart_binder.chat.window import Measured, fewest_tokens, looks_cut, most_tokens
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatError, ChatModel, Message, Reply, Terms

if TYPE_CHECKING:
    from chart_binder.chat.ollama_says import Server


def connect(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ChatModel:
    """Return the configured model, without a word to its server yet.

    Raises `ConfigError` for an impossible `base_url`, and for an `api_key_env` that is not set.
    """
    return Ollama(config, Endpoint.of(config, environ))


class Ollama:
    """A `ChatModel` that asks an Ollama server; threads may share it, each with one conversation.

    `timeout_s` is one deadline for a whole reply: loading the model, further tries, the last byte.
    A busy server and a failed connection are tried again as long as nothing of a reply has come.
    """

    def __init__(self, config: LLMConfig, endpoint: Endpoint) -> None:
        self._config = config
        self._endpoint = endpoint
        self._here = threading.local()

    @property
    def model_id(self) -> str:
        """The model's name on its server."""
        return self._config.model_id

    def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:
        """Return the next reply, or raise `ChatError`.

        A reply that ran into `max_tokens` has the `done_reason` `length`. A message without
        content is left out: the client library would send it without the field.
        """
        from chart_binder.chat.ollama_says import Server  # noqa: PLC0415  # 350 ms
        from chart_binder.chat.ollama_stream import stream_reply  # noqa: PLC0415  # of libraries

        said = tuple(message for message in messages if message.content)
        self._refuse_overflow(said)
        began = monotonic()
        with Deadline(self._config.timeout_s) as deadline:
            ask = partial(stream_reply, self._endpoint, self._config, said, terms.stop, deadline)
            reply = patiently(ask, deadline)
            if reply.prompt_tokens is not None:
                measured = Measured(said, reply.prompt_tokens)
                self._refuse_cut(measured, Server(self._endpoint, self.model_id, deadline))
        return replace(reply, seconds=monotonic() - began)

    def _refuse_overflow(self, messages: Sequence[Message]) -> None:
        """Raise `ChatError` for a prompt that cannot leave room for a reply."""
        config, fewest = self._config, fewest_tokens(messages)
        if fewest + config.max_tokens > config.num_ctx:
            raise ChatError(
                f"the prompt takes at least {fewest} tokens and llm.max_tokens = "
                f"{config.max_tokens} more, which is over llm.num_ctx = {config.num_ctx}: "
                "raise llm.num_ctx"
            )

    def _refuse_cut(self, now: Measured, server: "Server") -> None:
        """Raise `ChatError` where the server dropped a part of the prompt, which it never says.

        Few tokens alone prove nothing (some versions count only what their cache did not hold):
        the prompt must also be long enough to overflow the context that was allotted.
        """
        before: Measured | None = getattr(self._here, "measured", None)
        self._here.measured = now
        if not looks_cut(now, before):
            return
        allotted = _allotted(server)
        if allotted is None or most_tokens(now.messages) > allotted:
            has = "" if allotted is None else f" (it has {allotted})"
            raise ChatError(
                f"Ollama cut the prompt for model {self.model_id!r} to {now.tokens} tokens: raise "
                f"llm.num_ctx = {self._config.num_ctx}, or choose a model with more context{has}"
            )


def _allotted(server: "Server") -> int | None:
    try:
        return server.allotted()
    except ChatError:  # it will not tell, so nothing speaks against the suspicion
        return None
