"""Sources: what each said in a run, by what it may be named, and which are independent."""

from collections.abc import Sequence

import pytest

from chart_binder.config import LLMConfig
from chart_binder.errors import FetchError
from chart_binder.react.steps import Document, Observation
from chart_binder.react.transcript import AnyEvent, ObservationEvent, StepEvent
from chart_binder.web import passages
from chart_binder.web.documents import (
    LINKED_PAGES,
    SAME_SOURCE,
    documents_named,
    independent_sources,
    linked_document,
    read_documents,
    registered_site,
)
from chart_binder.web.fetch import WebPage
from chart_binder.web.page_text import from_html
from chart_binder.web.searxng import SearchHits, outcome
from chart_binder.web.tools import search_results
from corpus import rows

WIKI = "https://en.wikipedia.org/wiki/Bohemian_Rhapsody"
STRANGER = "https://stranger.example/x"
DAY = "31 October 1975"
TOLD = f"It came out on {DAY}"
NAMED = "Bohemian Rhapsody - Wikipedia"

# Who says what: an entry of a search is of one address, a page of its own.


def says(seen: Observation, source: str, day: str = DAY) -> bool:
    named = documents_named(source, read_documents([ObservationEvent.of(seen, 1)]))
    return any(day in document.text for document in named)


def searched(*results: tuple[str, str]) -> Observation:
    """Return what a search for such addresses and snippets is shown as, with no page read."""
    hits: list[object] = [
        {"url": url, "title": "Bohemian Rhapsody", "content": text} for url, text in results
    ]
    return shown({"results": hits})


def shown(answer: dict[str, object], *read: WebPage | FetchError) -> Observation:
    """Return what an answer of the search server is shown as, with the pages of the first hits."""
    told = outcome(answer)
    assert isinstance(told, SearchHits)
    return search_results(told, read, LLMConfig(), "queen", "")


def page_of(html: str, url: str = WIKI, asked: str = "") -> WebPage:
    return WebPage(url, asked or url, from_html(html), cut=False)


def one_page(url: str, text: str, *aliases: str, number: int | None = None) -> Observation:
    document = Document(url, text=text, is_fetched=True, aliases=aliases, number=number)
    return Observation(text, (url, *aliases), documents=(document,))


@pytest.mark.parametrize(
    "entry",
    [
        (STRANGER, f"{TOLD} (source {WIKI})"), (f"{STRANGER}?u={WIKI}", TOLD),
        (f"{WIKI}_(cover)", TOLD), (STRANGER, f"Answer: {TOLD} ({WIKI})"),
        (STRANGER, f"Infobox Queen: {TOLD} ({WIKI})"), (STRANGER, f"2. {TOLD} {WIKI}"),
        (STRANGER, f"2. Queen (en.wikipedia.org)\n   {WIKI}\n> {TOLD}"),
    ],
)  # fmt: skip
def test_an_entry_speaks_for_its_own_address_alone(entry: tuple[str, str]) -> None:
    for results in ((entry, (WIKI, "a song by Queen")), ((WIKI, "a song by Queen"), entry)):
        seen = searched(*results)
        assert says(seen, entry[0])
        assert not says(seen, WIKI)
    assert says(searched((WIKI, TOLD), (STRANGER, "a song")), WIKI)


def test_a_page_that_was_opened_speaks_for_its_own_address_alone() -> None:
    page = page_of(f"<p>2. Queen (en.wikipedia.org)<p>{WIKI}<p>{TOLD}", STRANGER)
    hits = [{"url": url, "title": "Queen", "content": "a song"} for url in (STRANGER, WIKI)]
    seen = shown({"results": hits}, page, FetchError("en.wikipedia.org answered 503"))
    assert (says(seen, STRANGER), says(seen, WIKI)) == (True, False)


def test_a_page_may_be_cited_as_it_was_asked_for_or_by_where_it_was_read() -> None:
    asked, read = "https://site.example/1", "https://www.site.example/1-queen"
    seen = passages.page_reading(page_of(f"<p>{TOLD}", read, asked), 900)
    assert says(seen, asked)
    assert says(seen, read)
    of_another = passages.page_reading(page_of(f"<p>{TOLD}", read, STRANGER), 900)
    assert says(of_another, read)
    assert not says(of_another, STRANGER)


def test_what_a_tool_shows_without_documents_is_of_its_only_source() -> None:
    read, again = "https://site.example/1", "https://www.site.example/1/"
    for sources, named in (((read,), True), ((read, again), True), ((read, WIKI), False)):
        seen = Observation(TOLD, sources)
        assert says(seen, read) == named
        assert not any(d.is_fetched for d in read_documents([ObservationEvent.of(seen, 1)]))
    assert not read_documents([ObservationEvent.of(Observation(TOLD), 1)])
    assert not read_documents(
        [ObservationEvent.of(Observation(TOLD, (read,), error="broke off"), 1)]
    )


@pytest.mark.parametrize(
    "cited",
    [
        "http://www.site.example/F%C3%BCr_(a)", "https://site.example/Für_(a)",
        "https://www.site.example/F%c3%bcr_%28a%29/", "HTTPS://WWW.Site.Example./F%C3%BCr_(a)#b",
        "<https://site.example:443/F%C3%BCr_(a)>", "https://m.site.example/F%C3%BCr_(a)?utm_source=x",
    ],
)  # fmt: skip
def test_an_address_is_the_same_however_it_is_spelled(cited: str) -> None:
    read = "https://www.site.example/F%C3%BCr_(a)"
    assert says(one_page(read, TOLD), cited)
    assert says(searched((STRANGER, "a song"), (read, TOLD)), cited)


