"""Models on a server of OpenAI's format (vLLM, llama.cpp, LM Studio, Ollama's /v1).

httpx takes 170 ms to load, so that what asks a server imports it itself.
"""

import os
import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from chart_binder.chat.faults import DECLINING, ErrorAnswer, RequestInfo, translated
from chart_binder.chat.http import Endpoint
from chart_binder.chat.ollama import names_of
from chart_binder.chat.openai_format import (
    FAULTS,
    NO_COMPLETIONS,
    NO_MODEL,
    NO_TOOL_ROLE,
    NOT_FOUND,
    error_in,
    is_about_roles,
    is_missing_model,
    parse_json,
    read_error,
    read_part,
)
from chart_binder.chat.served_model import (
    CHECK_S,
    Fields,
    Health,
    OptionalField,
    Request,
    ServedModel,
    completion_prompt,
)
from chart_binder.chat.streaming import Part, events
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError, masked
from chart_binder.react.conversation import ChatError, ChatModel, Message
from chart_binder.typed_json import convert_json

if TYPE_CHECKING:
    import httpx

    from chart_binder.net import Deadline

T = TypeVar("T")
MOST_STOPS = 4  # what OpenAI's own server takes; our own cut knows them all
_NAME = "the server"
_COUNTS = OptionalField(
    "stream_options", marks=("stream_options", "include_usage"), statuses={400, 422}
)
_SCHEMA = OptionalField(
    "response_format",
    marks=("response_format", "json_schema", "schema", "grammar", "guided", "structured"),
    statuses={400, 422, 500, 501},
)
_SEED = OptionalField("seed", marks=("seed",), statuses={400, 422})
_VERSION = re.compile(r"/v\d[^/]*(/|$)")
_OPERATION = re.compile(r"/(chat/completions|completions|models)$")
_DONE = b"[DONE]"
_EVENT_STREAM = (b"data:", b"event:", b":")
_MOST_NAMES = 8


