"""A chat model behind a server of any kind: one deadline, further tries, the context window."""

import logging
import re
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, Protocol

from chart_binder.chat.faults import DeclinedError, Faults, OnlyThinkingError
from chart_binder.chat.http import CONFIGURED, Endpoint, ModelServer, retry_passing
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
from chart_binder.react.parsing.thinking import strip_thinking

CHECK_S = 10.0
"""What the questions of a check may take together: none of them makes a server load a model."""
SMALLEST_WINDOW = 2_048  # of what any server allots unasked
_REFUSED = frozenset({400, 422})
_BROKEN = 500
"""What a server also says that accepts a field and broke once, as llama.cpp does where a reply
by schema was cut."""
_MAX_NAMES = 8
_log = logging.getLogger(__name__)

Fields = Mapping[str, Any]
"""Fields of a request, by their names on the wire."""


@dataclass(frozen=True, slots=True)
class ModelHealth:
    """What a check of a server found; each problem is a sentence that ends in its remedy.

    `remark` is worth knowing, though nothing is wrong. `context_length` is the context in tokens
    that the model can have there, `loaded_length` the one that it has now. `build` is what the
    server says that tells one build of a model from another of its name: a digest, or a size and
    how it is quantized; empty where it says nothing.
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
    questions: Callable[[ModelServer, ModelHealth, LLMConfig], ModelHealth],
) -> ModelHealth:
    """Return what the `questions` to a server find out; a configuration error is a problem."""
    from chart_binder.net import Deadline  # loads httpcore

    try:
        endpoint = endpoint_of()
    except ConfigError as error:
        return ModelHealth(masked(config.base_url), config.model_id, problems=(str(error),))
    with Deadline(min(CHECK_S, config.timeout_s)) as deadline:
        server = ModelServer(endpoint, config.model_id, deadline, faults)
        health = questions(server, ModelHealth(endpoint.address, config.model_id), config)
    length = health.context_length
    if length is None or config.num_ctx <= length:
        return health
    problem = (
        f"{CONFIGURED}num_ctx = {config.num_ctx} is more than the {length} tokens that model"
        f" {health.model_id!r} has at {health.address}: lower it to {length}"
    )
    return replace(health, problems=(*health.problems, problem))


def is_among(names: Iterable[str], model_id: str) -> bool:
    """Return whether a model is in a list: Ollama's may add the tag `latest`."""
    return not {model_id, f"{model_id}:latest"}.isdisjoint(names)


def named_otherwise(health: ModelHealth) -> ModelHealth:
    """Return what was found, with a remark: a server replies to a name that it does not list."""
    listed = list_names(health.models) or "no model"
    remark = (
        f"the server lists {listed}, not {health.model_id!r}, and answers to that name as well:"
        f" set {CONFIGURED}model_id to a name that it lists"
    )
    return replace(health, remark=remark)


