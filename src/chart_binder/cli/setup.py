"""`canon init`: ask for the settings that canon needs, test them, and write the configuration."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from chart_binder import plugins
from chart_binder.cli import options, output
from chart_binder.cli.config import checked, settings_path, value_at
from chart_binder.cli.doctor import findings, show_finding
from chart_binder.config.edit import save_text, text_of, with_values
from chart_binder.config.load import load_settings, read_value
from chart_binder.errors import ConfigError, UsageError, masked

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
            if yes or finding.is_well or not click.confirm("Answer again?", err=True):
                break
        status = output.worst(status, finding_status)
    if path.exists():
        values = {key: value for key, value in values.items() if value != before[key]}
    _write(session, path, values, asks=not yes, is_dry=dry_run)
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
            return read_value(key.split("."), answer, "")
        except ConfigError as error:
            raise click.UsageError(str(error).partition(f"{key}: ")[2]) from error

    return click.prompt(_QUESTIONS[key], default=default or _NONE, value_proc=read, err=True)


def _write(
    session: options.Session, path: Path, values: Mapping[str, Any], *, asks: bool, is_dry: bool
) -> None:
    """Write the values into the file, if there are any and the person agrees."""
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
    output.print_next("canon init" if outcome == "not written" else "canon decide FOLDER")
