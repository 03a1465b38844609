"""The `canon` command: a table of commands, each imported when it is called."""

import contextlib
import io
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

import click

from chart_binder import __version__
from chart_binder.cli.options import common_options
from chart_binder.errors import INTERRUPTED, CanonError, ConfigError, PluginError, UsageError
from chart_binder.files import path_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

OK, FAILED, MISUSED = 0, 1, 2
COMPLETE = "_CANON_COMPLETE"
"""The variable by which the script of a shell asks what completes a word."""


COMMANDS = {
    "demo": ("decide", "demo", "See the whole pipeline, with no network and no model."),
    "decide": ("decide", "decide", "Decide files, folders, or an evidence bundle."),
    "explain": ("decide", "explain", "Decide files, and show why every other candidate lost."),
    "batch": ("batch", "batch", "Decide a whole library; the same call continues an earlier one."),
    "write": ("write", "write", "Show what decisions change in tags, or write it."),
    "undo": ("write", "undo", "Put tags back as they were before they were written."),
    "verify": ("write", "verify", "Compare tags and audio with what was written."),
    "review": ("review", "review", "List what waits for a person, and keep a verdict."),
    "override": ("override", "override", "Have the last word on a recording: where, and when."),
    "ls": ("listing", "ls", "List what was decided: a table, CSV, JSON Lines or paths."),
    "forget": ("listing", "forget", "Take files out of the store, also those that are gone."),
    "audit": ("listing", "audit", "Judge a sample of decisions, and see the share of errors."),
    "playlist": ("listing", "playlist", "Write a playlist by first release."),
    "runs": ("runs", "runs", "Look at what earlier calls did, cost and left undone."),
    "drift": ("drift", "drift", "List the decisions that would differ today, and why."),
    "init": ("setup", "init", "Ask what canon needs to know, and write your configuration."),
    "doctor": ("config", "doctor", "Check MusicBrainz, model, search service and store."),
    "model": ("model", "model", "Examine the configured model: may it decide by prose?"),
    "config": ("config", "config", "Show the configuration and where it comes from, or change it."),
    "transcript": ("transcript", "transcript", "List, read, replay or parse runs of a model."),
    "completion": ("shell", "completion", "Print the script that completes words in a shell."),
    "man": ("shell", "man", "Print the manual page."),
    "tools": ("config", "tools", "List what the model can call, or call it by hand."),
    "eval": ("evaluate", "eval_golden", "Decide the bundles of a golden file, and score them."),
}
"""The module and the function of each command, and the line that `--help` shows."""


class Commands(click.Group):
    """Finds commands by the table, so that `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, function, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"chart_binder.cli.{module}"), function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called, or fail with the one that may be meant."""
        name = args[0]
        if not (name in COMMANDS or name.startswith("-") or ctx.resilient_parsing):
            close = get_close_matches(name.casefold(), COMMANDS, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {name!r}: {meant}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete a command by the table, an option as click does."""
        from click.shell_completion import CompletionItem

        begun = {name: row for name, row in COMMANDS.items() if name.startswith(incomplete)}
        items = [CompletionItem(name, help=about) for name, (_, _, about) in begun.items()]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table, without importing what it names."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, _, about) in COMMANDS.items()])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 every file decided, 3 some wait for a person (review, undecided,"
    " unmatched, unreadable), 1 some failed, 2 bad usage or configuration, 130 interrupted.",
)
@click.version_option(__version__, prog_name="canon", message="%(prog)s %(version)s")
@common_options
def canon() -> None:
    """Decide which release group a recording belongs to, and show why.

    The canonical release group (CRG) is where a recording first came out as a deliberate, official
    work; the representative release (RR) is the release that stands for it.

    Start with `canon demo`.
    """


def main() -> None:
    """Run the command line and exit; errors outside the program are one line each, no traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit status."""
    _prepare_streams()
    if asked := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(canon, {}, "canon", COMPLETE, asked)
    try:
        try:  # not `canon.main`, which ends with 1 where nobody reads what is printed any more
            with canon.make_context("canon", list(arguments)) as context:
                status = canon.invoke(context)
        except click.exceptions.Exit as ended:  # `--help`
            status = ended.exit_code
        sys.stdout.flush()
    except tuple(_STATUS) as error:
        _report(error)
        return next(status for kind, status in _STATUS.items() if isinstance(error, kind))
    return status if isinstance(status, int) else OK


def _prepare_streams() -> None:
    """Open streams that are closed, and let none fail on letters that its encoding lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed, as some supervisors start programs
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


_STATUS: dict[type[BaseException], int] = {
    click.ClickException: MISUSED,
    ConfigError: MISUSED,
    PluginError: MISUSED,
    UsageError: MISUSED,
    CanonError: FAILED,
    KeyboardInterrupt: INTERRUPTED,
    click.Abort: INTERRUPTED,
    BrokenPipeError: INTERRUPTED,
    OSError: FAILED,  # results that cannot be written: a full disk
}
"""The exit status for each kind of error; the first row that fits counts."""


def _report(error: BaseException) -> None:
    from chart_binder.cli.output import print_error, print_lines

    match error:
        case click.ClickException():
            shown = io.StringIO()
            error.show(shown)
            print_lines(shown.getvalue().splitlines(), err=True)
        case KeyboardInterrupt() | click.Abort():
            print_lines([""] * isinstance(error, KeyboardInterrupt), err=True)  # behind `^C`
            print_error("interrupted")
        case OSError():
            # Else Python would flush its buffer into the stream that failed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):  # which `head` causes on purpose
                with contextlib.suppress(OSError):  # standard error may be on the same full disk
                    print_error(f"cannot go on: {_named(error)}")
        case _:
            print_error(str(error))


def _named(error: OSError) -> str:
    """Return what failed with what; the current folder is what is gone where none is named."""
    if error.filename is None and isinstance(error, FileNotFoundError):
        return "the current folder does not exist any more"
    where = "" if error.filename is None else f"{path_text(error.filename)}: "
    return f"{where}{error.strerror or error}"
