"""Whether an OpenAI-compatible server can do what the configuration asks of it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from chart_binder.chat.deadline import Deadline
from chart_binder.chat.endpoint import Endpoint
from chart_binder.chat.health import PATIENCE_S, Health
from chart_binder.chat.ollama_says import spellings
from chart_binder.chat.openai import api_at
from chart_binder.chat.openai_says import Server, advice
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError
from chart_binder.masking import masked
from chart_binder.react.conversation import ChatError


def check(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> Health:
    """Ask the server for its models and the context of the configured one; never raises for it."""
    try:
        endpoint = api_at(Endpoint.of(config, environ))
    except ConfigError as error:
        return Health(masked(config.base_url), config.model_id, problems=(str(error),))
    health = Health(endpoint.address, config.model_id)
    with Deadline(min(PATIENCE_S, config.timeout_s)) as deadline:
        server = Server(endpoint, config.model_id, deadline)
        try:
            health = replace(health, models=server.models())
        except ChatError as error:
            return replace(health, problems=(str(error),))
        health = replace(health, context_length=server.window())
    return replace(health, problems=tuple(_misfits(health, config)))


def _misfits(health: Health, config: LLMConfig) -> Iterator[str]:
    model, window = health.model_id, health.context_length
    if not spellings(model) & set(health.models):
        yield f"model {model!r} is not on the server at {health.address}: {advice(health.models)}"
    elif window is not None and config.num_ctx > window:
        yield (
            f"llm.num_ctx = {config.num_ctx} is more than the {window} tokens that model {model!r} "
            f"has at {health.address}: lower it to {window}, or start the server with more"
        )
