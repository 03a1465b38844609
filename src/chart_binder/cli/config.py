"""`canon init` and `canon config`: ask for settings and test them, show them and change them."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import click
import tomli
import tomlkit

from chart_binder import plugins
from chart_binder.cli import options, output
from chart_binder.config import Config
from chart_binder.config.load import (
    FILE_VARIABLE,
    KEYS,
    PREFIX,
    Settings,
    dotted_keys,
    load_settings,
    parse_file,
    read_file,
    read_value,
    user_file,
    values_of,
)
from chart_binder.errors import ConfigError, FileError, UsageError, masked
from chart_binder.files import replace_file
from chart_binder.jobs.transcripts import effective_prompt
from chart_binder.llm.tools import unknown_names
from chart_binder.wiring import store_url, transcripts_folder

NEW_FILE = "# canon: `canon config show` lists every key with its value and where it comes from.\n"
"""The text of a new configuration file, before any key is set."""


def text_of(path: Path) -> str:
    """Return the text of a configuration file, or `NEW_FILE`. Raises `ConfigError`."""
    return read_file(path) if path.exists() else NEW_FILE


def with_values(text: str, values: Mapping[str, Any], path: Path) -> str:
    """Return the text of a configuration file with some keys set; `values` has dotted keys.

    Raises `ConfigError`, also if any other key would change.
    """
    expected, _ = parse_file(text, path)
    try:
        document = tomlkit.parse(text)
        for key, value in values.items():
            plain = list(value) if isinstance(value, tuple) else value
            _set(expected, key.split("."), plain)
            if isinstance(value, Mapping):
                plain = tomlkit.inline_table()
                plain.update(value)
            _set(document, key.split("."), plain, tomlkit.table)
        changed = f"{document.as_string().rstrip()}\n"
        is_right = tomli.loads(changed) == expected
    except (ValueError, TypeError) as error:  # tomlkit's errors are ValueErrors
        raise ConfigError(f"{path}: cannot be changed: {error}; try canon config edit") from error
    if not is_right:
        raise ConfigError(f"{path}: other keys would change; try canon config edit")
    return changed


def _set(tree: Any, keys: list[str], value: Any, table: Callable[[], Any] = dict) -> None:
    """Set a key of nested tables; missing tables are added."""
    *tables, name = keys
    is_new = False
    for key in tables:
        if is_new := key not in tree:
            tree[key] = table()
        tree = tree[key]
    tree[name] = value
    if is_new and isinstance(tree, tomlkit.items.Table):
        tree.add(tomlkit.nl())


def save_text(path: Path, text: str) -> None:
    """Replace a configuration file in one step, so that it always has the old or the new text.

    Raises `FileError`.
    """
    try:
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error})") from error


_SOURCE_COLUMN = 60
_INDENT = 4
_TESTED = ("musicbrainz.", "llm.", "store.")
"""The sections that `canon doctor` tests."""


@options.group("config")
def config() -> None:
    """Show the effective configuration and its sources, or change it."""


@config.command("show")
@options.pass_session
def show(session: options.Session) -> None:
    """Print every key with its value and its source; secrets are masked."""
    settings = session.settings
    for key, plain in dotted_keys(settings.config.model_dump(mode="json")):
        value = masked(plain) if isinstance(plain, str) else plain
        source = settings.origins.get(key, "default")
        line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
        lines = output.wrap(f"{line:<{_SOURCE_COLUMN}} # {source}", "", _INDENT)
        session.show({"key": key, "value": value, "source": source}, lines)


@config.command("path")
@options.pass_session
def path(session: options.Session) -> None:
    """Print which file is read, and where the store and the transcripts are."""
    settings = session.settings
    file, users_file = settings.file and settings.file.absolute(), user_file()
    places: dict[str, Any] = {
        "config": file and str(file),
        "own": str(users_file),
        "store": masked(store_url(settings.config)),
        "transcripts": str(transcripts_folder()),
    }
    about = "the one that is read" if file == users_file else f"not read, because {file} is"
    if not users_file.exists():
        about = "does not exist; `canon init` creates it"
    texts = {
        "configuration": str(file or "none, so every key has its default"),
        "your own file": f"{users_file} ({about})",
        "store": places["store"],
        "transcripts": places["transcripts"],
    }
    lines = chain.from_iterable(output.wrap(text, f"{name:<15}") for name, text in texts.items())
    session.show(places, lines)


def settings_path(session: options.Session) -> Path:
    """Return the configuration file that commands change: the named one, or the user's."""
    return session.file or Path(os.environ.get(FILE_VARIABLE) or user_file())


