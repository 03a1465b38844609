"""What models write is understood, dialect by dialect, and nothing they did not say."""

from functools import cache
from pathlib import Path

import msgspec
import pytest

from chart_binder import plugins
from chart_binder.react.dialect import Dialect
from chart_binder.react.parsing.lenient_json import LenientJSONError
from chart_binder.react.parsing.steps import read_answer_object
from chart_binder.react.steps import Act, Finish, Malformed
from chart_binder.react.tools import Tool, Toolbox, ToolError

REPLIES = Path(__file__).parent / "replies"


class Called(msgspec.Struct, forbid_unknown_fields=True):
    """A call as it would be made."""

    tool: str
    arguments: dict[str, object]
    id: str = ""


class Expected(msgspec.Struct, forbid_unknown_fields=True):
    """What a reply is understood as: the call as it would be made, the answer's JSON.

    `also` are the further calls of a turn, `problem` is a part of the advice for a malformed reply,
    `refused` of that for an action that cannot be called, `notes` are among those of the step.
    """

    kind: str
    tool: str | None = None
    arguments: dict[str, object] | None = None
    id: str | None = None
    also: list[Called] | None = None
    answer: dict[str, object] | None = None
    thought: str | None = None
    problem: str | None = None
    refused: str | None = None
    notes: list[str] | None = None


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


def corpus() -> list[tuple[str, Row]]:
    """Return the replies of every dialect, each with the dialect's name."""
    return [
        (file.stem, msgspec.json.decode(line, type=Row))
        for file in sorted(REPLIES.glob("*.jsonl"))
        for line in file.read_text("utf-8").split("\n")
        if line
    ]


@cache
def dialect(name: str) -> Dialect:
    """Return an installed dialect."""
    made: Dialect = plugins.load("chart_binder.dialects", name)()
    return made


def understood(name: str, text: str) -> Expected:
    """Read a reply as a run would: calls are resolved, answers read as JSON."""
    step = dialect(name).parse(text)
    notes = list(step.notes)
    if isinstance(step, Malformed):
        return Expected("malformed", problem=step.advice, notes=notes)
    if isinstance(step, Finish):
        try:
            answer = read_answer_object(step.answer)[0]
        except LenientJSONError as error:
            return Expected("malformed", problem=str(error), notes=notes)
        return Expected("finish", answer=answer, thought=step.thought, notes=notes)
    try:
        first, *also = [called(act) for act in step.calls]
    except ToolError as error:
        return Expected("act", refused=str(error), thought=step.thought, notes=notes)
    return Expected(
        "act",
        first.tool,
        first.arguments,
        id=first.id,
        also=also,
        thought=step.thought,
        notes=notes,
    )


def called(act: Act) -> Called:
    """Return the call an action means, or raise `ToolError`."""
    call = TOOLS.resolve(act)
    given = {key: value for key, value in call.arguments.items() if value != ""}
    return Called(call.tool.name, given, act.id)


def misread(name: str, row: Row) -> str:
    """Return what is wrong with how a reply is understood, if anything is."""
    read, expect = understood(name, row.text), row.expect
    is_right = (
        (read.kind, read.tool, read.arguments, read.answer)
        == (expect.kind, expect.tool, expect.arguments, expect.answer)
        and expect.thought in {None, read.thought}
        and expect.id in {None, read.id}
        and (expect.also or []) == (read.also or [])
        and (expect.problem or "") in (read.problem or "")
        and (expect.refused or "") in (read.refused or "")
        and set(expect.notes or ()) <= set(read.notes or ())
    )
    return "" if is_right else f"{row.about}:\n  {row.text!r}\n  is {read}\n  not {expect}"


@pytest.mark.parametrize("name", sorted(file.stem for file in REPLIES.glob("*.jsonl")))
def test_replies_are_understood(name: str) -> None:
    """Of a whole corpus at once: as a test each, a thousand replies took ten times as long."""
    wrong = [said for other, row in corpus() if other == name and (said := misread(name, row))]
    assert not wrong, "\n\n".join(wrong)


def test_every_dialect_has_replies_that_differ() -> None:
    rows = corpus()
    assert {name for name, _ in rows} == set(plugins.names("chart_binder.dialects"))
    assert len({(name, row.text) for name, row in rows}) == len(rows)
    assert len({(name, row.about) for name, row in rows}) == len(rows)
