"""The tools of a run: every plug-in, be it a plain function or one that makes a tool."""

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from chart_binder import plugins
from chart_binder.config import LLMConfig, ToolsConfig
from chart_binder.errors import CanonError, ConfigError, PluginError
from chart_binder.llm.misnamed import unknown_tools
from chart_binder.react.definition import ToolDefectError
from chart_binder.react.foreign import foreign
from chart_binder.react.tools import Tool

_GROUP: Final = "chart_binder.tools"
_SEARCH: Final = "web_search"
_ON_THE_NETWORK: Final = (_SEARCH, "web_fetch", "musicbrainz", "wikipedia")


def default_tools(
    config: LLMConfig, searxng: object | None = None, musicbrainz: object | None = None
) -> tuple[Tool, ...]:
    """Return every tool that is installed and on; none opens a socket yet.

    `searxng` is a search client, `musicbrainz` what opens MusicBrainz, in place of those that the
    tools make themselves. Raises `ConfigError` where `[llm.tools]` names a tool that is not
    installed, `PluginError` for one that cannot be loaded or is no tool, and for two of one name.
    """
    installed = plugins.names(_GROUP)
    clients = {_SEARCH: searxng, "musicbrainz": musicbrainz}
    tools = tuple(
        as_tool(plugins.load(_GROUP, name), name, config, clients.get(name))
        for name in _turned_on(installed, config)
    )
    for name, count in Counter(tool.name for tool in tools).items():
        if count > 1:
            raise PluginError(f"{count} plug-ins of {_GROUP!r} have a tool called {name!r}")
    return tools


def without_network(config: LLMConfig) -> LLMConfig:
    """Return the configuration with the built-in tools off that ask others."""
    off = config.tools.model_copy(update=dict.fromkeys(_ON_THE_NETWORK, False))
    return config.model_copy(update={"tools": off})


def with_tools_here(config: LLMConfig) -> LLMConfig:
    """Return the configuration without a word on tools that are not installed here."""
    installed = plugins.names(_GROUP)
    kept = {name: on for name, on in config.tools.model_dump().items() if name in installed}
    return config.model_copy(update={"tools": ToolsConfig.model_validate(kept)})


def _turned_on(installed: Sequence[str], config: LLMConfig) -> Iterator[str]:
    """Yield the tools that are on, the built-in ones first, in the order of their keys."""
    for _, told in unknown_tools(config.tools):
        raise ConfigError(told)
    own = [name for name in ToolsConfig.model_fields if name in installed]
    for name in dict.fromkeys([*own, *installed]):
        if config.tools.offers(name) and (name != _SEARCH or config.searxng.enabled):
            yield name


def as_tool(found: Any, name: str, config: LLMConfig, client: object | None = None) -> Tool:
    """Return the tool that the plug-in `name` is or makes.

    A `Tool` is one. A function makes one if it says so (`-> Tool`) or takes the configuration: its
    first parameter is annotated `LLMConfig`, or called `config` without an annotation. Everything
    else is the function that the tool calls. Raises `PluginError` that says what is missing.
    """

    def defect(error: Exception) -> PluginError:
        told = str(error) if isinstance(error, ToolDefectError) else f"makes no tool: {error}"
        return PluginError(f"plug-in {name!r} of {_GROUP!r}: {told}")

    with foreign(defect, CanonError):
        made: Any = _made(found, config, client) if _makes_one(found) else found
        return made if isinstance(made, Tool) else Tool.of(made)


def _made(found: Any, config: LLMConfig, client: object | None) -> object:
    given = (config,) if inspect.signature(found).parameters else ()
    return found(*given, *((client,) if client else ()))


def _makes_one(found: object) -> bool:
    if not inspect.isroutine(found):
        return False
    signature = inspect.signature(found)
    if _names(signature.return_annotation, Tool):
        return True
    first = next(iter(signature.parameters.values()), None)
    return first is not None and (
        _names(first.annotation, LLMConfig)
        or (first.name == "config" and first.annotation is first.empty)
    )


def _names(annotation: object, kind: type) -> bool:
    """Tell whether an annotation is a type, also one that is only written down."""
    if isinstance(annotation, str):
        return annotation.strip("\"' ").rpartition(".")[2] == kind.__name__
    return annotation is kind
