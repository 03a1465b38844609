"""What models write is understood, dialect by dialect, and nothing they did not say."""

import inspect
import json
import re
import string
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chart_binder import plugins
from chart_binder.llm.answer import ANSWER_KEYS
from chart_binder.react.dialect import Classic, Dialect, ExactForm, read_step
from chart_binder.react.parsing.advice import DialectRules, Wording
from chart_binder.react.parsing.answers import read_answer_object
from chart_binder.react.parsing.labels import find_labels, label_at
from chart_binder.react.parsing.lenient_json import LenientJSONError
from chart_binder.react.parsing.steps import read_reply
from chart_binder.react.steps import FinalAnswer, ToolCall, Unreadable
from chart_binder.react.tools import Tool, Toolbox, ToolError
from corpus import rows

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
    """A reply of the corpus; `behaviour` says what is odd in it.

    `seen` is the model, the server or the public report that the form is from, where it is known.
    """

    behaviour: str
    text: str
    expect: Expected
    seen: str = ""


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
    """Return all replies, each with the name of its file, which begins with that of a dialect."""
    return [
        (file.stem, msgspec.json.decode(line, type=Row))
        for file in sorted(REPLIES.glob("*.jsonl"))
        for line in file.read_text("utf-8").split("\n")
        if line
    ]


@cache
def dialect(name: str) -> Dialect:
    """Return the installed dialect of a file of replies."""
    made: Dialect = plugins.load("chart_binder.dialects", name.partition(".")[0])()
    return made


def understood(name: str, text: str) -> Expected:
    """Read a reply as a run would: calls are resolved, answers read as JSON."""
    step = read_step(dialect(name), text, ANSWER_KEYS)
    notes = list(step.notes)
    if isinstance(step, Unreadable):
        return Expected("malformed", problem=step.advice, notes=notes)
    if isinstance(step, FinalAnswer):
        try:
            answer = read_answer_object(step.answer)[0]
        except LenientJSONError as error:
            return Expected("malformed", problem=str(error), notes=notes)
        return Expected("finish", answer=answer, thought=step.thought, notes=notes)
    try:
        first, *also = [called(call) for call in step.calls]
    except ToolError as error:
        return Expected("act", refused=str(error), thought=step.thought, notes=notes)
    return Expected(
        "act", first.tool, first.arguments, id=first.id, also=also, thought=step.thought,
        notes=notes,
    )  # fmt: skip


def called(call: ToolCall) -> Called:
    """Return the tool and the arguments of a call, or raise `ToolError`."""
    bound = TOOLS.resolve(call)
    arguments = {key: value for key, value in bound.arguments.items() if value != ""}
    return Called(bound.tool.name, arguments, call.id)


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
    return "" if is_right else f"{row.behaviour}:\n  {row.text!r}\n  is {read}\n  not {expect}"


@pytest.mark.parametrize("name", sorted(file.stem for file in REPLIES.glob("*.jsonl")))
def test_replies_are_understood(name: str) -> None:
    """Of a whole corpus at once: as a test each, a thousand replies took ten times as long."""
    wrong = [said for other, row in corpus() if other == name and (said := misread(name, row))]
    assert not wrong, "\n\n".join(wrong)


def test_every_dialect_has_replies_that_differ() -> None:
    rows = corpus()
    names = {name.partition(".")[0] for name, _ in rows}
    assert names == set(plugins.names("chart_binder.dialects"))
    assert len({(name, row.text) for name, row in rows}) == len(rows)
    assert len({(name, row.behaviour) for name, row in rows}) == len(rows)


@pytest.mark.parametrize(("kind", "names"), rows(__file__, "labels"))
def test_a_label_is_found_by_its_name(kind: str, names: str) -> None:
    for name in names.split("|"):
        for line in (f"{name}: x", f"**{name}:** x", f"### {name}: x", f"1. {name.upper()}: x"):
            label = label_at(line)
            assert label is not None, line
            assert label.kind == kind
        assert [label.start for label in find_labels(f"so\n{name}: x")] == [3]


OTHER = '{"crg_mbid": "C2", "confidence": 0.9}'


class AnswerRow(msgspec.Struct, forbid_unknown_fields=True):
    """Words around an answer, which is always C1's, or the problem that there is none."""

    text: str
    problem: str = ""


