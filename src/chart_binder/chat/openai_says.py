"""What an OpenAI-compatible server says about its models."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import httpx
import msgspec

from chart_binder.chat.deadline import Deadline
from chart_binder.chat.endpoint import Endpoint
from chart_binder.chat.faults import Asked, translated
from chart_binder.chat.ollama_says import spellings
from chart_binder.chat.openai_faults import OPENAI
from chart_binder.chat.openai_format import complaint, document, refusal
from chart_binder.chat.server_names import OPENAI_NAME
from chart_binder.react.conversation import ChatError
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
