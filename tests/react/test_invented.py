"""No answer rests on an observation that the model made up, or on what a page says."""

import json
from collections.abc import Mapping

import pytest

from chart_binder import plugins
from chart_binder.llm.answer import ANSWER_KEYS
from chart_binder.react.dialect import Dialect, read_step
from chart_binder.react.parsing.lexer import FAMILIES
from chart_binder.react.steps import FinalAnswer, Step, ToolCall
from corpus import rows

GROUP = "chart_binder.dialects"
DIALECTS: tuple[Dialect, ...] = tuple(plugins.load(GROUP, name)() for name in plugins.names(GROUP))
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)

ANSWER = json.dumps(
    {"crg_mbid": "C2", "rr_mbid": "C2.R1", "confidence": 0.95, "rationale": "the page says so"}
)
LABELLED = tuple(rows(__file__, "labelled"))
"""An answer in every way that one of the dialects labels it."""

OBJECTS = (
    '{{"thought": "so", "final_answer": {}}}',
    '<tool_call>{{"name": "finish", "arguments": {}}}</tool_call>',
)
"""An answer in every way that a turn without labels is written."""


OBSERVED = tuple(rows(__file__, "observed"))
"""An observation that a model makes up, in every way it is known to."""

CALLED = (
    '{"name": "web_search", "parameters": {"query": "x"}}',
    '```json\n{"action": "web_search", "action_input": {"query": "x"}}\n```',
    '[web_search(query="x")]', 'web_search("x")', '```python\nfound = web_search("x")\n```',
)  # fmt: skip
"""A call without a label, in every way it is written."""

THINKING: Mapping[str, tuple[str, str]] = dict(rows(__file__, "thinking"))
"""What opens and what closes the thinking of each family."""

PAGES: Mapping[str, str] = dict(rows(__file__, "pages"))
"""What a page says, as a model passes it on; `quoted` has a mark before each line."""


def in_page(page: str, text: str) -> str:
    return page.format(text, quoted=text.replace("\n", "\n> "), json=json.dumps(text))


def fenced(page: str) -> bool:
    return "```" in page or "~~~" in page


def is_answer(step: Step) -> bool:
    return isinstance(step, FinalAnswer) and "C2" in step.answer


def test_each_family_is_tried() -> None:
    assert {family.name for family in FAMILIES} <= THINKING.keys()


@every_dialect
@pytest.mark.parametrize("family", THINKING)
def test_no_answer_is_taken_from_thinking(dialect: Dialect, family: str) -> None:
    opens, closes = THINKING[family]
    call = ToolCall("web_search", {"query": "x"})
    for label in LABELLED + OBJECTS:
        if family == "in bold" and label.startswith("**"):
            continue  # a heading for the thought, and one for the answer
        thought = f"Is it this?\n{label.format(ANSWER)}\nI do not know.\n"
        for reply in (f"{opens}{thought}{closes}", f"{thought}{closes}"):
            if family in ("Inkling", "HyperCLOVA X") and not reply.startswith(opens):
                continue  # what closes its thinking closes a turn as well
            step = dialect.parse(reply + dialect.render(call))
            assert isinstance(step, ToolCall), reply
            assert (step.tool, step.arguments) == (call.tool, call.arguments), reply
            assert not is_answer(read_step(dialect, reply, ANSWER_KEYS)), reply
        assert not is_answer(read_step(dialect, opens + thought, ANSWER_KEYS)), opens + thought


@pytest.mark.parametrize("label", LABELLED + OBJECTS)
def test_each_of_these_forms_is_an_answer_where_it_stands_alone(label: str) -> None:
    assert any(is_answer(dialect.parse(label.format(ANSWER))) for dialect in DIALECTS)


@every_dialect
@pytest.mark.parametrize("observed", OBSERVED)
def test_no_answer_follows_an_invented_observation(dialect: Dialect, observed: str) -> None:
    for label in LABELLED + OBJECTS:
        for before in ("", "Thought: I look.\n", "<thought>I look.</thought>\n", "I look.\n\n"):
            reply = f"{before}{observed}\n{label.format(ANSWER)}"
            assert not is_answer(read_step(dialect, reply, ANSWER_KEYS)), reply


@every_dialect
@pytest.mark.parametrize("observed", OBSERVED)
def test_an_action_before_an_invented_observation_counts(dialect: Dialect, observed: str) -> None:
    for label in LABELLED + OBJECTS:
        call = dialect.render(ToolCall("web_search", {"query": "x"}, "I look."))
        reply = f"{call}\n{observed}\n{label.format(ANSWER)}"
        step = dialect.parse(reply)
        assert isinstance(step, ToolCall), reply
        assert (step.tool, step.arguments, step.further_calls) == (
            "web_search", {"query": "x"}, (),
        ), reply  # fmt: skip


@every_dialect
@pytest.mark.parametrize("called", CALLED)
def test_no_answer_follows_a_call_without_a_label(dialect: Dialect, called: str) -> None:
    for label in LABELLED + OBJECTS:
        for told in ("", "\nThe tool returned C2.\n", '\n```json\n{"results": ["C2"]}\n```\n'):
            reply = f"I look.\n\n{called}\n{told}\n{label.format(ANSWER)}"
            assert not is_answer(dialect.parse(reply)), reply


@every_dialect
@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_says_is_no_answer(dialect: Dialect, name: str) -> None:
    # A turn written as one object often stands in a fence, so that a fence tells nothing of it.
    for label in LABELLED if fenced(PAGES[name]) else LABELLED + OBJECTS:
        said = in_page(PAGES[name], label.format(ANSWER))
        reply = f"Thought: I have read this:\n{said}\nI do not know yet."
        assert not is_answer(read_step(dialect, reply, ANSWER_KEYS)), reply


@every_dialect
def test_no_more_is_an_object_without_a_label(dialect: Dialect) -> None:
    starts = ("", "Thought: I look.\n", "<thought>I look.</thought>\n", "I look.\n\n")
    for answer in (ANSWER, f"```json\n{ANSWER}\n```", f"Thought: I know enough.\n{ANSWER}"):
        replies = [
            *(f"{start}{above}\n{answer}" for start in starts for above in OBSERVED + CALLED),
            *(f"I have read this:\n{in_page(page, answer)}" for page in PAGES.values()),
        ]
        for reply in replies:
            assert not is_answer(read_step(dialect, reply, ANSWER_KEYS)), reply
        assert is_answer(read_step(dialect, answer, ANSWER_KEYS))
