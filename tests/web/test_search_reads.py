"""A search reads its best results: what is opened, what is shown of it, and what is left alone."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address

import pytest

from chart_binder.config import FetchConfig, LLMConfig, SearxngConfig
from chart_binder.errors import FetchError
from chart_binder.net import Deadline
from chart_binder.react.steps import Document, ToolCall
from chart_binder.react.tools import Observation, RunContext, Tool, Toolbox
from chart_binder.web.fetch import MOST_UNASKED_PAGES, HostPacing, PageFetcher, RunPages
from chart_binder.web.tools import web_fetch, web_search
from corpus import rows
from servers.http import Request, Response, StandIn
from servers.pages import redirect
from servers.searxng import Searxng, hit

QUERY = "killer queen"
SNIPPET = "Killer Queen, 1974"


@dataclass
class Web:
    """Sites by their own names on one port, a search that finds them, and the tools of a run."""

    sites: StandIn
    config: LLMConfig
    fetcher: PageFetcher
    tools: Sequence[Tool]

    def url(self, place: str) -> str:
        """Return the address of `host/path`."""
        host, _, path = place.partition("/")
        return f"http://{host}:{self.sites.port}/{path}"

    def run(self) -> Toolbox:
        """Return the tools as they are in a new run."""
        context = RunContext("Queen / Killer Queen")
        return Toolbox([tool.for_run(context) for tool in self.tools])

    @property
    def asked(self) -> list[str]:
        """What was asked for, as `host/path`, without robots.txt."""
        places = [
            f"{request.headers['host'].partition(':')[0]}{request.path}"
            for request in self.sites.requests
        ]
        return [place for place in places if not place.endswith("/robots.txt")]


def search(run: Toolbox, query: str = QUERY) -> Observation:
    return run.resolve(ToolCall("web_search", {"query": query})).run()


def fetch(run: Toolbox, url: str) -> Observation:
    return run.resolve(ToolCall("web_fetch", {"url": url})).run()


@contextmanager
def web(
    pages: Mapping[str, str | Response],
    found: Mapping[str, Sequence[str]] | Sequence[str],
    **settings: object,
) -> Iterator[Web]:
    """Serve pages by `host/path`; `found` are the results of each query, or of the only one."""

    def answer(request: Request) -> Response:
        place = f"{request.headers['host'].partition(':')[0]}{request.path}"
        page = pages.get(place, Response("<h1>Not Found</h1>", 404))
        return Response(page) if isinstance(page, str) else page

    queries = found if isinstance(found, Mapping) else {QUERY: found}
    with StandIn(answer) as sites, Searxng() as engine:
        known: dict[str, object] = {
            "ports": (sites.port,), "allow_private_hosts": ("127.0.0.0/8",), "host_pause_s": 0,
            "timeout_s": 5,
        }  # fmt: skip
        config = LLMConfig(
            fetch=FetchConfig.model_validate(known | settings),
            searxng=SearxngConfig(url=engine.url, timeout_s=5),
        )
        fetcher = PageFetcher(
            config.fetch, resolve=lambda *_: [IPv4Address("127.0.0.1")], pacing=HostPacing()
        )
        tools = (web_search(config, pages=fetcher), web_fetch(config, fetcher))
        served = Web(sites, config, fetcher, tools)
        engine.results = {
            query: [hit(served.url(place), f"Result {place}", SNIPPET) for place in places]
            for query, places in queries.items()
        }
        yield served


def page(text: str, title: str = "Singles") -> str:
    return f"<title>{title}</title><p>{text}</p>"


def by_number(seen: Observation) -> dict[int | None, Document]:
    return {document.number: document for document in seen.documents}


OUT = "Killer Queen was released on 11 October 1974."


def test_passages_of_the_best_four_stand_under_each_in_the_order_of_the_results() -> None:
    slow = Response(page(OUT, "Slow"), delay_s=0.3)
    pages = {"a.example/1": slow} | {f"{name}.example/1": page(OUT, name) for name in "bcdef"}
    with web(pages, [f"{name}.example/1" for name in "abcde"]) as served:
        seen = search(served.run())
        assert sorted(served.asked) == [f"{name}.example/1" for name in "abcd"]
    lines = seen.content.splitlines()
    assert lines[0] == "Search results:"
    assert lines[1] == "1. Slow (a.example)"
    assert lines[3] == f"> {OUT}"
    heads = [line for line in lines if line[0].isdigit()]
    assert [head[0] for head in heads] == ["1", "2", "3", "4", "5"]
    assert lines[-1] == f"   (the search engine's words) {SNIPPET}"
    documents = by_number(seen)
    assert [documents[number].is_fetched for number in (1, 2, 3, 4, 5)] == [True] * 4 + [False]
    assert documents[1].text == OUT
    assert documents[5].text == SNIPPET


def test_all_pages_share_one_deadline() -> None:
    never = Response(page(OUT), delay_s=30)
    pages = {f"{name}.example/1": never for name in "abc"} | {"d.example/1": page(OUT)}
    with web(pages, [f"{name}.example/1" for name in "abcd"], timeout_s=1) as served:
        began = time.monotonic()
        seen = search(served.run())
        assert time.monotonic() - began < 2.5
    assert [document.is_fetched for document in seen.documents] == [False] * 3 + [True]
    assert seen.content.count("(not read: ") == 3


DENIED = Response("User-agent: *\nDisallow: /", content_type="text/plain")


@pytest.mark.parametrize(("place", "why"), rows(__file__, "unread"))
def test_of_a_page_that_is_not_read_stands_the_snippet_and_why(place: str, why: str) -> None:
    pages: dict[str, str | Response] = {
        "pdf.example/1": Response(b"%PDF", content_type="application/pdf"),
        "denied.example/robots.txt": DENIED, "denied.example/1": page(OUT),
        "down.example/robots.txt": Response("x", 503), "down.example/1": page(OUT),
        "never.example/1": page(OUT), "www.never.example/1": page(OUT),
    }  # fmt: skip
    with web(pages, [place, "a.example/1"], never=("never.example",)) as served:
        pages["to-never.example/1"] = redirect(served.url("never.example/1"))
        pages["to-denied.example/1"] = redirect(served.url("denied.example/1"))
        pages["a.example/1"] = page(OUT)
        seen = search(served.run())
        asked = served.asked
    first, second = seen.content.split("\n2. ")
    assert why in first
    assert first.endswith(f") {SNIPPET}")
    assert "(not read: " in first
    assert OUT in second
    unread, read = by_number(seen)[1], by_number(seen)[2]
    assert (unread.is_fetched, unread.text) == (False, SNIPPET)
    assert (read.is_fetched, read.text) == (True, OUT)
    assert not {"never.example/1", "www.never.example/1", "denied.example/1"} & set(asked)


def test_what_the_model_asks_for_itself_is_read_although_nothing_unasked_would_be() -> None:
    pages: dict[str, str | Response] = {
        "x.example/1": page(OUT), "x.example/robots.txt": DENIED, "never.example/1": page(OUT),
    }  # fmt: skip
    with web(pages, ["x.example/1", "never.example/1"], never=("never.example",)) as served:
        run = served.run()
        assert not any(document.is_fetched for document in search(run).documents)
        for place in ("x.example/1", "never.example/1"):
            assert fetch(run, served.url(place)).documents[0].is_fetched


def test_a_host_that_is_left_alone_is_that_one_and_those_below_it() -> None:
    hosts = ("a.example", "b.a.example", "ba.example", "a.example.org")
    places = [f"{host}/1" for host in hosts]
    with web(dict.fromkeys(places, page(OUT)), places, never=["A.example."]) as served:
        seen = search(served.run())
        assert {*served.asked} == {"ba.example/1", "a.example.org/1"}
    assert [document.is_fetched for document in seen.documents] == [False, False, True, True]
    with web({"old.reddit.com/1": page(OUT)}, ["old.reddit.com/1"]) as served:  # as shipped
        assert not search(served.run()).documents[0].is_fetched
        assert served.asked == []


def test_a_source_is_the_last_address_and_two_results_for_one_page_are_one() -> None:
    pages: dict[str, str | Response] = {"b.example/real": page(OUT)}
    with web(pages, ["a.example/1", "b.example/real", "b.example/old"]) as served:
        real = served.url("b.example/real")
        pages |= {"a.example/1": redirect(real), "b.example/old": redirect(real)}
        seen = search(served.run())
    assert seen.sources == (real,)
    (document,) = seen.documents
    assert (document.address, document.number, document.aliases) == (real, 1, ())
    assert seen.content.count(OUT) == 1


def test_a_document_has_the_links_of_its_page_that_may_lead_on() -> None:
    text = f'{OUT}<a href="/queen">Queen discography</a> <a href="/shop">Shop</a>'
    with web({"a.example/1": page(text)}, ["a.example/1"]) as served:
        (document,) = search(served.run()).documents
        (fetched,) = fetch(served.run(), served.url("a.example/1")).documents
        assert document.links == (("Queen discography", served.url("a.example/queen")),)
        assert fetched.links == document.links


def test_a_page_may_be_cited_by_each_of_its_addresses_at_one_host() -> None:
    pages: dict[str, str | Response] = {
        "a.example/1": redirect("/2"),
        "a.example/2": page(OUT),
    }
    with web(pages, ["a.example/1"]) as served:
        (document,) = search(served.run()).documents
        assert document.address == served.url("a.example/2")
        assert document.aliases == (served.url("a.example/1"),)


def test_a_page_is_read_once_in_a_run_whichever_tool_asks_for_it() -> None:
    pages: dict[str, str | Response] = {"b.example/2": page(OUT)}
    with web(pages, {QUERY: ["a.example/1"], "again": ["a.example/1"]}) as served:
        pages["a.example/1"] = redirect(served.url("b.example/2"))
        run = served.run()
        search(run)
        search(run, "again")
        for place in ("a.example/1", "b.example/2"):
            assert OUT in fetch(run, served.url(place)).content
        assert served.asked == ["a.example/1", "b.example/2"]
        search(served.run())
        assert len(served.asked) == 4, "another run reads it anew"


def test_at_most_twelve_pages_of_a_run_are_opened_unasked_by_any_number_of_threads() -> None:
    places = {f"query {n}": [f"s{n}-{m}.example/1" for m in range(4)] for n in range(6)}
    pages = {place: page(OUT) for found in places.values() for place in found}
    with web(pages, places) as served:
        run = served.run()
        with ThreadPoolExecutor(6) as threads:
            observations = [*threads.map(lambda query: search(run, query), places)]
        assert len(served.asked) == len(set(served.asked)) == MOST_UNASKED_PAGES == 12
        documents = [each for seen in observations for each in seen.documents]
        assert len(documents) == 24
        assert sum(document.is_fetched for document in documents) == 12
        unread = next(each for each in documents if not each.is_fetched)
        shown = next(seen for seen in observations if unread in seen.documents).content
        assert "(not read: no further page is opened unasked in this run)" in shown
        assert fetch(run, unread.address).documents[0].is_fetched, "the model may ask for it"
        assert any(each.is_fetched for each in search(served.run(), "query 0").documents)


def test_threads_that_want_one_page_wait_for_it_and_use_one_of_the_twelve() -> None:
    pages = {f"s{n}.example/1": Response(page(OUT), delay_s=0.1) for n in range(20)}
    with web(pages, []) as served:
        shared, deadline = RunPages(served.fetcher), Deadline(10)

        def read(place: str) -> bool:
            try:
                return OUT in shared.fetch(served.url(place), deadline).extract.blocks
            except FetchError:
                return False

        with ThreadPoolExecutor(16) as threads:
            assert all(threads.map(read, ["s0.example/1"] * 16))
            assert served.asked == ["s0.example/1"]
            assert sum(threads.map(read, pages)) == 12
        assert len(served.asked) == 12


def test_what_a_thread_could_not_read_is_tried_again_by_the_one_that_waited() -> None:
    pages: dict[str, str | Response] = {"a.example/1": Response("x", 503, delay_s=0.2)}
    with web(pages, []) as served:
        shared, url = RunPages(served.fetcher), served.url("a.example/1")
        with ThreadPoolExecutor(2) as threads:
            tries = [threads.submit(shared.fetch, url, Deadline(10)) for _ in range(2)]
            assert [isinstance(each.exception(), FetchError) for each in tries] == [True, True]
        assert served.asked == ["a.example/1"] * 2
        pages["a.example/1"] = page(OUT)
        assert OUT in shared.fetch(url).extract.blocks
