"""Whatever a server sends, it costs little memory and little time, and is cut or refused."""

from collections.abc import Iterator

import pytest

from chart_binder.config import FetchConfig
from hostile.answers import ANSWERS, Hostile, HostileServer
from hostile.harness import MAX_DELAY_S, MAX_GROWTH_MB, Measuring

MAX_CHARS = FetchConfig().max_chars


@pytest.fixture(scope="module")
def server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


@pytest.mark.hostile
@pytest.mark.parametrize("hostile", ANSWERS.values(), ids=ANSWERS)
def test_a_hostile_answer_costs_little(
    hostile: Hostile, server: HostileServer, fetch: Measuring
) -> None:
    outcome = server.fetched(hostile, fetch)
    assert outcome.result in hostile.may, outcome
    assert len(outcome.text) <= MAX_CHARS
    assert "\0" not in outcome.text
    assert outcome.grown_mb < MAX_GROWTH_MB, outcome
    assert outcome.own_seconds < hostile.timeout_s + MAX_DELAY_S, outcome
