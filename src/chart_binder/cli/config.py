"""`canon config`, `canon tools` and `canon doctor`: the configuration, and whether it works."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click
import msgspec

from chart_binder import plugins
from chart_binder.chat import ollama, openai
from chart_binder.cli import options, output
from chart_binder.config import Config, LLMConfig
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
from chart_binder.errors import CanonError, ConfigError, LookupFailedError, UsageError, masked
from chart_binder.jobs.model_check import HOW_TO_CHECK, find_result
from chart_binder.jobs.transcripts import effective_prompt
from chart_binder.llm.tools import unknown_names
from chart_binder.musicbrainz.source import connect
from chart_binder.react.call_runner import call_tool
from chart_binder.react.sanitize import sanitized_observation
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import Tool, Toolbox, ToolError
from chart_binder.store import VERSION, open_store
from chart_binder.web.searxng import Degraded, NothingFound, SearchHits, SearxngClient
from chart_binder.wiring import exam_results, store_url, transcripts_folder
from chart_binder.wiring import tools as configured_tools

_TOOLS = "chart_binder.tools"
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
        about = "not there: `canon init` makes it"
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


def _values(context: click.Context, _: object, begun: str) -> list[str]:
    """Complete VALUE."""
    return [value for value in values_of(context.params["key"]) if value.startswith(begun)]


@config.command("set", context_settings={"ignore_unknown_options": True})  # for VALUE -1
@click.argument("key", shell_complete=options.completed(key_names))
@click.argument("value", shell_complete=_values)
@options.flag("--dry-run", "Check the value and change nothing.")
@options.pass_session
def set_key(session: options.Session, key: str, value: str, dry_run: bool) -> None:
    """Set KEY, such as llm.enabled, to VALUE in your configuration file.

    Comments and other keys stay as they are; a missing file is created. Lists are JSON, or words
    separated by commas.

    Exit status: 0, 1 the file cannot be written, 2 there is no such key, or the value or the file
    is not valid.
    """
    path = settings_path(session)
    text = text_of(path)
    new = with_values(text, {key: read_value(key.split("."), value, "command line")}, path)
    after = value_at(checked(new, path).config, key)
    if not dry_run and new != text:
        save_text(path, new)
    shown = masked(after) if isinstance(after, str) else after
    done = "unchanged in" if new == text else "would be set in" if dry_run else "set in"
    fields = {"key": key, "value": shown, "file": str(path), "changed": new != text}
    line = f"{key} = {json.dumps(shown, ensure_ascii=False)}  # {done} {path}"
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

    Exit status: 0, 1 the file cannot be written, 2 there is no editor, or the text is not valid:
    then the file stays as it was.
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
    done = "saved" if text != before else "unchanged"
    session.show({"file": str(path), "changed": text != before}, [f"{path}: {done}"])


@config.command("prompt")
@options.pass_session
def prompt(session: options.Session) -> None:
    """Print the system prompt as a run would send it, and the task below the evidence."""
    prompt_parts = effective_prompt(session.config)
    session.show(prompt_parts, (prompt_parts.system, f"\n## Your Task\n{prompt_parts.task}"))
    if not session.as_json:
        output.print_error(f"prompt {prompt_parts.prompt_version}, dialect {prompt_parts.dialect}")


@options.group("tools")
def tools() -> None:
    """List what the model can call, or call it by hand."""


@tools.command("list")
@options.pass_session
def list_tools(session: options.Session) -> None:
    """Print each tool with its arguments and its description."""
    for tool in configured_tools(session.config):
        fields = {"name": tool.name, "description": tool.description, "schema": tool.schema}
        session.show(fields, _tool_lines(tool))


def _tool_lines(tool: Tool) -> Iterator[str]:
    yield from output.wrap(tool.signature, "", 2 * _INDENT)
    arguments = (f"{name}: {about}" for name, about in tool.about.items())
    for text in (*tool.description.splitlines(), *arguments):
        yield from output.wrap(text, " " * _INDENT) if text.strip() else [""]


@tools.command("run")
@click.argument("name", shell_complete=options.completed(lambda: plugins.names(_TOOLS)))
@click.argument("arguments")
@options.pass_session
def run(session: options.Session, name: str, arguments: str) -> None:
    """Call tool NAME with ARGUMENTS: a JSON object, or bare text for a tool that takes one.

    Exit status: 0, 1 the tool failed, 2 there is no such tool, or the arguments are wrong.
    """
    try:
        toolbox = Toolbox(configured_tools(session.config))
        call = toolbox.resolve(ToolCall(name, _read_arguments(arguments)))
    except ToolError as error:
        raise UsageError(str(error)) from error
    try:
        observation = sanitized_observation(call_tool(call))
    except ToolError as error:
        # A person needs the addresses and settings, which the text for a model lacks.
        cause = error.__cause__ if isinstance(error.__cause__, CanonError) else error
        raise LookupFailedError(str(cause)) from error
    session.show(observation, [observation.content])


def _read_arguments(arguments: str) -> dict[str, Any] | str:
    if not arguments.lstrip().startswith("{"):
        return arguments
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"ARGUMENTS is not a JSON object: {error}") from error


_OFFLINE = "not asked: offline (musicbrainz.offline is set)"
_MODEL_SERVERS = {"ollama": ollama.check, "openai": openai.check}
_MORE_ENGINES = "turn others on, or these off, under engines in its settings.yml"
_NO_MODEL = "none is used: `canon config set llm.enabled true` turns one on"


_Check = tuple[str, str]


class DoctorFinding(msgspec.Struct, frozen=True, rename={"text": "said"}):
    """The result of a check, or the problem and how to fix it; a check that is off is well."""

    name: str
    state: str
    is_needed: bool
    is_well: bool
    text: str


@click.command("doctor")
@options.pass_session
def doctor(session: options.Session) -> int:
    """Check the store, MusicBrainz, the model and the search service, and say what to do.

    Each is ok, off (by the configuration, or offline), a warning (it works with a remark, or canon
    can do without it), or failed.

    Exit status: 0 everything that is on works, 3 something optional does not, 1 something needed
    does not.
    """
    status = 0
    for finding in chain([_configuration(session.settings)], findings(session.config)):
        status = output.worst(status, show_finding(session, finding))
    call = "canon decide FOLDER" if session.settings.file else "canon init"
    output.print_next(call if status == 0 else "")
    return status


def show_finding(session: options.Session, finding: DoctorFinding) -> int:
    """Print a finding, and return the exit status that it leads to."""
    session.show(finding, output.wrap(finding.text, f"{finding.state:<8} {finding.name:<12} "))
    return 0 if finding.is_well else 1 if finding.is_needed else 3


def _configuration(settings: Settings) -> DoctorFinding:
    """Return which file was read; having none is well too."""
    text = f"no file, so every key has its default; yours would be {user_file()}"
    if settings.file:
        text = f"{settings.file.absolute()} was read"
    return DoctorFinding("config", "ok", is_needed=True, is_well=True, text=text)


def findings(config: Config, only: str = "") -> Iterator[DoctorFinding]:
    """Check every service, or only one, and yield the results."""
    model_off = "" if config.llm.enabled else _NO_MODEL
    search_off = model_off and "not in use: only the model needs it"
    if not config.llm.searxng.enabled:
        search_off = "not in use: llm.searxng.enabled is false"
    is_offline = config.musicbrainz.offline
    checks: tuple[tuple[str, bool, str, bool, Callable[[Config], _Check]], ...] = (
        ("store", True, "", True, _store),
        ("musicbrainz", True, "", not is_offline, _musicbrainz),
        ("model", not model_off, model_off,
         config.llm.provider not in _MODEL_SERVERS or not is_offline, _model),
        ("search", False, search_off, not is_offline, _search),
    )  # fmt: skip
    for name, is_needed, why_off, is_asked, check in checks:
        if only not in ("", name):
            continue
        if why_off or not is_asked:
            yield DoctorFinding(name, "off", is_needed, is_well=True, text=why_off or _OFFLINE)
            continue
        try:
            (result, remark), is_well = check(config), True
        except CanonError as error:
            result, remark, is_well = str(error), "", False
        state = "ok" if is_well and not remark else "warning"
        if is_needed and not is_well:
            state = "failed"
        text = "; ".join(filter(None, (result, remark)))
        yield DoctorFinding(name, state, is_needed, is_well, text)


def _store(config: Config) -> _Check:
    with open_store(store_url(config)) as store:
        store.answers.forget("")  # changes nothing, because no answer has an empty key
    return f"{masked(store_url(config))} can be written to (schema {VERSION})", ""


def _musicbrainz(config: Config) -> _Check:
    with open_store(store_url(config)) as store:
        health = connect(config.musicbrainz, store.answers, store.slots).check()
    if not health.is_reachable:
        raise LookupFailedError("; ".join(health.problems))
    return f"{health.host} answers", "; ".join(health.problems)


def _model(config: Config) -> _Check:
    llm = config.llm
    check = _MODEL_SERVERS.get(llm.provider)
    if check is None:
        model = plugins.load("chart_binder.chat_models", llm.provider)(llm)
        return f"{model.model_id} is loaded", ""
    health = check(llm)
    if health.problems:
        raise LookupFailedError("; ".join(health.problems))
    server = f", {health.server}" if health.server else ""
    window, remark, loaded = "", health.remark, health.loaded_length
    if health.context_length:
        window = f", made for {health.context_length} tokens (llm.num_ctx = {llm.num_ctx})"
    if loaded is not None:
        window += f", loaded with {loaded} tokens"
    if loaded is not None and loaded < llm.num_ctx:
        window += " only"
        remark += "; " * bool(remark) + (
            "canon will ask for more; if it has no more after a run, lower llm.num_ctx to"
            f" {loaded}, or give the server more memory"
        )
    text = f"{health.model_id} at {health.address}{server}{window}"
    text = f"{text}{_NOT_REPORTED.get(llm.provider, '')}"
    return f"{text}; {_checked(llm, health.build)}", remark


def _checked(llm: LLMConfig, build: str) -> str:
    """Return the result of `canon model check` for the model, as half a sentence."""
    result = find_result(exam_results(), llm)
    if result is None:
        return f"not checked yet, so it counts as above the bar: {HOW_TO_CHECK}"
    if result.build and build and result.build != build:
        return f"the model has changed since it was checked: {HOW_TO_CHECK}"
    return result.text


def model_build(llm: LLMConfig) -> str:
    """Return the build of the reading model, as its server reports it; empty if unknown."""
    check = _MODEL_SERVERS.get(llm.provider)
    named = llm.acceptance.reader_model_id
    reader = llm.model_copy(update={"model_id": named}) if named else llm
    return check(reader).build if check else ""


_NOT_REPORTED = {
    "ollama": "; it does not report how many replies it writes at a time: for several, set"
    " OLLAMA_NUM_PARALLEL there, each takes memory for llm.num_ctx tokens"
}
"""A setting that a kind of server does not report, and where it is set."""


def _search(config: Config) -> _Check:
    searxng = config.llm.searxng
    answers = f"{masked(searxng.url)} answers"
    outcome = SearxngClient(searxng).search("MusicBrainz")  # a word that every engine finds
    failing = ", ".join(outcome.failing) if isinstance(outcome, Degraded | SearchHits) else ""
    if isinstance(outcome, Degraded):
        problem = "no result has a readable address: see its log"
        if failing:
            problem = f"its engines fail: {failing}: wait, or {_MORE_ENGINES}"
        raise LookupFailedError(f"{answers}, but {problem}")
    remark = f"failing engines: {failing}: {_MORE_ENGINES}" if failing else ""
    if not failing and isinstance(outcome, NothingFound):
        remark = "it finds nothing: is any engine on?"
    return f"{answers} in JSON", remark