def checked(text: str, path: Path) -> Settings:
    """Return the settings of a configuration file with this text. Raises `ConfigError`."""
    settings = load_settings(path, {}, {}, text)
    settings.refuse(dict(unknown_names(settings.config.llm)))
    return settings


def value_at(config: Config, key: str) -> Any:
    """Return the value of a key as plain data; None for a plug-in's tool that is not set."""
    return dict(dotted_keys(config.model_dump(mode="json"))).get(key)


def _values(context: click.Context, _: object, prefix: str) -> list[str]:
    """Complete VALUE."""
    return [value for value in values_of(context.params["key"]) if value.startswith(prefix)]


@config.command("set", context_settings={"ignore_unknown_options": True})  # for VALUE -1
@click.argument("key", shell_complete=options.completed(lambda: KEYS))
@click.argument("value", shell_complete=_values)
@options.flag("--dry-run", "Check the value and change nothing.")
@options.pass_session
def set_key(session: options.Session, key: str, value: str, dry_run: bool) -> None:
    """Set KEY, such as llm.enabled, to VALUE in your configuration file.

    Comments and other keys stay as they are; a missing file is created. Lists are JSON, or words
    separated by commas.

    Exit status: 0 success, 1 the file cannot be written, 2 there is no such key, or the value or
    the file is not valid.
    """
    path = settings_path(session)
    text = text_of(path)
    typed = read_value(key, value, "command line")
    if "\0" in "".join(map(str, typed if isinstance(typed, (list, tuple)) else [typed])):
        raise UsageError(f"{key}: a value cannot contain the character NUL")
    new = with_values(text, {key: typed}, path)
    after = value_at(checked(new, path).config, key)
    if not dry_run and new != text:
        save_text(path, new)
    masked_value = masked(after) if isinstance(after, str) else after
    outcome = "unchanged in" if new == text else "would be set in" if dry_run else "set in"
    fields = {"key": key, "value": masked_value, "file": str(path), "changed": new != text}
    line = f"{key} = {json.dumps(masked_value, ensure_ascii=False)}  # {outcome} {path}"
    session.show(fields, output.wrap(line, "", _INDENT))
    variable = f"{PREFIX}{key.upper().replace('.', '__')}"
    if variable in os.environ:
        output.print_error(f"{variable} is set, and takes precedence over the file")
    if key.startswith(_TESTED) and not dry_run:
        output.print_next("canon doctor")


@config.command("edit")
@options.pass_session
def edit(session: options.Session) -> None:
    """Open your configuration file in $VISUAL or $EDITOR; it is checked before it is saved.

    Exit status: 0 success, 1 the file cannot be written, 2 there is no editor, or the text is not
    valid, so the file stays as it was.
    """
    path = settings_path(session)
    before = text = text_of(path)
    while True:
        text = click.edit(text, extension=".toml", require_save=False) or ""
        try:
            checked(text, path)
            break
        except ConfigError as error:
            if not sys.stdin.isatty():
                raise
            output.print_error(str(error))
            if not click.confirm("Edit it again?", default=True, err=True):
                raise UsageError(f"{path} stays as it was") from error
    if text != before:
        save_text(path, text)
    outcome = "saved" if text != before else "unchanged"
    session.show({"file": str(path), "changed": text != before}, [f"{path}: {outcome}"])


@config.command("prompt")
@options.pass_session
def prompt(session: options.Session) -> None:
    """Print the system prompt as a run would send it, and the task below the evidence."""
    prompt_parts = effective_prompt(session.config)
    session.show(prompt_parts, (prompt_parts.system, f"\n## Your Task\n{prompt_parts.task}"))
    if not session.as_json:
        output.print_error(f"prompt {prompt_parts.prompt_version}, dialect {prompt_parts.dialect}")


_NONE = "none"
_SEARCH, _SEARCH_URL = "llm.searxng.enabled", "llm.searxng.url"
_QUESTIONS = {
    "musicbrainz.contact": "Your e-mail or web address, which MusicBrainz asks for",
    "llm.enabled": "May a language model look into cases that the rules leave open?",
    "llm.provider": "The kind of its server; openai means any that speaks OpenAI's protocol",
    "llm.base_url": "The address of the server",
    "llm.model_id": "The name of the model there",
    _SEARCH_URL: f"The address of SearXNG; {_NONE}: the model searches Wikipedia alone",
}
_STEPS = (
    ("musicbrainz", ("musicbrainz.contact",)),
    ("model", ("llm.enabled", "llm.provider", "llm.base_url", "llm.model_id")),
    ("search", (_SEARCH_URL,)),
)
"""The service tested after each step, and the keys of the step."""


