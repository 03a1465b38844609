"""Look plug-ins up by name among the installed entry points."""

import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from chart_binder.errors import PluginError
from chart_binder.react.conversation import wrap_plugin_errors


def load(group: str, name: str) -> Any:
    """Return the object of the entry point `name` in `group`. Raises `PluginError`."""
    points = {point.name: point for point in _entry_points(tuple(sys.path))(group)}
    if name not in points:
        installed = ", ".join(sorted(points)) or "none (is the package installed?)"
        raise PluginError(f"no plug-in {name!r} in {group!r}; installed: {installed}")
    with wrap_plugin_errors(
        lambda error: PluginError(f"plug-in {name!r} of {group!r} cannot be loaded: {error}")
    ):
        return points[name].load()


def names(group: str) -> tuple[str, ...]:
    """Return the names of the plug-ins of a group, in alphabetical order."""
    return tuple(sorted(point.name for point in _entry_points(tuple(sys.path))(group)))


@cache
def _entry_points(path: tuple[str, ...]) -> Callable[[str], Iterable[EntryPoint]]:
    """Return a function for the entry points of a group, which are read once for each `path`."""
    del path
    installed = entry_points()
    return lambda group: installed.select(group=group)
