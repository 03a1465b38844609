"""What an Ollama server says about itself and its models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import httpx
import msgspec

from chart_binder.chat.deadline import Deadline
from chart_binder.chat.endpoint import Endpoint
from chart_binder.chat.faults import Answered, Asked, translated
from chart_binder.chat.ollama_faults import OLLAMA
from chart_binder.chat.server_names import OLLAMA_NAME
from chart_binder.typed import decoded

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
