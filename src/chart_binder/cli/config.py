"""`canon config`: show and change the configuration."""

import json
import os
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import click

from chart_binder.cli import options, output
from chart_binder.config import Config
from chart_binder.config.edit import save_text, text_of, with_values
from chart_binder.config.load import (
    FILE_VARIABLE,
    PREFIX,
    Settings,
    dotted_keys,
    key_names,
    load_settings,
    read_value,
    user_file,
    values_of,
)
from chart_binder.errors import ConfigError, UsageError, masked
from chart_binder.jobs.transcripts import effective_prompt
from chart_binder.llm.tools import unknown_names
from chart_binder.wiring import store_url, transcripts_folder

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
@click.argument("key", shell_complete=options.completed(key_names))
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
    typed = read_value(key.split("."), value, "command line")
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
