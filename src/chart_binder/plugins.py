"""Plug-ins are looked up by name among installed entry points."""

import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from chart_binder.errors import PluginError
from chart_binder.react.conversation import wrap_plugin_errors


def load(group: str, name: str) -> Any:
    """Return what the entry point `name` of `group` names, or raise `PluginError`."""
    known = {point.name: point for point in _installed(group)}
    if name not in known:
        raise PluginError(f"no plug-in {name!r} in {group!r}; installed: {_listed(known)}")
    with wrap_plugin_errors(
        lambda error: PluginError(f"plug-in {name!r} of {group!r} cannot be loaded: {error}")
    ):
        return known[name].load()


def names(group: str) -> tuple[str, ...]:
    """Return the names of the plug-ins of a group, in alphabetical order."""
    return tuple(sorted(point.name for point in _installed(group)))


def _installed(group: str) -> tuple[EntryPoint, ...]:
    return tuple(_finder(tuple(sys.path))(group))


@cache
def _finder(path: tuple[str, ...]) -> Callable[[str], Iterable[EntryPoint]]:
    """Look through all that is installed, once for each path: it takes milliseconds."""
    del path
    found = entry_points()
    return lambda group: found.select(group=group)


def _listed(names: dict[str, Any]) -> str:
    return ", ".join(sorted(names)) or "none (is the package installed?)"
