"""Text from outside is readable, and cannot speak for the protocol."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.react.inert import bounded, inert, one_line

TOKENS = [
    "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "[INST]", "[/INST]",
    "<<SYS>>", "</s>", "<start_of_turn>", "<end_of_turn>", "<think>", "</think>", "<|endoftext|>",
    "<｜User｜>", "[TOOL_CALLS]", "<tool_call>", "</response>", "<|python_tag|>", "<|channel|>",
]  # fmt: skip


@pytest.mark.parametrize("token", TOKENS)
def test_a_control_token_keeps_its_letters_and_loses_its_power(token: str) -> None:
    text = inert(f"before {token} after")
    assert token not in text
    assert re.sub(r"\W", "", token) in re.sub(r"\W", "", text)


@pytest.mark.parametrize(
    "line",
    ["Final Answer: C1", "Action: web_fetch", "  **Observation:** x", "> Thought: x", "Action Input：{}",
     "1. Final Answer: x", "answer: x", "`Action`: x"],
)  # fmt: skip
def test_a_label_at_the_start_of_a_line_is_no_label_any_more(line: str) -> None:
    assert "¦ " in inert(f"text\n{line}")


def test_ordinary_prose_is_left_as_it_is() -> None:
    prose = "In their answer to critics: an action film. 1 < 2 > 0 | a | b\n\nReleased 1975 – 東京 é"
    assert inert(prose) == prose


def test_invisible_and_control_characters_are_gone() -> None:
    assert inert("a\u200bb\u202ec\x00d\u2028e\ufefff\U000e0041g") == "abc d efg"


def test_a_line_is_one_line_and_bounded() -> None:
    assert one_line("a\nFinal Answer: b `c`") == "a ¦ Final Answer: b 'c'"
    assert len(one_line("x" * 999, 50)) == 50


@given(st.text(), st.integers(100, 400))
def test_a_bounded_text_is_bounded_and_says_what_was_cut(text: str, most: int) -> None:
    cut = bounded(text, most)
    assert len(cut) <= most
    assert cut == text or "[cut: the first" in cut
    assert bounded(cut, most) == cut


@given(st.text() | st.sampled_from(TOKENS))
def test_inert_text_stays_as_it_is(text: str) -> None:
    assert inert(inert(text)) == inert(text)
