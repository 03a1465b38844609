"""A model on an Ollama server."""

import os
from collections.abc import Mapping

from chart_binder.chat.capabilities import OLLAMA_NAME, Fields, Optional
from chart_binder.chat.http import Endpoint
from chart_binder.chat.served_model import Question, Served
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatModel, Reply

_SCHEMA = Optional("format", marks=("format", "schema", "grammar"), statuses={400, 500, 501})
"""What an old version, which knows no schemas, declines."""


def connect(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ChatModel:
    """Return the configured model, without a word to its server yet.

    Raises `ConfigError` for an impossible `base_url`, and for an `api_key_env` that is not set.
    """
    return Served(config, Endpoint.of(config, environ), Ollama())


class Ollama:
    """The `Kind` of server that speaks Ollama's own format."""

    name = OLLAMA_NAME
    more_context = "raise llm.num_ctx, or choose a model with more context"
    may_decline = (_SCHEMA,)

    def optional(self, question: Question) -> Fields:
        """Return the schema, if one is wanted."""
        schema = question.terms.schema
        return {_SCHEMA.name: schema} if schema else {}

    def ask(self, question: Question, optional: Fields) -> Reply:
        """Ask once, with these optional fields; raise `ChatError`."""
        from chart_binder.chat.ollama_server import ask  # 350 ms of libraries

        return ask(question, optional)

    def allotted(self, question: Question) -> int | None:
        """Return the context in tokens the model really has, if its server tells."""
        from chart_binder.chat.ollama_server import Server  # as above

        server = Server(question.endpoint, question.config.model_id, question.deadline)
        return server.allotted()
