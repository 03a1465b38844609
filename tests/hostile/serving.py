"""A server that gives one hostile answer after the other."""

from hostile.answers import EVERY, Hostile
from hostile.measured import Fetching, Outcome
from hostile.measuring import Measuring
from servers.http import Request, Response, StandIn

_HOST = "hostile.example"


class Changing(StandIn):
    """A server whose answer may be changed between requests."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.serve = EVERY["kind: hanging up at once"].serve

    def _answer(self, request: Request) -> Response:
        return self.serve(request)


def asked(server: Changing, hostile: Hostile, measuring: Measuring) -> Outcome:
    """Fetch one hostile answer, and measure that."""
    server.serve = hostile.serve
    fetching = Fetching(
        f"http://{_HOST}:{server.port}/",
        (server.port,),
        hostile.timeout_s,
        {_HOST: [["127.0.0.1"]]},
        (_HOST,),
    )
    return measuring(fetching)
