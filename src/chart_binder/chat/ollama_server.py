"""One request to an Ollama server, and the parts of its answer."""

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import httpx
import msgspec
from ollama import ChatResponse, Client, GenerateResponse, ResponseError

from chart_binder.chat.capabilities import OLLAMA_NAME, PATIENCE_S, Fields, Health
from chart_binder.chat.faults import FAILED, Answered, Asked, Fault, Faults, translated
from chart_binder.chat.http import Deadline, Endpoint
from chart_binder.chat.served_model import Question, growing_text
from chart_binder.chat.streaming import Draft, Part, take
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError, masked
from chart_binder.net import retry_after_s
from chart_binder.react.conversation import ChatError, Reply
from chart_binder.typed import decoded

NOT_FOUND = 404
_STRANGER = Fault(
    "what answers at {address} does not speak Ollama's format: set llm.base_url to an Ollama server"
)
_ABSENT = Fault("model {model!r} is not on the server at {address}: ollama pull {model}")


def _known(answered: Answered, asked: Asked) -> Fault | None:
    del asked
    if answered.status == NOT_FOUND and "model" in answered.words:
        return _ABSENT if "not found" in answered.words else None
    return None


OLLAMA = Faults(
    absent=Fault(
        "Ollama does not answer at {address} ({detail}): start it with `ollama serve`, "
        "or set llm.base_url",
        passing=True,
    ),
    stranger=_STRANGER,
    knows=_known,
    statuses=(
        ((0,), Fault("Ollama at {address} broke its reply off with an error: {detail}")),
        (range(200, 300), _STRANGER),
        (
            range(300, 400),
            Fault("{address} redirects ({detail}): set llm.base_url to the Ollama server itself"),
        ),
        (
            (401, 403),
            Fault(
                "Ollama at {address} refuses the request ({detail}): "
                "set llm.api_key_env to the variable that holds its key"
            ),
        ),
        (
            (NOT_FOUND, 405),
            Fault(
                "what answers at {address} is no Ollama server ({detail}): "
                "set llm.base_url to an Ollama server"
            ),
        ),
        (
            (429,),
            Fault(
                "Ollama at {address} has had enough requests for now ({detail}): ask later, or for "
                "less at a time",
                passing=True,
            ),
        ),
        (
            (503,),
            Fault(
                "Ollama at {address} is busy ({detail}): ask for less at a time, or raise its "
                "OLLAMA_MAX_QUEUE",
                passing=True,
            ),
        ),
        (
            range(400, 500),
            Fault(
                "Ollama at {address} refuses the request for model {model!r} ({detail}): "
                "choose a model that can chat, or another setting under [llm]"
            ),
        ),
        (range(500, 600), FAILED),
    ),
)


T = TypeVar("T")


class _Version(msgspec.Struct):
    version: str


class _Model(msgspec.Struct):
    name: str
    context_length: int | None = None  # of /api/ps only: what is really allotted


class _Models(msgspec.Struct):
    models: list[_Model] | None  # a server without any says null


class _Error(msgspec.Struct):
    error: str


