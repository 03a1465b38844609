"""A call as it was typed, in a form that does the same in any folder."""

import os
from collections.abc import Iterator

import click
from click.core import ParameterSource

from chart_binder.files import in_any_folder

_STANDARD_INPUT = "-"
_OR_AN_ID = "_OR_"
"""In what an argument is called that takes a name or an id."""


def typed(context: click.Context) -> tuple[str, ...]:
    """Return the options that were given, those before the command too, then the arguments.

    Names of files and folders are absolute; what was not typed is not there. What may be an id as
    well is a name where it is there.
    """
    options: list[str] = []
    arguments: list[str] = []
    calls = [context]
    while calls[-1].parent:
        calls.append(calls[-1].parent)
    for call in calls:
        for parameter in call.command.params:
            if isinstance(parameter, click.Option):
                options += _option(call, parameter)
            else:
                arguments += _values(call, parameter)
    return (*options, *arguments)


def _option(call: click.Context, option: click.Option) -> Iterator[str]:
    name = max(option.opts, key=len)
    for value in _values(call, option):
        if option.count:
            yield from [name] * int(value)
        else:
            yield name if option.is_flag else f"{name}={value}"


def _values(call: click.Context, parameter: click.Parameter) -> Iterator[str]:
    name = parameter.name or ""
    if call.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
        return
    given = call.params[name]
    for value in given if isinstance(given, tuple) else (given,):
        is_place = isinstance(parameter.type, click.Path) and value != _STANDARD_INPUT
        if _OR_AN_ID in (parameter.metavar or ""):
            is_place &= os.path.lexists(value)
        yield in_any_folder(value) if is_place else str(value)
