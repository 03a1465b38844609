"""A chat model on a server of any kind: deadlines, repeated requests, and the context window."""

import logging
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, Protocol

from chart_binder.chat.faults import DeclinedError, Faults, OnlyThinkingError
from chart_binder.chat.http import Endpoint, ModelServer, retry_transient
from chart_binder.chat.streaming import StreamPart, read_stream
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError, masked
from chart_binder.react.context import fewest_tokens, most_tokens
from chart_binder.react.conversation import (
    ChatError,
    GenerationOptions,
    Message,
    Reply,
    UnreachableError,
    encodable,
)
from chart_binder.react.parsing.lexer import strip_thinking

CHECK_S = 10.0
"""Seconds for all requests of a check, none of which makes a server load a model."""
SMALLEST_WINDOW = 2_048  # the smallest default context of any server, in tokens
_REFUSED = frozenset({400, 422})
_BROKEN = 500
"""A status that may also mean a single crash, as in llama.cpp if a reply by schema was cut."""
_MAX_NAMES = 8
_log = logging.getLogger(__name__)

Fields = Mapping[str, Any]
"""Fields of a request, by their names in JSON."""


@dataclass(frozen=True, slots=True)
class ModelHealth:
    """The result of a check of a server; each problem is a sentence that ends with its remedy.

    `remark` is a sentence on something that is not a problem. `context_length` is the context in
    tokens that the model can have there, and `loaded_length` the one that it has now. `build` tells
    builds of a model apart: a digest, or size and quantization; it is empty if the server does not
    say.
    """

    address: str
    model_id: str
    server: str | None = None
    models: tuple[str, ...] = ()
    context_length: int | None = None
    problems: tuple[str, ...] = ()
    remark: str = ""
    loaded_length: int | None = None
    build: str = ""


def examine(
    config: LLMConfig,
    endpoint_of: Callable[[], Endpoint],
    faults: Faults,
    check: Callable[[ModelServer, ModelHealth, LLMConfig], ModelHealth],
) -> ModelHealth:
    """Return the result of `check` for a server; a configuration error is reported as a problem."""
    from chart_binder.net import Deadline  # loads httpcore

    try:
        endpoint = endpoint_of()
    except ConfigError as error:
        return ModelHealth(masked(config.base_url), config.model_id, problems=(str(error),))
    with Deadline(min(CHECK_S, config.timeout_s)) as deadline:
        server = ModelServer(endpoint, config.model_id, deadline, faults)
        health = check(server, ModelHealth(endpoint.address, config.model_id), config)
    length = health.context_length
    if length is None or config.num_ctx <= length:
        return health
    problem = (
        f"llm.num_ctx = {config.num_ctx} is more than the {length} tokens that model"
        f" {health.model_id!r} has at {health.address}: lower it to {length}"
    )
    return replace(health, problems=(*health.problems, problem))


def is_among(names: Iterable[str], model_id: str) -> bool:
    """Return whether a list has a model, perhaps with the tag `latest` that Ollama adds."""
    return not {model_id, f"{model_id}:latest"}.isdisjoint(names)


def with_unlisted_remark(health: ModelHealth) -> ModelHealth:
    """Return a result with a remark that the server accepts a model name that it does not list."""
    names = list_names(health.models) or "no model"
    remark = (
        f"the server lists {names}, not {health.model_id!r}, and answers to that name as well:"
        f" set llm.model_id to a name that it lists"
    )
    return replace(health, remark=remark)


def list_names(models: Sequence[str]) -> str:
    """Return the names of models for a sentence; if there are many, only the first ones."""
    hidden = len(models) - _MAX_NAMES
    return ", ".join(models[:_MAX_NAMES]) + (f" and {hidden} more" if hidden > 0 else "")


@dataclass(frozen=True)
class _Weights:
    """What llama.cpp says about a model's file."""

    ftype: str = ""
    size: int = 0


@dataclass(frozen=True)
class ListedModel:
    """A row of a list of models; each kind of server has its own name for the context."""

    id: str = ""
    name: str = ""  # Ollama
    max_model_len: int | None = None  # vLLM
    loaded_context_length: int | None = None  # LM Studio
    context_length: int | None = None  # Ollama, OpenRouter
    digest: str = ""  # Ollama
    root: str | None = None  # vLLM
    meta: _Weights | None = None  # llama.cpp

    @property
    def build(self) -> str:
        """What tells builds of a model apart; empty if the server does not say."""
        weights = f"{self.meta.ftype} {self.meta.size} bytes".strip() if self.meta else ""
        return self.digest or weights or self.root or ""


