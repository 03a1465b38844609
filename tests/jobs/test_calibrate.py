"""A calibration is fitted from known answers, and improves confidence on others."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.domain.verdict import AS_STATED
from chart_binder.errors import CanonError
from chart_binder.jobs.calibrate import (
    MIN_ANSWERS,
    Calibration,
    KnownAnswer,
    fit_and_measure,
    fit_map,
    measure_calibration,
    read_answers,
)
from chart_binder.llm.result import AdjudicationResult, Outcome

STATED = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98)
JUDGES: dict[str, Callable[[float], float]] = {
    "sure of itself": lambda stated: stated**3,
    "always alike": lambda _: 0.7,
    "timid": lambda stated: 0.95,
}


def answers(share_right: Callable[[float], float], count: int, seed: int) -> list[KnownAnswer]:
    chance = random.Random(seed)
    stated = [chance.choice(STATED) for _ in range(count)]
    return [KnownAnswer(each, chance.random() < share_right(each)) for each in stated]


def measured(known: list[KnownAnswer], worth: Callable[[float], float]) -> Calibration:
    found = measure_calibration([KnownAnswer(worth(one.confidence), one.right) for one in known])
    assert found
    return found


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_calibrated_confidence_is_nearer_to_the_truth(judge: str, seed: int) -> None:
    worth = fit_map(answers(JUDGES[judge], 200, seed))
    unseen = answers(JUDGES[judge], 2_000, seed + 100)
    before, after = measured(unseen, AS_STATED), measured(unseen, worth)
    assert after.brier_score < before.brier_score
    assert after.expected_calibration_error < before.expected_calibration_error * 0.6
    assert fit_and_measure(answers(JUDGES[judge], 200, seed)).is_better


@given(st.lists(st.builds(KnownAnswer, st.floats(0, 1), st.booleans()), max_size=60))
def test_worth_never_falls_as_confidence_rises_and_is_never_certain(
    known: list[KnownAnswer],
) -> None:
    worth = fit_map(known)
    assert worth == fit_map(known[::-1]), "their order does not matter"
    read = [worth(stated / 50) for stated in range(51)]
    assert all(after >= before - 1e-12 for before, after in pairwise(read))
    assert not known or 0 < min(read) <= max(read) < 1


def test_few_answers_are_refused_and_smoothed() -> None:
    with pytest.raises(CanonError, match=f"needs {MIN_ANSWERS} answers .* there are 29"):
        fit_and_measure([KnownAnswer(0.9, True)] * 29)
    assert fit_and_measure([KnownAnswer(0.9, True)] * 30).map(0.9) == 31 / 32


def test_answers_are_read_by_the_line_and_a_bad_one_is_named() -> None:
    lines = [b'\xef\xbb\xbf{"confidence": 0.9, "right": true, "more": 1}\n', b"\n"]
    lines.append(KnownAnswer(0.5, False, "x").line())
    assert list(read_answers(lines, "f")) == [KnownAnswer(0.9, True), KnownAnswer(0.5, False, "x")]
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
    assert KnownAnswer.of(result, right=True) == KnownAnswer(0.9, True)
    bare = AdjudicationResult(Outcome.REVIEW, confidence=0.3)
    assert KnownAnswer.of(bare, right=False) == KnownAnswer(0.3, False)


def test_confidence_that_differs_in_the_last_bits_is_one() -> None:
    bits = [(0.1, False, 30), (0.10000000000000002, True, 30), (0.10000000000000003, True, 40)]
    answers = [KnownAnswer(stated, right) for stated, right, count in bits for _ in range(count)]
    assert [point.stated for point in fit_map(answers).points] == [0.1]
    assert fit_and_measure(answers).map.answers == 100