class _Shown(msgspec.Struct):
    model_info: Mapping[str, object] | None = None
    capabilities: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of a model: the context it was trained for, and what it can do."""

    context_length: int | None
    capabilities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Server:
    """An Ollama server that is asked about one model; every question raises `ChatError`."""

    endpoint: Endpoint
    model_id: str
    deadline: Deadline

    def version(self) -> str:
        """Return the server's version."""
        return self._get("GET", "/api/version", _Version).version

    def models(self) -> tuple[str, ...]:
        """Return the names of the models it has, with their tags."""
        return tuple(model.name for model in self._get("GET", "/api/tags", _Models).models or ())

    def card(self) -> Card:
        """Return what it knows about the model."""
        shown = self._get("POST", "/api/show", _Shown, {"model": self.model_id})
        info = shown.model_info or {}
        length = info.get(f"{info.get('general.architecture')}.context_length")
        return Card(length if isinstance(length, int) else None, tuple(shown.capabilities or ()))

    def allotted(self) -> int | None:
        """Return the context in tokens the loaded model really has, if the server tells."""
        running = self._get("GET", "/api/ps", _Models).models or ()
        names = spellings(self.model_id)
        return next((model.context_length for model in running if model.name in names), None)

    def _get(
        self, method: str, path: str, kind: type[T], question: dict[str, str] | None = None
    ) -> T:
        asked = Asked(self.endpoint.address, self.model_id, self.deadline.seconds, OLLAMA_NAME)
        with translated(OLLAMA, asked, self.deadline):
            with httpx.Client(**self.endpoint.http(self.deadline)) as client:
                answer = client.request(method, self.endpoint.address + path, json=question)
            if not answer.is_success:
                raise OLLAMA.explain_answer(Answered(answer.status_code, _words(answer)), asked)
            return decoded(answer.content, kind)


def spellings(model_id: str) -> set[str]:
    """Return the names a server may list a model under: a missing tag means `latest`."""
    return {model_id, f"{model_id}:latest"}


def _words(answer: httpx.Response) -> str:
    try:
        return decoded(answer.content, _Error).error
    except msgspec.MsgspecError:
        return answer.text


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


def ask(question: Question, optional: Fields) -> Reply:
    """Ask once, with these optional fields; raise `ChatError`."""
    config, deadline = question.config, question.deadline
    asked = Asked(question.endpoint.address, config.model_id, deadline.seconds, OLLAMA_NAME)
    parts = _parts(question, optional, asked)
    return take(parts, Draft(question.terms, config.max_tokens), asked, deadline)


def _parts(question: Question, optional: Fields, asked: Asked) -> Generator[Part, None, None]:
    """Yield what the server sends, and translate what goes wrong on the way."""
    http = question.endpoint.http(question.deadline, question.config.max_tokens)
    waits: list[str] = []  # the library keeps no headers of a refusal
    http["event_hooks"]["response"].append(
        lambda response: waits.append(response.headers.get("retry-after", ""))
    )
    with (
        translated(OLLAMA, asked, question.deadline),
        Client(question.endpoint.address, **http) as client,
    ):
        try:
            with closing(_answers(client, question, optional)) as answers:
                for answer in answers:
                    yield _part(answer)
        except ResponseError as error:
            after_s = retry_after_s("".join(waits))
            answered = Answered(max(error.status_code, 0), str(error.error), after_s)
            raise OLLAMA.explain_answer(answered, asked) from error


def _answers(
    client: Client, question: Question, optional: Fields
) -> Generator[ChatResponse | GenerateResponse, None, None]:
    """Send the request; the options are the same each time, as a change reloads the model."""
    config, messages = question.config, question.messages
    common: dict[str, Any] = {
        "model": config.model_id,
        "stream": config.stream,
        "options": {
            "num_ctx": config.num_ctx,
            "num_predict": config.max_tokens,
            "temperature": config.temperature,
            "seed": config.seed,
            "stop": list(question.stop),
        },
        **optional,
    }
    if config.prompting == "raw":
        answer = client.generate(prompt=growing_text(messages), raw=True, **common)
    else:
        said = [{"role": message.role, "content": message.content} for message in messages]
        answer = client.chat(messages=said, **common)
    yield from answer if config.stream else (answer,)


def _part(answer: ChatResponse | GenerateResponse) -> Part:
    calls = False
    if isinstance(answer, ChatResponse):
        content, thinking = answer.message.content, answer.message.thinking
        calls = bool(answer.message.tool_calls)
    else:
        content, thinking = answer.response, answer.thinking
    return Part(
        content or "",
        thinking or "",
        answer.done_reason,
        answer.prompt_eval_count,
        answer.eval_count,
        is_last=bool(answer.done),
        calls=calls,
    )
