"""Models on an Ollama server: connecting, checking, asking.

The client library is imported when a server is asked, because it takes 350 ms to load.
"""

import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from chart_binder.chat.faults import OLLAMA
from chart_binder.chat.http import Endpoint, ModelServer, Split, whole
from chart_binder.chat.served_model import (
    Fields,
    ModelHealth,
    Request,
    ServedModel,
    completion_prompt,
    examine,
    is_among,
    list_names,
    merged,
    with_unlisted_remark,
)
from chart_binder.chat.streaming import CallPiece, StreamPart, lines, read_calls
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError, masked
from chart_binder.files import convert_json
from chart_binder.react.conversation import ChatError, ChatModel

if TYPE_CHECKING:
    import httpx
    from ollama import ChatResponse, Client, GenerateResponse, ShowResponse

_UNCUT = {"truncate": False, "shift": False}
"""Fields since Ollama 0.12.6: refuse a prompt that does not fit, and end a reply that does not."""
_SCHEMA, _THINK = "format", "think"
_EFFORTS: Mapping[str, bool | str] = {"none": False, "minimal": False}
"""Ollama's values for these efforts; other efforts have the same names."""


def connect(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ChatModel:
    """Return the configured model; its server is not asked yet. Raises `ConfigError`."""
    return ServedModel(config, _endpoint(config, environ), _OllamaApi(), OLLAMA)


def _endpoint(config: LLMConfig, environ: Mapping[str, str]) -> Endpoint:
    endpoint = Endpoint.of(config, environ)
    if endpoint.address.endswith("/v1"):
        raise ConfigError(
            f"llm.base_url = {masked(config.base_url)!r} ends with /v1, where Ollama has"
            " OpenAI's format: leave out /v1"
        )
    return endpoint


def check(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ModelHealth:
    """Ask the server for its version, its models and the configured one. Raises no error."""
    return examine(config, lambda: _endpoint(config, environ), OLLAMA, _health)


class _OllamaApi:
    more_context = "raise llm.num_ctx, or choose a model with more context"
    schema_field = _SCHEMA
    named_only: frozenset[str] = frozenset()
    optional: Mapping[str, str] = {_SCHEMA: "format|schema|grammar", _THINK: "think"}

    def optional_fields(self, request: Request) -> Fields:
        schema = request.options.schema
        fields: Fields = {_SCHEMA: schema} if schema else {}
        return {**fields, _THINK: False} if request.must_not_think else fields

    def parts(self, request: Request, optional: Fields) -> Generator[StreamPart, None, None]:
        split = lines if request.config.stream else whole
        with (
            _client(request.server, split, request.config) as client,
            closing(_answers(client, request, optional)) as answers,
        ):
            yield from map(_part, answers)

    def context_length(self, server: ModelServer) -> int | None:
        with _client(server) as client:
            for model in client.ps().models:
                names = (model.model or "", model.name or "")
                if model.context_length and is_among(names, server.model_id):
                    return model.context_length
        return None


@contextmanager
def _client(
    server: ModelServer, split: Split = whole, config: LLMConfig | None = None
) -> "Iterator[Client]":
    """Open a client of the library; our own reader checks the answers before the library does.

    `config` is set in a request for a reply. Raises `ChatError`.
    """
    import httpx

    library = _library()

    class CheckedLines(httpx.SyncByteStream):
        """The documents of an answer, one a line as the library reads them."""

        def __init__(self, stream: httpx.SyncByteStream, documents: Iterable[Any]) -> None:
            self._stream = stream
            self._documents = documents

        def __iter__(self) -> Iterator[bytes]:
            for document in self._documents:
                yield json.dumps(_readable(document)).encode() + b"\n"

        def close(self) -> None:
            self._stream.close()

    def check(answer: httpx.Response) -> None:
        stream, max_tokens = answer.stream, config.max_tokens if config else 0
        assert isinstance(stream, httpx.SyncByteStream)
        documents = server.read_answer(answer, stream, split=split, max_tokens=max_tokens)
        answer.stream = CheckedLines(stream, documents)

    with server.translated("LATE" if config else "SLOW"):
        options = server.endpoint.client_options(server.deadline)
        options["event_hooks"]["response"].append(check)
        if config is not None:
            options["event_hooks"]["request"].append(_add_to_body(config))
        with library.Client(server.endpoint.address, **options) as client:
            yield client


def _readable(document: Any) -> dict[str, Any]:
    """Return a document with members that the library requires and some servers leave out.

    Arguments of calls that are sent as text become objects. Raises `ValueError` for other text.
    """
    fields = convert_json(document, dict[str, Any])
    result = {"model_info": None, **fields, "models": fields.get("models") or []}
    message = fields.get("message")
    if isinstance(message, dict) and message.get("tool_calls"):
        functions = (
            {"name": call.name, "arguments": json.loads(call.arguments or "{}")}
            for call in read_calls(message["tool_calls"])
        )
        calls = [{"function": function} for function in functions]
        result["message"] = {**message, "tool_calls": calls}
    return result


def _add_to_body(config: LLMConfig) -> "Callable[[httpx.Request], None]":
    """Return a request hook that adds fields for which the library has no arguments."""
    import httpx

    def add(request: httpx.Request) -> None:
        body = merged({**json.loads(request.content), **_UNCUT}, config.extra_body)
        content = json.dumps(body, ensure_ascii=False).encode()
        request.stream = httpx.ByteStream(content)
        request.headers["content-length"] = str(len(content))

    return add


_IMPORTING = Lock()
_READ_ON_IMPORT = frozenset({"OLLAMA_HOST", "SSL_CERT_FILE", "SSL_CERT_DIR"})
"""Variables, besides those of proxies, that the client library reads when it is imported."""


@cache
def _library() -> ModuleType:
    """Import the client library.

    The library makes a client when it is imported, which fails if a variable names an unusable
    proxy, certificate or address. Then it is imported again without these variables, because our
    requests do not depend on them.
    """
    import httpx

    with _IMPORTING:
        try:
            return import_module("ollama")
        except (ValueError, ImportError, OSError, httpx.InvalidURL):
            hidden = {
                name: os.environ.pop(name)
                for name in tuple(os.environ)
                if name.lower().endswith("_proxy") or name in _READ_ON_IMPORT
            }
            try:
                return import_module("ollama")
            finally:
                os.environ.update(hidden)


def _answers(
    client: "Client", request: Request, optional: Fields
) -> "Generator[ChatResponse | GenerateResponse, None, None]":
    """Send the request; its options never change, because Ollama would load the model again."""
    config, messages = request.config, request.messages
    effort = config.reasoning_effort
    think = config.think if config.think != "" else _EFFORTS.get(effort, effort or None)
    common: dict[str, Any] = {
        _THINK: think,
        "keep_alive": None if config.keep_alive == "" else config.keep_alive,
        "model": config.model_id,
        "stream": config.stream,
        "options": {
            "num_ctx": config.num_ctx,
            "num_predict": config.max_tokens,
            "temperature": request.temperature,
            "seed": config.seed,
            "stop": list(request.stop),
        },
        **optional,
    }
    if config.prompting == "raw":
        answer = client.generate(prompt=completion_prompt(messages), raw=True, **common)
    else:
        sent = [{"role": message.role, "content": message.content} for message in messages]
        answer = client.chat(messages=sent, **common)
    yield from answer if config.stream else (answer,)


def _part(answer: "ChatResponse | GenerateResponse") -> StreamPart:
    calls: tuple[CallPiece, ...] = ()
    if message := getattr(answer, "message", None):
        content, thinking = message.content, message.thinking
        functions = (call.function for call in message.tool_calls or ())
        calls = tuple(
            CallPiece(function.name, json.dumps(dict(function.arguments), ensure_ascii=False))
            for function in functions
        )
    else:
        content, thinking = getattr(answer, "response", ""), getattr(answer, "thinking", "")
    return StreamPart(
        content or "",
        thinking or "",
        answer.done_reason,
        answer.prompt_eval_count,
        answer.eval_count,
        is_last=bool(answer.done),
        calls=calls,
    )


@dataclass(frozen=True)
class _Version:
    version: str


def _health(server: ModelServer, health: ModelHealth, config: LLMConfig) -> ModelHealth:
    try:
        version = server.ask("/api/version", _Version).version  # the library has no call for it
        health = replace(health, server=f"Ollama {version}")
        with _client(server) as client:
            builds = {model.model or "": model.digest or "" for model in client.list().models}
        build = next((builds[name] for name in builds if is_among((name,), config.model_id)), "")
        health = replace(health, models=tuple(builds), build=build)
        with _client(server) as client:
            details = client.show(config.model_id)
    except ChatError as error:
        problem = str(error)
        if health.models and not is_among(health.models, health.model_id):
            problem += f" (or set llm.model_id to one it has: {list_names(health.models)})"
        return replace(health, problems=(problem,))
    if not is_among(health.models, health.model_id):
        health = with_unlisted_remark(health)
    try:
        loaded_length = _OllamaApi().context_length(server)
    except ChatError:
        loaded_length = None
    return replace(
        health,
        context_length=_trained_length(details),
        problems=tuple(_misfits(details, config)),
        loaded_length=loaded_length,
    )


def _trained_length(details: "ShowResponse") -> int | None:
    """Return the context in tokens that the model was trained for."""
    info = details.modelinfo or {}
    length = info.get(f"{info.get('general.architecture')}.context_length")
    return length if isinstance(length, int) else None


def _misfits(details: "ShowResponse", config: LLMConfig) -> Iterator[str]:
    model, capabilities = config.model_id, details.capabilities or ()
    if capabilities and "completion" not in capabilities:
        yield (
            f"model {model!r} cannot chat, only: {', '.join(capabilities)};"
            " set llm.model_id to one that can"
        )
    if config.observation_role == "tool" and capabilities and "tools" not in capabilities:
        yield (
            f"model {model!r} has no place for messages of the role 'tool': "
            'set llm.observation_role = "user"'
        )
