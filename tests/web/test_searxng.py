"""A search has three outcomes, one sentence for each failure, and words that are not obeyed."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.config import SearxngConfig
from chart_binder.errors import SearchError
from chart_binder.web.searxng import (
    LONGEST_QUERY,
    Degraded,
    Hit,
    NothingFound,
    SearchHits,
    SearchOutcome,
    SearxngClient,
    plain_query,
)
from corpus import rows
from servers.http import Response, StandIn
from servers.searxng import Mode, Searxng, hit

RECORDED = Path(__file__).parent / "recorded"
HOMEWORK = hit("https://example.org/homework", "Homework", "Released 1997")


def client(url: str, timeout_s: float = 5.0) -> SearxngClient:
    return SearxngClient(SearxngConfig(url=url, timeout_s=timeout_s))


def answered(body: bytes) -> SearchOutcome:
    """Return the outcome of a search that is answered with a body."""
    with StandIn(lambda _: Response(body, content_type="application/json")) as server:
        return client(server.url).search("q")


def recorded(name: str) -> SearchOutcome:
    return answered((RECORDED / f"{name}.json").read_bytes())


def hits(*found: dict[str, object]) -> list[Hit]:
    """Return the hits of a search that finds these results."""
    with Searxng({"q": list(found)}) as server:
        outcome = client(server.url).search("q")
    assert isinstance(outcome, SearchHits)
    return list(outcome.hits)


OUTCOMES: dict[str, tuple[type[SearchOutcome], int, bool]] = {
    "ok_general ok_music infobox": (SearchHits, 3, False),
    "partial_slow partial_results_with_engine_crash": (SearchHits, 3, True),
    "band_wumpscut band_sum41_title band_chkchkchk lang_ja unicode injected": (SearchHits, 1,
        False),
    "answer_avg random q_only_syntax": (NothingFound, 0, False),  # the server computed it itself
    "empty page99 sqli_quote time_range_unsupported": (NothingFound, 0, False),
    "fail_all fail_all_again fail_slow": (Degraded, 0, True),
}  # fmt: skip
REFUSED = {"q_empty": "No query", "bad_language": "Invalid value !!bad!! for parameter language"}


@pytest.mark.parametrize(("names", "expected"), OUTCOMES.items())
def test_every_recorded_answer_has_its_outcome(
    names: str, expected: tuple[type[SearchOutcome], int, bool]
) -> None:
    for name in names.split():
        outcome = recorded(name)
        found = outcome.hits if isinstance(outcome, SearchHits) else ()
        failing = () if isinstance(outcome, NothingFound) else outcome.failing
        assert (type(outcome), len({each.url for each in found}), bool(failing)) == expected, name
        assert all(each.title and each.snippet for each in found)
        assert all(each.endswith(")") for each in failing), "each says why"


def test_every_recorded_body_is_played() -> None:
    played = {*REFUSED, *" ".join(OUTCOMES).split()}
    assert played == {file.stem for file in RECORDED.glob("*.json")}


@pytest.mark.parametrize(("name", "words"), REFUSED.items())
def test_a_refusal_is_told_with_its_reason(name: str, words: str) -> None:
    body = (RECORDED / f"{name}.json").read_bytes()
    with (
        StandIn(lambda _: Response(body, 400, "application/json")) as server,
        pytest.raises(SearchError, match=rf"refused the search \(400\): {words}; check") as caught,
    ):
        client(server.url).search("anything")
    assert "127.0.0.1" not in caught.value.brief


@pytest.mark.parametrize("spellings", [
    ("https://a.example/x", "http://www.a.example/x/", "https://A.example/x#top"),
    ("https://en.wikipedia.org/wiki/Q", "https://en.m.wikipedia.org/wiki/Q"),
    ("https://a.example/x", "http://m.a.example/x?utm_source=s&utm_medium=m"),
    ("https://a.example/x?id=3", "https://a.example/x?gclid=z&id=3"),
])  # fmt: skip
def test_a_page_under_several_addresses_is_one_hit(spellings: tuple[str, ...]) -> None:
    assert [found.url for found in hits(*(hit(url, "A") for url in spellings))] == [spellings[0]]


def test_one_text_twice_on_a_site_is_one_hit_but_a_copy_elsewhere_hides_no_page() -> None:
    urls = ("https://a.example/?id=1", "https://www.a.example/?id=2", "https://b.example/?id=2")
    texts = [hit(url, "A", "same") for url in urls]
    assert [found.url for found in hits(*texts)] == [urls[0], urls[2]]
    assert [found.url for found in hits(*(hit(url, "A") for url in urls))] == [*urls]


def test_odd_values_spoil_only_themselves() -> None:
    odd: list[dict[str, object]] = [
        {"url": None, "title": "no address"},
        {"url": "ftp://a.example/", "title": "not the web"},
        {"url": "https://user:pass@a.example/", "title": "with a password"},
        {"url": "https://" + "a" * 600, "title": "too long"},
        {"url": "https://a.example/1984", "title": 1984, "content": None},
        {"url": ["https://a.example/"]},
        {},
    ]
    (found,) = hits(*odd)
    assert (found.title, found.snippet) == ("1984", "")


SOUND = b'{"url": "https://a.example/", "title": "A", "content": "1997"}'
ODD = {
    "null suggestions": b'{"results": [%b], "suggestions": null}',
    "odd corrections": b'{"results": [%b], "corrections": 3}',
    "null failures": b'{"results": [%b], "unresponsive_engines": null}',
    "endless number": b'{"results": [%b, {"url": "https://b.example/", "title": 1e999}]}',
    "long number": b'{"results": [%b], "number": ' + b"9" * 5_000 + b"}",
    "half a character": b'{"results": [%b, {"url": "x", "title": "\\ud800"}]}',
    "half a character in an address": b'{"results": [%b, {"url": "http://b.example/\\ud800"}]}',
    "no UTF-8": b'{"results": [%b, {"url": "x", "title": "\xff"}]}',
    "a mark": b'\xef\xbb\xbf{"results": [%b]}',
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_an_odd_value_leaves_the_other_results(body: bytes) -> None:
    outcome = answered(body.replace(b"%b", SOUND))
    assert isinstance(outcome, SearchHits)
    assert (outcome.hits[0].title, outcome.hits[0].snippet) == ("A", "1997")
    assert all("inf" not in found.title for found in outcome.hits)


def test_a_browser_like_client_passes_the_limiter() -> None:
    with Searxng({"homework": [HOMEWORK]}, limiter=True) as server:
        assert isinstance(client(server.url).search("homework"), SearchHits)


@pytest.mark.parametrize(("mode", "for_operator", "for_model"), rows(__file__, "failures"))
def test_every_failure_has_a_sentence_for_each(
    mode: Mode, for_operator: str, for_model: str
) -> None:
    with Searxng(mode=mode) as server, pytest.raises(SearchError) as raised:
        client(server.url).search("homework")
    assert for_operator in str(raised.value)
    assert server.url in str(raised.value)
    assert for_model in raised.value.brief
    assert server.url not in raised.value.brief
    assert len(server.requests) == 1


@pytest.mark.parametrize("mode", ["slow", "dripping"])
def test_the_deadline_holds_for_the_whole_call(mode: Mode) -> None:
    started = time.monotonic()
    with Searxng(mode=mode) as server, pytest.raises(SearchError, match=r"completely in 0\.4 s"):
        client(server.url, timeout_s=0.4).search("homework")
    assert time.monotonic() - started < 1.4


@pytest.mark.parametrize("secret", ["u:hunter2@", "u:p@hunter2@", "u:hunter2/x@"])
def test_a_password_in_the_address_is_not_told(secret: str) -> None:
    with pytest.raises(SearchError, match=r"SearXNG at http://\*\*\*@127") as caught:
        client(f"http://{secret}127.0.0.1:1").search("homework")
    assert "hunter" not in str(caught.value)


def test_a_query_without_words_is_not_sent() -> None:
    with Searxng() as server, pytest.raises(SearchError, match="no words"):
        client(server.url).search(" \n ")
    assert not server.requests


@pytest.mark.parametrize("suffix", ["", "/", "/search", "/search/"])
def test_the_address_may_be_written_with_or_without_its_path(suffix: str) -> None:
    with Searxng({"homework": [HOMEWORK]}) as server:
        assert isinstance(client(server.url + suffix).search("homework"), SearchHits)


def test_proxies_of_the_environment_do_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setitem(os.environ, "ALL_PROXY", "http://127.0.0.1:9")
    with Searxng({"homework": [HOMEWORK]}) as server:
        assert isinstance(client(server.url).search("homework"), SearchHits)


def test_the_language_and_who_asks_are_sent() -> None:
    with Searxng() as server:
        SearxngClient(SearxngConfig(url=server.url, language="ja")).search("椎名林檎")
    (request,) = server.requests
    assert request.query == {"q": "椎名林檎", "format": "json", "language": "ja"}
    assert request.headers["user-agent"].startswith("canon/")


@pytest.mark.parametrize(("written", "asked"), rows(__file__, "syntax"))
def test_syntax_becomes_words(written: str, asked: str) -> None:
    assert plain_query(written) == asked


def test_a_long_query_is_cut_between_words() -> None:
    asked = plain_query("daft punk " * 500)
    assert len(asked) <= LONGEST_QUERY
    assert asked.endswith(("daft", "punk"))


@given(st.text(max_size=500))
def test_a_query_never_grows_much_nor_breaks_its_line(written: str) -> None:
    asked = plain_query(written)
    assert len(asked) <= 2 * LONGEST_QUERY
    assert asked == " ".join(asked.split())
    assert asked.isprintable() or not asked.isascii()


@given(st.lists(st.sampled_from(["!g", ":de", "<3", '"', "sum", "41", "!!", "x", '"a', 'b"'])))
def test_no_word_that_is_syntax_is_left(words: list[str]) -> None:
    asked = plain_query(" ".join(words)).split()
    assert not {"!g", ":de", "<3", "!!"} & set(asked)
    assert not asked or asked[0] != "sum"
