"""What configuration names must be there, whether or not a model is on that would meet it."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from chart_binder import plugins
from chart_binder.config import LLMConfig, PromptConfig, ToolsConfig
from chart_binder.errors import ConfigError

Misnamed: TypeAlias = tuple[str, str]
"""A key, and a sentence on its value that begins with the key."""
_INSTALLED: Final = (("provider", "chart_binder.chat_models"), ("dialect", "chart_binder.dialects"))


def misnamed(config: LLMConfig) -> Iterator[Misnamed]:
    """Yield the keys that name what is not there; nothing is loaded that they name.

    Such are a provider, a dialect or a tool that is not installed, a prompt that is not shipped,
    and a placeholder that a section of the prompt does not have.
    """
    for key, group in _INSTALLED:
        installed, name = plugins.names(group), getattr(config, key)
        if name not in installed:
            there = ", ".join(installed) or "none"
            yield f"llm.{key}", f"llm.{key}: found {name!r}; installed are {there}"
    yield from unknown_tools(config.tools)
    if config.prompt != PromptConfig():
        yield from _in_prompt(config.prompt)


def unknown_tools(config: ToolsConfig) -> Iterator[Misnamed]:
    """Yield the tools that `[llm.tools]` turns on or off though none of that name is installed."""
    installed = plugins.names("chart_binder.tools")
    there = ", ".join(installed)
    for name in sorted({*(config.model_extra or {})} - {*installed}):
        key = f"llm.tools.{name}"
        yield key, f"{key}: no such tool is installed; there are {there}"


def _in_prompt(config: PromptConfig) -> Iterator[Misnamed]:
    from chart_binder.llm.prompt import TEXTS, load_prompt  # noqa: PLC0415 - slow, seldom needed

    try:
        shipped = load_prompt(config.version)
    except ConfigError as error:
        yield "llm.prompt.version", str(error)
        return
    for section in TEXTS:
        text = getattr(config, section)
        try:
            shipped.overridden(**{section: text} if text else {})
        except ConfigError as error:
            yield f"llm.prompt.{section}", str(error)
