"""A host is asked one thing at a time, and left alone for a while between pages."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address

import pytest

from chart_binder.config import FetchConfig
from chart_binder.errors import FetchError
from chart_binder.net import Deadline
from chart_binder.web.fetch import HostPacing, PageFetcher
from servers.http import Request, Response, StandIn
from servers.pages import Pages, redirect


def to_loopback(host: str, port: int) -> Sequence[IPv4Address]:
    return [IPv4Address("127.0.0.1")]


def soon() -> Deadline:
    return Deadline(5)


class Counting(StandIn):
    """Answers slowly, and counts how many it answers at once."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.most = self._now = 0
        self._lock = threading.Lock()

    def _answer(self, request: Request) -> Response:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.02)
        with self._lock:
            self._now -= 1
        return Response(f"<p>{request.path}")


def fetcher(server: StandIn, **config: object) -> PageFetcher:
    settings = {"ports": (server.port,), "allow_private_hosts": ("127.0.0.0/8",), **config}
    return PageFetcher(FetchConfig.model_validate(settings))


def test_threads_ask_a_host_one_after_the_other_whatever_fetcher_they_use() -> None:
    with Counting() as server:
        urls = [f"{server.url}/{number}" for number in range(8)]
        with ThreadPoolExecutor(8) as threads:
            pages = list(threads.map(lambda url: fetcher(server).fetch(url), urls))
    assert len({page.text for page in pages}) == 8
    assert server.most == 1


def test_different_hosts_do_not_wait_for_each_other() -> None:
    turns = HostPacing()
    with turns.at("a.example", 60, soon()), turns.at("b.example", 60, soon()):
        pass


def test_a_host_is_left_alone_between_two_pages() -> None:
    turns, started = HostPacing(), time.monotonic()
    for _ in range(3):
        with turns.at("a.example", 0.1, soon()):
            pass
    assert time.monotonic() - started >= 0.2


def test_a_pause_that_is_longer_than_the_deadline_is_said_at_once() -> None:
    turns, started = HostPacing(), time.monotonic()
    with turns.at("a.example", 30, soon()):
        pass
    with (
        pytest.raises(FetchError, match=r"a\.example is being asked too much"),
        turns.at("a.example", 30, soon()),
    ):
        pass
    assert time.monotonic() - started < 2


def test_a_turn_that_does_not_come_ends_with_the_deadline() -> None:
    turns = HostPacing()
    with (
        turns.at("a.example", 0, soon()),
        pytest.raises(FetchError, match="too much"),
        turns.at("a.example", 0, Deadline(0.1)),
    ):
        pass


def test_a_turn_ends_also_where_asking_failed() -> None:
    turns = HostPacing()

    def fail() -> None:
        with turns.at("a.example", 0, soon()):
            raise FetchError("gone")

    for _ in range(2):
        with pytest.raises(FetchError, match="gone"):
            fail()


def test_hosts_asked_long_ago_are_forgotten() -> None:
    turns = HostPacing()
    for number in range(1_200):
        with turns.at(f"{number}.example", 0, soon()):
            turns._ended.update(dict.fromkeys(turns._ended, -1000000000.0))
    assert len(turns._ended) < 600


def test_a_redirect_on_the_same_host_is_followed_within_one_turn() -> None:
    with Pages({"/": redirect("/there"), "/there": "<p>there"}) as server:
        name = f"http://a.example:{server.port}/"
        config = FetchConfig(
            ports=(server.port,), allow_private_hosts=("127.0.0.0/8",), host_pause_s=60
        )
        reading = PageFetcher(config, resolve=to_loopback, pacing=HostPacing())
        assert reading.fetch(name).text == "there"
        with pytest.raises(FetchError, match="too much"):
            reading.fetch(name)


def test_a_final_dot_makes_no_other_host() -> None:
    with Pages({"*": "<p>there"}) as server:
        config = FetchConfig(
            ports=(server.port,), allow_private_hosts=("127.0.0.0/8",), host_pause_s=60
        )
        reading = PageFetcher(config, resolve=to_loopback, pacing=HostPacing())
        reading.fetch(f"http://a.example:{server.port}/")
        with pytest.raises(FetchError, match="too much"):
            reading.fetch(f"http://a.example.:{server.port}/b")


def test_the_operators_own_hosts_need_no_pause() -> None:
    with Pages({"*": "<p>wiki"}) as server:
        reading = fetcher(server, host_pause_s=60)
        assert [reading.fetch(f"{server.url}/{n}").text for n in range(3)] == ["wiki"] * 3
