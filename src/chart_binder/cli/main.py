"""The `canon` command: a table of commands, each imported when it is called."""

import contextlib
import io
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from chart_binder import __version__
from chart_binder.cli.options import EXIT_STATUS, common_options
from chart_binder.errors import INTERRUPTED, CanonError, ConfigError, PluginError, UsageError
from chart_binder.files import path_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

OK, FAILED, MISUSED = 0, 1, 2
COMPLETE = "_CANON_COMPLETE"
"""The environment variable in which a shell's completion script passes its request."""


COMMANDS = {
    "demo": ("decide", "demo", "See the whole pipeline, with no network and no model."),
    "decide": ("decide", "decide", "Decide a few files or an album, with the reasons."),
    "explain": ("decide", "explain", "Decide files, and show why every other candidate lost."),
    "batch": ("batch", "batch", "Decide a whole library; call it again to continue."),
    "write": ("write", "write", "Preview the changes to tags, or write them (--apply)."),
    "undo": ("write", "undo", "Put tags back as they were before they were written."),
    "verify": ("write", "verify", "Compare tags and audio with what was written."),
    "review": ("review", "review", "Look at what needs you, and give a verdict."),
    "override": ("override", "override", "Set the right record or date of a recording yourself."),
    "ls": ("listing", "ls", "List what was decided: a table, CSV, JSON Lines or paths."),
    "forget": ("listing", "forget", "Forget files without deleting them."),
    "audit": ("listing", "audit", "Judge a sample of decisions, and see how many are wrong."),
    "playlist": ("listing", "playlist", "Write a playlist in the order of first release."),
    "report": ("runs", "report", "Count your library in plots: what is older than its album."),
    "runs": ("runs", "runs", "See what earlier calls did, cost and left undone."),
    "drift": ("drift", "drift", "List the decisions that would differ today, and why."),
    "init": ("config", "init", "Ask what canon needs to know, and write your configuration."),
    "doctor": ("doctor", "doctor", "Check MusicBrainz, model, search service and store."),
    "index": ("index", "index", "Build an index of all of MusicBrainz from a dump, or check it."),
    "model": ("model", "model", "Test whether the configured model reads well enough."),
    "config": ("config", "config", "Show the configuration and where it comes from, or change it."),
    "transcript": ("transcript", "transcript", "List, read, replay or parse runs of a model."),
    "completion": ("shell", "completion", "Print the script that completes commands in a shell."),
    "man": ("shell", "man", "Print the manual page."),
    "tools": ("model", "tools", "List what the model can call, or call it by hand."),
    "eval": ("evaluate", "eval_golden", "Score decisions on the bundles of a golden file."),
}
"""The module and the function of each command, and the line that `--help` shows."""
_SECTIONS = {"Decide and write": "demo", "Your library": "ls", "Set-up, model and tests": "init"}
"""The sections of `--help`, with the first command of each."""


class Commands(click.Group):
    """A group that finds its commands in the table, so that `--help` imports none of them."""

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
        """Return the named command; if there is none, fail and suggest a similar name."""
        name = args[0]
        if not (name in COMMANDS or name.startswith("-") or ctx.resilient_parsing):
            close = get_close_matches(name.casefold(), COMMANDS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {name!r}: {hint}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete command names from the table, and options as click does."""
        from click.shell_completion import CompletionItem

        rows = {name: row for name, row in COMMANDS.items() if name.startswith(incomplete)}
        items = [CompletionItem(name, help=about) for name, (_, _, about) in rows.items()]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing the commands."""
        del ctx
        names = list(COMMANDS)
        starts = [*map(names.index, _SECTIONS.values()), len(names)]
        for title, (start, end) in zip(_SECTIONS, pairwise(starts), strict=True):
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name][2]) for name in names[start:end]])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Exit status: {EXIT_STATUS}",
)
@click.version_option(__version__, prog_name="canon", message="%(prog)s %(version)s")
@common_options
def canon() -> None:
    """Find out when each recording first came out, show why, and write that date into its tags.

    canon also names the record that a recording belongs to, its canonical release group (CRG).
    Usually that is the first official record; but a single that came out at most 90 days before its
    album counts as part of the album. The representative release (RR) is one edition of the record.

    Start with `canon demo`.
    """


def main() -> None:
    """Run the command line and exit. An error outside the program prints a line, no traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit status."""
    _prepare_streams()
    if completion_request := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(canon, {}, "canon", COMPLETE, completion_request)
    try:
        try:  # `canon.main` would exit with 1 if the reader of a pipe is gone
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
    """Open closed streams, and replace characters that the encoding of a stream lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # some supervisors close it
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
"""The exit status for each kind of error; the first matching row applies."""


def _report(error: BaseException) -> None:
    from chart_binder.cli.output import print_error, print_lines

    match error:
        case click.ClickException():
            usage = io.StringIO()
            error.show(usage)
            print_lines(usage.getvalue().splitlines(), err=True)
        case KeyboardInterrupt() | click.Abort():
            print_lines([""] * isinstance(error, KeyboardInterrupt), err=True)  # after `^C`
            print_error("interrupted")
        case OSError():
            # Otherwise Python would flush its buffer into the stream that failed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):  # which `head` causes on purpose
                with contextlib.suppress(OSError):  # standard error may be on the same full disk
                    print_error(f"cannot go on: {_error_text(error)}")
        case _:
            print_error(str(error))


def _error_text(error: OSError) -> str:
    """Return an error with its file; if there is no file name, the current folder is gone."""
    if error.filename is None and isinstance(error, FileNotFoundError):
        return "the current folder no longer exists"
    where = "" if error.filename is None else f"{path_text(error.filename)}: "
    return f"{where}{error.strerror or error}"
