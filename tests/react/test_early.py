"""A reply that is still being written may end where the model invents an observation."""

import json

import pytest

from chart_binder.chat.streaming import Cut
from chart_binder.react.dialect import Dialect
from chart_binder.react.dialects.classic import Classic
from chart_binder.react.dialects.pause import Pause
from chart_binder.react.dialects.xml import Xml
from chart_binder.react.loop import Early

CALL = 'Thought: look\nAction: web_search\nAction Input: {"query": "K"}'
CALLS = '<thought>look</thought>\n<tool_call>{"name": "a", "arguments": {}, "id": "1"}</tool_call>'
ANSWER = "Final Answer: " + json.dumps({"crg_mbid": "C1", "rationale": "so"})


def left(dialect: Dialect, text: str) -> str | None:
    cut = Cut(Early(dialect))
    through = "".join(map(cut.let_through, text))
    return through if cut.made else None


@pytest.mark.parametrize(
    "label",
    [
        "Observation: it is C1",
        "**Observation:** it is C1",
        "OBSERVATION: it is C1",
        " Observation: it is C1",
        "Observation 1: it is C1",
        "Observation：it is C1",
        "观察：it is C1",
        "观察结果: it is C1",
        "<observation>it is C1",
        "- **Observation**: it is C1",
        "Observation [1] - it is C1",
        "Observation from web_search: it is C1",
        "Tool Observation: it is C1",
        "Observaton: it is C1",
        "Оbservation: it is C1",
        "Obs\u200bervation: it is C1",
        "Observation It is C1",
        "&lt;observation&gt;",
        '<tool_response id="1">',
    ],
)
@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        (Classic(), CALL),
        (Classic(), ANSWER),
        (Pause(), "Action: web_search: K\nPAUSE"),
        (Pause(), "Answer: C1"),
        (Xml(), CALLS),
        (Xml(), "<response>\nC1\n</response>"),
    ],
)
def test_an_observation_after_a_step_ends_the_reply_in_any_spelling(
    dialect: Dialect, said: str, label: str
) -> None:
    assert left(dialect, f"{said}\n{label}\nand so on") == said


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (Classic(), f"<think>\n{CALL}\nObservation: x\n</think>\n{ANSWER}\n"),
        (Classic(), f"<think>\nI must write\nObservation: x\n</think>\n{ANSWER}\n"),
        (Classic(), "Thought: the form is\nObservation: x\n"),
        (Classic(), f"{CALL}\nThe observation is to come.\n"),
        (Xml(), '<response>\n{"rationale": "the <observation> said so", "crg_mbid": "C1"}\n'),
        (Xml(), "<thought>then comes\n<observation>\nand I answer</thought>\n"),
        (Xml(), f"{CALLS}\n<tool_call>{{}}</tool_call>\n"),
    ],
)
def test_what_is_thought_or_quoted_or_comes_before_a_step_ends_nothing(
    dialect: Dialect, text: str
) -> None:
    assert left(dialect, text) is None


def test_the_reply_that_is_cut_is_read_as_the_whole_would_be() -> None:
    thinking = "<think>\nObservation: x\n</think>\n"
    text = f"{thinking}{CALL}\nObservation: C1\n{ANSWER}\n"
    assert left(Classic(), text) == thinking + CALL


@pytest.mark.parametrize("dialect", [Classic(), Pause(), Xml()])
def test_a_server_is_told_to_stop_at_the_start_of_a_line_only(dialect: Dialect) -> None:
    assert all(stop.startswith("\n") for stop in dialect.stop)