ANSWER_ROWS = [
    msgspec.json.decode(line, type=AnswerRow)
    for line in (REPLIES.parent / "answers.jsonl").read_text("utf-8").split("\n")
    if line
]


@pytest.mark.parametrize("row", ANSWER_ROWS, ids=lambda row: row.text)
def test_an_answer_is_the_models_own_one_object_among_any_prose(row: AnswerRow) -> None:
    if row.problem:
        with pytest.raises(LenientJSONError, match=row.problem):
            read_answer_object(row.text, "crg_mbid")
    else:
        meant = {"crg_mbid": "C1", "confidence": 0.9}
        assert read_answer_object(row.text, "crg_mbid")[0] == meant


# Answers in words, as `run` takes them: the words exactly, or a part of the advice.
IN_WORDS = tuple(rows(__file__, "in_words"))


@pytest.mark.parametrize(("name", "reply", "answer", "advice"), IN_WORDS)
def test_an_answer_in_words_is_whole_and_as_written(
    name: str, reply: str, answer: str | None, advice: str
) -> None:
    step = dialect(name).parse(reply)
    if answer is None:
        assert isinstance(step, Unreadable)
        assert advice in step.advice
    else:
        assert isinstance(step, FinalAnswer)
        assert step.answer == answer


EXACT = {
    "classic": ExactForm("Action: {tool}\nAction Input: {arguments}", "Final Answer"),
    "pause": ExactForm("Action: {tool}: {arguments}\nPAUSE", "Answer"),
}
FORMS = {
    "classic": ("Action: %s\nAction Input: %s", "Final Answer: %s"),
    "pause": ("Action: %s: %s\nPAUSE", "Answer: %s"),
}
WORDS = (
    *("Observation", "observed", "PAUSE", "Final Answer", "Action", "(see", "C1)", "Step 1."),
    *("1)", "No.", "json", "xml", "None", "finish", "it's", "Queen's", "rock", "a.b", ";", "END"),
)
TOOL_NAMES = tuple(rows(__file__, "tool_names"))
TEXTS = st.sampled_from(
    ("K", "Observation: y", "a Action Input: b", "12\" x'", "PAUSE", "</tool_call>", "[/INST]")
) | st.text(string.printable, max_size=6)
VALUES = st.recursive(
    TEXTS | st.none() | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(("query", "action", "observation", "x")), inner)
    ),
    max_leaves=4,
)
THOUGHTS = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
GIVEN = st.dictionaries(TEXTS, VALUES, max_size=2).map(json.dumps)
PRETTY = st.dictionaries(TEXTS, VALUES, max_size=3).map(lambda found: json.dumps(found, indent=1))
ANSWERS = GIVEN | THOUGHTS | st.text(string.printable, max_size=12)


@pytest.mark.parametrize("name", EXACT)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    THOUGHTS,
    st.sampled_from(TOOL_NAMES),
    GIVEN,
    ANSWERS | PRETTY,
    st.booleans(),
    st.booleans(),
    st.sampled_from(" \n."),
)
def test_a_turn_of_exactly_the_form_is_read_as_any_reply_is(
    name: str, thought: str, tool: str, given: str, answer: str, acts: bool, fenced: bool, end: str
) -> None:
    call, finish = FORMS[name]
    answer = f"```json\n{answer}\n```" if fenced else answer
    reply = f"Thought: {thought}\n{call % (tool, given) if acts else finish % answer}{end}"
    wording = Wording("Action", "Answer", "Observation", "Action Input", "{tool}", "Answer")
    step = EXACT[name].read(reply)
    assert step in (None, read_reply(reply, DialectRules(name, wording)))


def test_no_group_is_repeated_possessively() -> None:
    # Python 3.11.0 to 3.11.4 match such a group wrongly (gh-106052); an atomic group is right.
    modules = Path(inspect.getfile(Classic)).parents[2].rglob("*.py")
    found = [
        f"{each.name}: {line.strip()}"
        for each in modules
        for line in each.read_text("utf-8").splitlines()
        if re.search(r"\)(?:[?*+]|\{+\d*,?\d*\}+)\+", line)
    ]
    assert found == []
