"""A turn to the letter is read as any reply is, only sooner."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.react.dialects.classic import Classic
from chart_binder.react.dialects.labelled import Labelled
from chart_binder.react.dialects.pause import Pause
from chart_binder.react.reading import to_the_letter
from chart_binder.react.reading.advice import Wording
from chart_binder.react.reading.manner import Manner
from chart_binder.react.reading.reply import read_reply
from chart_binder.react.steps import Act, Finish

LETTERS = {
    "classic": to_the_letter.Letter("Action: {tool}\nAction Input: {given}", "Final Answer"),
    "pause": to_the_letter.Letter("Action: {tool}: {given}\nPAUSE", "Answer"),
}
FORMS = {
    "classic": ("Action: %s\nAction Input: %s", "Final Answer: %s"),
    "pause": ("Action: %s: %s\nPAUSE", "Answer: %s"),
}
WORDS = (
    *("Observation", "observed", "PAUSE", "Final Answer", "Action", "(see", "C1)", "Step 1."),
    *("1)", "No.", "json", "xml", "None", "finish", "it's", "Queen's", "rock", "a.b", ";", "END"),
)
TOOLS = ("look_up", "finish", "none", "json", "tool", "function", "obs", "no_action", "use_tool")
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
ANSWERS = GIVEN | THOUGHTS | st.text(string.printable, max_size=12)


@pytest.mark.parametrize("name", LETTERS)
@given(THOUGHTS, st.sampled_from(TOOLS), GIVEN, ANSWERS, st.booleans(), st.sampled_from(" \n."))
def test_a_turn_to_the_letter_is_read_as_any_reply_is(
    name: str, thought: str, tool: str, given: str, answer: str, acts: bool, end: str
) -> None:
    call, finish = FORMS[name]
    reply = f"Thought: {thought}\n{call % (tool, given) if acts else finish % answer}{end}"
    wording = Wording("Action", "Answer", "Observation", "Action Input", "{tool}", "Answer")
    step = LETTERS[name].read(reply)
    assert step in (None, read_reply(reply, Manner(name, wording)))


@pytest.mark.parametrize("dialect", [Classic(), Pause()], ids=lambda dialect: dialect.name)
def test_what_a_dialect_writes_is_to_its_letter(dialect: Labelled) -> None:
    letter = LETTERS[dialect.name]
    for step in (
        Act("look_up", {"key": "Killer Queen", "most": 3}, "It's unknown, so I look it up."),
        Act("look_up", {}),
        Finish('{"crg": "C1", "facts": [{"source": "C1"}]}', "C1 is a single (of 1974)."),
        Finish("6"),
    ):
        assert letter.read(dialect.render(step)) == step
