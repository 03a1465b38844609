"""A real engine behind the loop: whatever its model writes, a typed outcome comes out.

pip install -e '.[test,engine]' && pytest -m engine
"""

from collections.abc import Iterable, Iterator

import pytest

from chart_binder.react.transcript import ReplyEvent, StepEvent
from engine.cases import WAYS, Case, cases
from engine.examined import examine

pytestmark = pytest.mark.engine

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whatever_is_written_becomes_a_typed_outcome(case: Case) -> None:
    for needed in ("numpy", "llguidance"):
        pytest.importorskip(needed, reason=f"{needed} comes with the extra `engine`")
    from engine.adjudications import runs

    made = list(runs(case))
    for run in made:
        examine(run)
    assert len(made) == len(WAYS) * case.setting.times
    if case.setting.name == "by the form":  # what is held to a dialect's form is read as a step
        steps = [step for run in made for step in _whole_steps(run.result.transcript or ())]
        assert {step.kind for step in steps} <= {"act", "finish"}
        assert steps


def _whole_steps(events: Iterable[object]) -> Iterator[StepEvent]:
    """Yield the steps of replies that were not cut off."""
    is_cut = False
    for event in events:
        if isinstance(event, ReplyEvent):
            is_cut = event.done_reason == "length"
        elif isinstance(event, StepEvent) and not is_cut:
            yield event


def test_there_are_two_hundred_adjudications() -> None:
    assert sum(len(WAYS) * case.setting.times for case in CASES) >= 200
