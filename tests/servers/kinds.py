"""The kinds of model server, each with its stand-in and what connects to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from chart_binder.chat import ollama, openai
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatModel
from servers.ollama import FAULTS as OLLAMA_FAULTS
from servers.ollama import OllamaStandIn
from servers.openai import FAULTS as OPENAI_FAULTS
from servers.openai import OpenAIStandIn

AnyStandIn: TypeAlias = OllamaStandIn | OpenAIStandIn


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: `serve` makes a stand-in, `rows` are what it can do wrong."""

    provider: str
    serve: Callable[..., AnyStandIn]
    connect: Callable[..., ChatModel]
    rows: Any

    @property
    def faults(self) -> tuple[str, ...]:
        """Return the names of what it can do wrong."""
        return tuple(self.rows)

    def model(self, server: AnyStandIn, **changes: object) -> ChatModel:
        """Return the model behind a stand-in, the configuration changed."""
        settings = {"base_url": server.url, "timeout_s": 5.0, **changes}
        return self.connect(LLMConfig.model_validate(settings), {})


KINDS: Mapping[str, Kind] = {
    "ollama": Kind("ollama", OllamaStandIn, ollama.connect, OLLAMA_FAULTS),
    "openai": Kind("openai", OpenAIStandIn, openai.connect, OPENAI_FAULTS),
}