def list_names(models: Sequence[str]) -> str:
    """Return the names of models for a sentence, the first few where there are many."""
    more = len(models) - _MAX_NAMES
    return ", ".join(models[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class _Weights:
    """What llama.cpp says of a model's file."""

    ftype: str = ""
    size: int = 0


@dataclass(frozen=True)
class ListedModel:
    """A row of any list of models; each kind of server has its own word for the context."""

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
        """What tells it from another model of its name; empty where the server says nothing."""
        weights = f"{self.meta.ftype} {self.meta.size} bytes".strip() if self.meta else ""
        return self.digest or weights or self.root or ""


def build_in(models: Iterable[ListedModel], model_id: str) -> str:
    """Return the build of a model in a list; empty if it is not in it, or nothing is said."""
    return next((each.build for each in models if is_among((each.id, each.name), model_id)), "")


@dataclass(frozen=True)
class _Slot:
    n_ctx: int | None = None


@dataclass(frozen=True)
class _Properties:
    """What llama.cpp says at `/props`, Ollama at `/api/ps`, all at a list of models."""

    data: list[ListedModel] | None = None
    models: list[ListedModel] | None = None
    default_generation_settings: _Slot | None = None


def context_length_at(server: ModelServer, path: str) -> int | None:
    """Return the context in tokens that the server there says the model has, if it does."""
    said = server.ask(path, _Properties)
    for model in [*(said.data or []), *(said.models or [])]:
        length = model.max_model_len or model.loaded_context_length or model.context_length
        if length and is_among((model.id, model.name), server.model_id):
            return length
    slot = said.default_generation_settings
    return slot.n_ctx if slot else None


@dataclass(frozen=True, slots=True)
class Request:
    """What a server is asked until it answers or the deadline is over; `stop` is what is sent."""

    server: ModelServer
    config: LLMConfig
    messages: tuple[Message, ...]
    options: GenerationOptions
    stop: tuple[str, ...] = ()

    @property
    def temperature(self) -> float:
        """The temperature asked for, else the configured one."""
        asked = self.options.temperature
        return self.config.temperature if asked is None else asked

    @property
    def must_not_think(self) -> bool:
        """Whether the options forbid thinking, and no configuration decides about it."""
        config = self.config
        is_configured = config.think != "" or config.reasoning_effort
        return not (self.options.may_think or is_configured or config.prompting == "raw")


class ServerApi(Protocol):
    """How servers of one kind are asked."""

    more_context: str
    """What to do where a server gives the model too little context."""
    optional: Mapping[str, str]
    """The fields that some servers do not accept, with what begins a word of a refusal of each."""
    named_only: frozenset[str]
    """Those of them that are left out only if a refusal names them."""
    schema_field: str
    """The one of them that has the schema; some servers fail where they do not accept it."""

    def optional_fields(self, request: Request) -> Fields:
        """Return the optional fields that the request calls for."""

    def parts(self, request: Request, optional: Fields) -> Generator[StreamPart, None, None]:
        """Ask once, with these optional fields, and yield the reply; raise `ChatError`."""

    def context_length(self, server: ModelServer) -> int | None:
        """Return the context in tokens that the model really has, or `None`; raise `ChatError`."""


class ServedModel:
    """A `ChatModel` that asks a server; threads may share it, each with one conversation.

    `timeout_s`, or less where the options say so, is one deadline for a whole reply, from loading
    the model and further tries to the last byte.
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
        self._thinks_by_schema = False
        self._has_replied = False
        self._thread = threading.local()  # the prompt that was counted last, and its count

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the next reply, or raise `ChatError`.

        One that ran into `max_tokens` has the `done_reason` `length`. The listener hears no
        thinking that stands apart from the content.
        """
        from chart_binder.net import Deadline  # httpcore, for those who really ask a model

        sent = _sendable(messages)
        self._refuse_overflow(sent)
        began = monotonic()
        most_s = self._config.timeout_s
        allowed_s = most_s if options.seconds is None else min(most_s, options.seconds)
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
            if counted is not None and self._looks_cut(sent, counted):
                self._refuse_cut(request, counted)
        return replace(reply, seconds=monotonic() - began)

    def _ask_for_content(self, request: Request) -> Reply:
        """Ask again where a stop string, or the schema, made the server end in the thinking."""
        without_schema = replace(request.options, schema=None)
        if self._thinks_by_schema:
            request = replace(request, options=without_schema)
        try:
            reply = self._ask(request)
        except OnlyThinkingError as error:
            has_schema = bool(request.options.schema)
            if not (request.stop or has_schema):
                raise
            _log.info("asking again without stop strings and schema: %s", error)
            reply = self._ask(replace(request, stop=(), options=without_schema))
            self._thinks_by_schema |= has_schema and error.is_object
            return reply
        is_cut = request.stop and reply.done_reason == "stop"
        if not (is_cut and strip_thinking(reply.content).is_unclosed):
            return reply
        try:
            return self._ask(replace(request, stop=()))
        except ChatError:  # half a thought is better than none: the model is told what to write
            return reply

    def _ask(self, request: Request) -> Reply:
        """Ask with as many of the optional fields as the server accepts.

        A field that the server names is left out of all later requests once a request without it
        was accepted, unless the refusal may have been a crash. If the server names no field, the
        fields are left out of this request alone.
        """
        fields = self._api.optional_fields(request)
        optional = {name: value for name, value in fields.items() if name not in self._declined}
        declined = set[str]()
        while True:
            try:
                once = partial(self._ask_once, request, optional)
                reply = retry_passing(once, request.server.deadline)
            except DeclinedError as refusal:
                named, blamed = self._blamed(optional, refusal)
                if not blamed:
                    raise
                _log.info("asking again without %s: %s", ", ".join(sorted(blamed)), refusal)
                optional = {name: value for name, value in optional.items() if name not in blamed}
                declined |= named if refusal.status != _BROKEN else set()
            else:
                self._declined |= declined
                return reply

    def _ask_once(self, request: Request, optional: Fields) -> Reply:
        parts = self._api.parts(request, optional)
        return read_stream(parts, request.options, self._config.max_tokens, request.server)

    def _blamed(self, optional: Fields, refusal: DeclinedError) -> tuple[frozenset[str], ...]:
        """Return the fields that a refusal names, and those that it may concern."""
        words, marks = refusal.words.casefold(), self._api.optional
        found = (name for name in optional if re.search(rf"(?<![a-z])(?:{marks[name]})", words))
        if (named := frozenset(found)) or refusal.is_known:
            return named, named
        blamed = (
            {*optional} if refusal.status in _REFUSED else {self._api.schema_field} & {*optional}
        )
        return named, frozenset(blamed - self._api.named_only)

    def _looks_cut(self, messages: tuple[Message, ...], tokens: int) -> bool:
        """Tell whether a server counted too few tokens, or no more than before the prompt grew."""
        before, before_tokens = getattr(self._thread, "counted", ((), 0))
        self._thread.counted = (messages, tokens)
        grew = bool(before) and len(messages) > len(before)
        grew = grew and messages[: len(before)] == before
        return tokens < fewest_tokens(messages) or (grew and tokens <= before_tokens)

    def _refuse_cut(self, request: Request, counted: int) -> None:
        """Raise `ChatError` where the server dropped a part of the prompt, which it never says.

        Few tokens alone prove nothing: some servers count only what their cache did not hold.
        """
        most = most_tokens(request.messages)
        if most <= min(SMALLEST_WINDOW, self._config.num_ctx):
            return
        try:
            length = self._api.context_length(request.server)
        except ChatError:  # it will not tell, so nothing speaks against the suspicion
            length = None
        if length is None or most > length:
            has, section = f" (it has {length})" if length else "", self._endpoint.section
            raise ChatError(
                f"{self._faults.server} cut the prompt for model {self.model_id!r} to {counted}"
                f" tokens{has}, where {section}num_ctx = {self._config.num_ctx}:"
                f" {self._api.more_context.format(llm=section)}"
            )

    def _refuse_overflow(self, messages: Sequence[Message]) -> None:
        config, section, fewest = self._config, self._endpoint.section, fewest_tokens(messages)
        if fewest + config.max_tokens > config.num_ctx:
            raise ChatError(
                f"the prompt takes at least {fewest} tokens and {section}max_tokens ="
                f" {config.max_tokens} more, which is over {section}num_ctx = {config.num_ctx}:"
                f" raise {section}num_ctx"
            )


def merged(fields: Fields, more: Fields) -> dict[str, Any]:
    """Return `fields` with `more`, which replaces what has the same name; tables are merged."""
    result = dict(fields)
    for name, value in more.items():
        before = result.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            result[name] = merged(before, value)
        else:
            result[name] = value
    return result


def completion_prompt(messages: Sequence[Message]) -> str:
    """Return a conversation as one text for the model to go on writing, for servers asked raw.

    Each text begins with that of the turn before, as a server's prompt cache needs it.
    """
    return "".join(f"{message.content.rstrip()}\n\n" for message in messages)


def _sendable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages that say something, lone surrogates replaced.

    A message without content would be refused by some servers.
    """
    said = (message for message in messages if message.content)
    return tuple(replace(message, content=encodable(message.content)) for message in said)
