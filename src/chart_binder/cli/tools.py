"""`canon tools`: what the model can call; call it by hand."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from chart_binder.cli.options import Group, Session, common_options, pass_session
from chart_binder.cli.terminal import terminal_width, wrapped
from chart_binder.errors import CanonError, LookupFailedError, UsageError
from chart_binder.react.calls import call_tool
from chart_binder.react.steps import Act
from chart_binder.react.tools import Tool, Toolbox, ToolError
from chart_binder.wiring import tools

_INDENT = 4


@click.group("tools", cls=Group)
@common_options
def command() -> None:
    """List what the model can call, or call it by hand."""


@command.command("list")
@common_options
@pass_session
def list_tools(session: Session) -> None:
    """Print each tool with its arguments and its description."""
    for tool in tools(session.config):
        if session.as_json:
            line = {"name": tool.name, "description": tool.description, "schema": tool.schema}
            click.echo(msgspec.json.encode(line))
        else:
            for told in _described(tool, terminal_width()):
                click.echo(told)


@command.command("run")
@click.argument("name")
@click.argument("arguments")
@common_options
@pass_session
def run(session: Session, name: str, arguments: str) -> None:
    """Call tool NAME with ARGUMENTS: a JSON object, or bare text for a tool that takes one.

    Exit status: 0, 1 the tool failed, 2 there is no such tool, or the arguments are wrong.
    """
    try:
        call = Toolbox(tools(session.config)).resolve(Act(name, _read(arguments)))
    except ToolError as error:
        raise UsageError(str(error)) from error
    try:
        observation = call_tool(call, 1, 1)
    except ToolError as error:
        # What a model is told leaves out addresses and settings; a person needs them.
        told = error.__cause__ if isinstance(error.__cause__, CanonError) else error
        raise LookupFailedError(str(told)) from error
    if session.as_json:
        click.echo(msgspec.json.encode(observation))
    else:
        click.echo(observation.content)


def _described(tool: Tool, width: int) -> Iterator[str]:
    yield from wrapped(tool.signature, width, "", 2 * _INDENT)
    arguments = (f"{name}: {about}" for name, about in tool.about.items())
    for said in (*tool.description.splitlines(), *arguments):
        yield from wrapped(said, width, " " * _INDENT, _INDENT) if said.strip() else [""]


def _read(arguments: str) -> dict[str, Any] | str:
    if not arguments.lstrip().startswith("{"):
        return arguments
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"ARGUMENTS are no JSON object: {error}") from error
