"""Every setting in every wire format and dialect there is."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from chart_binder import plugins
from engine.settings import SETTINGS, Setting

PROVIDERS: Final = ("ollama", "openai")
WAYS: Final[tuple[Mapping[str, Any], ...]] = (
    {"temperature": 0.0},
    {"temperature": 0.8, "stream": False},
    {"temperature": 0.8, "prompting": "raw"},
    {"temperature": 1.5, "observation_role": "tool"},
)
"""How one and the same setting is met, each with a seed of its own."""


@dataclass(frozen=True, slots=True)
class Case:
    """Where a model is met: a setting, a wire format, a dialect."""

    setting: Setting
    provider: str
    dialect: str

    def __str__(self) -> str:
        return f"{self.setting.name}, {self.provider}, {self.dialect}"


def cases() -> list[Case]:
    """Return all of them."""
    dialects = plugins.names("chart_binder.dialects")
    return [Case(*each) for each in product(SETTINGS, PROVIDERS, dialects)]