def build_in(models: Iterable[ListedModel], model_id: str) -> str:
    """Return the build of a model in a list; empty if the list does not say."""
    return next((model.build for model in models if is_among((model.id, model.name), model_id)), "")


@dataclass(frozen=True)
class _Slot:
    n_ctx: int | None = None


@dataclass(frozen=True)
class _Properties:
    """The answer of llama.cpp at `/props`, of Ollama at `/api/ps`, or a list of models."""

    data: list[ListedModel] | None = None
    models: list[ListedModel] | None = None
    default_generation_settings: _Slot | None = None


def context_length_at(server: ModelServer, path: str) -> int | None:
    """Return the context of the model in tokens, if the answer at this path gives it."""
    properties = server.ask(path, _Properties)
    for model in [*(properties.data or []), *(properties.models or [])]:
        length = model.max_model_len or model.loaded_context_length or model.context_length
        if length and is_among((model.id, model.name), server.model_id):
            return length
    slot = properties.default_generation_settings
    return slot.n_ctx if slot else None


@dataclass(frozen=True, slots=True)
class Request:
    """A request for a reply; `stop` holds the stop strings that are sent."""

    server: ModelServer
    config: LLMConfig
    messages: tuple[Message, ...]
    options: GenerationOptions
    stop: tuple[str, ...] = ()

    @property
    def temperature(self) -> float:
        """The temperature of the options, by default the configured one."""
        temperature = self.options.temperature
        return self.config.temperature if temperature is None else temperature

    @property
    def must_not_think(self) -> bool:
        """Whether the options forbid thinking and the configuration does not set it."""
        config = self.config
        is_configured = config.think != "" or config.reasoning_effort
        return not (self.options.may_think or is_configured or config.prompting == "raw")


class ServerApi(Protocol):
    """How one kind of server is asked: implemented for Ollama and for OpenAI's format."""

    more_context: str
    """What a person can do if the server gives the model too little context."""
    optional: Mapping[str, str]
    """The fields that some servers refuse, each with a pattern for the words of such a refusal."""
    named_only: frozenset[str]
    """The optional fields that are left out only if a refusal names them."""
    schema_field: str
    """The name of the optional field for the schema; some servers crash instead of refusing it."""

    def optional_fields(self, request: Request) -> Fields:
        """Return the optional fields of the request."""

    def parts(self, request: Request, optional: Fields) -> Generator[StreamPart, None, None]:
        """Ask once, with these optional fields, and yield the reply. Raises `ChatError`."""

    def context_length(self, server: ModelServer) -> int | None:
        """Return the actual context of the model in tokens, if known. Raises `ChatError`."""


