"""`canon model` and `canon tools`: test the configured model, and call what it can call."""

from collections.abc import Iterator
from time import monotonic
from typing import Any

import click
import msgspec

from chart_binder import plugins
from chart_binder.cli import options, output
from chart_binder.cli.doctor import model_build
from chart_binder.config import LLMConfig
from chart_binder.errors import CanonError, LookupFailedError, UsageError
from chart_binder.llm.model_exam import (
    MAX_LET_THROUGH,
    MIN_TAKEN,
    ExamResult,
    Score,
    examine,
    find_result,
    read_passages,
    read_runs,
    save_result,
)
from chart_binder.llm.prompt import RESERVED_LABELS
from chart_binder.llm.react_adjudicator import load_model, load_reader
from chart_binder.react.call_runner import call_tool
from chart_binder.react.conversation import ChatError
from chart_binder.react.sanitize import sanitized_observation
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import Tool, Toolbox, ToolError
from chart_binder.wiring import exam_results
from chart_binder.wiring import tools as configured_tools

_NOTED_EVERY = 10
_BELOW = 3


@options.group("model")
def model() -> None:
    """Test the configured model."""


@model.command("check")
@options.pass_session
def check(session: options.Session) -> int:
    """Let the model read sixty passages and make ten short runs, and store its score.

    If the score is below the bar, the model may only propose: what it reads in prose decides
    nothing. The check asks only the model's server, and takes about a minute on a fast one.

    Exit status: 0 at or above the bar, 3 below it, 1 the model could not be asked, 130 interrupted.
    """
    config = session.config.llm
    if config.provider == "replay":
        raise UsageError("llm.provider = replay plays a transcript: there is no model to check")
    if session.config.musicbrainz.offline:
        raise UsageError("canon model check asks the model's server, and this call is offline")
    find_result(exam_results(), config)  # fail on an unreadable file before the exam
    build, started = model_build(config), monotonic()
    if not session.quiet:
        reader = config.acceptance.reader_model_id
        plan = f"60 passages{f' (read by {reader})' if reader else ''}, then 10 runs"
        plan += "; an interrupted check stores no result"
        output.print_notes([f"{config.model_id} at {config.base_url}: {plan}"])
    score = _examined(session, config)
    result = ExamResult.now(config, score, build, monotonic() - started)
    save_result(exam_results(), result)
    text = f"{config.model_id} {result.text}"
    bar = f"the bar: at least {MIN_TAKEN:.0%} of the true, at most {MAX_LET_THROUGH:.0%} of others"
    lines = (*output.wrap(text, "", 4), *output.wrap(bar, "  ", 4))
    session.show({"is_enough": score.is_enough, "result": result}, lines)
    words = ("decide", "FOLDER") if config.enabled else ("config", "set", "llm.enabled", "true")
    output.print_next(output.canon_call(*words))
    return 0 if score.is_enough else _BELOW


def _examined(session: options.Session, config: LLMConfig) -> Score:
    """Return the score of the exam; if that is interrupted, print the score so far."""
    score, total, started = Score(), len(read_passages()) + len(read_runs()), monotonic()
    try:
        for score in examine(config, load_model(config), load_reader(config)):
            if score.asked % _NOTED_EVERY == 0:
                took = output.duration(monotonic() - started)
                output.print_notes([f"{score.asked} of {total} answered, {took}"])
    except KeyboardInterrupt:
        so_far = f"{score.asked} of {total} answered: {score.text}; no result is stored"
        session.show({"answered": score.asked, "of": total, "score": score}, ["", so_far])
        raise
    except ChatError as error:
        raise LookupFailedError(str(error)) from error
    return score


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
