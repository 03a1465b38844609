"""The base of all stand-in servers does what its tests are told it does."""

import time

import httpx
import pytest

from servers.http import Response, StandIn


def get(server: StandIn, target: str = "/") -> httpx.Response:
    return httpx.get(server.url + target, timeout=5, trust_env=False)


def test_requests_are_recorded_as_they_arrived() -> None:
    with StandIn(lambda _: Response("ok")) as server:
        httpx.post(f"{server.url}/a/b?q=x+y&z=", content=b"body", headers={"X-One": "1"})
    (request,) = server.requests
    assert (request.method, request.path, request.query) == ("POST", "/a/b", {"q": "x y", "z": ""})
    assert (request.body, request.headers["x-one"]) == (b"body", "1")
    assert request.target == "/a/b?q=x+y&z="


def test_an_iterable_body_is_sent_in_chunks() -> None:
    with StandIn(lambda _: Response(iter([b"one\n", b"two\n"]))) as server:
        answer = get(server)
    assert answer.headers["transfer-encoding"] == "chunked"
    assert answer.text == "one\ntwo\n"


def test_a_dropped_body_is_a_broken_answer() -> None:
    with (
        StandIn(lambda _: Response("0123456789", drop_after=4)) as server,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        get(server)


def test_hanging_up_is_a_broken_answer() -> None:
    with StandIn(lambda _: Response(raw=b"")) as server, pytest.raises(httpx.RemoteProtocolError):
        get(server)


def test_leaving_the_block_abandons_a_delayed_answer() -> None:
    started = time.monotonic()
    with (
        StandIn(lambda _: Response(delay_s=60)) as server,
        pytest.raises(httpx.ReadTimeout),
    ):
        httpx.get(server.url, timeout=0.05)
    assert time.monotonic() - started < 5
