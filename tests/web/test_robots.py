"""What sites ask of programs is heeded where the operator says so."""

import time
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.config import FetchConfig
from chart_binder.errors import FetchError, RefusedError
from chart_binder.web.fetch import HostPacing, PageFetcher, SiteRules
from servers.http import Response, StandIn
from servers.pages import Pages, dripping_body, redirect

SITE = "https://a.example"
RULES = """\ufeff# a comment: Disallow: /
User-agent: *
Disallow: /private/   # and why
Allow: /private/open
Disallow: /*?action=
Disallow: /*.pdf$
Disallow: /caf\u00e9

User-Agent: OtherBot
User-agent: Canon
Disallow: /only-canon
Sitemap: https://a.example/map
Disallow:
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/private/", False),
        ("/private/x", False),
        ("/private/open/x", True),
        ("/Private/", True),
        ("/index.php?action=edit", False),
        ("/index.php?title=action", True),
        ("/a/b.pdf", False),
        ("/a/b.pdf?x", True),
        ("/caf%C3%A9/menu", False),
        ("/only-canon", True),
        ("/robots.txt", True),
    ],
)
def test_the_longest_rule_that_fits_wins(path: str, allowed: bool) -> None:
    assert SiteRules.parse(RULES, "something/1.0").allows(SITE + path) is allowed


def test_a_group_of_its_own_is_all_that_counts_for_a_program() -> None:
    for name in ("canon/0.1 (me@example.org)", "CANON", "otherbot/2"):
        rules = SiteRules.parse(RULES, name)
        assert rules.allows(SITE + "/private/x")
        assert not rules.allows(SITE + "/only-canon")


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("Disallow: /", True),  # belongs to nobody
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: *\nDisallow: /\nAllow: /", True),
        ("User-agent: a\nUser-agent: *\nCrawl-delay: 5\nDisallow: /", False),
        ("User-agent: *\nDisallow: /x\nUser-agent: b\nDisallow: /", True),
        ("User-agent: *\r\nDisallow: /\r\n", False),
        ("user-agent:*\n  disallow :/", False),
        ("<html>Disallow: / everywhere", True),
        ("User-agent: *\n" + "Disallow: /x\n" * 9_000 + "Disallow: /", True),
    ],
)
def test_odd_files_are_read_as_far_as_they_make_sense(text: str, allowed: bool) -> None:
    assert SiteRules.parse(text, "canon").allows(SITE + "/page") is allowed


@pytest.mark.parametrize(
    ("text", "delay_s"),
    [
        ("User-agent: *\nCrawl-delay: 5", 5),
        ("User-agent: *\nDisallow: /x\ncrawl-delay:0.5 # half a second", 0.5),
        ("Crawl-delay: 5\nUser-agent: *\nDisallow: /x", 0),  # belongs to nobody
        ("User-agent: canon\nCrawl-delay: 3\nUser-agent: *\nCrawl-delay: 9\nDisallow: /", 3),
        ("User-agent: *\nCrawl-delay: 9\nUser-agent: canon\nDisallow: /x", 0),
        ("User-agent: *\nCrawl-delay: 86400", 60),
        *(
            (f"User-agent: *\nCrawl-delay: {odd}", 0)
            for odd in ("-5", "nan", "1e9", "", "inf", "٣")
        ),
        ("User-agent: *\nCrawl-delay: " + "9" * 50, 0),
    ],
)
def test_a_site_may_ask_to_be_left_alone_for_a_while(text: str, delay_s: float) -> None:
    assert SiteRules.parse(text, "canon/1.0").delay_s == delay_s
    assert SiteRules.parse(text, "canon/1.0").allows(SITE + "/page")


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


def fetcher(server: StandIn, robots: str = "obey") -> PageFetcher:
    settings = {
        "ports": (server.port,),
        "allow_private_hosts": ("127.0.0.1",),
        "robots": robots,
        "timeout_s": 1,
    }
    return PageFetcher(FetchConfig.model_validate(settings))


def rules(text: str) -> Response:
    return Response(text, content_type="text/plain")


def asked(server: StandIn) -> list[str]:
    return [request.path for request in server.requests]


def test_a_forbidden_page_is_not_asked_for() -> None:
    with Pages({"/robots.txt": rules(RULES), "*": "<p>page"}) as server:
        reading = fetcher(server)
        with pytest.raises(RefusedError, match=r"does not want programs .* robots\.txt says so"):
            reading.fetch(f"{server.url}/only-canon")
        assert reading.fetch(f"{server.url}/private/x").text == "page"
    assert asked(server) == ["/robots.txt", "/private/x"]


def test_a_page_that_comes_too_soon_for_its_site_is_not_asked_for() -> None:
    delay = rules("User-agent: *\nCrawl-delay: 40")
    with Pages({"/robots.txt": delay, "*": "<p>page"}) as server:
        config = FetchConfig(
            ports=(server.port,),
            allow_private_hosts=("127.0.0.0/8",),
            robots="obey",
            timeout_s=1,
            host_pause_s=0,
        )
        reading = PageFetcher(
            config, resolve=lambda *_: [IPv4Address("127.0.0.1")], pacing=HostPacing()
        )
        site = f"http://a.example:{server.port}"
        assert reading.fetch(f"{site}/1").text == "page"
        with pytest.raises(FetchError, match="asked too much"):
            reading.fetch(f"{site}/2")
    assert asked(server) == ["/robots.txt", "/1"]


def test_a_redirect_to_a_forbidden_page_is_not_followed() -> None:
    pages = {"/robots.txt": rules(RULES), "/": redirect("/only-canon")}
    with Pages(pages) as server, pytest.raises(RefusedError):
        fetcher(server).fetch(server.url)
    assert asked(server) == ["/robots.txt", "/"]


def test_nothing_is_asked_for_where_the_operator_does_not_say_so() -> None:
    with Pages({"/robots.txt": rules(RULES), "*": "<p>page"}) as server:
        assert fetcher(server, "ignore").fetch(f"{server.url}/only-canon").text == "page"
    assert asked(server) == ["/only-canon"]


@pytest.mark.parametrize(
    "answer",
    [
        Response("gone", 404),
        Response("no", 403),
        redirect("https://elsewhere.example/robots.txt"),
        redirect("/robots.txt"),
        rules("\0\xff" * 99),
    ],
    ids=["none", "forbidden", "elsewhere", "a circle", "garbage"],
)
def test_a_site_without_rules_forbids_nothing(answer: Response) -> None:
    with Pages({"/robots.txt": answer, "*": "<p>page"}) as server:
        assert fetcher(server).fetch(server.url).text == "page"


@pytest.mark.parametrize(
    "answer", [Response("x", 500), dripping_body(), Response(raw=b"")], ids=["500", "slow", "none"]
)
def test_rules_that_cannot_be_read_allow_nothing(answer: Response) -> None:
    with Pages({"/robots.txt": answer, "*": "<p>page"}) as server, pytest.raises(FetchError):
        fetcher(server).fetch(server.url)
    assert "/" not in asked(server)
