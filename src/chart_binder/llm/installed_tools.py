"""The tools of a run: every plug-in, be it a plain function or one that makes a tool."""

import inspect
from collections import Counter
from typing import Any, Final

from chart_binder import plugins
from chart_binder.config import LLMConfig
from chart_binder.errors import CanonError, PluginError
from chart_binder.react.definition import ToolDefectError
from chart_binder.react.tools import Tool

SEARCH: Final = "web_search"
_GROUP: Final = "chart_binder.tools"


def default_tools(config: LLMConfig, searxng: object | None = None) -> tuple[Tool, ...]:
    """Return every tool that is installed and not turned off; none opens a socket yet.

    Raises `PluginError` for one that cannot be loaded or is no tool, and for two of one name.
    """
    tools = tuple(
        as_tool(plugins.load(_GROUP, name), name, config, searxng if name == SEARCH else None)
        for name in plugins.names(_GROUP)
        if name != SEARCH or config.searxng.enabled
    )
    for name, count in Counter(tool.name for tool in tools).items():
        if count > 1:
            raise PluginError(f"{count} plug-ins of {_GROUP!r} have a tool called {name!r}")
    return tools


def as_tool(found: Any, name: str, config: LLMConfig, client: object | None = None) -> Tool:
    """Return the tool that the plug-in `name` is or makes.

    A `Tool` is one. A function makes one if it says so (`-> Tool`) or takes the configuration: its
    first parameter is annotated `LLMConfig`, or called `config` without an annotation. Everything
    else is the function that the tool calls. Raises `PluginError` that says what is missing.
    """
    try:
        made: Any = _made(found, config, client) if _makes_one(found) else found
        return made if isinstance(made, Tool) else Tool.of(made)
    except CanonError:
        raise
    except ToolDefectError as error:
        raise PluginError(f"plug-in {name!r} of {_GROUP!r}: {error}") from error
    except Exception as error:  # a plug-in is somebody else's code
        raise PluginError(f"plug-in {name!r} of {_GROUP!r} makes no tool: {error}") from error


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
