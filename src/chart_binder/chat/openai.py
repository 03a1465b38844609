"""Models on a server of OpenAI's format (vLLM, llama.cpp, LM Studio, Ollama's /v1)."""

import os
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from chart_binder.chat.faults import OPENAI, ErrorAnswer
from chart_binder.chat.http import Endpoint, ModelServer
from chart_binder.chat.served_model import (
    Fields,
    ListedModel,
    ModelHealth,
    Request,
    ServedModel,
    build_in,
    completion_prompt,
    context_length_at,
    examine,
    is_among,
    list_names,
    merged,
    with_unlisted_remark,
)
from chart_binder.chat.streaming import StreamPart, events, read_calls
from chart_binder.config import LLMConfig
from chart_binder.files import convert_json
from chart_binder.react.conversation import ChatError, ChatModel, Message, UnreachableError

MOST_STOPS = 4  # OpenAI's own server accepts four; our cutter checks them all
_COUNTS, _SCHEMA, _SEED = "stream_options", "response_format", "seed"
_TEMPLATE, _EFFORT, _KEEP_ALIVE, _TTL = (
    "chat_template_kwargs", "reasoning_effort", "keep_alive", "ttl",
)  # fmt: skip
_MAX_TOKENS, _TEMPERATURE = "max_tokens", "temperature"  # OpenAI's reasoning models refuse both
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600}
_VERSION = re.compile(r"/v\d[^/]*(/|$)")
_OPERATION = re.compile(r"/(chat/completions|completions|models)$")
_DONE = b"[DONE]"
_END = b'{"choices": [], "is_last": true}'
"""Our own last document: it replaces `[DONE]`, and follows an answer that is not streamed."""
_EVENT_STREAM = (b"data:", b"event:", b":")
_UNLISTED = (
    "the server replies, but does not list its models at /models: llm.model_id is not"
    " checked, nor whether the model has changed"
)
_A_QUESTION = {"role": "user", "content": "?"}
_CONTEXT_PATHS = ("/props", "/api/ps", "/api/v0/models")  # llama.cpp, Ollama, LM Studio


