"""`canon tools`: what the model can call."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from chart_binder import plugins
from chart_binder.cli import options, output
from chart_binder.errors import CanonError, LookupFailedError, UsageError
from chart_binder.llm.prompt import RESERVED_LABELS
from chart_binder.react.call_runner import call_tool
from chart_binder.react.sanitize import sanitized_observation
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import Tool, Toolbox, ToolError
from chart_binder.wiring import tools as configured_tools

_TOOLS = "chart_binder.tools"
_INDENT = 4


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

    Exit status: 0 success, 1 the tool failed, 2 there is no such tool, or the arguments are wrong.
    """
    try:
        toolbox = Toolbox(configured_tools(session.config))
        call = toolbox.resolve(ToolCall(name, _read_arguments(arguments)))
    except ToolError as error:
        raise UsageError(str(error)) from error
    try:
        observation = sanitized_observation(call_tool(call), RESERVED_LABELS)
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
