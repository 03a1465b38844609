"""Models on a server of OpenAI's format (vLLM, llama.cpp, LM Studio, Ollama's /v1).

httpx takes 170 ms to load, so that what asks a server imports it itself.
"""

import json
import os
import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from chart_binder.chat.faults import (
    DECLINING,
    ErrorAnswer,
    Fault,
    Faults,
    RequestInfo,
    translated,
)
from chart_binder.chat.http import Endpoint
from chart_binder.chat.served_model import (
    Fields,
    Health,
    OptionalField,
    Request,
    ServedModel,
    completion_prompt,
    examine,
    names_of,
)
from chart_binder.chat.streaming import Part, events
from chart_binder.config import LLMConfig
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
_CONTEXT_PATHS = ("props", "api/ps", "api/v0/models")  # llama.cpp, Ollama, LM Studio


def connect(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> ChatModel:
    """Return the configured model, without a word to its server yet.

    Raises `ConfigError` for an impossible `base_url`, and for an `api_key_env` that is not set.
    """
    return ServedModel(config, api_at(Endpoint.of(config, environ)), OpenAIApi())


def check(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> Health:
    """Ask the server for its models and the context of the configured one.

    What goes wrong is a problem in the result; nothing is raised for it.
    """

    def questions(endpoint: Endpoint, deadline: "Deadline") -> Health:
        server = _Server(endpoint, config.model_id, deadline)
        health = Health(endpoint.address, config.model_id)
        try:
            health = replace(health, models=server.models())
        except ChatError as error:
            return replace(health, problems=(str(error),))
        health = replace(health, context_length=server.context_length())
        return replace(health, problems=tuple(_misfits(health, config)))

    return examine(config, lambda: api_at(Endpoint.of(config, environ)), questions)


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
    optional: tuple[OptionalField, ...] = (_COUNTS, _SCHEMA, _SEED)

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
            translated(_FAULTS, info, request.deadline),
            httpx.Client(**options) as client,
            client.stream("POST", address, json=body) as answer,
        ):
            if not answer.is_success:
                wait_s = retry_after_s(answer.headers.get("retry-after", ""))
                raise _explained(
                    _read_error(answer.read(), answer.status_code, wait_s), request, info
                )
            for text, is_whole in _documents(answer):
                if text.strip() == _DONE:
                    yield Part(is_last=True)
                    return
                document = _parse_json(text)
                if error := _error_in(document):
                    raise _explained(error, request, info)
                yield replace(_read_part(document), is_last=is_whole)

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
    if _is_missing_model(answer):
        server = _Server(request.endpoint, request.config.model_id, request.deadline)
        try:
            models = server.models()
        except ChatError:
            models = ()
        return _NO_MODEL.error(info, _which_model(models))
    if answer.status in {_NOT_FOUND, 405, 501} and is_raw:
        return _NO_COMPLETIONS.error(info, answer.detail)
    has_tool = not is_raw and any(message.role == "tool" for message in request.messages)
    is_about_roles = any(mark in answer.words.casefold() for mark in _ROLES)
    if has_tool and answer.status in DECLINING and is_about_roles:
        return _NO_TOOL_ROLE.error(info, answer.detail)
    return _FAULTS.for_answer(answer, info)


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
        for address in (f"{api}/models", *(f"{root}/{each}" for each in _CONTEXT_PATHS)):
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
        with translated(_FAULTS, info, self.deadline):
            with httpx.Client(**self.endpoint.http_options(self.deadline)) as client:
                answer = client.get(address)
            if not answer.is_success:
                raise _FAULTS.for_answer(_read_error(answer.content, answer.status_code), info)
            document = _parse_json(answer.content)
            if error := _error_in(document):
                raise _FAULTS.for_answer(error, info)
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


_ERRORS = range(400, 600)


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


def _parse_json(text: bytes) -> Any:
    """Return what the JSON says; raise `ValueError` or `RecursionError`.

    Half a letter in a piece is replaced, not refused: servers split text between tokens.
    """
    return json.loads(text.decode("utf-8", "replace"))


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
        calls_tool=bool(message.tool_calls),
    )


