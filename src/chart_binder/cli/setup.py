"""`canon init`: asks for what canon needs to know, tests it, and writes the configuration file."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from chart_binder import plugins
from chart_binder.cli import options, output
from chart_binder.cli.config import checked, findings, settings_path, show_finding, value_at
from chart_binder.config.edit import save_text, text_of, with_values
from chart_binder.config.load import load_settings, read_value
from chart_binder.errors import ConfigError, UsageError, masked

_NONE = "none"
_SEARCH, _SEARCH_URL = "llm.searxng.enabled", "llm.searxng.url"
_QUESTIONS = {
    "musicbrainz.contact": "Your e-mail or web address, which MusicBrainz asks for",
    "llm.enabled": "May a language model look into what the rules leave open?",
    "llm.provider": "The kind of its server; openai is any of OpenAI's format",
    "llm.base_url": "The address of the server",
    "llm.model_id": "The name of the model there",
    _SEARCH_URL: f"The address of SearXNG; {_NONE}: the model searches Wikipedia alone",
}
_STEPS = (
    ("musicbrainz", ("musicbrainz.contact",)),
    ("model", ("llm.enabled", "llm.provider", "llm.base_url", "llm.model_id")),
    ("search", (_SEARCH_URL,)),
)
"""The keys of each step, and the service that is tested after it."""


@click.command("init")
@options.flag("-y", "--yes", "Ask nothing: take the defaults, or what your file says.")
@options.flag("--dry-run", "Write nothing.")
@options.pass_session
def init(session: options.Session, yes: bool, dry_run: bool) -> int:
    """Ask what canon needs to know, test each service, and write your configuration file.

    Of a file that is there, only what you answer in another way is changed, after a question; its
    other keys and its comments stay.

    Exit status: as of canon doctor, 0, 3 something optional does not answer, 1 something needed
    does not; also 1 the file cannot be written, 2 it is not valid, or nobody can be asked.
    """
    if not (yes or sys.stdin.isatty()):
        raise UsageError("questions need a terminal; --yes takes the defaults without any")
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
            found = show_finding(session, finding)
            if yes or finding.is_well or not click.confirm("Answer again?", err=True):
                break
        status = output.worst(status, found)
    if path.exists():
        values = {key: value for key, value in values.items() if value != before[key]}
    _write(session, path, values, asks=not yes, is_dry=dry_run)
    return status


def _answers(keys: tuple[str, ...], known: Mapping[str, Any], *, asks: bool) -> dict[str, Any]:
    """Ask for keys; what is known is the default. No `llm.enabled` ends the questions."""
    answers: dict[str, Any] = {}
    for key in keys:
        default = known[key]
        if key == _SEARCH_URL and not known[_SEARCH]:
            default = ""
        answers[key] = _ask(key, default) if asks else default
        if key == _SEARCH_URL:
            answers[_SEARCH] = bool(answers[key])
            answers[key] = answers[key] or known[key]
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
            raise click.UsageError(f"found {answer!r}; installed are {', '.join(installed)}")
        try:
            return read_value(key.split("."), answer, "")
        except ConfigError as error:
            raise click.UsageError(str(error).partition(f"{key}: ")[2]) from error

    return click.prompt(_QUESTIONS[key], default=default or _NONE, value_proc=read, err=True)


def _write(
    session: options.Session, path: Path, values: Mapping[str, Any], *, asks: bool, is_dry: bool
) -> None:
    """Write the file with these keys, if there are any and nobody says no."""
    text = text_of(path)
    new = with_values(text, values, path)
    checked(new, path)
    shown = {key: masked(value) if isinstance(value, str) else value
             for key, value in values.items()}  # fmt: skip
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in shown.items()]
    done = "unchanged"
    if values:
        done = "not written"
        if asks and not is_dry:
            output.print_lines(lines, err=True)
        if not is_dry and (not asks or click.confirm(f"Write {path}?", default=True, err=True)):
            save_text(path, new)
            done, lines = "written", []
    fields = {"file": str(path), "changed": shown, "written": done == "written"}
    session.show(fields, [*lines, f"{path}: {done}"])
    output.print_next("canon init" if done == "not written" else "canon decide FOLDER")
