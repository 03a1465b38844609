"""The classic dialect reads what small models write, and nothing they did not say."""

from pathlib import Path

import msgspec
import pytest

from chart_binder.react.dialects.classic import Classic
from chart_binder.react.json.lenient import LenientJSONError, read_json
from chart_binder.react.steps import Finish, Malformed
from chart_binder.react.tools import Tool, Toolbox, ToolError

REPLIES = Path(__file__).parent / "replies" / "classic.jsonl"


class Expected(msgspec.Struct, forbid_unknown_fields=True):
    """What a reply is understood as: the call as it would be made, the answer's JSON.

    `problem` is a part of the advice for a malformed reply, `refused` of that for an action that
    cannot be called.
    """

    kind: str
    tool: str | None = None
    arguments: dict[str, object] | None = None
    answer: dict[str, object] | None = None
    thought: str | None = None
    problem: str | None = None
    refused: str | None = None


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """A reply of the corpus; `about` says what is odd in it."""

    about: str
    text: str
    expect: Expected


def web_search(query: str) -> str:
    """Search."""
    return query


def web_fetch(url: str, find: str = "") -> str:
    """Read a page."""
    return url + find


def days_between(first: str, second: str) -> str:
    """Count days."""
    return first + second


TOOLS = Toolbox([Tool.of(web_search), Tool.of(web_fetch), Tool.of(days_between)])


def corpus() -> list[Row]:
    lines = REPLIES.read_text("utf-8").split("\n")
    return [msgspec.json.decode(line, type=Row) for line in lines if line]


def understood(text: str) -> Expected:
    """Read a reply as a run would: calls are resolved, answers read as JSON."""
    step = Classic().parse(text)
    if isinstance(step, Malformed):
        return Expected("malformed", problem=step.advice)
    if isinstance(step, Finish):
        try:
            return Expected("finish", answer=read_json(step.answer)[0], thought=step.thought)
        except LenientJSONError as error:
            return Expected("malformed", problem=str(error))
    try:
        call = TOOLS.resolve(step)
    except ToolError as error:
        return Expected("act", refused=str(error), thought=step.thought)
    given = {key: value for key, value in call.arguments.items() if value != ""}
    return Expected("act", call.tool.name, given, thought=step.thought)


@pytest.mark.parametrize("row", corpus(), ids=lambda row: row.about)
def test_a_reply_is_understood(row: Row) -> None:
    read, expect = understood(row.text), row.expect
    assert (read.kind, read.tool, read.arguments, read.answer) == (
        expect.kind,
        expect.tool,
        expect.arguments,
        expect.answer,
    ), read
    assert expect.thought is None or read.thought == expect.thought
    assert (expect.problem or "") in (read.problem or ""), read.problem
    assert (expect.refused or "") in (read.refused or ""), read.refused
