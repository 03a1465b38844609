"""Models on an Ollama server: connecting, checking, asking."""

import os
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from chart_binder.chat.faults import OLLAMA
from chart_binder.chat.http import CONFIGURED, Endpoint, Server
from chart_binder.chat.served_model import (
    Fields,
    Health,
    ListedModel,
    Request,
    ServedModel,
    build_in,
    completion_prompt,
    context_length_at,
    examine,
    is_among,
    list_names,
    merged,
    named_otherwise,
)
from chart_binder.chat.streaming import Part, lines, read_calls
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError, masked
from chart_binder.files import convert_json
from chart_binder.react.conversation import ChatError, ChatModel

_LOADED = "/api/ps"
_UNCUT = {"truncate": False, "shift": False}
"""A prompt that does not fit is refused, and a reply ends where the context is full (0.12.6)."""
_SCHEMA, _THINK = "format", "think"
_EFFORTS: Mapping[str, bool | str] = {"none": False, "minimal": False}
"""What Ollama calls these efforts; the others have the same names."""


def connect(
    config: LLMConfig, environ: Mapping[str, str] = os.environ, section: str = CONFIGURED
) -> ChatModel:
    """Return the configured model, or raise `ConfigError`; its server is not asked yet."""
    return ServedModel(config, _endpoint(config, environ, section), _OllamaApi(), OLLAMA)


def _endpoint(config: LLMConfig, environ: Mapping[str, str], section: str) -> Endpoint:
    endpoint = Endpoint.of(config, environ, section)
    if endpoint.address.endswith("/v1"):
        raise ConfigError(
            f"{section}base_url = {masked(config.base_url)!r} ends with /v1, where Ollama has"
            " OpenAI's format: leave out /v1"
        )
    return endpoint


def check(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> Health:
    """Ask the server for its version, its models and the configured one; raise nothing."""
    return examine(config, lambda: _endpoint(config, environ, CONFIGURED), OLLAMA, _health)


class _OllamaApi:
    more_context = "raise {llm}num_ctx, or choose a model with more context"
    schema_field = _SCHEMA
    optional: Mapping[str, str] = {_SCHEMA: "format|schema|grammar", _THINK: "think"}

    def optional_fields(self, request: Request) -> Fields:
        schema = request.terms.schema
        fields: Fields = {_SCHEMA: schema} if schema else {}
        return {**fields, _THINK: False} if request.must_not_think else fields

    def parts(self, request: Request, optional: Fields) -> Generator[Part, None, None]:
        path, body = _path_and_body(request, optional)
        most = request.config.max_tokens
        yield from request.server.documents(path, body, _part, split=lines, max_tokens=most)

    def context_length(self, server: Server) -> int | None:
        return context_length_at(server, _LOADED)


def _path_and_body(request: Request, optional: Fields) -> tuple[str, Fields]:
    """Return what is sent; the options are the same each time, as a change reloads the model."""
    config, messages = request.config, request.messages
    effort = config.reasoning_effort
    think = config.think if config.think != "" else _EFFORTS.get(effort, effort or None)
    fields: dict[str, Any] = {
        "model": config.model_id,
        "stream": config.stream,
        "options": {
            "num_ctx": config.num_ctx,
            "num_predict": config.max_tokens,
            "temperature": request.temperature,
            "seed": config.seed,
            "stop": list(request.stop),
        },
        **({} if think is None else {_THINK: think}),
        **({} if config.keep_alive == "" else {"keep_alive": config.keep_alive}),
        **_UNCUT,
        **optional,
    }
    if config.prompting == "raw":
        path, fields["prompt"] = "/api/generate", completion_prompt(messages)
        fields["raw"] = True
    else:
        path = "/api/chat"
        fields["messages"] = [{"role": one.role, "content": one.content} for one in messages]
    return path, merged(fields, config.extra_body)


@dataclass(frozen=True)
class _Message:
    content: str | None = None
    thinking: str | None = None
    tool_calls: object = None


@dataclass(frozen=True)
class _Answer:
    message: _Message | None = None  # of a chat
    response: str | None = None  # of a raw prompt
    thinking: str | None = None  # beside it
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: object = None
    eval_count: object = None


def _part(document: Any) -> Part:
    answer = convert_json(document, _Answer)
    if answer.message is None and answer.response is None:
        raise ValueError("neither a message nor a response")
    message = answer.message or _Message(answer.response, answer.thinking)
    return Part(
        message.content or "",
        message.thinking or "",
        answer.done_reason,
        answer.prompt_eval_count,
        answer.eval_count,
        is_last=answer.done,
        calls=tuple(read_calls(message.tool_calls)),
    )


@dataclass(frozen=True)
class _Version:
    version: str


@dataclass(frozen=True)
class _Models:
    models: list[ListedModel] | None  # a server without any says null


@dataclass(frozen=True)
class _Details:
    model_info: dict[str, object] | None = None
    capabilities: list[str] | None = None

    @property
    def context_length(self) -> int | None:
        """The context in tokens that the model was trained for."""
        info = self.model_info or {}
        length = info.get(f"{info.get('general.architecture')}.context_length")
        return length if isinstance(length, int) else None


def _health(server: Server, health: Health, config: LLMConfig) -> Health:
    try:
        version = server.ask("/api/version", _Version).version
        health = replace(health, server=f"Ollama {version}")
        models = server.ask("/api/tags", _Models).models or ()
        names, build = tuple(model.name for model in models), build_in(models, config.model_id)
        health = replace(health, models=names, build=build)
        details = server.ask("/api/show", _Details, {"model": config.model_id})
    except ChatError as error:
        problem = str(error)
        if health.models and not is_among(health.models, health.model_id):
            problem += f" (or set llm.model_id to one it has: {list_names(health.models)})"
        return replace(health, problems=(problem,))
    if not is_among(health.models, health.model_id):
        health = named_otherwise(health)
    try:
        loaded_length = context_length_at(server, _LOADED)
    except ChatError:
        loaded_length = None
    return replace(
        health,
        context_length=details.context_length,
        problems=tuple(_misfits(details, config)),
        loaded_length=loaded_length,
    )


def _misfits(details: _Details, config: LLMConfig) -> Iterator[str]:
    model, can = config.model_id, details.capabilities or ()
    if can and "completion" not in can:
        yield (
            f"model {model!r} cannot chat, only: {', '.join(can)}; set llm.model_id to one that can"
        )
    if config.observation_role == "tool" and can and "tools" not in can:
        yield (
            f"model {model!r} has no place for messages of the role 'tool': "
            'set llm.observation_role = "user"'
        )
