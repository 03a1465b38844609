"""Whatever a server sends, it costs little memory and little time, and is cut or refused."""

from collections.abc import Iterator

import pytest

from hostile.answers import EVERY, Hostile
from hostile.measured import Fetching, Outcome
from hostile.measuring import MOST_MB, MOST_OVER_S, Measuring
from servers.http import Request, Response, StandIn

MOST_CHARS = 2_000
CASES = [
    pytest.param(hostile, id=name, marks=pytest.mark.hostile if hostile.is_heavy else ())
    for name, hostile in EVERY.items()
]


class Changing(StandIn):
    """A server that gives another answer for each test."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.serve = EVERY["kind: hanging up at once"].serve

    def _answer(self, request: Request) -> Response:
        return self.serve(request)


@pytest.fixture(scope="module")
def server() -> Iterator[Changing]:
    with Changing() as server:
        yield server


def asked(server: Changing, hostile: Hostile, measuring: Measuring) -> Outcome:
    server.serve = hostile.serve
    fetching = Fetching(
        f"http://hostile.example:{server.port}/",
        (server.port,),
        hostile.timeout_s,
        {"hostile.example": [["127.0.0.1"]]},
        ("hostile.example",),
    )
    return measuring(fetching)


@pytest.mark.parametrize("hostile", CASES)
def test_a_hostile_answer_costs_little(
    hostile: Hostile, server: Changing, measuring: Measuring
) -> None:
    outcome = asked(server, hostile, measuring)
    assert outcome.came_of in hostile.may, outcome
    assert len(outcome.said) <= MOST_CHARS
    assert "\0" not in outcome.said
    assert outcome.grown_mb < MOST_MB, outcome
    assert outcome.seconds < hostile.timeout_s + MOST_OVER_S, outcome
