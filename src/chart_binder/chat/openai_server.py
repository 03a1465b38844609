"""Whether an OpenAI-compatible server can do what the configuration asks of it."""

import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import httpx
import msgspec

from chart_binder.chat.capabilities import OPENAI_NAME, PATIENCE_S, Fields, Health
from chart_binder.chat.faults import DECLINING, Answered, Asked, translated
from chart_binder.chat.http import Deadline, Endpoint
from chart_binder.chat.ollama_server import spellings
from chart_binder.chat.openai import api_at
from chart_binder.chat.openai_format import (
    ABSENT,
    NO_COMPLETIONS,
    NOT_FOUND,
    OPENAI,
    ROLE,
    complaint,
    document,
    is_about_absence,
    is_about_role,
    part,
    refusal,
)
from chart_binder.chat.served_model import Question, growing_text
from chart_binder.chat.streaming import Draft, Part, events, take
from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError, masked
from chart_binder.net import retry_after_s
from chart_binder.react.conversation import ChatError, Message, Reply
from chart_binder.typed import converted

T = TypeVar("T")
_MOST_NAMES = 8


class _Model(msgspec.Struct):
    """A row of any list of models; each kind of server has its own word for the context."""

    id: str = ""
    name: str = ""  # Ollama
    max_model_len: int | None = None  # vLLM
    loaded_context_length: int | None = None  # LM Studio
    context_length: int | None = None  # Ollama, OpenRouter

    @property
    def window(self) -> int | None:
        return self.max_model_len or self.loaded_context_length or self.context_length


class _Models(msgspec.Struct):
    data: list[_Model] | None  # a server without any may say null


class _Slot(msgspec.Struct):
    n_ctx: int | None = None


