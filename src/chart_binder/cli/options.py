"""Options that may stand before or after a command, and what they lead to."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from chart_binder.files import absolute_path

if TYPE_CHECKING:
    from chart_binder.config import Config
    from chart_binder.config.load import Settings


R = TypeVar("R")


@dataclass
class Session:
    """One call of the program: its options, and the configuration they lead to."""

    file: Path | None = None
    verbosity: int = 0
    output: str = "text"
    flags: dict[str, Any] = field(default_factory=dict)

    @property
    def as_json(self) -> bool:
        """Whether results are printed as JSON lines."""
        return self.output == "json"

    @property
    def shows_run(self) -> bool:
        """Whether the adjudicator's run is shown as it happens."""
        return self.verbosity > 1

    @cached_property
    def settings(self) -> "Settings":
        """The effective configuration with its sources; logging is set up by it."""
        from chart_binder.cli.logs import set_up_logging
        from chart_binder.config.load import load_settings
        from chart_binder.llm.tools import unknown_names

        settings = load_settings(self.file, os.environ, self.flags)
        settings.refuse(dict(unknown_names(settings.config.llm)))
        set_up_logging(settings.config.log, self.verbosity)
        return settings

    @property
    def config(self) -> "Config":
        """The effective configuration."""
        return self.settings.config


pass_session = click.make_pass_decorator(Session, ensure=True)


def common_options(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command the common options; the last one given counts, `-v` adds up."""

    @click.option(
        "--config",
        "config_file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Read this configuration file.",
    )
    @click.option("-v", "--verbose", count=True, help="Say more; -vv shows the model's run.")
    @click.option("--output", type=click.Choice(["text", "json"]), help="Form of the results.")
    @click.pass_context
    @wraps(command)
    def with_session(
        context: click.Context,
        /,
        *args: Any,
        config_file: Path | None,
        verbose: int,
        output: str | None,
        **kwargs: Any,
    ) -> R:
        session = context.ensure_object(Session)
        session.file = config_file or session.file
        session.verbosity += verbose
        session.output = output or session.output
        return context.invoke(command, *args, **kwargs)

    return with_session


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
        yield absolute_path(value) if is_place else str(value)


class Group(click.Group):
    """Lists its commands by the first paragraph of their help, folded where click cuts it."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, _about(each)) for name, each in commands if each and not each.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def _about(command: click.Command) -> str:
    said = command.short_help or command.help or ""
    return " ".join(said.partition("\n\n")[0].split())
