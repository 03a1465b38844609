"""`canon config` and `canon tools`: what is configured, and what the model can call."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import click
import msgspec

from chart_binder.cli.options import Session, group, pass_session
from chart_binder.cli.output import display_width, fit, print_error, terminal_width, wrap
from chart_binder.config.load import config_candidates, dotted_keys
from chart_binder.errors import CanonError, LookupFailedError, UsageError, masked
from chart_binder.jobs.transcripts import effective_prompt
from chart_binder.react.calls import call_tool
from chart_binder.react.steps import Act
from chart_binder.react.tools import Tool, Toolbox, ToolError
from chart_binder.wiring import store_url, transcripts_folder
from chart_binder.wiring import tools as configured_tools

_SOURCE_COLUMN = 60
_INDENT = 4


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
    here, own = config_candidates()
    file = settings.file and settings.file.absolute()
    places: dict[str, Any] = {
        "config": file and str(file),
        "own": str(own),
        "looked_for": [str(here), str(own)],
        "remarks": settings.remarks,
        "store": masked(store_url(settings.config)),
        "transcripts": str(transcripts_folder()),
    }
    about = "the one that is read" if file == own else f"not read, for {file} is"
    if not own.exists():
        about = "not there: make it to set your own keys"
    texts = {
        "configuration": str(file or "none, so every key has its default"),
        "": "; ".join(settings.remarks),
        "your own file": f"{own} ({about})",
        "store": places["store"],
        "transcripts": places["transcripts"],
    }
    lines = chain.from_iterable(wrap(text, f"{name:<15}") for name, text in texts.items())
    session.show(places, lines)


@config.command("prompt")
@pass_session
def prompt(session: Session) -> None:
    """Print the system prompt as a run would send it, and what is asked below the evidence."""
    found = effective_prompt(session.config)
    session.show(found, (found.system, f"\n## Your Task\n{found.task}"))
    if not session.as_json:
        print_error(f"prompt {found.prompt_version}, dialect {found.dialect}")


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
