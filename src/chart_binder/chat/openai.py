"""Models on a server of OpenAI's format (vLLM, llama.cpp, LM Studio, Ollama's /v1).

httpx takes 170 ms to load, so that what asks a server imports it itself.
"""

import json
import os
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chart_binder.chat.faults import (
    DECLINING,
    OPENAI,
    ErrorAnswer,
    error_in,
    parse_json,
    read_error,
)
from chart_binder.chat.http import Endpoint, Server
from chart_binder.chat.served_model import (
    Fields,
    Health,
    ListedModel,
    OptionalField,
    Request,
    ServedModel,
    build_in,
    completion_prompt,
    context_length_at,
    examine,
    merged,
    names_of,
)
from chart_binder.chat.streaming import CallPiece, Part, events
from chart_binder.config import LLMConfig
from chart_binder.files import convert_json
from chart_binder.react.conversation import ChatError, ChatModel, Message

if TYPE_CHECKING:
    import httpx

MOST_STOPS = 4  # what OpenAI's own server takes; our own cut knows them all
_COUNTS = OptionalField(
    "stream_options", marks=("stream_options", "include_usage"), statuses={400, 422}
)
_SCHEMA = OptionalField(
    "response_format",
    marks=("response_format", "json_schema", "schema", "grammar", "guided", "structured"),
    statuses={400, 422, 500, 501},
)
_SEED = OptionalField("seed", marks=("seed",), statuses={400, 422})
_TEMPLATE = OptionalField(
    "chat_template_kwargs",
    marks=("chat_template", "enable_thinking", "thinking"),
    statuses={400, 422},
)
_NO_EFFORT = OptionalField("reasoning_effort", marks=("reasoning", "think"), statuses={400, 422})
_KEEP_ALIVE = OptionalField("keep_alive", marks=("keep_alive",), statuses={400, 422})
_TTL = OptionalField("ttl", marks=("ttl",), statuses={400, 422})
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600}
_VERSION = re.compile(r"/v\d[^/]*(/|$)")
_OPERATION = re.compile(r"/(chat/completions|completions|models)$")
_DONE = b"[DONE]"
_EVENT_STREAM = (b"data:", b"event:", b":")
_MOST_NAMES = 8
_CONTEXT_PATHS = ("/props", "/api/ps", "/api/v0/models")  # llama.cpp, Ollama, LM Studio


