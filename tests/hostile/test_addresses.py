"""However an address is spelled, nothing private is asked: not at first, not by redirect.

The hosts and addresses of `addresses.toml` are every spelling that a model or a redirect may come
up with.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
import tomli

from hostile.harness import MAX_DELAY_S, MAX_GROWTH_MB, Fetching, Measuring, Outcome
from servers.http import Request, Response, StandIn

PUBLIC = "public.example"
DEADLINE_S = 5.0
NAMES = {
    PUBLIC: [["127.0.0.1"]],  # allowed by name: it stands for a host of the open web
    "inside.example": [["127.0.0.1"]],
    "127.0.0.1.nip.example": [["127.0.0.1"]],
}

_LISTED = tomli.loads(Path(__file__).with_name("addresses.toml").read_text("utf-8"))
PRIVATE_ANSWERS: dict[str, list[str]] = _LISTED["private_answers"]
PRIVATE_ANSWERS["many public, the last one private"] = ["8.8.8.8"] * 30 + ["169.254.169.254"]
_HOSTS = chain.from_iterable(_LISTED["private_hosts"].values())
SPELLINGS = [f"http://{host}:{{port}}/secret" for host in _HOSTS] + _LISTED["whole"]["addresses"]


class PrivateServer(StandIn):
    """A host of the open web that redirects to `to`, and a server that must not be asked."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.to = ""

    def _answer(self, request: Request) -> Response:
        if request.path == "/go":
            where = self.to.encode("utf-8").decode("latin-1")
            return Response("", 302, headers=(("Location", where),))
        return Response("<p>the secret</p>")


@pytest.fixture(scope="module")
def listening() -> Iterator[PrivateServer]:
    with PrivateServer() as server:
        yield server


@pytest.fixture
def server(listening: PrivateServer) -> PrivateServer:
    listening.requests.clear()
    return listening


def allowed(server: StandIn, url: str, **changes: object) -> Fetching:
    ports = (server.port, 80, 443)
    wanted = {"names": NAMES, "private": (PUBLIC,)} | changes
    return Fetching(url, ports, DEADLINE_S, **wanted)  # type: ignore[arg-type]


def must_not_be_read(outcome: Outcome) -> None:
    assert outcome.result != "read", outcome.text
    assert "secret" not in outcome.text or "secret" in outcome.text.partition("cannot be")[0]
    assert outcome.text.isprintable()
    assert len(outcome.text) < 300
    assert outcome.grown_mb < MAX_GROWTH_MB
    assert outcome.own_seconds < DEADLINE_S + MAX_DELAY_S


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_forbidden_address_is_never_asked(
    spelling: str, server: PrivateServer, fetch: Measuring
) -> None:
    url = spelling.format(port=server.port, public=f"{PUBLIC}:{server.port}")
    must_not_be_read(fetch(allowed(server, url)))
    assert server.requests == []


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if each.isprintable()])
def test_a_redirect_to_a_forbidden_address_is_not_followed(
    spelling: str, server: PrivateServer, fetch: Measuring
) -> None:
    public = f"{PUBLIC}:{server.port}"
    server.to = spelling.format(port=server.port, public=public)
    outcome = fetch(allowed(server, f"http://{public}/go"))
    if outcome.result == "read":  # to a page of the same host, as a browser would read it
        assert [request.headers["host"] for request in server.requests] == [public] * 2
    else:
        must_not_be_read(outcome)
        assert [request.path for request in server.requests][:1] == ["/go"]
        assert all(request.path == "/go" for request in server.requests)


@pytest.mark.parametrize("answers", PRIVATE_ANSWERS.values(), ids=PRIVATE_ANSWERS)
def test_a_name_with_a_private_address_is_not_asked(
    answers: list[str], server: PrivateServer, fetch: Measuring
) -> None:
    url = f"http://innocent.example:{server.port}/"
    outcome = fetch(allowed(server, url, names={"innocent.example": [answers]}))
    must_not_be_read(outcome)
    assert outcome.result == "refused"
    assert server.requests == []


def test_a_name_with_a_private_address_the_second_time_is_not_asked_again(
    server: PrivateServer, fetch: Measuring
) -> None:
    names = {"rebinding.example": [["127.0.0.1"], ["127.0.0.2"]]}
    server.to = "/secret"
    url = f"http://rebinding.example:{server.port}/go"
    outcome = fetch(allowed(server, url, names=names, private=("127.0.0.1",)))
    must_not_be_read(outcome)
    assert outcome.result == "refused"
    assert len(server.requests) == 1


def test_a_name_that_changes_after_it_was_checked_is_asked_where_it_was_checked(
    server: PrivateServer, fetch: Measuring
) -> None:
    names = {"rebinding.example": [["127.0.0.1"], ["10.0.0.1"]]}
    url = f"http://rebinding.example:{server.port}/secret"
    outcome = fetch(allowed(server, url, names=names, private=("127.0.0.1",)))
    assert outcome.result == "read"
    (request,) = server.requests
    assert request.headers["host"] == f"rebinding.example:{server.port}"