class _Properties(msgspec.Struct):
    """What llama.cpp says at `/props`, Ollama at `/api/ps`, all at a list of models."""

    data: list[_Model] | None = None
    models: list[_Model] | None = None
    default_generation_settings: _Slot | None = None

    def window(self, model_id: str) -> int | None:
        """Return the context in tokens that the model has."""
        names = spellings(model_id)
        for model in [*(self.data or []), *(self.models or [])]:
            if names & {model.id, model.name} and model.window:
                return model.window
        slot = self.default_generation_settings
        return slot.n_ctx if slot else None


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is asked about one model; `endpoint` is where its API begins."""

    endpoint: Endpoint
    model_id: str
    deadline: Deadline

    def models(self) -> tuple[str, ...]:
        """Return the names of the models it has; raise `ChatError`."""
        listed = self._get(f"{self.endpoint.address}/models", _Models)
        return tuple(model.id for model in listed.data or () if model.id)

    def window(self) -> int | None:
        """Return the context in tokens the model really has, if the server tells in any way."""
        for address in self._places():
            try:
                window = self._get(address, _Properties).window(self.model_id)
            except ChatError:  # it is no server of that kind
                continue
            if window:
                return window
        return None

    def _places(self) -> Iterator[str]:
        """Yield where servers say it: vLLM, llama.cpp, Ollama, LM Studio."""
        api = self.endpoint.address
        yield f"{api}/models"
        root = api.removesuffix("/v1")
        yield from (f"{root}{path}" for path in ("/props", "/api/ps", "/api/v0/models"))

    def _get(self, address: str, kind: type[T]) -> T:
        seconds = self.deadline.seconds
        asked = Asked(self.endpoint.address, self.model_id, seconds, OPENAI_NAME, self.endpoint.key)
        with translated(OPENAI, asked, self.deadline):
            with httpx.Client(**self.endpoint.http(self.deadline)) as client:
                answer = client.get(address)
            if not answer.is_success:
                wrong = refusal(answer.content, answer.status_code)
                raise OPENAI.explain_answer(wrong, asked)
            said = document(answer.content)
            if unexpected := complaint(said):
                raise OPENAI.explain_answer(unexpected, asked)
            return converted(said, kind)


def advice(models: tuple[str, ...]) -> str:
    """Return what to do about a model that is not among those of the server."""
    if not models:
        return "load it there, or set llm.model_id to one it has"
    more = len(models) - _MOST_NAMES
    names = ", ".join(models[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"set llm.model_id to one it has: {names}"


MOST_STOPS = 4  # what OpenAI's own server takes; our own cut knows them all
_DONE = b"[DONE]"
_STREAM = (b"data:", b"event:", b":")


def ask(question: Question, optional: Fields) -> Reply:
    """Ask once, with these optional fields; raise `ChatError`."""
    config, endpoint, deadline = question.config, question.endpoint, question.deadline
    asked = Asked(endpoint.address, config.model_id, deadline.seconds, OPENAI_NAME, endpoint.key)
    parts = _parts(question, optional, asked)
    return take(parts, Draft(question.terms, config.max_tokens), asked, deadline)


def _parts(question: Question, optional: Fields, asked: Asked) -> Generator[Part, None, None]:
    """Yield what the server sends, and translate what goes wrong on the way."""
    http = question.endpoint.http(question.deadline, question.config.max_tokens)
    address, body = _request(question, optional)
    with (
        translated(OPENAI, asked, question.deadline),
        httpx.Client(**http) as client,
        client.stream("POST", address, json=body) as answer,
    ):
        if not answer.is_success:
            after_s = retry_after_s(answer.headers.get("retry-after", ""))
            said = refusal(answer.read(), answer.status_code, after_s)
            raise _explained(said, question, asked)
        for text, is_whole in _texts(answer):
            if text.strip() == _DONE:
                yield Part(is_last=True)
                return
            said = document(text)
            if wrong := complaint(said):
                raise _explained(wrong, question, asked)
            yield replace(part(said), is_last=is_whole)


def _texts(answer: httpx.Response) -> Iterator[tuple[bytes, bool]]:
    """Yield the documents of an answer, streamed or the one whole, whatever was asked for."""
    if "event-stream" in answer.headers.get("content-type", ""):
        yield from ((text, False) for text in events(answer.iter_bytes()))
        return
    body = answer.read()
    if body.lstrip().startswith(_STREAM):
        yield from ((text, False) for text in events([body]))
    else:
        yield body, True


def _request(question: Question, optional: Fields) -> tuple[str, Fields]:
    """Return where to ask, and what."""
    config, stop = question.config, question.stop[:MOST_STOPS]
    fields: dict[str, object] = {
        "model": config.model_id,
        "stream": config.stream,
        "max_tokens": config.max_tokens,
        "temperature": config.temperature,
        **({"stop": list(stop)} if stop else {}),
        **optional,
    }
    if config.prompting == "raw":
        path, fields["prompt"] = "/completions", growing_text(question.messages)
    else:
        path, fields["messages"] = "/chat/completions", list(_messages(question.messages))
    return question.endpoint.address + path, fields


def _messages(messages: Iterable[Message]) -> Iterator[dict[str, str]]:
    """Yield the messages as the format has them.

    A tool's message names the call it answers. There is none on the wire, as calls are text here:
    vLLM, llama.cpp, LM Studio and Ollama take an id all the same, OpenAI's own server does not. The
    templates of some models want nine letters or figures.
    """
    for number, message in enumerate(messages):
        said = {"role": message.role, "content": message.content}
        yield said | {"tool_call_id": f"call{number:05}"} if message.role == "tool" else said


def _explained(said: Answered, question: Question, asked: Asked) -> ChatError:
    """Return what to raise for an answer that is no reply, to this very question."""
    is_raw = question.config.prompting == "raw"
    if is_about_absence(said):
        return ABSENT.error(asked, _choice(question))
    if said.status in {NOT_FOUND, 405, 501} and is_raw:
        return NO_COMPLETIONS.error(asked, said.detail)
    has_tool = not is_raw and any(message.role == "tool" for message in question.messages)
    if has_tool and said.status in DECLINING and is_about_role(said):
        return ROLE.error(asked, said.detail)
    return OPENAI.explain_answer(said, asked)


def _choice(question: Question) -> str:
    """Return what to do about a model that the server lacks."""
    try:
        server = Server(question.endpoint, question.config.model_id, question.deadline)
        return advice(server.models())
    except ChatError:
        return advice(())


def check(config: LLMConfig, environ: Mapping[str, str] = os.environ) -> Health:
    """Ask the server for its models and the context of the configured one; never raises for it."""
    try:
        endpoint = api_at(Endpoint.of(config, environ))
    except ConfigError as error:
        return Health(masked(config.base_url), config.model_id, problems=(str(error),))
    health = Health(endpoint.address, config.model_id)
    with Deadline(min(PATIENCE_S, config.timeout_s)) as deadline:
        server = Server(endpoint, config.model_id, deadline)
        try:
            health = replace(health, models=server.models())
        except ChatError as error:
            return replace(health, problems=(str(error),))
        health = replace(health, context_length=server.window())
    return replace(health, problems=tuple(_misfits(health, config)))


def _misfits(health: Health, config: LLMConfig) -> Iterator[str]:
    model, window = health.model_id, health.context_length
    if not spellings(model) & set(health.models):
        yield f"model {model!r} is not on the server at {health.address}: {advice(health.models)}"
    elif window is not None and config.num_ctx > window:
        yield (
            f"llm.num_ctx = {config.num_ctx} is more than the {window} tokens that model {model!r} "
            f"has at {health.address}: lower it to {window}, or start the server with more"
        )
