"""Options and arguments: what the commands share, and how it is read."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from chart_binder.errors import UsageError
from chart_binder.files import absolute_path, path_text

if TYPE_CHECKING:
    from chart_binder.audio.file_access import AudioFile, UnreadablePath
    from chart_binder.config import Config
    from chart_binder.config.load import Settings
    from chart_binder.domain.tags import WriteOptions
    from chart_binder.domain.verdict import OverrideRecord
    from chart_binder.store import Store

R = TypeVar("R")
_MAX_WORDS = 8
"""Options and arguments of a call that is shown to be repeated."""


@dataclass
class Session:
    """One call of the program: its common options, and the configuration they lead to."""

    file: Path | None = None
    verbosity: int = 0
    quiet: bool = False
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
        from chart_binder.cli.output import print_error, set_up_logging
        from chart_binder.config.load import load_settings
        from chart_binder.llm.tools import unknown_names

        settings = load_settings(self.file, os.environ, self.flags)
        settings.refuse(dict(unknown_names(settings.config.llm)))
        set_up_logging(settings.config.log, self.verbosity, is_quiet=self.quiet)
        for warning in settings.warnings:
            print_error(warning)
        return settings

    @property
    def config(self) -> "Config":
        """The effective configuration."""
        return self.settings.config

    @cached_property
    def overrides(self) -> "Mapping[str, OverrideRecord]":
        """The overrides in the store, by recording, as they were when first asked for."""
        from chart_binder.wiring import overrides

        return overrides(self.config)()

    def open_store(self) -> "Store":
        """Open the store, or create it; to be used in a `with`. Raises `StoreError`."""
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
        """Print a result: the value as a line of JSON, or the lines, as the call asks for."""
        from chart_binder.cli.output import print_json, print_lines

        if self.as_json:
            print_json(value)
        else:
            print_lines(lines)


def flag(*names_and_help: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return an option without a value: its names, then its help."""
    *names, about = names_and_help
    return click.option(*names, is_flag=True, help=about)


