"""Wikipedia as a model sees it: the article that fits, its telling passages, an address to cite."""

from ipaddress import ip_address
from typing import Any

import pytest

from chart_binder.config import FetchConfig, LLMConfig, WikipediaConfig
from chart_binder.errors import FetchError
from chart_binder.react.steps import ToolCall
from chart_binder.react.tools import Observation, Toolbox, ToolError
from chart_binder.web.tools import wikipedia
from chart_binder.web.wikimedia import Wikipedia, in_address
from servers.http import Request, Response, StandIn
from servers.pages import gzip_bomb, redirect
from servers.wikipedia import WikipediaStandIn, refusal, told

SINGLE = """<table class="infobox"><tbody>
<tr><th colspan="2">"Night Tram"</th></tr>
<tr><th scope="row">Released</th><td>12 January 1981<span style="display:none"> (1981-01-12)</span>
</td></tr>
<tr><th scope="row">Label</th><td>Harbour</td></tr></tbody></table>
<p><b>Night Tram</b> is a song by Blue Lamp.</p><h2 id="History">History</h2><p>Long after.</p>"""
PAGES = {
    "Night Tram": SINGLE,
    "Night Tram (film)": "<p>A film of 1999 about a night tram.</p>",
    "Blue Lamp": "<p>A band.</p>",
    "Tram": "<p>A tram runs on rails, by day or by night.</p>",
}


def config(server: StandIn, max_chars: int = 2_000, **fetch: Any) -> LLMConfig:
    allowed = {"ports": (server.port,), "allow_private_hosts": ("127.0.0.1",), "timeout_s": 2.0}
    return LLMConfig(
        wikipedia=WikipediaConfig(url=server.url),
        fetch=FetchConfig(**{"max_chars": max_chars, **allowed, **fetch}),
    )


def read(settings: LLMConfig, arguments: Any) -> Observation:
    return Toolbox([wikipedia(settings)]).resolve(ToolCall("wikipedia", arguments)).run()


def test_the_article_that_fits_is_shown_with_its_infobox_and_address() -> None:
    with WikipediaStandIn(PAGES) as wiki:
        seen = read(config(wiki), "night tram")
        found = read(config(wiki), {"question": "when was Night Tram by Blue Lamp released"})
    assert found.content.startswith("Title: Night Tram\n")
    lines = seen.content.splitlines()
    assert lines[:2] == ["Title: Night Tram", f"Address: {wiki.url}/wiki/Night_Tram"]
    assert "> Released | 12 January 1981" in lines
    assert "> Label | Harbour" in lines
    assert seen.sources == (f"{wiki.url}/wiki/Night_Tram",)


def test_an_address_leads_to_its_article_at_once() -> None:
    with WikipediaStandIn(PAGES, redirects={"Night tram": "Night Tram"}) as wiki:
        seen = read(config(wiki), "https://de.m.wikipedia.org/wiki/Night_tram?x=1#History")
        own = read(config(wiki), f"{wiki.url}/wiki/Night_Tram_(film)")
        assert [request.query["action"] for request in wiki.requests] == ["parse", "parse"]
    assert seen.sources == (f"{wiki.url}/wiki/Night_Tram",)
    assert own.content.startswith("Title: Night Tram (film)")
    assert in_address("https://zh-yue.wikipedia.org/wiki/X") == ("zh-yue", "X")


def test_each_language_is_a_wiki_of_its_own() -> None:
    with WikipediaStandIn({"夜のトラム": "<p>1981年1月12日発売</p>"}) as wiki:
        settings = WikipediaConfig(url=f"http://{{language}}.wiki.example:{wiki.port}")
        fetch = FetchConfig(
            ports=(wiki.port,), allow_private_hosts=("ja.wiki.example", "en.wiki.example")
        )
        for language in ("ja", ""):
            asked = Wikipedia(settings, fetch, language, lambda *_: [ip_address("127.0.0.1")])
            page = asked.look_up("夜のトラム")
            assert page
            host = f"{language or 'en'}.wiki.example:{wiki.port}"
            assert {request.headers["host"] for request in wiki.requests} == {host}
            assert page.url.startswith(f"http://{host}/wiki/%E5%A4%9C")
            wiki.requests.clear()


