"""Options and arguments that the commands share, and how they are read."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from chart_binder.cli.output import (
    MAX_WORDS,
    PrintOptions,
    print_json,
    print_lines,
    print_notes,
    print_options,
    set_up_logging,
)
from chart_binder.errors import UsageError
from chart_binder.files import absolute_path, path_text

if TYPE_CHECKING:
    from chart_binder.audio.find import AudioFile, UnreadablePath
    from chart_binder.config import Config
    from chart_binder.config.load import Settings
    from chart_binder.domain.tag_policies import WriteOptions
    from chart_binder.domain.verdict import OverrideRecord
    from chart_binder.store import Store

R = TypeVar("R")
EXIT_STATUS = (
    "0 every file decided, 3 some wait for a person (review, undecided, unmatched, unreadable), 1"
    " some failed, 2 bad usage or configuration, 130 interrupted."
)
"""What the exit status of `canon` means."""


@dataclass
class Session(PrintOptions):
    """One call of the program: its common options, and the resulting configuration."""

    file: Path | None = None
    verbosity: int = 0
    flags: dict[str, Any] = field(default_factory=dict)

    @property
    def shows_run(self) -> bool:
        """Whether the adjudicator's run is shown as it happens."""
        return self.verbosity > 1

    @cached_property
    def settings(self) -> "Settings":
        """The effective configuration with its sources; logging is set up by it."""
        from chart_binder.config.load import load_settings
        from chart_binder.llm.tools import unknown_names

        settings = load_settings(self.file, os.environ, self.flags)
        settings.refuse(dict(unknown_names(settings.config.llm)))
        set_up_logging(settings.config.log, self.verbosity, is_quiet=self.quiet)
        print_notes(f"canon: {warning}" for warning in settings.warnings)
        return settings

    @property
    def config(self) -> "Config":
        """The effective configuration."""
        return self.settings.config

    @cached_property
    def overrides(self) -> "Mapping[str, OverrideRecord]":
        """The overrides in the store, by recording, as they were at the first use."""
        from chart_binder.wiring import overrides

        return overrides(self.config)()

    def open_store(self) -> "Store":
        """Open or create the store, for a `with` statement. Raises `StoreError`."""
        from chart_binder.store import open_store
        from chart_binder.wiring import store_url

        return open_store(store_url(self.config))

    def create_no_store(self) -> None:
        """If there is no store yet, use a temporary one until the command ends."""
        from tempfile import TemporaryDirectory

        from chart_binder.store import exists
        from chart_binder.wiring import store_url

        config = self.config
        if not exists(store_url(config)):
            folder = click.get_current_context().with_resource(TemporaryDirectory())
            store = config.store.model_copy(update={"url": f"sqlite:///{folder}/canon.db"})
            config = config.model_copy(update={"store": store})
            self.settings = replace(self.settings, config=config)

    def show(self, value: object, lines: Iterable[str]) -> None:
        """Print a result as one line of JSON, or as lines of text, as `--output` says."""
        if self.as_json:
            print_json(value)
        else:
            print_lines(lines)

    def summarize(self, lines: Iterable[str]) -> None:
        """Print lines about all results; if these are JSON, as notes beside them."""
        (print_notes if self.as_json else print_lines)(lines)


