"""Options that may stand before or after a command, and what they lead to."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from chart_binder.config import Config
    from chart_binder.settings import Settings

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
        from chart_binder.cli.logs import set_up_logging  # noqa: PLC0415 (--help)
        from chart_binder.llm.misnamed import misnamed  # noqa: PLC0415 (--help)
        from chart_binder.settings import load_settings  # noqa: PLC0415 (--help)

        settings = load_settings(self.file, os.environ, self.flags)
        settings.refuse(dict(misnamed(settings.config.llm)))
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
