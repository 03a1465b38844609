"""Models on an Ollama server: connecting, checking, asking.

The client library and httpx take 350 ms to load, so that what asks a server imports them itself.
"""

import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from chart_binder.chat.faults import OLLAMA, ErrorAnswer, error_in
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
from chart_binder.chat.streaming import CallPiece, Part
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatError, ChatModel

if TYPE_CHECKING:
    import httpx
    from ollama import ChatResponse, Client, GenerateResponse

_LOADED = "/api/ps"
_UNCUT = {"truncate": False, "shift": False}
"""A prompt that does not fit is refused, and a reply ends where the context is full (0.12.6)."""
_THINK = OptionalField("think", marks=("think",), statuses={400})
_EFFORTS: Mapping[str, bool | str] = {"none": False, "minimal": False}
"""What Ollama calls these efforts; the others have the same names."""
_SCHEMA = OptionalField("format", marks=("format", "schema", "grammar"), statuses={400, 500, 501})
"""What an old version, which knows no schemas, declines."""


def connect(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ChatModel:
    """Return the configured model, or raise `ConfigError`; its server is not asked yet."""
    return ServedModel(config, Endpoint.of(config, environ), _OllamaApi(), OLLAMA)


def check(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> Health:
    """Ask the server for its version, its models and the configured one; raise nothing."""
    return examine(config, lambda: Endpoint.of(config, environ), OLLAMA, _health)


class _OllamaApi:
    more_context = "raise llm.num_ctx, or choose a model with more context"
    optional: tuple[OptionalField, ...] = (_SCHEMA, _THINK)

    def optional_fields(self, request: Request) -> Fields:
        schema = request.terms.schema
        fields: Fields = {_SCHEMA.name: schema} if schema else {}
        return {**fields, _THINK.name: False} if request.must_not_think else fields

    def parts(self, request: Request, optional: Fields) -> Generator[Part, None, None]:
        from chart_binder.net import retry_after_s

        server, library = request.server, _library()
        options = server.endpoint.http_options(server.deadline, request.config.max_tokens)
        waits: list[str] = []  # the library keeps no headers of a refusal
        options["event_hooks"]["response"].append(
            lambda response: waits.append(response.headers.get("retry-after", ""))
        )
        options["event_hooks"]["request"].append(_add_to_body(request.config))
        with (
            server.translated(),
            library.Client(server.endpoint.address, **options) as client,
        ):
            try:
                with closing(_answers(client, request, optional)) as answers:
                    for answer in answers:
                        yield _part(answer)
            except library.ResponseError as error:
                wait_s = retry_after_s("".join(waits))
                status = max(error.status_code, 0)  # -1 inside a stream
                answered = error_in({"error": error.error}, status, wait_s)
                raise server.refusal(answered or ErrorAnswer(status, "", wait_s)) from error

    def context_length(self, server: Server) -> int | None:
        return context_length_at(server, _LOADED)


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

    It makes a client when it is imported, which fails if the environment has a proxy, certificates
    or an address that it cannot use. The import is then repeated without those variables, because
    no request of ours depends on what the library reads there.
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
    """Send the request; the options are the same each time, as a change reloads the model."""
    config, messages = request.config, request.messages
    effort = config.reasoning_effort
    think = config.think if config.think != "" else _EFFORTS.get(effort, effort or None)
    common: dict[str, Any] = {
        "think": think,
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


def _part(answer: "ChatResponse | GenerateResponse") -> Part:
    calls: tuple[CallPiece, ...] = ()
    if message := getattr(answer, "message", None):
        content, thinking = message.content, message.thinking
        functions = [call.function for call in message.tool_calls or ()]
        calls = tuple(
            CallPiece(function.name, json.dumps(dict(function.arguments), ensure_ascii=False))
            for function in functions
        )
    else:
        content, thinking = getattr(answer, "response", ""), getattr(answer, "thinking", "")
    return Part(
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
        if health.models and not names_of(health.model_id) & set(health.models):
            problem += f" (or set llm.model_id to one it has: {', '.join(health.models)})"
        return replace(health, problems=(problem,))
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
