"""A real engine behind the loop: whatever its model writes, a typed outcome comes out.

pip install -e '.[test,engine]' && pytest -m engine
"""

import pytest

from chart_binder.llm.result import Outcome
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
    if case.setting.name == "by the form":
        assert {run.result.outcome for run in made} != {Outcome.ERROR}


def test_there_are_two_hundred_adjudications() -> None:
    assert sum(len(WAYS) * case.setting.times for case in CASES) >= 200