@click.command("init")
@options.flag("-y", "--yes", "Ask nothing: use the defaults, or the values in your file.")
@options.flag("--dry-run", "Write nothing.")
@options.pass_session
def init(session: options.Session, yes: bool, dry_run: bool) -> int:
    """Ask for the settings that canon needs, test each service, and write your configuration file.

    If you have a file already, only keys with another answer change, after you confirm; other keys
    and comments stay.

    Exit status: 0 success, 3 something optional does not answer, 1 something needed does not answer
    or the file cannot be written, 2 the file is not valid or there is no terminal for questions.
    """
    from chart_binder.cli.doctor import findings, show_finding  # which loads all services

    if not (yes or sys.stdin.isatty()):
        raise UsageError("init asks questions, so it needs a terminal; --yes accepts every default")
    path = settings_path(session)
    text, status = text_of(path), 0
    config = checked(text, path).config
    before = {key: value_at(config, key) for key in (*_QUESTIONS, _SEARCH)}
    values: dict[str, Any] = {}
    for name, keys in _STEPS:
        if name == "search" and not values["llm.enabled"]:
            continue
        while True:
            values |= _answers(keys, before | values, asks=not yes)
            new = with_values(text, values, path)
            config = load_settings(path, os.environ, session.flags, new).config
            (finding,) = findings(config, only=name)
            finding_status = show_finding(session, finding)
            is_final = yes or finding.is_well
            if name == "musicbrainz" and not is_final:  # whose address is not asked for
                output.print_notes(["init goes on: `canon doctor` tests MusicBrainz again later"])
                is_final = True
            if is_final or not click.confirm("Answer again?", err=True):
                break
        status = output.worst(status, finding_status)
    if path.exists():
        values = {key: value for key, value in values.items() if value != before[key]}
    call = "canon doctor" if status else "canon decide FOLDER"
    is_open = _write(session, path, values, asks=not yes, is_dry=dry_run) == "not written"
    output.print_next("canon init" if is_open else call)
    return status


def _answers(keys: tuple[str, ...], defaults: Mapping[str, Any], *, asks: bool) -> dict[str, Any]:
    """Ask for the values of keys; a no to `llm.enabled` ends the questions."""
    answers: dict[str, Any] = {}
    for key in keys:
        default = defaults[key]
        if key == _SEARCH_URL and not defaults[_SEARCH]:
            default = ""
        answers[key] = _ask(key, default) if asks else default
        if key == _SEARCH_URL:
            answers[_SEARCH] = bool(answers[key])
            answers[key] = answers[key] or defaults[key]
        if answers[key] is False:
            break
    return answers


def _ask(key: str, default: Any) -> Any:
    if isinstance(default, bool):
        return click.confirm(_QUESTIONS[key], default=default, err=True)
    installed = plugins.names("chart_binder.chat_models")

    def read(answer: str) -> Any:
        if answer == _NONE and key in ("musicbrainz.contact", _SEARCH_URL):
            return ""
        if key == "llm.provider" and answer not in installed:
            raise click.UsageError(f"{answer!r} is not one of {', '.join(installed)}")
        try:
            return read_value(key, answer, "")
        except ConfigError as error:
            raise click.UsageError(error.problem) from error

    return click.prompt(_QUESTIONS[key], default=default or _NONE, value_proc=read, err=True)


def _write(
    session: options.Session, path: Path, values: Mapping[str, Any], *, asks: bool, is_dry: bool
) -> str:
    """Write the values into the file if the person agrees; return the outcome in words."""
    text = text_of(path)
    new = with_values(text, values, path)
    checked(new, path)
    changes = {key: masked(value) if isinstance(value, str) else value
             for key, value in values.items()}  # fmt: skip
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in changes.items()]
    outcome = "unchanged"
    if values:
        outcome = "not written"
        if asks and not is_dry:
            output.print_lines(lines, err=True)
        if not is_dry and (not asks or click.confirm(f"Write {path}?", default=True, err=True)):
            save_text(path, new)
            outcome, lines = "written", []
    fields = {"file": str(path), "changed": changes, "written": outcome == "written"}
    session.show(fields, [*lines, f"{path}: {outcome}"])
    return outcome
