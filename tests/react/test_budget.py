"""What a run may take: seconds and tokens."""

from chart_binder.react.calls import Budget
from chart_binder.react.conversation import Reply

TURN = Reply("x", prompt_tokens=100, completion_tokens=20)


def test_without_limits_nothing_is_ever_over() -> None:
    budget = Budget()
    budget.record(TURN, 1, 1)
    assert budget.out_of_time() is None
    assert budget.out_of_tokens(10**9) is None
    assert not budget.has_one_turn(10**9)
    assert not budget.is_short_of_time()


def test_the_time_is_over_at_its_end() -> None:
    now = 50.0
    budget = Budget(10, clock=lambda: now)
    now = 59.5
    assert budget.seconds_left == 0.5
    assert budget.out_of_time() is None
    now = 60
    assert budget.out_of_time() == "the run took longer than max_run_s = 10 allows"


def test_time_is_short_when_two_turns_like_those_before_do_not_fit() -> None:
    now = 0.0
    budget = Budget(10, clock=lambda: now)
    assert not budget.is_short_of_time()
    budget.record(TURN, 0, 0)
    now = 3
    assert not budget.is_short_of_time()
    now = 4
    assert budget.is_short_of_time()


def test_a_next_turn_takes_its_prompt_and_as_much_as_was_written_before() -> None:
    budget = Budget(tokens=370)
    budget.record(TURN, 0, 0)
    assert budget.out_of_tokens(200) is None
    assert not budget.has_one_turn(105)
    assert budget.has_one_turn(106)
    assert budget.out_of_tokens(231) == (
        "the run took 120 tokens and one more turn about 251, over max_run_tokens = 370"
    )


def test_what_the_server_did_not_count_is_estimated() -> None:
    budget = Budget(tokens=100)
    budget.record(Reply("x"), 60, 10)
    assert "70 tokens" in str(budget.out_of_tokens(60))