class ServedModel:
    """A `ChatModel` that asks a server; threads may share it.

    `timeout_s`, or the shorter time of the options, is the deadline for a whole reply, including
    loading the model and further tries.
    """

    def __init__(
        self, config: LLMConfig, endpoint: Endpoint, api: ServerApi, faults: Faults
    ) -> None:
        self.model_id = config.model_id
        self.num_ctx, self.max_tokens = config.num_ctx, config.max_tokens
        self._config = config
        self._endpoint = endpoint
        self._api = api
        self._faults = faults
        self._declined: frozenset[str] = frozenset()
        self._is_schema_left_out = False
        self._has_replied = False

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the next reply. Raises `ChatError`.

        A reply that reached `max_tokens` has the `done_reason` `length`. Thinking that the server
        sends apart from the content is not passed to `on_token`.
        """
        from chart_binder.net import Deadline  # loads httpcore

        sent = _sendable(messages)
        self._refuse_overflow(sent)
        started = monotonic()
        allowed_s = self._config.timeout_s
        if options.seconds is not None:
            allowed_s = min(allowed_s, options.seconds)
        with Deadline(allowed_s) as deadline:
            server = ModelServer(self._endpoint, self.model_id, deadline, self._faults)
            request = Request(server, self._config, sent, options, options.stop)
            try:
                reply = self._ask_for_content(request)
            except UnreachableError as error:
                if self._has_replied:  # it may be starting again
                    raise ChatError(error) from error
                raise
            self._has_replied = True
            counted = reply.prompt_tokens
            if counted is not None and counted < fewest_tokens(sent):
                self._refuse_cut(request, counted)
        return replace(reply, seconds=monotonic() - started)

    def _ask_for_content(self, request: Request) -> Reply:
        """Ask, and ask again if a stop string or the schema ended the reply within the thinking."""
        without_schema = replace(request.options, schema=None)
        if self._is_schema_left_out:
            request = replace(request, options=without_schema)
        try:
            reply = self._ask(request)
        except OnlyThinkingError as error:
            has_schema = bool(request.options.schema)
            if not (request.stop or has_schema):
                raise
            _log.info("asking again without stop strings and schema: %s", error)
            reply = self._ask(replace(request, stop=(), options=without_schema))
            self._is_schema_left_out |= has_schema and error.is_object
            return reply
        is_cut = request.stop and reply.done_reason == "stop"
        if not (is_cut and strip_thinking(reply.content).is_unclosed):
            return reply
        try:
            return self._ask(replace(request, stop=()))
        except ChatError:  # a cut reply is enough to advise the model
            return reply

    def _ask(self, request: Request) -> Reply:
        """Ask with as many of the optional fields as the server accepts.

        If the server refuses a field by name and accepts the request without it, later requests
        leave it out, too, unless the refusal may have been a crash. If the server names no field,
        only this request leaves fields out.
        """
        fields = self._api.optional_fields(request)
        optional = {name: value for name, value in fields.items() if name not in self._declined}
        declined = set[str]()
        while True:
            try:
                once = partial(self._ask_once, request, optional)
                reply = retry_transient(once, request.server.deadline)
            except DeclinedError as refusal:
                named_fields, blamed = self._blamed(optional, refusal)
                if not blamed:
                    raise
                _log.info("asking again without %s: %s", ", ".join(sorted(blamed)), refusal)
                optional = {name: value for name, value in optional.items() if name not in blamed}
                declined |= named_fields if refusal.status != _BROKEN else set()
            else:
                self._declined |= declined
                return reply

    def _ask_once(self, request: Request, optional: Fields) -> Reply:
        parts = self._api.parts(request, optional)
        return read_stream(parts, request.options, self._config.max_tokens, request.server)

    def _blamed(self, optional: Fields, refusal: DeclinedError) -> tuple[frozenset[str], ...]:
        """Return the fields that a refusal names, and those that may be its cause."""
        words, marks = refusal.words.casefold(), self._api.optional
        names = (name for name in optional if re.search(rf"(?<![a-z])(?:{marks[name]})", words))
        if (named_fields := frozenset(names)) or refusal.is_known:
            return named_fields, named_fields
        blamed = (
            {*optional} if refusal.status in _REFUSED else {self._api.schema_field} & {*optional}
        )
        return named_fields, frozenset(blamed - self._api.named_only)

    def _refuse_cut(self, request: Request, counted: int) -> None:
        """Raise `ChatError` if the server dropped a part of the prompt without saying so.

        A low count alone proves nothing, because some servers do not count cached tokens.
        """
        max_estimate = most_tokens(request.messages)
        if max_estimate <= min(SMALLEST_WINDOW, self._config.num_ctx):
            return
        try:
            length = self._api.context_length(request.server)
        except ChatError:  # without the length, the low count decides
            length = None
        if length is None or max_estimate > length:
            has = f" (it has {length})" if length else ""
            raise ChatError(
                f"{self._faults.server} cut the prompt for model {self.model_id!r} to {counted}"
                f" tokens{has}, where llm.num_ctx = {self._config.num_ctx}:"
                f" {self._api.more_context}"
            )

    def _refuse_overflow(self, messages: Sequence[Message]) -> None:
        config, fewest = self._config, fewest_tokens(messages)
        if fewest + config.max_tokens > config.num_ctx:
            raise ChatError(
                f"the prompt takes at least {fewest} tokens and llm.max_tokens ="
                f" {config.max_tokens} more, which is over llm.num_ctx = {config.num_ctx}:"
                f" raise llm.num_ctx"
            )


def merged(fields: Fields, additions: Fields) -> dict[str, Any]:
    """Return `fields` with `additions`, which replace fields of the same name; objects merge."""
    result = dict(fields)
    for name, value in additions.items():
        old_value = result.get(name)
        if isinstance(old_value, Mapping) and isinstance(value, Mapping):
            result[name] = merged(old_value, value)
        else:
            result[name] = value
    return result


def completion_prompt(messages: Sequence[Message]) -> str:
    """Return a conversation as one text that the model continues, for `prompting = "raw"`.

    Each text begins with the text of the turn before, so that the server's prompt cache works.
    """
    return "".join(f"{message.content.rstrip()}\n\n" for message in messages)


def _sendable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages without lone surrogates and without empty messages.

    Some servers refuse a message without content.
    """
    filled = (message for message in messages if message.content)
    return tuple(replace(message, content=encodable(message.content)) for message in filled)