def connect(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ChatModel:
    """Return the configured model, or raise `ConfigError`; its server is not asked yet."""
    return ServedModel(config, api_at(Endpoint.of(config, environ)), _OpenAIApi(), OPENAI)


def check(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> Health:
    """Ask the server for its models and the context of the configured one; raise nothing."""
    return examine(config, lambda: api_at(Endpoint.of(config, environ)), OPENAI, _health)


def _health(server: Server, health: Health, config: LLMConfig) -> Health:
    try:
        listed = _listed(server)
    except ChatError as error:
        return replace(health, problems=(str(error),))
    build = build_in(listed, config.model_id)
    health = replace(health, models=_named(listed), build=build)
    if not names_of(config.model_id) & set(health.models):
        absent = OPENAI.by_name["NO_MODEL"].error(server.names, _which_model(health.models))
        return replace(health, problems=(str(absent),))
    return replace(health, context_length=_OpenAIApi().context_length(server))


def api_at(endpoint: Endpoint) -> Endpoint:
    """Return where the API begins: `/v1` below the address, unless a version is in it already."""
    address = _OPERATION.sub("", endpoint.address)
    versioned = _VERSION.search(urlsplit(address).path)
    return replace(endpoint, address=address if versioned else f"{address}/v1")


class _OpenAIApi:
    more_context = "start the server with more context for it, or set llm.num_ctx to what it has"
    optional: tuple[OptionalField, ...] = (
        _COUNTS, _SCHEMA, _SEED, _TEMPLATE, _NO_EFFORT, _KEEP_ALIVE, _TTL,
    )  # fmt: skip

    def optional_fields(self, request: Request) -> Fields:
        fields: dict[str, object] = {_SEED.name: request.config.seed}
        fields |= _thinking(request) | _keep_alive(request.config.keep_alive)
        if request.config.stream:
            fields[_COUNTS.name] = {"include_usage": True}
        if request.terms.schema:
            schema = {"name": "answer", "strict": True, "schema": request.terms.schema}
            fields[_SCHEMA.name] = {"type": "json_schema", "json_schema": schema}
        return fields

    def parts(self, request: Request, optional: Fields) -> Generator[Part, None, None]:
        import httpx

        from chart_binder.net import retry_after_s

        server = request.server
        options = server.endpoint.http_options(server.deadline, request.config.max_tokens)
        address, body = _address_and_body(request, optional)
        with (
            server.translated(),
            httpx.Client(**options) as client,
            client.stream("POST", address, json=body) as answer,
        ):
            if not answer.is_success:
                wait_s = retry_after_s(answer.headers.get("retry-after", ""))
                said = read_error(answer.read(), answer.status_code, wait_s)
                raise _explained(said, request)
            for text, is_whole in _documents(answer):
                if text.strip() == _DONE:
                    yield Part(is_last=True)
                    return
                document = parse_json(text)
                if error := error_in(document):
                    raise _explained(error, request)
                yield replace(_read_part(document), is_last=is_whole)

    def context_length(self, server: Server) -> int | None:
        root = replace(server.endpoint, address=server.endpoint.address.removesuffix("/v1"))
        places = ((server.endpoint, "/models"), *((root, path) for path in _CONTEXT_PATHS))
        for endpoint, path in places:
            try:
                length = context_length_at(replace(server, endpoint=endpoint), path)
            except ChatError:  # it is no server of that kind
                continue
            if length:
                return length
        return None


def _thinking(request: Request) -> dict[str, Any]:
    """Return the fields that turn thinking on or off; each server knows one of them.

    Qwen's and Gemma's templates read `enable_thinking`, Granite's and DeepSeek's `thinking`, where
    vLLM, SGLang and llama.cpp serve them; Ollama, LM Studio and OpenAI take an effort of `none`.
    """
    think = False if request.must_not_think else request.config.think
    if not isinstance(think, bool):
        return {}
    fields: dict[str, Any] = {}
    if request.config.prompting == "chat":
        fields[_TEMPLATE.name] = {"enable_thinking": think, "thinking": think}
    if not think and not request.config.reasoning_effort:
        fields[_NO_EFFORT.name] = "none"
    return fields


def _keep_alive(keep_alive: int | str) -> dict[str, Any]:
    """Return what keeps a model loaded: `keep_alive` for Ollama, `ttl` in seconds for LM Studio."""
    if keep_alive == "":
        return {}
    if isinstance(keep_alive, str) and not keep_alive.startswith("-"):
        parts = re.findall(r"([\d.]+)([a-z]+)", keep_alive)
        seconds = round(sum(float(number) * _SECONDS[unit] for number, unit in parts))
    else:
        seconds = keep_alive if isinstance(keep_alive, int) else 0
    return {_KEEP_ALIVE.name: keep_alive, **({_TTL.name: seconds} if seconds > 0 else {})}


def _documents(answer: "httpx.Response") -> Iterator[tuple[bytes, bool]]:
    """Yield the documents of an answer, streamed or the one whole, whatever was asked for."""
    if "event-stream" in answer.headers.get("content-type", ""):
        yield from ((text, False) for text in events(answer.iter_bytes()))
        return
    body = answer.read()
    if body.lstrip().startswith(_EVENT_STREAM):
        yield from ((text, False) for text in events([body]))
    else:
        yield body, True


def _address_and_body(request: Request, optional: Fields) -> tuple[str, Fields]:
    config, stop = request.config, request.stop[:MOST_STOPS]
    effort = config.reasoning_effort or (config.think if isinstance(config.think, str) else "")
    fields: dict[str, object] = {
        "model": config.model_id,
        "stream": config.stream,
        "max_tokens": config.max_tokens,
        "temperature": request.temperature,
        **({"stop": list(stop)} if stop else {}),
        **({"reasoning_effort": effort} if effort else {}),
        **optional,
    }
    if config.prompting == "raw":
        path, fields["prompt"] = "/completions", completion_prompt(request.messages)
    else:
        path, fields["messages"] = "/chat/completions", list(_messages(request.messages))
    return request.server.endpoint.address + path, merged(fields, config.extra_body)


def _messages(messages: Iterable[Message]) -> Iterator[dict[str, str]]:
    """Yield the messages as the format has them.

    A tool's message names the call it answers, though none is on the wire, as calls are text here.
    The templates of some models want nine letters or figures.
    """
    for number, message in enumerate(messages):
        sent = {"role": message.role, "content": message.content}
        yield sent | {"tool_call_id": f"call{number:05}"} if message.role == "tool" else sent


def _explained(answer: ErrorAnswer, request: Request) -> ChatError:
    server, is_raw = request.server, request.config.prompting == "raw"
    if _is_missing_model(answer):
        try:
            models = _named(_listed(server))
        except ChatError:
            models = ()
        return OPENAI.by_name["NO_MODEL"].error(server.names, _which_model(models))
    if answer.status in {_NOT_FOUND, 405, 501} and is_raw:
        return OPENAI.by_name["NO_COMPLETIONS"].error(server.names, answer.detail)
    has_tool = not is_raw and any(message.role == "tool" for message in request.messages)
    is_about_roles = any(mark in answer.words.casefold() for mark in _ROLES)
    if has_tool and answer.status in DECLINING and is_about_roles:
        return OPENAI.by_name["NO_TOOL_ROLE"].error(server.names, answer.detail)
    return server.refusal(answer)


def _which_model(models: tuple[str, ...]) -> str:
    if not models:
        return "load it there, or set llm.model_id to one it has"
    more = len(models) - _MOST_NAMES
    names = ", ".join(models[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"set llm.model_id to one it has: {names}"


@dataclass(frozen=True)
class _Models:
    data: list[ListedModel] | None  # a server without any may say null


def _listed(server: Server) -> Sequence[ListedModel]:
    return server.ask("/models", _Models).data or ()


def _named(models: Iterable[ListedModel]) -> tuple[str, ...]:
    return tuple(model.id for model in models if model.id)


@dataclass(frozen=True)
class _Thought:
    text: str = ""


@dataclass(frozen=True)
class _Piece:
    """A part of a content that is a list: words, Magistral's thinking, or neither."""

    text: str | None = None
    thinking: str | list[_Thought] | None = None


@dataclass(frozen=True)
class _Written:
    content: str | list[str | _Piece] | None = None
    reasoning_content: object = None  # vLLM, llama.cpp
    reasoning: object = None  # Ollama, OpenRouter
    tool_calls: object = None


@dataclass(frozen=True)
class _Choice:
    delta: _Written | None = None  # of a chat, as it comes
    message: _Written | None = None  # of a chat, whole
    text: str | None = None  # of a completion
    finish_reason: str | None = None
    index: object = 0


@dataclass(frozen=True)
class _Answer:
    choices: list[_Choice] | None
    usage: object = None


def _read_part(document: Any) -> Part:
    """Return the part of a reply that a document holds; raise `ValueError` for another format."""
    answer = convert_json(document, _Answer)
    choices = answer.choices or ()
    choice = next((each for each in choices if each.index in (0, None)), _Choice())
    message = choice.delta or choice.message or _Written(choice.text)
    content, thinking = _split_thinking(message.content)
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    return Part(
        content,
        _text(message.reasoning_content) or _text(message.reasoning) or thinking,
        choice.finish_reason or None,
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        calls=tuple(_calls(message.tool_calls)),
    )


def _calls(calls: object) -> Iterator[CallPiece]:
    """Yield the pieces of calls that the server took out of the text; arguments become JSON."""
    for place, call in enumerate(calls if isinstance(calls, list) else ()):
        fields = call if isinstance(call, dict) else {}
        function = fields.get("function")
        function = function if isinstance(function, dict) else {}
        arguments, index = function.get("arguments") or "", fields.get("index")
        yield CallPiece(
            _text(function.get("name")),
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False),
            index if isinstance(index, int) else place,
        )


def _split_thinking(content: str | list[str | _Piece] | None) -> tuple[str, str]:
    if not isinstance(content, list):
        return content or "", ""
    words: list[str] = []
    thoughts: list[str] = []
    for piece in content:
        if isinstance(piece, str):
            words.append(piece)
            continue
        words.append(piece.text or "")
        thinking = piece.thinking or ""
        thoughts += [thinking] if isinstance(thinking, str) else [each.text for each in thinking]
    return "".join(words), "".join(thoughts)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_NOT_FOUND = 404
_MISSING = ("does not exist", "not found", "not_found", "no such", "unknown model", "invalid model")
_ROLES = ("role", "tool")


def _is_missing_model(answer: ErrorAnswer) -> bool:
    words = answer.words.casefold()
    return (
        answer.status in {0, 400, _NOT_FOUND, 422}
        and "model" in words
        and any(mark in words for mark in _MISSING)
    )
