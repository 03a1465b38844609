"""Hosts are asked one thing at a time, with pauses, and as their robots.txt allows."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.config import FetchConfig
from chart_binder.errors import AddressForbiddenError, FetchError
from chart_binder.net import Deadline
from chart_binder.web.fetch import HostPacing, PageFetcher, SiteRules
from servers.http import Request, Response, StandIn
from servers.pages import Pages, dripping_body, redirect


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
    """Return a fetcher that knows every name as this machine, with a pacing of its own."""
    return PageFetcher(settings(server, **config), resolve=to_loopback, pacing=HostPacing())


def settings(server: StandIn, **config: object) -> FetchConfig:
    allowed = {"ports": (server.port,), "allow_private_hosts": ("127.0.0.0/8",), "timeout_s": 1}
    return FetchConfig.model_validate({**allowed, **config})


def test_threads_ask_a_host_one_after_the_other_whatever_fetcher_they_use() -> None:
    with Counting() as server:
        urls = [f"{server.url}/{number}" for number in range(8)]
        with ThreadPoolExecutor(8) as threads:
            config = settings(server, timeout_s=20)
            pages = list(threads.map(lambda url: PageFetcher(config).fetch(url), urls))
    assert len({page.extract.blocks for page in pages}) == 8
    assert server.most == 1


def test_a_host_is_left_alone_between_two_pages() -> None:
    turns, started = HostPacing(), time.monotonic()
    for _ in range(3):
        with turns.at("a.example", 0.1, soon()):
            pass
    assert time.monotonic() - started >= 0.2


def test_a_turn_that_does_not_come_ends_with_the_deadline() -> None:
    turns = HostPacing()
    with turns.at("a.example", 60, soon()), turns.at("b.example", 60, soon()):
        late = turns.at("a.example", 0, Deadline(0.1))
        with pytest.raises(FetchError, match="busy with other requests"):
            late.__enter__()
    began = time.monotonic()  # a pause that is longer than the deadline is said at once
    with (
        pytest.raises(FetchError, match="busy with other requests"),
        turns.at("a.example", 60, soon()),
    ):
        pass
    assert time.monotonic() - began < 2


def test_a_turn_ends_also_where_asking_failed() -> None:
    turns = HostPacing()

    def fail() -> None:
        with turns.at("a.example", 0, soon()):
            raise FetchError("gone")

    for _ in range(2):
        with pytest.raises(FetchError, match="gone"):
            fail()


def test_a_redirect_on_the_same_host_is_followed_within_one_turn() -> None:
    with Pages({"/": redirect("/there"), "/there": "<p>there"}) as server:
        reading = fetcher(server, host_pause_s=60)
        assert reading.fetch(f"http://a.example:{server.port}/").extract.blocks == ("there",)
        for same in ("a.example", "a.example."):
            with pytest.raises(FetchError, match="busy with other requests"):
                reading.fetch(f"http://{same}:{server.port}/b")
        own = [reading.fetch(f"{server.url}/there").extract.blocks for _ in range(3)]
        assert own == [("there",)] * 3, "the operator's own hosts need no pause"


SITE = "https://a.example"
RULES = "User-agent: *\nDisallow: /private/\n\nUser-agent: Canon\nDisallow: /only-canon"


@pytest.mark.parametrize(("text", "delay_s"), [
    ("User-agent: *\nCrawl-delay: 9\nUser-agent: canon\nCrawl-delay: 3", 3),
    ("User-agent: *\nCrawl-delay: 86400", 60),
    *((f"User-agent: *\nCrawl-delay: {odd}", 0) for odd in ("-5", "nan", "1e9", "inf", "٣")),
])  # fmt: skip
def test_a_site_may_ask_to_be_left_alone_for_a_while(text: str, delay_s: float) -> None:
    assert SiteRules.parse(text, "canon/1.0").delay_s == delay_s


@pytest.mark.parametrize(("text", "allowed"), [
    ("\ufeffUser-agent: *\nDisallow: /", False),
    ("User-agent: *\nDisallow: /caf\u00e9", False),
    ("User-agent: *\n" + "Disallow: /x\n" * 9_000 + "Disallow: /", True),
], ids=["a mark", "not ASCII", "too long"])  # fmt: skip
def test_odd_rules_are_read_as_far_as_they_make_sense(text: str, allowed: bool) -> None:
    assert SiteRules.parse(text, "canon").allows(f"{SITE}/caf%C3%A9") is allowed


def test_a_pattern_of_stars_costs_no_time() -> None:
    rules = SiteRules.parse(f"User-agent: *\nDisallow: /{'*a' * 1_000}b", "canon")
    began = time.process_time()
    assert rules.allows(f"{SITE}/{'a' * 2_000}")
    assert time.process_time() - began < 0.1


@given(st.text() | st.text("user-agent:*disallow/$#% \n\r\ud800\ufeff"), st.text("/a?%[]:@*$#"))
def test_any_robots_txt_is_read_without_an_error(text: str, path: str) -> None:
    rules = SiteRules.parse(f"\ufeffUser-agent: *\nDisallow: /{text}\n{text}", "canon/1.0")
    assert rules.allows(f"{SITE}/robots.txt")
    assert rules.allows(f"{SITE}/{path}") in {True, False}
    assert 0 <= rules.delay_s <= 60


def obedient(server: StandIn) -> PageFetcher:
    return fetcher(server, robots="obey")


def rules(text: str) -> Response:
    return Response(text, content_type="text/plain")


def asked(server: StandIn) -> list[str]:
    return [request.path for request in server.requests]


def test_a_forbidden_page_is_not_asked_for() -> None:
    with Pages({"/robots.txt": rules(RULES), "*": "<p>page"}) as server:
        server.pages["/go"] = redirect("/only-canon")
        reading = obedient(server)
        for path in ("/only-canon", "/go"):
            with pytest.raises(
                AddressForbiddenError, match=r"does not want programs .*robots\.txt says so"
            ):
                reading.fetch(f"{server.url}{path}")
        assert reading.fetch(f"{server.url}/private/x").extract.blocks == ("page",)
    assert asked(server) == ["/robots.txt", "/go", "/private/x"]


def test_a_page_that_comes_too_soon_for_its_site_is_not_asked_for() -> None:
    delay = rules("User-agent: *\nCrawl-delay: 40")
    with Pages({"/robots.txt": delay, "*": "<p>page"}) as server:
        reading = fetcher(server, robots="obey", host_pause_s=0)
        site = f"http://a.example:{server.port}"
        assert reading.fetch(f"{site}/1").extract.blocks == ("page",)
        with pytest.raises(FetchError, match="busy with other requests"):
            reading.fetch(f"{site}/2")
    assert asked(server) == ["/robots.txt", "/1"]


def test_nothing_is_asked_for_where_the_operator_does_not_say_so() -> None:
    with Pages({"/robots.txt": rules(RULES), "*": "<p>page"}) as server:
        assert fetcher(server).fetch(f"{server.url}/only-canon").extract.blocks == ("page",)
    assert asked(server) == ["/only-canon"]


@pytest.mark.parametrize("answer", [
    Response("gone", 404), Response("no", 403),
    redirect("https://elsewhere.example/robots.txt"), redirect("/robots.txt"),
    rules("\0\xff" * 99),
], ids=["none", "forbidden", "elsewhere", "a circle", "garbage"])  # fmt: skip
def test_a_site_without_rules_forbids_nothing(answer: Response) -> None:
    with Pages({"/robots.txt": answer, "*": "<p>page"}) as server:
        assert obedient(server).fetch(server.url).extract.blocks == ("page",)


@pytest.mark.parametrize(
    "answer", [Response("x", 500), dripping_body(), Response(raw=b"")], ids=["500", "slow", "none"]
)
def test_rules_that_cannot_be_read_allow_nothing(answer: Response) -> None:
    with Pages({"/robots.txt": answer, "*": "<p>page"}) as server, pytest.raises(FetchError):
        obedient(server).fetch(server.url)
    assert "/" not in asked(server)