def connect(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ChatModel:
    """Return the configured model; its server is not asked yet. Raises `ConfigError`."""
    endpoint = api_at(Endpoint.of(config, environ))
    return ServedModel(config, endpoint, _OpenAIApi(), OPENAI)


def check(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ModelHealth:
    """Ask the server for its models and the context of the configured one. Raises no error."""
    return examine(config, lambda: api_at(Endpoint.of(config, environ)), OPENAI, _health)


def _health(server: ModelServer, health: ModelHealth, config: LLMConfig) -> ModelHealth:
    try:
        models = _listed_models(server)
    except ChatError as error:
        if isinstance(error, UnreachableError) or not _replies(server, config):
            return replace(health, problems=(str(error),))
        health = replace(health, remark=_UNLISTED)
        return replace(health, context_length=_OpenAIApi().context_length(server))
    build = build_in(models, config.model_id)
    health = replace(health, models=_model_names(models), build=build)
    if not is_among(health.models, config.model_id):
        if not _replies(server, config):
            return replace(health, problems=(str(_no_model(server, health.models)),))
        health = with_unlisted_remark(health)
    return replace(health, context_length=_OpenAIApi().context_length(server))


def _replies(server: ModelServer, config: LLMConfig) -> bool:
    """Return whether the server replies; llama.cpp replies to any model name."""
    path = "/completions" if config.prompting == "raw" else "/chat/completions"
    prompt = {"prompt": "?"} if config.prompting == "raw" else {"messages": [_A_QUESTION]}
    body = {"model": config.model_id, "max_tokens": 1, "stream": False, **prompt}
    try:
        return bool(server.ask(path, _Answer, body).choices)
    except ChatError:
        return False


def api_at(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint of the API: with `/v1` unless the address has a version already."""
    address = _OPERATION.sub("", endpoint.address)
    versioned = _VERSION.search(urlsplit(address).path)
    return replace(endpoint, address=address if versioned else f"{address}/v1")


class _OpenAIApi:
    more_context = "start the server with more context for it, or set llm.num_ctx to what it has"
    schema_field = _SCHEMA
    optional: Mapping[str, str] = {
        _COUNTS: "stream_options|include_usage",
        _SCHEMA: "response_format|json_schema|schema|grammar|guided|structured",
        _SEED: "seed",
        _TEMPLATE: "chat_template|enable_thinking|thinking",
        _EFFORT: "reasoning|think",
        _KEEP_ALIVE: "keep_alive",
        _TTL: "ttl",
        _MAX_TOKENS: "max_completion_tokens",
        _TEMPERATURE: "temperature",
    }
    named_only: frozenset[str] = frozenset({_MAX_TOKENS, _TEMPERATURE})

    def optional_fields(self, request: Request) -> Fields:
        fields: dict[str, object] = {
            _SEED: request.config.seed,
            _MAX_TOKENS: request.config.max_tokens,
            _TEMPERATURE: request.temperature,
        }
        fields |= _thinking(request) | _keep_alive(request.config.keep_alive)
        if request.config.stream:
            fields[_COUNTS] = {"include_usage": True}
        if request.options.schema:
            schema = {"name": "answer", "strict": True, "schema": request.options.schema}
            fields[_SCHEMA] = {"type": "json_schema", "json_schema": schema}
        return fields

    def parts(self, request: Request, optional: Fields) -> Generator[StreamPart, None, None]:
        path, body = _path_and_body(request, optional)
        yield from request.server.documents(
            path, body, _part, split=_texts, refusal=partial(_refusal, request),
            max_tokens=request.config.max_tokens,
        )  # fmt: skip

    def context_length(self, server: ModelServer) -> int | None:
        root = replace(server.endpoint, address=server.endpoint.address.removesuffix("/v1"))
        places = ((server.endpoint, "/models"), *((root, path) for path in _CONTEXT_PATHS))
        for endpoint, path in places:
            try:
                length = context_length_at(replace(server, endpoint=endpoint), path)
            except ChatError:  # not this kind of server
                continue
            if length:
                return length
        return None


def _thinking(request: Request) -> dict[str, Any]:
    """Return the fields that turn thinking on or off; each server knows one of them.

    With vLLM, SGLang and llama.cpp, the templates of Qwen and Gemma read `enable_thinking`, those
    of Granite and DeepSeek `thinking`. Ollama, LM Studio and OpenAI accept the effort `none`.
    """
    think = False if request.must_not_think else request.config.think
    if not isinstance(think, bool):
        return {}
    fields: dict[str, Any] = {}
    if request.config.prompting == "chat":
        fields[_TEMPLATE] = {"enable_thinking": think, "thinking": think}
    if not think and not request.config.reasoning_effort:
        fields[_EFFORT] = "none"
    return fields


def _keep_alive(keep_alive: int | str) -> dict[str, Any]:
    """Return the fields that keep a model loaded: `keep_alive` for Ollama, `ttl` for LM Studio."""
    if keep_alive == "":
        return {}
    if isinstance(keep_alive, str) and not keep_alive.startswith("-"):
        parts = re.findall(r"([\d.]+)([a-z]+)", keep_alive)
        seconds = round(sum(float(number) * _SECONDS[unit] for number, unit in parts))
    else:
        seconds = keep_alive if isinstance(keep_alive, int) else 0
    return {_KEEP_ALIVE: keep_alive, **({_TTL: seconds} if seconds > 0 else {})}


def _texts(content_type: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the documents of an answer, whether it is streamed or not."""
    if "event-stream" not in content_type:
        body = b"".join(pieces)
        if not body.lstrip().startswith(_EVENT_STREAM):
            yield from (body, _END)
            return
        pieces = [body]
    yield from (_END if text.strip() == _DONE else text for text in events(pieces))


def _path_and_body(request: Request, optional: Fields) -> tuple[str, Fields]:
    config, stop = request.config, request.stop[:MOST_STOPS]
    effort = config.reasoning_effort or (config.think if isinstance(config.think, str) else "")
    fields: dict[str, object] = {
        "model": config.model_id,
        "stream": config.stream,
        **({} if _MAX_TOKENS in optional else {"max_completion_tokens": config.max_tokens}),
        **({"stop": list(stop)} if stop else {}),
        **({"reasoning_effort": effort} if effort else {}),
        **optional,
    }
    if config.prompting == "raw":
        path, fields["prompt"] = "/completions", completion_prompt(request.messages)
    else:
        path, fields["messages"] = "/chat/completions", list(_messages(request.messages))
    return path, merged(fields, config.extra_body)


def _messages(messages: Iterable[Message]) -> Iterator[dict[str, str]]:
    """Yield the messages in OpenAI's format.

    The format requires a tool's message to name its call, although calls are plain text here. The
    templates of some models require nine letters or digits.
    """
    for number, message in enumerate(messages):
        fields = {"role": message.role, "content": message.content}
        yield fields | {"tool_call_id": f"call{number:05}"} if message.role == "tool" else fields


def _refusal(request: Request, answer: ErrorAnswer) -> ChatError:
    server, faults, is_raw = request.server, OPENAI.by_name, request.config.prompting == "raw"
    has_tool = not is_raw and any(message.role == "tool" for message in request.messages)
    if faults["NO_MODEL"].matches(answer):
        try:
            return _no_model(server, _model_names(_listed_models(server)))
        except ChatError:
            return _no_model(server, ())
    for name, is_possible in (("NO_COMPLETIONS", is_raw), ("NO_TOOL_ROLE", has_tool)):
        if is_possible and faults[name].matches(answer):
            return faults[name].error(server.names, answer.detail)
    return server.refusal(answer)


def _no_model(server: ModelServer, models: tuple[str, ...]) -> ChatError:
    remedy = "set llm.model_id to one it has"
    detail = f"{remedy}: {list_names(models)}" if models else f"load it there, or {remedy}"
    return OPENAI.by_name["NO_MODEL"].error(server.names, detail)


@dataclass(frozen=True)
class _Models:
    data: list[ListedModel] | None  # null from some servers without models


def _listed_models(server: ModelServer) -> Sequence[ListedModel]:
    return server.ask("/models", _Models).data or ()


def _model_names(models: Iterable[ListedModel]) -> tuple[str, ...]:
    return tuple(model.id for model in models if model.id)


@dataclass(frozen=True)
class _MessageBody:
    content: str | list[object] | None = None
    reasoning_content: object = None  # vLLM, llama.cpp
    reasoning: object = None  # Ollama, OpenRouter
    tool_calls: object = None
    refusal: object = None  # OpenAI, instead of the content
    function_call: object = None  # the name of `tool_calls` until 2023


@dataclass(frozen=True)
class _Choice:
    delta: _MessageBody | None = None  # of a chat, streamed
    message: _MessageBody | None = None  # of a chat, not streamed
    text: str | None = None  # of a completion
    finish_reason: str | None = None
    index: object = 0


@dataclass(frozen=True)
class _Answer:
    choices: list[_Choice] | None
    usage: object = None
    is_last: bool = False


def _part(document: Any) -> StreamPart:
    """Return the part of a reply in a document. Raises `ValueError` for another format."""
    answer = convert_json(document, _Answer)
    choices = answer.choices or ()
    choice = next((choice for choice in choices if choice.index in (0, None)), _Choice())
    message = choice.delta or choice.message or _MessageBody(choice.text)
    reasoning = _text_in(message.reasoning_content) or _text_in(message.reasoning)
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    return StreamPart(
        _text_in(message.content),
        reasoning or _text_in(message.content, "thinking"),
        choice.finish_reason or None,
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        is_last=answer.is_last,
        calls=tuple(read_calls(message.tool_calls, message.function_call)),
        refusal=_text_in(message.refusal),
    )


def _text_in(content: object, name: str = "text") -> str:
    """Return the text or the thinking of a content: text, or a list of parts (Magistral)."""
    if isinstance(content, dict):
        return _text_in(content.get(name))
    if isinstance(content, list):
        return "".join(_text_in(part, name) for part in content)
    return content if isinstance(content, str) and name == "text" else ""