@pytest.mark.parametrize("language", ["evil.example/", "en@evil", "../x", "e", "en.evil", "日本語"])
def test_a_language_is_never_a_part_of_a_host_that_is_no_code(language: str) -> None:
    with WikipediaStandIn(PAGES) as wiki:
        with pytest.raises(ToolError, match="is not a language code: give one"):
            read(config(wiki), {"query": "x", "language": language})
        with pytest.raises(ToolError, match="Give a title"):
            read(config(wiki), {"query": " "})
        assert wiki.requests == []


def test_a_private_host_is_reached_only_where_the_operator_allows_it() -> None:
    with WikipediaStandIn(PAGES) as wiki:
        with pytest.raises(ToolError, match="not on the public internet"):
            read(config(wiki, allow_private_hosts=()), "night tram")
        with pytest.raises(ToolError, match=r"port \d+ is not allowed"):
            read(config(wiki, ports=(80,)), "night tram")
        assert wiki.requests == []


def test_nothing_found_is_an_answer_without_a_source() -> None:
    with WikipediaStandIn(PAGES) as wiki:
        for query in ("zzz", f"{wiki.url}/wiki/Gone"):
            seen = read(config(wiki), query)
            assert seen.content.startswith("Wikipedia has no such article. Try other words,")
            assert seen.sources == ()


@pytest.mark.parametrize(("answer", "words"), [
    (Response("busy", 503), "127.0.0.1 answered 503"),
    (redirect("http://169.254.169.254/"), "port 80 is not allowed"),
    (Response("<html>hello"), "does not answer as Wikipedia does"),
    (told(refusal("ratelimited", "You've exceeded your rate limit.")), "exceeded your rate"),
    (Response("{}", delay_s=9), "did not answer completely in 0.5 s"),
    (gzip_bomb(100), "does not answer as Wikipedia does"),
])  # fmt: skip
def test_a_failed_look_up_is_an_error_and_never_an_absence(answer: Response, words: str) -> None:
    with (
        WikipediaStandIn(PAGES, behave=lambda _, __: answer) as wiki,
        pytest.raises(ToolError) as raised,
    ):
        read(config(wiki, timeout_s=0.5 if answer.delay_s else 5.0), "night tram")
    assert str(raised.value).startswith("The look-up at Wikipedia failed: ")
    assert words in str(raised.value)
    assert str(raised.value).endswith("This says nothing about what exists.")
    assert isinstance(raised.value.__cause__, FetchError)


def test_of_an_article_that_is_too_long_the_opening_is_read() -> None:
    page = SINGLE + "<h2>More</h2>" + "<p>Words without end.</p>" * 5_000
    with WikipediaStandIn({"Night Tram": page}) as wiki:
        seen = read(config(wiki, max_bytes=20_000), "night tram")
    assert "> Released | 12 January 1981" in seen.content
    assert "its end was not read" in seen.content


def test_one_deadline_holds_for_search_and_article() -> None:
    def late(request: Request, honest: Response) -> Response:
        return Response(honest.body, content_type=honest.content_type, delay_s=0.4)

    with (
        WikipediaStandIn(PAGES, behave=late) as wiki,
        pytest.raises(ToolError, match="did not answer completely"),
    ):
        read(config(wiki, timeout_s=0.6), "night tram")


@pytest.mark.parametrize(("query", "sent"), [
    ("!!! yadnus", '"!!!" yadnus'), ("-ism night", '"-ism" night'), ("night\ntram", "night tram"),
    ("AC/DC", "AC/DC"),
])  # fmt: skip
def test_what_search_syntax_would_leave_out_is_looked_for(query: str, sent: str) -> None:
    with WikipediaStandIn(PAGES) as wiki:
        read(config(wiki), {"query": query})
        assert wiki.requests[0].query["srsearch"] == sent