def option(
    names: str, about: str, into: str = "", **more: Any
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return an option with a value: `-o --out FILE`, its help, and the name of its parameter."""
    words = names.split()
    metavar = None if words[-1].startswith("-") else words.pop()
    return click.option(*words, *filter(None, [into]), metavar=metavar, help=about, **more)


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
    option("-v --verbose", "Say more; -vv shows the model's run.", count=True),
    flag("--offline", "Open no socket: cached evidence only."),
    option("--output", "Form of the results.", type=click.Choice(["text", "json"])),
    click.option("--json", "output", flag_value="json", help="Short for --output json."),
    option(
        "--color",
        "Colours: auto (on terminals).",
        into="colour",
        type=click.Choice(["auto", "always", "never"]),
    ),
)


def common_options(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command the common options; the last one given counts, `-v` adds up."""

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
        if session.quiet:
            from chart_binder.cli.output import silence_notes

            silence_notes()
        if colour:
            from chart_binder.cli.style import choose_colour

            choose_colour(colour)
        if offline:
            session.flags["musicbrainz.offline"] = True
        session.output = output or session.output
        if session.as_json:
            from chart_binder.cli.output import suggest_nothing

            suggest_nothing()
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
    """Return what completes a word, or the last of several with commas, by names.

    They are looked up when a shell asks.
    """
    return lambda _context, _parameter, begun: [*completions(begun, names())]


def completions(begun: str, names: Iterable[str]) -> Iterator[str]:
    """Yield what a word may become whose last part, behind a comma, begins one of the names."""
    before, comma, last = begun.rpartition(",")
    new = (name for name in names if name not in before.split(","))
    return (f"{before}{comma}{name}" for name in new if name.startswith(last))


def _policies() -> Iterable[str]:
    from chart_binder.config.load import values_of

    return values_of("tags.policy")


save_options = together(
    flag("--keep-mtime", "Keep the modification times of files and folders."),
    flag("--copy-links", "Write hard-linked files, too: each becomes a file of its own."),
)


class _Path(click.Path):
    """A path, which the command that reads it looks for."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not value:
            self.fail("a path is empty: is a variable of the shell not set?", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Path(path_type=str, readable=False)
paths_argument = click.argument("paths", nargs=-1, type=PATH)
some_paths_argument = click.argument("paths", nargs=-1, required=True, type=PATH)


tag_options = together(
    option(
        "--policy POLICY",
        "dates: when each track first came out; note: CANON_* keys alone; move: the whole"
        " representative release. By default tags.policy.",
        shell_complete=completed(_policies),
    ),
    flag("--whole-albums", "With dates: date all tracks of an album or none."),
    flag("--also-date", "With dates: write the first date to DATE, too."),
    flag("--in-parts", "With dates: write also where Navidrome would split the album."),
    flag("--best-known", "With dates: write the earliest known year also if it is not certain."),
)


def write_options(config: "Config", policy: str | None, **flags: bool) -> "WriteOptions":
    """Return what the options of `tag_options` ask for. Raises `UsageError`."""
    from chart_binder.domain.tags import Policy, WriteOptions

    try:
        chosen = Policy(policy or config.tags.policy)
    except ValueError as error:
        allowed = f"found {policy!r}; {', '.join(Policy)} are allowed"
        raise UsageError(f"--policy: {allowed}") from error
    options = WriteOptions(chosen, navidrome_before_055=config.tags.navidrome_before_055, **flags)
    for problem in options.problems:
        raise UsageError(f"--{problem.replace('_', '-', 1)}")
    return options


def same_call(*, added: str = "", removed: str = "") -> str:
    """Return this call with an option more or less, as a shell takes it, if it is short."""
    words = [each for each in command_line(is_absolute=False) if each not in (removed, "--verbose")]
    if len(words) > _MAX_WORDS:
        return f"the same command {f'with {added}' if added else f'without {removed}'}"
    called = click.get_current_context().command_path.split()
    return shlex.join(filter(None, [*called, *map(path_text, words), added]))


def command_line(*, is_absolute: bool = True) -> tuple[str, ...]:
    """Return the options of this call that are no defaults, then the arguments.

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
                    continue  # `--json` is told as the `--output` that it sets
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
    given = call.params.get(name, True)  # one that exposes no value is not there
    for value in given if isinstance(given, tuple) else (given,):
        is_path = isinstance(parameter.type, click.Path) and value != "-"
        if "_OR_" in (parameter.metavar or ""):  # a path or an id
            is_path &= os.path.lexists(value)
        yield absolute_path(value) if is_path and is_absolute else str(value)


class Group(click.Group):
    """Lists its commands by the whole first paragraph of their help, which click would cut."""

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
    """Make a function a command that has commands, and the common options."""

    def decorate(function: Callable[[], None]) -> Group:
        return click.group(name, cls=cls)(common_options(function))

    return decorate


def named_paths(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths; in place of `-` those on standard input, one a line or NUL between."""
    for path in paths:
        if path != "-":
            yield path
            continue
        listed = sys.stdin.buffer.read()
        if b"\0" not in listed:
            listed = listed.replace(b"\r\n", b"\n").replace(b"\n", b"\0")
        yield from (os.fsdecode(name) for name in listed.split(b"\0") if name.strip())


def audio_files(named: str) -> "Iterator[AudioFile | UnreadablePath]":
    """Yield the audio files at a path; a folder without any is named in a note."""
    from chart_binder.audio.file_access import find_audio_files
    from chart_binder.cli.output import print_notes

    return find_audio_files([Path(named)], warn=lambda text: print_notes([f"canon: {text}"]))


def read_mbid(text: str, entity: str, *, or_else: str = "") -> str:
    """Return the id in a bare MusicBrainz id or in the address of its page, in lower case.

    `entity` is as in addresses, such as `release-group`. Raises `UsageError`, with `or_else`.
    """
    from chart_binder.domain.vocabulary import MBID

    written = text.strip()
    address = rf"(?:https?://)?(?:\w+\.)?musicbrainz\.org/([a-z-]+)/({MBID.pattern})(?:[/?#].*)?"
    page = re.fullmatch(address, written, re.IGNORECASE)
    if page and page[1].lower() == entity:
        return page[2].lower()
    if MBID.fullmatch(written):
        return written.lower()
    thing = "the address of a " + page[1] if page else f"no {entity.replace('-', ' ')} id"
    raise UsageError(
        f"{path_text(text)!r} is {thing}; {or_else}a UUID or https://musicbrainz.org/{entity}/UUID"
        " is allowed"
    )


def read_path_or_mbid(text: str) -> str | Path:
    """Return the path of a file that exists, else the id of a recording. Raises `UsageError`."""
    path = Path(text)
    if path.exists():
        return path
    return read_mbid(text, "recording", or_else="a file that exists, a decision's id, ")


def refuse_audio_file(option: str, path: str | Path) -> None:
    """Raise `UsageError` where an output file, or what a link leads to, has an audio suffix."""
    from chart_binder.audio.file_access import AUDIO_SUFFIXES

    suffixes = AUDIO_SUFFIXES | {".asf", ".mp4"}  # which may be audio, too
    if any(Path(each).suffix.lower() in suffixes for each in (path, os.path.realpath(path))):
        raise UsageError(f"{option} {path_text(path)}: so audio is called, and is not replaced")


def is_same_file(one: str | Path, other: str | Path) -> bool:
    """Return whether two paths lead to the same file, under whatever name."""
    try:
        return Path(one).samefile(other)
    except OSError:  # one of them does not exist yet
        return Path(one) == Path(other)
