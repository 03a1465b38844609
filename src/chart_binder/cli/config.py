"""`canon config`, `canon tools` and `canon doctor`: what is configured, and whether it works."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import click
import msgspec

from chart_binder import plugins
from chart_binder.chat import ollama, openai
from chart_binder.cli.options import Session, group, pass_session
from chart_binder.cli.output import display_width, fit, terminal_width, worst, wrap
from chart_binder.config import Config
from chart_binder.config.load import config_candidates, dotted_keys
from chart_binder.errors import CanonError, ConfigError, LookupFailedError, UsageError, masked
from chart_binder.jobs.transcripts import effective_prompt
from chart_binder.musicbrainz.source import connect
from chart_binder.react.calls import call_tool
from chart_binder.react.steps import Act
from chart_binder.react.tools import Tool, Toolbox, ToolError
from chart_binder.store.sqlite_file import VERSION
from chart_binder.store.store import Store
from chart_binder.web.searxng import Degraded, Hits, NothingFound, SearxngClient
from chart_binder.wiring import store_url, transcripts_folder
from chart_binder.wiring import tools as configured_tools

_SOURCE_COLUMN = 60
_INDENT = 4
_OFFLINE = "not asked: offline (musicbrainz.offline is set)"
_MODEL_SERVERS = {"ollama": ollama.check, "openai": openai.check}
"""How the server of a provider is checked."""
_NOT_REPORTED = {
    "ollama": "; how many replies it writes at a time it does not tell: for several, set"
    " OLLAMA_NUM_PARALLEL there, each takes memory for llm.num_ctx tokens"
}
"""What a kind of server does not report though it matters, and where it is set."""
_MORE_ENGINES = "turn others on, or these off, under engines in its settings.yml"


@group("config")
def config() -> None:
    """Show the effective configuration and where it comes from."""


@config.command("show")
@pass_session
def show(session: Session) -> None:
    """Print every key with its value, and who set it; secrets are masked."""
    settings = session.settings
    for key, plain in dotted_keys(settings.config.model_dump(mode="json")):
        value = masked(plain) if isinstance(plain, str) else plain
        source = settings.origins.get(key, "default")
        session.show({"key": key, "value": value, "source": source}, _key_lines(key, value, source))


def _key_lines(key: str, value: object, source: str) -> Iterator[str]:
    """Yield a key with its value and, beside it or below where there is no room, its source."""
    width = terminal_width()
    *others, last = wrap(f"{key} = {json.dumps(value, ensure_ascii=False)}", "", _INDENT)
    yield from others
    comment = f"# {source}"
    room = min(_SOURCE_COLUMN, width - display_width(comment) - 1)
    if display_width(last) <= room:
        yield f"{fit(last, room)} {comment}"
    elif display_width(f"{last} {comment}") <= width:
        yield f"{last} {comment}"
    else:
        yield from (last, f"{'':{_INDENT}}{comment}")


@config.command("path")
@pass_session
def path(session: Session) -> None:
    """Print which files are read, and where the store and the transcripts are."""
    settings = session.settings
    file = str(settings.file.absolute()) if settings.file else None
    candidates = list(map(str, config_candidates()))
    places = {
        "config": file,
        "looked_for": candidates,
        "store": masked(store_url(settings.config)),
        "transcripts": str(transcripts_folder()),
    }
    none = f"none: built-in defaults; make {candidates[-1]} to change them"
    lines = (
        f"configuration  {file or none}",
        f"looked for     {', '.join(candidates)}",
        f"store          {places['store']}",
        f"transcripts    {places['transcripts']}",
    )
    session.show(places, lines)


@config.command("prompt")
@pass_session
def prompt(session: Session) -> None:
    """Print the system prompt as a run would send it, and what is asked below the evidence."""
    found = effective_prompt(session.config)
    session.show(found, (found.system, f"\n## Your Task\n{found.task}"))
    if not session.as_json:
        click.echo(f"canon: prompt {found.prompt_version}, dialect {found.dialect}", err=True)


@group("tools")
def tools() -> None:
    """List what the model can call, or call it by hand."""


@tools.command("list")
@pass_session
def list_tools(session: Session) -> None:
    """Print each tool with its arguments and its description."""
    for tool in configured_tools(session.config):
        fields = {"name": tool.name, "description": tool.description, "schema": tool.schema}
        session.show(fields, _tool_lines(tool))


def _tool_lines(tool: Tool) -> Iterator[str]:
    yield from wrap(tool.signature, "", 2 * _INDENT)
    arguments = (f"{name}: {about}" for name, about in tool.about.items())
    for text in (*tool.description.splitlines(), *arguments):
        yield from wrap(text, " " * _INDENT) if text.strip() else [""]


@tools.command("run")
@click.argument("name")
@click.argument("arguments")
@pass_session
def run(session: Session, name: str, arguments: str) -> None:
    """Call tool NAME with ARGUMENTS: a JSON object, or bare text for a tool that takes one.

    Exit status: 0, 1 the tool failed, 2 there is no such tool, or the arguments are wrong.
    """
    try:
        toolbox = Toolbox(configured_tools(session.config))
        call = toolbox.resolve(Act(name, _read_arguments(arguments)))
    except ToolError as error:
        raise UsageError(str(error)) from error
    try:
        observation = call_tool(call, 1, 1)
    except ToolError as error:
        # The text for a model leaves out addresses and settings; a person needs them.
        cause = error.__cause__ if isinstance(error.__cause__, CanonError) else error
        raise LookupFailedError(str(cause)) from error
    session.show(observation, [observation.content])


def _read_arguments(arguments: str) -> dict[str, Any] | str:
    if not arguments.lstrip().startswith("{"):
        return arguments
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"ARGUMENTS are no JSON object: {error}") from error


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: what was found, or what is wrong and how to fix it."""

    name: str
    is_needed: bool
    is_well: bool
    said: str


