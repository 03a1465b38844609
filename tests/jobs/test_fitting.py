"""A calibration is fitted from known answers, and brings confidence nearer to the truth."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.errors import CanonError
from chart_binder.jobs.calibrate import (
    FEWEST,
    Answer,
    Calibration,
    Known,
    calibration,
    fit,
    fitted,
    read_answers,
)
from chart_binder.llm.confidence import AS_STATED
from chart_binder.llm.result import AdjudicationResult, Outcome

STATED = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98)
JUDGES: dict[str, Callable[[float], float]] = {
    "sure of itself": lambda stated: stated**3,
    "always alike": lambda _: 0.7,
    "timid": lambda stated: 0.95,
}


def answers(share_right: Callable[[float], float], count: int, seed: int) -> list[Known]:
    chance = random.Random(seed)
    stated = [chance.choice(STATED) for _ in range(count)]
    return [Known(each, chance.random() < share_right(each)) for each in stated]


def measured(known: list[Known], worth: Callable[[float], float]) -> Calibration:
    found = calibration([Answer(worth(one.confidence), one.right) for one in known])
    assert found
    return found


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_answers_it_has_not_seen_confidence_is_nearer_to_the_truth(
    judge: str, seed: int
) -> None:
    worth = fit(answers(JUDGES[judge], 200, seed))
    unseen = answers(JUDGES[judge], 2_000, seed + 100)
    before, after = measured(unseen, AS_STATED), measured(unseen, worth)
    assert after.brier_score < before.brier_score
    assert after.expected_calibration_error < before.expected_calibration_error * 0.6
    assert fitted(answers(JUDGES[judge], 200, seed)).is_better


def test_a_judge_that_is_right_as_often_as_it_says_is_hardly_changed() -> None:
    worth = fit(answers(lambda stated: stated, 5_000, 1))
    assert all(abs(worth(stated) - stated) < 0.05 for stated in STATED)


@given(st.lists(st.builds(Known, st.floats(0, 1), st.booleans()), max_size=60))
def test_worth_never_falls_as_confidence_rises_and_is_never_certain(known: list[Known]) -> None:
    worth = fit(known)
    read = [worth(stated / 50) for stated in range(51)]
    assert all(after >= before - 1e-12 for before, after in pairwise(read))
    assert not known or 0 < min(read) <= max(read) < 1


@given(st.permutations([Known(0.9, True), Known(0.9, False), Known(0.5, False), Known(0.7, True)]))
def test_the_order_of_the_answers_does_not_matter(known: list[Known]) -> None:
    assert fit(known) == fit(known[::-1])


def test_few_answers_are_refused_and_smoothed() -> None:
    with pytest.raises(CanonError, match=f"needs {FEWEST} answers .* there are 29"):
        fitted([Known(0.9, True)] * 29)
    assert fitted([Known(0.9, True)] * 30).map(0.9) == 31 / 32


def test_answers_are_read_by_the_line_and_a_bad_one_is_named() -> None:
    lines = [b'\xef\xbb\xbf{"confidence": 0.9, "right": true, "more": 1}\n', b"\n"]
    lines.append(Known(0.5, False, "x").line())
    assert list(read_answers(lines, "f")) == [Known(0.9, True), Known(0.5, False, "x")]
    for bad, says in (
        (b"{", "line 2"),
        (b'{"confidence": 90, "right": true}', "confidence"),
        (b'{"confidence": 0.9}', "right"),
        (b'{"confidence": 0.9, "right": "yes"}', "right"),
        (b"\xff", "line 2"),
        (b"[" * 100_000, "line 2"),
    ):
        with pytest.raises(CanonError, match=says):
            list(read_answers([b"", bad], "f"))


def test_what_is_learned_of_a_result_is_the_models_own_figure() -> None:
    result = AdjudicationResult(Outcome.REVIEW, confidence=0.3, stated_confidence=0.9)
    assert Known.of(result, right=True) == Known(0.9, True)
    assert (
        Known.of(AdjudicationResult(Outcome.REVIEW, confidence=0.3), right=False).confidence == 0.3
    )


def test_confidence_that_differs_in_the_last_bits_is_one() -> None:
    bits = [(0.1, False, 30), (0.10000000000000002, True, 30), (0.10000000000000003, True, 40)]
    answers = [Known(stated, right) for stated, right, count in bits for _ in range(count)]
    assert [point.stated for point in fit(answers).points] == [0.1]
    assert fitted(answers).map.answers == 100
