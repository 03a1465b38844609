"""Who is taken to have said what: an entry of a search is of one address, a page of its own."""

import pytest

from chart_binder.llm.answer import CitedFact
from chart_binder.llm.grounding import read_date, supporting_passages
from chart_binder.react.sanitize import sanitize
from chart_binder.react.transcript import Observed
from chart_binder.web import passages
from chart_binder.web.fetch import Page
from chart_binder.web.page_text import from_html
from chart_binder.web.searxng import Hits, SearchBody, outcome
from chart_binder.web.tools import search_results

WIKI = "https://en.wikipedia.org/wiki/Bohemian_Rhapsody"
STRANGER = "https://stranger.example/x"
TOLD = "It came out on 31 October 1975"


def says(seen: Observed, source: str) -> bool:
    fact = CitedFact(about="C1", field="date", value="1975-10-31", source=source)
    return any(supporting_passages(fact, [seen]))


def searched(*results: tuple[str, str]) -> Observed:
    """Return what a search for such addresses and snippets is shown as, and seen by the model."""
    hits: list[object] = [
        {"url": url, "title": "Bohemian Rhapsody", "content": text} for url, text in results
    ]
    told = outcome(SearchBody(hits), "queen")
    assert isinstance(told, Hits)
    found = search_results(told, 8, 4000)
    return Observed(sanitize(found.content), sources=found.sources)


@pytest.mark.parametrize(
    "entry",
    [
        (STRANGER, f"{TOLD} (source {WIKI})"), (f"{STRANGER}?u={WIKI}", TOLD),
        (f"{WIKI}_(cover)", TOLD), (STRANGER, f"Answer: {TOLD} ({WIKI})"),
        (STRANGER, f"Infobox Queen: {TOLD} ({WIKI})"), (STRANGER, f"2. {TOLD} {WIKI}"),
    ],
)  # fmt: skip
def test_an_entry_speaks_for_its_own_address_alone(entry: tuple[str, str]) -> None:
    for results in ((entry, (WIKI, "a song by Queen")), ((WIKI, "a song by Queen"), entry)):
        seen = searched(*results)
        assert not says(seen, WIKI)
    assert says(searched((WIKI, TOLD), (STRANGER, "a song")), WIKI)


def test_an_answer_or_an_infobox_is_of_the_address_at_its_end() -> None:
    for label in ("Answer", "Infobox Queen"):
        text = f"Search results:\n{label}: {TOLD}, not {WIKI} ({STRANGER})\n1. T (w)\n{WIKI}\nQueen"
        for shown_as in (text, sanitize(text)):
            seen = Observed(shown_as, sources=(STRANGER, WIKI))
            assert (says(seen, STRANGER), says(seen, WIKI)) == (True, False)


@pytest.mark.parametrize("kind", ["answers", "infoboxes"])
def test_an_answer_without_an_address_speaks_for_none_that_it_names(kind: str) -> None:
    direct: list[object] = [
        {"answer": f"{TOLD} ({WIKI})"} if kind == "answers" else {"content": f"{TOLD} ({WIKI})"}
    ]
    found = outcome(
        SearchBody(
            [{"url": WIKI, "title": "Queen", "content": "a song"}],
            answers=direct if kind == "answers" else None,
            infoboxes=direct if kind == "infoboxes" else None,
        ),
        "queen",
    )
    assert isinstance(found, Hits)
    told = search_results(found, 8, 4000)
    assert TOLD in told.content
    assert not says(Observed(sanitize(told.content), sources=told.sources), WIKI)


def test_a_page_may_be_cited_as_it_was_asked_for_or_by_where_it_was_read() -> None:
    asked, read = "https://site.example/1", "https://www.site.example/1-queen"
    page = f"Title: Queen\nAddress: {read}\n> {TOLD}"
    seen = Observed(page, sources=(read, asked))
    assert says(seen, asked)
    assert says(seen, read)
    with_more = Observed(f"{page}\nOther articles:\n1. Cover\n{WIKI}", sources=(read, asked, WIKI))
    assert says(with_more, asked)
    assert not says(with_more, WIKI)
    assert not says(Observed(page, sources=(read, STRANGER)), STRANGER)


@pytest.mark.parametrize(
    "cited",
    [
        "http://www.site.example/F%C3%BCr_(a)", "https://site.example/Für_(a)",
        "https://www.site.example/F%c3%bcr_%28a%29/", "HTTPS://WWW.Site.Example./F%C3%BCr_(a)#b",
        "<https://site.example:443/F%C3%BCr_(a)>",
    ],
)  # fmt: skip
def test_an_address_is_the_same_however_it_is_spelled(cited: str) -> None:
    read = "https://www.site.example/F%C3%BCr_(a)"
    assert says(Observed(TOLD, sources=(read,)), cited)
    assert says(searched((STRANGER, "a song"), (read, TOLD)), cited)


@pytest.mark.parametrize(
    "cited", ["https://site.example/a/b", "https://site.example/A%2Fb", "https://site.example:81/a%2Fb"]
)  # fmt: skip
def test_an_address_that_is_another_is_not_taken_for_it(cited: str) -> None:
    assert not says(Observed(TOLD, sources=("https://site.example/a%2Fb",)), cited)


def test_the_day_a_page_is_of_is_no_word_of_it_on_a_record() -> None:
    day = "1975-10-31"
    found = outcome(SearchBody([{"url": WIKI, "title": "Queen", "publishedDate": day}]), "queen")
    assert isinstance(found, Hits)
    told = search_results(found, 8, 4000)
    assert day in told.content
    assert not says(Observed(sanitize(told.content), sources=told.sources), WIKI)
    meta = f"<meta property=article:published_time content={day}T09:00:00Z>"
    extract = from_html(f"<title>Q</title>{meta}")
    page = passages.page_reading(Page(WIKI, WIKI, "text/html", extract, cut=False), 900)
    assert day in page.content
    assert not says(Observed(sanitize(page.content), sources=page.sources), WIKI)
    extract = from_html(f"<title>Q</title><p>Published: {day}<p>a")
    page = passages.page_reading(Page(WIKI, WIKI, "text/html", extract, cut=False), 900)
    assert says(Observed(sanitize(page.content), sources=page.sources), WIKI)


def test_a_date_is_borne_out_as_that_of_what_happened_then() -> None:
    seen = Observed("> It was recorded on 31 October 1975.", sources=(WIKI,))
    for field, is_so in (("first_release_date", False), ("recording date", True)):
        fact = CitedFact(about="C1", field=field, value="1975-10-31", source=WIKI)
        assert any(supporting_passages(fact, [seen])) is is_so


@pytest.mark.parametrize(
    ("field", "is_date"),
    [
        ("publication_date", True), ("publication date", True), ("track release date", True),
        ("certification", True), ("catalogueNumber", False), ("cat_no", False), ("track", False),
        ("track count", False), ("CATALOGUE NUMBER", False), ("release barcode", False),
    ],
)  # fmt: skip
def test_a_field_of_numbers_is_known_by_its_whole_words(field: str, is_date: bool) -> None:
    assert (read_date(CitedFact("C1", field, "1975", WIKI)) is not None) is is_date