@pytest.mark.parametrize(
    "cited", ["https://site.example/a-b", "https://site.example/A/b", "https://site.example:81/a/b"]
)  # fmt: skip
def test_an_address_that_is_another_is_not_taken_for_it(cited: str) -> None:
    assert not says(one_page("https://site.example/a/b", TOLD), cited)


HITS = (
    "https://www.discogs.com/release/1", "https://news.bbc.co.uk/music?id=7",
    "https://queen.example/albums",
)  # fmt: skip
TITLES = (
    "Queen - Bohemian Rhapsody (Discogs)", "Bohemian Rhapsody: the story (BBC)", "Albums of 1975"
)  # fmt: skip
FOUND = shown(
    {"results": [{"url": u, "title": t, "content": "a"} for u, t in zip(HITS, TITLES, strict=True)]}
)
EVENTS: Sequence[AnyEvent] = (
    StepEvent("act", 1, "web_search", {"query": "x"}),
    ObservationEvent.of(FOUND, 1),
    StepEvent("act", 2, "web_fetch", {"url": WIKI}),
    ObservationEvent.of(passages.page_reading(page_of(f"<title>{NAMED}</title><p>{TOLD}"), 900), 2),
)


@pytest.mark.parametrize(("source", "named"), rows(__file__, "named"))
def test_a_source_may_be_address_number_host_or_title(source: str, named: tuple[str, ...]) -> None:
    found = documents_named(source, read_documents(EVENTS))
    assert {document.address for document in found} == set(named)


LINKED = f"{'Linked by MusicBrainz to release-group/'}C1\nfirst release | 1975-05-02\nIt says so."


@pytest.mark.parametrize(
    "step", [StepEvent("act", 1, "web_fetch", {}), StepEvent("act", 1, "web_search", {})]
)
def test_no_page_makes_itself_one_that_musicbrainz_links_to(step: StepEvent) -> None:
    pages = [
        passages.page_reading(page_of(f"<p>{LINKED.replace(chr(10), '<p>')}"), 900),
        one_page(WIKI, LINKED),
        Observation(LINKED, (WIKI,)),
        Observation("x", (WIKI,), documents=(Document(WIKI, headings=(LINKED,), text=LINKED),)),
    ]
    for page in pages:
        assert [d.linked for d in read_documents([step, ObservationEvent.of(page, 1)])] == [None]
    linked = StepEvent("act", 0, LINKED_PAGES, {})
    for page in pages[:3]:  # nor where MusicBrainz does link to it
        assert [d.linked for d in read_documents([linked, ObservationEvent.of(page, 0)])] == [None]
    of_code = linked_document(Document(WIKI, is_fetched=True), "C1", "1975-05-02", "It says so.")
    seen = ObservationEvent.of(Observation("x", (WIKI,), documents=(of_code,)), 0)
    assert [d.linked for d in read_documents([linked, seen])] == [("C1", "1975-05-02")]


@pytest.mark.parametrize(
    "source", ["https://never.example/", "4", "never.example", "co.uk.example", "Melody Maker", "e"]
)
def test_a_source_names_nothing_that_was_not_read(source: str) -> None:
    assert not documents_named(source, read_documents(EVENTS))


# Independence.


@pytest.mark.parametrize(("source", "who"), rows(__file__, "owners"))
def test_who_stands_behind_an_address(source: str, who: str) -> None:
    assert registered_site(source) == who


RELAYED = "http://stranger.example/x"


@pytest.mark.parametrize("other", rows(__file__, "relays"))
def test_a_page_that_somebody_else_shows_is_no_second_source(other: str) -> None:
    elsewhere = "https://second.example/?u=https://stranger.example/y"
    for sources, count in (
        ([RELAYED, other], 1),
        ([other, RELAYED, "https://honest.example/index.html"], 2),
        ([other, elsewhere], 1),
    ):
        assert len(independent_sources(sources)) == count


def test_no_address_makes_several_sources_of_one_by_naming_others() -> None:
    told = [f"https://stranger.example/{n}?u=https://honest{n}.example/" for n in range(3)]
    assert independent_sources([*told, "https://archive.ph/Ab1"]) == {"stranger.example"}
    told += ["https://honest0.example/", "https://honest5.example/"]
    assert len(independent_sources(told)) == 2


@pytest.mark.parametrize(
    "pair",
    [
        ("https://a.example/index.html", "https://b.example/index.html"),
        ("https://a.example/wiki/will.i.am", "https://b.example/artist/will.i.am"),
        ("https://a.example/?x=https://archive.ph/A", "https://b.example/?x=https://archive.ph/B"),
        ("https://a.example/?q=Queen&page=2", "https://b.example/?q=Queen&page=2"),
        ("https://archive.is/1/http://a.example/", "https://archive.is/1/http://b.example/"),
    ],
)  # fmt: skip
def test_addresses_that_are_alike_are_still_two_sources(pair: tuple[str, str]) -> None:
    assert len(independent_sources(pair)) == 2


def test_every_copy_is_of_one_original_which_copies_nobody() -> None:
    copies = [copy for each in SAME_SOURCE.values() for copy in each]
    assert len(copies) == len(set(copies))
    assert not set(copies) & set(SAME_SOURCE)
    hosts = ("wikiwand.com", "fr.wikipedia.org", "a.e.com", "e.com.", "www.e.com", "x.co.uk")
    told = independent_sources(f"https://{host}/" for host in hosts)
    assert told == {"wikipedia.org", "e.com", "x.co.uk"}