def connect(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ChatModel:
    """Return the configured model, without a word to its server yet.

    Raises `ConfigError` for an impossible `base_url`, and for an `api_key_env` that is not set.
    """
    return ServedModel(config, api_at(Endpoint.of(config, environ)), OpenAIApi())


def check(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> Health:
    """Ask the server for its models and the context of the configured one.

    What goes wrong is a problem in the result; nothing is raised for it.
    """
    from chart_binder.net import Deadline  # loads httpcore

    try:
        endpoint = api_at(Endpoint.of(config, environ))
    except ConfigError as error:
        return Health(masked(config.base_url), config.model_id, problems=(str(error),))
    health = Health(endpoint.address, config.model_id)
    with Deadline(min(CHECK_S, config.timeout_s)) as deadline:
        server = _Server(endpoint, config.model_id, deadline)
        try:
            health = replace(health, models=server.models())
        except ChatError as error:
            return replace(health, problems=(str(error),))
        health = replace(health, context_length=server.context_length())
    return replace(health, problems=tuple(_misfits(health, config)))


def api_at(endpoint: Endpoint) -> Endpoint:
    """Return where the API begins: `/v1` below the address, unless a version is in it already."""
    address = _OPERATION.sub("", endpoint.address)
    versioned = _VERSION.search(urlsplit(address).path)
    return replace(endpoint, address=address if versioned else f"{address}/v1")


class OpenAIApi:
    """The `ServerApi` of OpenAI's format.

    Counts in a stream, a seed and a schema are asked for, and left out where a server declines
    them.
    """

    name = _NAME
    more_context = "start the server with more context for it, or set llm.num_ctx to what it has"
    optional = (_COUNTS, _SCHEMA, _SEED)

    def optional_fields(self, request: Request) -> Fields:
        """Return what a server may decline."""
        fields: dict[str, object] = {_SEED.name: request.config.seed}
        if request.config.stream:
            fields[_COUNTS.name] = {"include_usage": True}
        if request.terms.schema:
            schema = {"name": "answer", "strict": True, "schema": request.terms.schema}
            fields[_SCHEMA.name] = {"type": "json_schema", "json_schema": schema}
        return fields

    def parts(self, request: Request, optional: Fields) -> Generator[Part, None, None]:
        """Ask once, with these optional fields, and yield the reply; raise `ChatError`."""
        import httpx

        from chart_binder.net import retry_after_s

        info = request.info(self.name)
        options = request.endpoint.http_options(request.deadline, request.config.max_tokens)
        address, body = _address_and_body(request, optional)
        with (
            translated(FAULTS, info, request.deadline),
            httpx.Client(**options) as client,
            client.stream("POST", address, json=body) as answer,
        ):
            if not answer.is_success:
                wait_s = retry_after_s(answer.headers.get("retry-after", ""))
                raise _explained(
                    read_error(answer.read(), answer.status_code, wait_s), request, info
                )
            for text, is_whole in _documents(answer):
                if text.strip() == _DONE:
                    yield Part(is_last=True)
                    return
                document = parse_json(text)
                if error := error_in(document):
                    raise _explained(error, request, info)
                yield replace(read_part(document), is_last=is_whole)

    def context_length(self, request: Request) -> int | None:
        """Return the context in tokens that the model has, if its server tells."""
        server = _Server(request.endpoint, request.config.model_id, request.deadline)
        return server.context_length()


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
    fields: dict[str, object] = {
        "model": config.model_id,
        "stream": config.stream,
        "max_tokens": config.max_tokens,
        "temperature": config.temperature,
        **({"stop": list(stop)} if stop else {}),
        **optional,
    }
    if config.prompting == "raw":
        path, fields["prompt"] = "/completions", completion_prompt(request.messages)
    else:
        path, fields["messages"] = "/chat/completions", list(_messages(request.messages))
    return request.endpoint.address + path, fields


def _messages(messages: Iterable[Message]) -> Iterator[dict[str, str]]:
    """Yield the messages as the format has them.

    A tool's message names the call it answers. There is none on the wire, as calls are text here:
    vLLM, llama.cpp, LM Studio and Ollama take an id all the same, OpenAI's own server does not. The
    templates of some models want nine letters or figures.
    """
    for number, message in enumerate(messages):
        sent = {"role": message.role, "content": message.content}
        yield sent | {"tool_call_id": f"call{number:05}"} if message.role == "tool" else sent


def _explained(answer: ErrorAnswer, request: Request, info: RequestInfo) -> ChatError:
    """Return what to raise for an answer that is no reply to this request."""
    is_raw = request.config.prompting == "raw"
    if is_missing_model(answer):
        server = _Server(request.endpoint, request.config.model_id, request.deadline)
        try:
            models = server.models()
        except ChatError:
            models = ()
        return NO_MODEL.error(info, _which_model(models))
    if answer.status in {NOT_FOUND, 405, 501} and is_raw:
        return NO_COMPLETIONS.error(info, answer.detail)
    has_tool = not is_raw and any(message.role == "tool" for message in request.messages)
    if has_tool and answer.status in DECLINING and is_about_roles(answer):
        return NO_TOOL_ROLE.error(info, answer.detail)
    return FAULTS.for_answer(answer, info)


def _which_model(models: tuple[str, ...]) -> str:
    """Return what to do about a model that is not among those of the server."""
    if not models:
        return "load it there, or set llm.model_id to one it has"
    more = len(models) - _MOST_NAMES
    names = ", ".join(models[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"set llm.model_id to one it has: {names}"


@dataclass(frozen=True)
class _Model:
    """A row of any list of models; each kind of server has its own word for the context."""

    id: str = ""
    name: str = ""  # Ollama
    max_model_len: int | None = None  # vLLM
    loaded_context_length: int | None = None  # LM Studio
    context_length: int | None = None  # Ollama, OpenRouter


@dataclass(frozen=True)
class _Models:
    data: list[_Model] | None  # a server without any may say null


@dataclass(frozen=True)
class _Slot:
    n_ctx: int | None = None


@dataclass(frozen=True)
class _Properties:
    """What llama.cpp says at `/props`, Ollama at `/api/ps`, all at a list of models."""

    data: list[_Model] | None = None
    models: list[_Model] | None = None
    default_generation_settings: _Slot | None = None

    def context_length(self, model_id: str) -> int | None:
        names = names_of(model_id)
        for model in [*(self.data or []), *(self.models or [])]:
            length = model.max_model_len or model.loaded_context_length or model.context_length
            if length and names & {model.id, model.name}:
                return length
        slot = self.default_generation_settings
        return slot.n_ctx if slot else None


@dataclass(frozen=True, slots=True)
class _Server:
    """A server that is asked about one model; `endpoint` is where its API begins."""

    endpoint: Endpoint
    model_id: str
    deadline: "Deadline"

    def models(self) -> tuple[str, ...]:
        """Return the names of the models it has; raise `ChatError`."""
        listed = self._get(f"{self.endpoint.address}/models", _Models)
        return tuple(model.id for model in listed.data or () if model.id)

    def context_length(self) -> int | None:
        """Return the context in tokens that the model has, if the server tells in any way."""
        api = self.endpoint.address
        root = api.removesuffix("/v1")
        # Where vLLM, llama.cpp, Ollama and LM Studio tell.
        for address in (
            f"{api}/models",
            f"{root}/props",
            f"{root}/api/ps",
            f"{root}/api/v0/models",
        ):
            try:
                length = self._get(address, _Properties).context_length(self.model_id)
            except ChatError:  # it is no server of that kind
                continue
            if length:
                return length
        return None

    def _get(self, address: str, kind: type[T]) -> T:
        import httpx

        info = self.endpoint.request_info(_NAME, self.model_id, self.deadline)
        with translated(FAULTS, info, self.deadline):
            with httpx.Client(**self.endpoint.http_options(self.deadline)) as client:
                answer = client.get(address)
            if not answer.is_success:
                raise FAULTS.for_answer(read_error(answer.content, answer.status_code), info)
            document = parse_json(answer.content)
            if error := error_in(document):
                raise FAULTS.for_answer(error, info)
            return convert_json(document, kind)


def _misfits(health: Health, config: LLMConfig) -> Iterator[str]:
    model, length = health.model_id, health.context_length
    if not names_of(model) & set(health.models):
        which = _which_model(health.models)
        yield f"model {model!r} is not on the server at {health.address}: {which}"
    elif length is not None and config.num_ctx > length:
        yield (
            f"llm.num_ctx = {config.num_ctx} is more than the {length} tokens that model {model!r} "
            f"has at {health.address}: lower it to {length}, or start the server with more"
        )
