"""A model on a server that speaks OpenAI's format: vLLM, llama.cpp, LM Studio, Ollama's /v1."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from chart_binder.chat.capabilities import OPENAI_NAME, Fields, Optional
from chart_binder.chat.http import Endpoint
from chart_binder.chat.served_model import Question, Served
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatModel, Reply

_COUNTS = Optional("stream_options", marks=("stream_options", "include_usage"), statuses={400, 422})
_SCHEMA = Optional(
    "response_format",
    marks=("response_format", "json_schema", "schema", "grammar", "guided", "structured"),
    statuses={400, 422, 500, 501},
)
_SEED = Optional("seed", marks=("seed",), statuses={400, 422})
_VERSION = re.compile(r"/v\d[^/]*(/|$)")
_OPERATION = re.compile(r"/(chat/completions|completions|models)$")


def connect(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ChatModel:
    """Return the configured model, without a word to its server yet.

    Raises `ConfigError` for an impossible `base_url`, and for an `api_key_env` that is not set.
    """
    return Served(config, api_at(Endpoint.of(config, environ)), OpenAI())


def api_at(endpoint: Endpoint) -> Endpoint:
    """Return where the API begins: `/v1` below the address, unless a version is in it already."""
    address = _OPERATION.sub("", endpoint.address)
    versioned = _VERSION.search(urlsplit(address).path)
    return replace(endpoint, address=address if versioned else f"{address}/v1")


class OpenAI:
    """The `Kind` of server that speaks OpenAI's format.

    Counts in a stream, a seed and a schema are asked for, and done without where a server declines
    them.
    """

    name = OPENAI_NAME
    more_context = "start the server with more context for it, or set llm.num_ctx to what it has"
    may_decline = (_COUNTS, _SCHEMA, _SEED)

    def optional(self, question: Question) -> Fields:
        """Return what a server may decline."""
        fields: dict[str, object] = {_SEED.name: question.config.seed}
        if question.config.stream:
            fields[_COUNTS.name] = {"include_usage": True}
        if question.terms.schema:
            schema = {"name": "answer", "strict": True, "schema": question.terms.schema}
            fields[_SCHEMA.name] = {"type": "json_schema", "json_schema": schema}
        return fields

    def ask(self, question: Question, optional: Fields) -> Reply:
        """Ask once, with these optional fields; raise `ChatError`."""
        from chart_binder.chat.openai_server import ask  # 200 ms of libraries

        return ask(question, optional)

    def allotted(self, question: Question) -> int | None:
        """Return the context in tokens the model really has, if its server tells."""
        from chart_binder.chat.openai_server import Server  # as above

        server = Server(question.endpoint, question.config.model_id, question.deadline)
        return server.window()
