"""Whatever a server sends, it costs little memory and little time, and is cut or refused."""

from collections.abc import Iterator

import pytest

from hostile.answers import EVERY, Hostile
from hostile.measuring import MOST_MB, MOST_OVER_S, Measuring
from hostile.serving import Changing, asked

MOST_CHARS = 2_000
CASES = [
    pytest.param(hostile, id=name, marks=pytest.mark.hostile if hostile.is_heavy else ())
    for name, hostile in EVERY.items()
]


@pytest.fixture(scope="module")
def server() -> Iterator[Changing]:
    with Changing() as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("hostile", CASES)
def test_a_hostile_answer_costs_little(
    hostile: Hostile, server: Changing, measuring: Measuring
) -> None:
    outcome = asked(server, hostile, measuring)
    assert outcome.came_of in hostile.may, outcome
    assert len(outcome.said) <= MOST_CHARS
    assert "\0" not in outcome.said
    assert outcome.grown_mb < MOST_MB, outcome
    assert outcome.own_seconds < hostile.timeout_s + MOST_OVER_S, outcome