@click.command("doctor")
@pass_session
def doctor(session: Session) -> int:
    """Check the store, MusicBrainz, the model and the search service; say what to do.

    Exit status: 0 all well, 3 something optional missing, 1 something needed broken.
    """
    status = 0
    for finding in _findings(session.config):
        mark = "ok" if finding.is_well else "BROKEN" if finding.is_needed else "missing"
        status = worst(status, {"ok": 0, "BROKEN": 1, "missing": 3}[mark])
        session.show(finding, wrap(finding.said, f"{mark:<8} {finding.name:<12} "))
    return status


def _findings(config: Config) -> Iterator[Finding]:
    checks: tuple[tuple[str, bool, Callable[[Config], str]], ...] = (
        ("store", True, _store),
        ("musicbrainz", True, _musicbrainz),
        ("model", config.llm.enabled, _model),
        ("search", False, _search),
    )
    for name, is_needed, check in checks:
        try:
            yield Finding(name, is_needed, is_well=True, said=check(config))
        except CanonError as error:
            yield Finding(name, is_needed, is_well=False, said=str(error))


def _store(config: Config) -> str:
    with Store.open(store_url(config)) as store:
        store.answers.forget("")  # a write that changes nothing: no answer has an empty key
    return f"{masked(store_url(config))} can be written to (schema {VERSION})"


def _musicbrainz(config: Config) -> str:
    with Store.open(store_url(config)) as store:
        health = connect(config.musicbrainz, store.answers, store.slots).check()
    if health.is_reachable is None:
        return _OFFLINE
    if not health.is_reachable:
        raise LookupFailedError("; ".join(health.problems))
    return f"{health.host} answers" + "".join(f"; {problem}" for problem in health.problems)


def _model(config: Config) -> str:
    llm = config.llm
    advice = "" if llm.enabled else " (no model is asked: llm.enabled is false)"
    check = _MODEL_SERVERS.get(llm.provider)
    if check is None:
        model = plugins.load("chart_binder.chat_models", llm.provider)(llm)
        return f"{model.model_id} is loaded{advice}"
    if config.musicbrainz.offline:
        return _OFFLINE + advice
    health = check(llm)
    if health.problems:
        raise LookupFailedError("; ".join(health.problems) + advice)
    server = f", {health.server}" if health.server else ""
    window, loaded = "", health.loaded_length
    if health.context_length:
        window = f", made for {health.context_length} tokens (llm.num_ctx = {llm.num_ctx})"
    if loaded is not None:
        window += f"; loaded with {loaded} tokens"
    if loaded is not None and loaded < llm.num_ctx:
        window += (
            " only, until canon asks for more; where it has no more after a run, lower llm.num_ctx"
            f" to {loaded}, or give the server more memory"
        )
    more = _NOT_REPORTED.get(llm.provider, "")
    return f"{health.model_id} at {health.address}{server}{window}{more}{advice}"


def _search(config: Config) -> str:
    searxng = config.llm.searxng
    if not searxng.enabled:
        raise ConfigError("the model cannot search: set llm.searxng.enabled = true")
    if config.musicbrainz.offline:
        return _OFFLINE
    answers = f"{masked(searxng.url)} answers"
    outcome = SearxngClient(searxng).check()
    failing = ", ".join(outcome.failing) if isinstance(outcome, Degraded | Hits) else ""
    if isinstance(outcome, Degraded):
        problem = "no result has an address that can be read: see its log"
        if failing:
            problem = f"its engines fail: {failing}: wait, or {_MORE_ENGINES}"
        raise LookupFailedError(f"{answers}, but {problem}")
    if failing:
        return f"{answers} in JSON; failing engines: {failing}: {_MORE_ENGINES}"
    is_idle = isinstance(outcome, NothingFound)
    return f"{answers} in JSON" + (", but finds nothing: is any engine on?" if is_idle else "")
