"""Whatever an address is spelled like, nothing inside is asked: not at first, not by redirect."""

from collections.abc import Iterator

import pytest

from hostile.measured import Fetching, Outcome
from hostile.measuring import MOST_MB, MOST_OVER_S, Measuring
from hostile.spellings import ANSWERS, FORMS_OF_LOOPBACK, WHOLE
from servers.http import Request, Response, StandIn

PUBLIC = "public.example"
DEADLINE_S = 5.0
NAMES = {
    PUBLIC: [["127.0.0.1"]],  # allowed by name: it stands for a host of the open web
    "inside.example": [["127.0.0.1"]],
    "127.0.0.1.nip.example": [["127.0.0.1"]],
}
SPELLINGS = (*(f"http://{host}:{{port}}/secret" for host in FORMS_OF_LOOPBACK), *WHOLE)


class Inside(StandIn):
    """A host of the open web that redirects where `?to=` says, and a server that is not for us."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.to = ""

    def _answer(self, request: Request) -> Response:
        if request.path == "/go":
            where = self.to.encode("utf-8").decode("latin-1")
            return Response("", 302, headers=(("Location", where),))
        return Response("<p>the secret</p>")


@pytest.fixture(scope="module")
def listening() -> Iterator[Inside]:
    with Inside() as server:
        yield server


@pytest.fixture
def server(listening: Inside) -> Inside:
    listening.requests.clear()
    return listening


def allowed(server: StandIn, url: str, **changes: object) -> Fetching:
    ports = (server.port, 80, 443)
    wanted = {"names": NAMES, "private": (PUBLIC,)} | changes
    return Fetching(url, ports, DEADLINE_S, **wanted)  # type: ignore[arg-type]


def holds(outcome: Outcome) -> None:
    assert outcome.came_of != "read", outcome.said
    assert "secret" not in outcome.said or "secret" in outcome.said.partition("cannot be")[0]
    assert outcome.said.isprintable()
    assert len(outcome.said) < 300
    assert outcome.grown_mb < MOST_MB
    assert outcome.own_seconds < DEADLINE_S + MOST_OVER_S


def test_there_are_enough_spellings() -> None:
    assert len(set(SPELLINGS)) >= 120


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_forbidden_address_is_never_asked(
    spelling: str, server: Inside, measuring: Measuring
) -> None:
    url = spelling.format(port=server.port, public=f"{PUBLIC}:{server.port}")
    holds(measuring(allowed(server, url)))
    assert server.requests == []


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if each.isprintable()])
def test_a_redirect_to_a_forbidden_address_is_not_followed(
    spelling: str, server: Inside, measuring: Measuring
) -> None:
    public = f"{PUBLIC}:{server.port}"
    server.to = spelling.format(port=server.port, public=public)
    outcome = measuring(allowed(server, f"http://{public}/go"))
    if outcome.came_of == "read":  # to a page of the same host, as a browser would read it
        assert [request.headers["host"] for request in server.requests] == [public] * 2
    else:
        holds(outcome)
        assert [request.path for request in server.requests][:1] == ["/go"]
        assert all(request.path == "/go" for request in server.requests)


@pytest.mark.parametrize("answers", ANSWERS.values(), ids=ANSWERS)
def test_a_name_that_leads_inside_is_not_asked(
    answers: list[list[str]], server: Inside, measuring: Measuring
) -> None:
    url = f"http://innocent.example:{server.port}/"
    outcome = measuring(allowed(server, url, names={"innocent.example": answers}))
    holds(outcome)
    assert outcome.came_of == "refused"
    assert server.requests == []


def test_a_name_that_leads_inside_the_second_time_is_not_asked_again(
    server: Inside, measuring: Measuring
) -> None:
    names = {"rebinding.example": [["127.0.0.1"], ["127.0.0.2"]]}
    server.to = "/secret"
    url = f"http://rebinding.example:{server.port}/go"
    outcome = measuring(allowed(server, url, names=names, private=("127.0.0.1",)))
    holds(outcome)
    assert outcome.came_of == "refused"
    assert len(server.requests) == 1


def test_a_name_that_changes_after_it_was_checked_is_asked_where_it_was_checked(
    server: Inside, measuring: Measuring
) -> None:
    names = {"rebinding.example": [["127.0.0.1"], ["10.0.0.1"]]}
    url = f"http://rebinding.example:{server.port}/secret"
    outcome = measuring(allowed(server, url, names=names, private=("127.0.0.1",)))
    assert outcome.came_of == "read"
