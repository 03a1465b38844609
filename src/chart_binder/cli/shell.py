"""`canon completion` and `canon man`: the help of the commands for shells and for `man`."""

import inspect
import re
from collections.abc import Iterator

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from chart_binder import __version__
from chart_binder.cli import options
from chart_binder.cli.main import COMPLETE

_SHELLS = {shell.name: shell for shell in (BashComplete, ZshComplete, FishComplete)}


@click.command("completion")
@click.argument("shell", type=click.Choice([*_SHELLS]))
@options.pass_session
def completion(session: options.Session, shell: str) -> None:
    """Print the script that completes commands, options, files, keys and values in SHELL.

    bash: canon completion bash > ~/.local/share/bash-completion/completions/canon

    zsh: canon completion zsh > DIR/_canon, with DIR in $fpath before compinit

    fish: canon completion fish > ~/.config/fish/completions/canon.fish
    """
    options.refuse_json(session, "a script")
    root = click.get_current_context().find_root().command
    source = _SHELLS[shell](root, {}, "canon", COMPLETE).source()
    # click's script for fish cuts a value at a comma.
    click.echo(source.replace('string split ","', 'string split -m 1 ","'))


@click.command("man")
@options.pass_session
def man(session: options.Session) -> None:
    """Print the manual page: canon man > ~/.local/share/man/man1/canon.1."""
    options.refuse_json(session, "a manual page")
    root = click.get_current_context().find_root().command
    click.echo("\n".join(_page(root)))


def _page(root: click.Command) -> Iterator[str]:
    context = click.Context(root, info_name="canon", **root.context_settings)
    yield f'.TH CANON 1 "" "canon {__version__}"'
    yield from (".SH NAME", r"canon \- find out when recordings first came out, and tag them")
    yield from (".SH SYNOPSIS", r".B canon", r"[OPTIONS] COMMAND [ARGUMENTS]")
    yield ".SH DESCRIPTION"
    yield from _paragraphs(root.help)
    yield ".SH OPTIONS"
    yield "Every command takes them too, except --version."
    common = dict(_records(context))
    yield from _terms(common)
    yield ".SH COMMANDS"
    yield from _commands(context, common)
    yield ".SH EXIT STATUS"
    yield _text(options.EXIT_STATUS)
    yield ".SH ENVIRONMENT"
    yield from _terms({
        "CANON_CONFIG": "The configuration file to read.",
        "CANON_SECTION__KEY": "A key of the configuration, such as CANON_LLM__MODEL_ID.",
        "NO_COLOR": "Print no colours.",
        "VISUAL, EDITOR": "The editor of canon config edit.",
    })  # fmt: skip
    yield from (".SH FILES", "canon config path prints where they are.")


def _commands(parent: click.Context, common: dict[str, str]) -> Iterator[str]:
    group = parent.command
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        if command is None or command.hidden:
            continue
        context = click.Context(command, info_name=name, parent=parent)
        pieces = command.collect_usage_pieces(context)
        yield f".SS {_text(' '.join([context.command_path, *pieces]))}"
        yield from _paragraphs(command.help)
        records = dict(_records(context))
        yield from _terms({name: records[name] for name in records if name not in common})
        yield from _commands(context, common)


def _records(context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in context.command.get_params(context):
        if record := parameter.get_help_record(context):
            yield record


def _terms(records: dict[str, str]) -> Iterator[str]:
    for name, about in records.items():
        yield from (".TP", rf"\fB{_text(name)}\fR", _text(about))


def _paragraphs(text: str | None) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text or "")):
        yield from (".PP", _text(paragraph))


def _text(text: str) -> str:
    """Return text as one line of roff, escaped."""
    line = " ".join(text.replace("\b", "").split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{line}" if line.startswith((".", "'")) else line
