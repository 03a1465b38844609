"""Whether an Ollama server can do what the configuration asks of it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from chart_binder.chat.deadline import Deadline
from chart_binder.chat.endpoint import Endpoint
from chart_binder.chat.health import PATIENCE_S, Health
from chart_binder.chat.ollama_says import Card, Server, spellings
from chart_binder.chat.server_names import OLLAMA_NAME
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError
from chart_binder.masking import masked
from chart_binder.react.conversation import ChatError


def check(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> Health:
    """Ask the server for its version, its models and the configured one; never raises for it."""
    try:
        endpoint = Endpoint.of(config, environ)
    except ConfigError as error:
        return Health(masked(config.base_url), config.model_id, problems=(str(error),))
    with Deadline(min(PATIENCE_S, config.timeout_s)) as deadline:
        return _examine(Server(endpoint, config.model_id, deadline), config)


def _examine(server: Server, config: LLMConfig) -> Health:
    health = Health(server.endpoint.address, config.model_id)
    try:
        health = replace(health, server=f"{OLLAMA_NAME} {server.version()}")
        health = replace(health, models=server.models())
        card = server.card()
    except ChatError as error:
        return replace(health, problems=(_with_choice(str(error), health),))
    return replace(
        health,
        context_length=card.context_length,
        problems=tuple(_misfits(card, config)),
        loaded_length=_allotted(server),
    )


def _allotted(server: Server) -> int | None:
    """Return the context that the model has at the moment; older servers do not tell."""
    try:
        return server.allotted()
    except ChatError:
        return None


def _with_choice(problem: str, health: Health) -> str:
    if not health.models or spellings(health.model_id) & set(health.models):
        return problem
    return f"{problem} (or set llm.model_id to one it has: {', '.join(health.models)})"


def _misfits(card: Card, config: LLMConfig) -> Iterator[str]:
    model = config.model_id
    if card.capabilities and "completion" not in card.capabilities:
        can = ", ".join(card.capabilities)
        yield f"model {model!r} cannot chat, only: {can}; set llm.model_id to one that can"
    if config.observation_role == "tool" and card.capabilities and "tools" not in card.capabilities:
        yield (
            f"model {model!r} has no place for messages of the role 'tool': "
            'set llm.observation_role = "user"'
        )
    if card.context_length is not None and config.num_ctx > card.context_length:
        yield (
            f"llm.num_ctx = {config.num_ctx} is more than the {card.context_length} tokens "
            f"model {model!r} was made for: lower it to {card.context_length}"
        )
