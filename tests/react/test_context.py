"""The conversation as it is sent, shortened in a fixed order, and the budget of a run."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chart_binder.react.context import (
    CallResult,
    Context,
    ContextFullError,
    TokenEstimate,
    Turn,
    size_of,
)
from chart_binder.react.conversation import Message, Reply
from chart_binder.react.dialect import Classic
from chart_binder.react.loop import Budget
from chart_binder.react.steps import Observation, ToolCall

OPENING = (Message("system", "Add up. " * 20), Message("user", "What is 2 + 3?"))
ACT = ToolCall("fetch", {"url": "https://a.example/"}, "I need to know. " * 20)


def turn(number: int, length: int = 1_000, thought: str = "I wonder. ") -> Turn:
    call = ToolCall("fetch", {"url": f"https://{number}.example/"}, thought * 20)
    seen = Observation(f"{number}" * length, (f"https://{number}.example/",))
    return Turn(
        Classic().render(call), call, (CallResult(call, seen),), f"({9 - number} turns left.)"
    )


def context(turns: Sequence[Turn], window: int) -> Context:
    made = Context(OPENING, Classic(), "user", window)
    for each in turns:
        made.add(each)
    return made


def contents(turns: Sequence[Turn], window: int) -> list[str]:
    return [message.content for message in context(turns, window).messages()]


TURNS = [turn(number) for number in range(4)]
WHOLE = context(TURNS, 0).tokens


def test_what_fits_is_sent_whole() -> None:
    assert contents(TURNS, WHOLE) == contents(TURNS, 0)


def test_observations_are_shortened_first_the_oldest_before_others_and_then_thoughts() -> None:
    whole, sent = contents(TURNS, 0), contents(TURNS, WHOLE - 100)
    assert [a == b for a, b in zip(whole, sent, strict=True)] == [i != 3 for i in range(10)]
    assert "[cut: the first" in sent[3]
    assert sent[3].endswith("(9 turns left.)")
    sent = contents(TURNS, WHOLE - 700)  # each older one is cut before one is reduced to a line
    line = "Observation: (shortened to make room; it came from https://0.example/)"
    assert sent[3].startswith(line)
    assert all("[cut: the first" in sent[place] for place in (5, 7))
    assert sent[9] == whole[9]
    sent = contents(TURNS, WHOLE - 1_450)  # calls stay
    assert sent[2] == 'Action: fetch\nAction Input: {"url": "https://0.example/"}'
    assert sent[8] == whole[8]


def test_what_was_shortened_stays_short_so_that_the_prefix_settles() -> None:
    made = context(TURNS, WHOLE - 100)
    first = made.messages()
    made.add(turn(4, length=10, thought=""))
    assert made.messages()[:9] == first[:9]


def test_a_note_is_never_longer_than_what_it_stands_for() -> None:
    turns = [turn(number, length=5) for number in range(4)]
    assert contents(turns, 200)[3].startswith("Observation: 00000")


def test_an_opening_that_cannot_fit_is_refused_with_what_is_needed() -> None:
    opening = [Message("system", "x" * 60_000)]
    with pytest.raises(
        ContextFullError, match=r"about 10007 tokens, .* leaves 7000: raise num_ctx by 3007"
    ):
        Context(opening, Classic(), "user", 7_000).messages()


def test_an_opening_that_may_fit_is_sent_until_the_server_has_counted() -> None:
    made = Context([Message("system", "x" * 30_000)], Classic(), "user", 7_000)
    assert made.tokens > 7_000
    made.estimate.learn(made.messages(), 9_000)
    with pytest.raises(ContextFullError, match="about 9000 tokens"):
        made.messages()


def test_a_server_that_counts_fewer_tokens_than_feared_leaves_more_room() -> None:
    whole = contents(TURNS[:3], 0)
    assert contents(TURNS[:3], WHOLE * 7 // 10) != whole
    known = context(TURNS[:2], WHOLE * 7 // 10)
    known.estimate.learn(known.messages(), size_of(known.messages()) // 5)
    known.add(TURNS[2])
    assert [message.content for message in known.messages()] == whole


@pytest.mark.parametrize("tokens", [None, 0, 5, 100_000])
def test_a_count_that_cannot_be_is_left_aside(tokens: int | None) -> None:
    estimate = TokenEstimate()
    before = estimate.tokens(OPENING)
    estimate.learn(OPENING, tokens)
    assert not estimate.has_counted
    assert estimate.tokens(OPENING) == before


def test_what_was_counted_is_known_and_the_rest_is_estimated() -> None:
    estimate = TokenEstimate()
    estimate.learn(OPENING, 60)
    more = Message("user", "東京" * 100)
    assert estimate.tokens(OPENING) == 60
    assert estimate.tokens([*OPENING, more]) == 60 + round((600 + 40) / 2.5)


TEXT = st.builds(str.__mul__, st.text(min_size=1, max_size=5), st.integers(0, 600))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(TEXT, TEXT), max_size=5),
    st.integers(min_value=300, max_value=3_000),
    st.floats(min_value=0.2, max_value=1.2),
)
def test_what_is_sent_fits_its_room(turns: list[tuple[str, str]], window: int, rate: float) -> None:
    made = Context(OPENING, Classic(), "user", window)
    made.estimate.learn(OPENING, round(size_of(OPENING) * rate))
    for said, heard in turns:
        made.add(Turn(said, ACT, (CallResult(ACT, Observation(heard, ("https://a.example/",))),)))
        try:
            sent = made.messages()
        except ContextFullError:
            return
        assert sent[:2] == OPENING
        assert sum(message.role == "assistant" for message in sent) == len(sent) // 2 - 1
        assert made.estimate.tokens(sent) <= window


COUNTED = Reply("x", prompt_tokens=100, completion_tokens=20)


def test_a_next_turn_takes_its_prompt_and_as_much_as_was_written_before() -> None:
    budget = Budget(tokens=370)
    budget.record(COUNTED, 0, 0)
    assert budget.token_problem(200) is None
    assert not budget.is_short_of_tokens(105)
    assert budget.is_short_of_tokens(106)
    assert budget.token_problem(231) == (
        "the run took 120 tokens and one more turn about 251, over max_run_tokens = 370"
    )