def _error_in(said: Any, status: int = 0, retry_after_s: float = 0.0) -> ErrorAnswer | None:
    """Return the error that a document holds, if any: servers have many ways to tell.

    They are `{"error": {"message"}}`, `{"error": "..."}`, `{"message"}`, `{"detail"}`, and any of
    them under the status 200 with the code inside.
    """
    if not isinstance(said, dict) or ("choices" in said and not said.get("error")):
        return None
    about = said.get("error") or said.get("detail") or ("message" in said and said)
    if not about:
        return None
    words = about.get("message", about) if isinstance(about, dict) else about
    code = about.get("code") if isinstance(about, dict) else None
    inside = code if isinstance(code, int) and code in _ERRORS else 0
    text = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
    return ErrorAnswer(status or inside, text, retry_after_s)


def _read_error(body: bytes, status: int, retry_after_s: float = 0.0) -> ErrorAnswer:
    """Return what an answer with an error status says, in whatever form; a page says nothing."""
    try:
        said = _error_in(_parse_json(body), status, retry_after_s)
    except (ValueError, RecursionError):
        said = None
    text = body.decode("utf-8", "replace").strip()
    return said or ErrorAnswer(status, "" if text.startswith("<") else text, retry_after_s)


def _split_thinking(content: str | list[str | _Piece] | None) -> tuple[str, str]:
    """Return the text of a content and the thinking in it."""
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


_UNAUTHORIZED = frozenset({401, 403})
_NOT_FOUND = 404
_TOO_LONG = (
    "context length",
    "context size",
    "context window",
    "context_length",
    "maximum context",
    "prompt is too long",
    "too many tokens",
)
_MISSING = ("does not exist", "not found", "not_found", "no such", "unknown model", "invalid model")
_ROLES = ("role", "tool")

_NO_MODEL = Fault("model {model!r} is not on the server at {address}: {detail}")
_NO_TOOL_ROLE = Fault(
    "{server} at {address} refuses the role 'tool' for an observation ({detail}): "
    'set llm.observation_role = "user"'
)
_NO_COMPLETIONS = Fault(
    '{server} at {address} has no /completions ({detail}): set llm.prompting = "chat"'
)
_OVERFLOW = Fault(
    "the prompt with llm.max_tokens is over the context of model {model!r} at {address} "
    "({detail}): set llm.num_ctx to what the server gives it, or start the server with more"
)
_NO_KEY = Fault(
    "{server} at {address} wants a key ({detail}): set llm.api_key_env to the variable that holds "
    "it"
)
_WRONG_KEY = Fault(
    "{server} at {address} refuses the key ({detail}): look at the variable that llm.api_key_env "
    "names"
)


def _is_missing_model(answer: ErrorAnswer) -> bool:
    """Tell whether the server says that it has no such model."""
    words = answer.words.casefold()
    return (
        answer.status in {0, 400, _NOT_FOUND, 422}
        and "model" in words
        and any(mark in words for mark in _MISSING)
    )


def _recognise(answer: ErrorAnswer, info: RequestInfo) -> Fault | None:
    words = answer.words.casefold()
    if any(mark in words for mark in _TOO_LONG):
        return _OVERFLOW
    if answer.status in _UNAUTHORIZED:
        return _WRONG_KEY if info.key else _NO_KEY
    return None


_FAULTS = Faults(
    absent=Fault(
        "no server answers at {address} ({detail}): start it, or set llm.base_url (usual ports: "
        "vLLM 8000, llama.cpp 8080, LM Studio 1234, Ollama 11434)",
        passing=True,
    ),
    wrong_format=Fault(
        "what answers at {address} does not speak OpenAI's format: set llm.base_url to the "
        "server's API, with or without /v1",
        range(200, 300),
    ),
    recognise=_recognise,
    others=(
        Fault(
            "{address} redirects ({detail}): set llm.base_url to the server itself",
            range(300, 400),
        ),
        Fault(
            "what answers at {address} is no OpenAI-compatible server ({detail}): "
            "set llm.base_url to the server's API, with or without /v1",
            (_NOT_FOUND, 405),
        ),
        Fault(
            "{server} at {address} is busy or still loading ({detail}): ask later, or for less "
            "at a time",
            (503,),
            passing=True,
        ),
        Fault(
            "{server} at {address} refuses the request for model {model!r} ({detail}): "
            "choose another model, or another setting under [llm]",
            range(400, 500),
        ),
    ),
)