def flag(*names_and_help: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return an option without a value: its names, then its help."""
    *names, about = names_and_help
    return click.option(*names, is_flag=True, help=about)


def option(
    names: str, about: str, into: str = "", **settings: Any
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return an option with a value: `-o --out FILE`, its help, and the name of its parameter."""
    words = names.split()
    metavar = None if words[-1].startswith("-") else words.pop()
    return click.option(*words, *filter(None, [into]), metavar=metavar, help=about, **settings)


def together(*options: Callable[[Any], Any]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return a decorator that gives a command several options, in this order in its help."""

    def decorate(command: Callable[..., R]) -> Callable[..., R]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_common = together(
    option(
        "--config",
        "Read this configuration file.",
        into="config_file",
        type=click.Path(path_type=Path, dir_okay=False, readable=False),
    ),
    flag("-q", "--quiet", "Print only results (a batch's summary too) and errors."),
    option("-v --verbose", "Show more; -vv shows the model's run.", count=True),
    flag("--offline", "Use only what is stored, and no network."),
    option("--output", "Format of the results.", type=click.Choice(["text", "json"])),
    click.option("--json", "output", flag_value="json", help="Short for --output json."),
    option(
        "--color",
        "Use colours; auto: on terminals.",
        into="colour",
        type=click.Choice(["auto", "always", "never"]),
    ),
)


def common_options(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command the common options; the last value of each counts, and `-v` adds up."""

    @_common
    @click.pass_context
    @wraps(command)
    def with_session(
        context: click.Context,
        /,
        *args: Any,
        config_file: Path | None,
        quiet: bool,
        verbose: int,
        offline: bool,
        output: str | None,
        colour: str | None,
        **kwargs: Any,
    ) -> R:
        session = context.ensure_object(Session)
        session.file = config_file or session.file
        session.verbosity += verbose
        session.quiet |= quiet
        if session.quiet and session.verbosity:
            raise UsageError("-q and -v contradict each other: leave out one of them")
        session.colour = colour or session.colour
        if offline:
            session.flags["musicbrainz.offline"] = True
        session.output = output or session.output

        print_options.set(session)
        return context.invoke(command, *args, **kwargs)

    return with_session


def pass_session(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command the common options, and the session as its first argument."""
    return common_options(click.make_pass_decorator(Session)(command))


def refuse_json(session: Session, printed: str, instead: str = "") -> None:
    """Raise `UsageError` if JSON is asked for, which a command cannot give."""
    if session.as_json:
        advice = f"; {instead} prints JSON" if instead else ""
        raise UsageError(f"this command prints {printed}: leave out --json{advice}")


def completed(
    names: Callable[[], Iterable[str]],
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a callback that completes a name, or the last of several separated by commas.

    The names are looked up when a shell asks for them.
    """
    return lambda _context, _parameter, prefix: [*completions(prefix, names())]


def completions(prefix: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the completions of a word; only the part after its last comma is completed."""
    before, comma, last = prefix.rpartition(",")
    new = (name for name in names if name not in before.split(","))
    return (f"{before}{comma}{name}" for name in new if name.startswith(last))


def _policies() -> Iterable[str]:
    from chart_binder.config.load import values_of

    return values_of("tags.policy")


save_options = together(
    flag("--keep-mtime", "Keep the modification times of files and folders."),
    flag("--copy-links", "Write hard-linked files, too: each becomes a file of its own."),
)


_DURATION = re.compile(r"(?:(\d+) ?w)?(?:(\d+) ?d)?(?:(\d+) ?h)?(?:(\d+) ?m(?:in)?)?(?:(\d+) ?s)?")


def read_duration(text: str) -> timedelta | None:
    """Return a duration such as `8h`, `90m` or `1h30m`; None for any other text."""
    match = _DURATION.fullmatch(text)
    if not (match and text):
        return None
    weeks, days, hours, minutes, seconds = (int(number or 0) for number in match.groups())
    return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)


class _Path(click.Path):
    """A path that must not be empty; the command checks whether it exists."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not value:
            self.fail("a path is empty: is a variable of the shell not set?", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Path(path_type=str, readable=False)
PATH_OR_ID = _Path(path_type=str, readable=False)
"""A path, or the id of a run, a decision or a recording."""
paths_argument = click.argument("paths", nargs=-1, type=PATH)
some_paths_argument = click.argument("paths", nargs=-1, required=True, type=PATH)


tag_options = together(
    option(
        "--policy POLICY",
        "What to write. dates: when each track first came out; note: only CANON_* keys; move: all"
        " of the representative release. By default tags.policy.",
        shell_complete=completed(_policies),
    ),
    flag("--whole-albums", "With dates: date all tracks of an album or none."),
    flag("--also-date", "With dates: write the first date to DATE, too."),
    flag("--in-parts", "With dates: write even if Navidrome would then split the album."),
    flag(
        "--best-known",
        "With dates: write the earliest known year of decided files even if it is not certain.",
    ),
)


def write_options(config: "Config", policy: str | None, **flags: bool) -> "WriteOptions":
    """Return how tags are written, by the values of `tag_options`. Raises `UsageError`."""
    from chart_binder.domain.tag_policies import Policy, WriteOptions

    try:
        chosen = Policy(policy or config.tags.policy)
    except ValueError as error:
        raise UsageError(f"--policy: {policy!r} is not one of {', '.join(Policy)}") from error
    options = WriteOptions(chosen, navidrome_before_055=config.tags.navidrome_before_055, **flags)
    for name, problem in options.problems:
        raise UsageError(f"--{name.replace('_', '-')}{problem}")
    return options


def same_call(*, added: str = "", removed: str = "") -> str:
    """Return this call for a shell, with an option added or removed; a long call is described."""
    words = [word for word in command_line(is_absolute=False) if word not in (removed, "--verbose")]
    if len(words) > MAX_WORDS:
        return f"the same command {f'with {added}' if added else f'without {removed}'}"
    called = click.get_current_context().command_path.split()
    return shlex.join(filter(None, [*called, *map(path_text, words), added]))


def command_line(*, is_absolute: bool = True) -> tuple[str, ...]:
    """Return the options that this call sets, then its arguments.

    Paths are absolute, or as they were typed.
    """
    options: list[str] = []
    arguments: list[str] = []
    call: click.Context | None = click.get_current_context()
    while call:
        for parameter in call.command.params:
            values = _given_values(call, parameter, is_absolute=is_absolute)
            if isinstance(parameter, click.Option):
                if parameter.is_flag and not parameter.is_bool_flag:
                    continue  # `--json` is recorded as the `--output` that it sets
                name = max(parameter.opts, key=len)
                for value in values:
                    if parameter.count:
                        options += [name] * int(value)
                    else:
                        options.append(name if parameter.is_flag else f"{name}={value}")
            else:
                arguments += values
        call = call.parent
    return (*options, *arguments)


def _given_values(
    call: click.Context, parameter: click.Parameter, *, is_absolute: bool
) -> Iterator[str]:
    name = parameter.name or ""
    if call.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
        return
    values = call.params.get(name, True)  # `params` lacks an option that exposes no value
    for value in values if isinstance(values, tuple) else (values,):
        is_path = isinstance(parameter.type, click.Path) and value != "-"
        if parameter.type is PATH_OR_ID:
            is_path = os.path.lexists(value)
        yield absolute_path(value) if is_path and is_absolute else str(value)


class Group(click.Group):
    """A group that lists its commands with the whole first paragraph of their help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            paragraph = ((command and command.help) or "").partition("\n\n")[0]
            rows.append((name, " ".join(paragraph.split())))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def group(name: str, cls: type[Group] = Group) -> Callable[[Callable[[], None]], Group]:
    """Return a decorator that makes a function a group of commands."""

    def decorate(function: Callable[[], None]) -> Group:
        return click.group(name, cls=cls)(common_options(function))

    return decorate


def named_paths(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths; for `-`, the paths on standard input, separated by lines or NUL."""
    for path in paths:
        if path != "-":
            yield path
            continue
        listed = sys.stdin.buffer.read()
        if b"\0" not in listed:
            listed = listed.replace(b"\r\n", b"\n").replace(b"\n", b"\0")
        yield from (os.fsdecode(name) for name in listed.split(b"\0") if name.strip())


def audio_files(path: str) -> "Iterator[AudioFile | UnreadablePath]":
    """Yield the audio files at a path; print a note for a folder without any."""
    from chart_binder.audio.find import find_audio_files

    return find_audio_files([Path(path)], warn=lambda text: print_notes([f"canon: {text}"]))


def read_path_or_mbid(text: str) -> str | Path:
    """Return the path of a file that exists, else the id of a recording. Raises `UsageError`."""
    from chart_binder.jobs.named_records import read_mbid

    path = Path(text)
    if path.exists():
        return path
    return read_mbid(text, "recording", or_else="a file that exists, a decision's id, ")


def refuse_audio_file(option: str, path: str | Path) -> None:
    """Raise `UsageError` if an output file, or the target of a link, has an audio suffix."""
    from chart_binder.audio.open_file import AUDIO_SUFFIXES

    suffixes = AUDIO_SUFFIXES | {".asf", ".mp4"}  # may be audio too
    if any(Path(name).suffix.lower() in suffixes for name in (path, os.path.realpath(path))):
        raise UsageError(f"{option} {path_text(path)}: an audio file is never replaced")


def is_same_file(first: str | Path, second: str | Path) -> bool:
    """Return whether two paths lead to the same file, under whatever name."""
    try:
        return Path(first).samefile(second)
    except OSError:  # one of them does not exist yet
        return Path(first) == Path(second)
