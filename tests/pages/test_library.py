"""The library view of the server: its numbers, the lists behind them, and what it refuses."""

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import httpx
import pytest
from bs4 import BeautifulSoup

from benchmarks.bench_library import records
from chart_binder.jobs.listing import listing, read_query
from chart_binder.jobs.stored_decisions import NO_RUN, stored_case
from chart_binder.store import Store, open_store
from jobs.test_library import failing
from jobs.test_listing import case_of, refuse
from pages.conftest import Page

starlette = pytest.importorskip("starlette.applications", reason="the extra web is missing")
HOSTILE = "</bdi><script>alert(1)</script>\"' ]]> \u202e{{7*7}}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store in a file."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def get(store: Store, address: str) -> httpx.Response:
    """Return what the view answers."""
    from chart_binder.pages.library import library_routes

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(starlette.Starlette(routes=library_routes(store)))
        async with httpx.AsyncClient(transport=transport, base_url="http://canon") as client:
            return await client.get(address)

    return asyncio.run(ask())


def page_of(store: Store, address: str) -> BeautifulSoup:
    response = get(store, address)
    assert response.status_code == 200, response.text
    page = BeautifulSoup(response.text, "html.parser")
    assert not page("script")
    return page


def paths(page: BeautifulSoup) -> list[str]:
    return [item.get_text() for item in page(class_="file")]


def test_each_number_leads_to_a_list_of_so_many_files(store: Store) -> None:
    store.decisions.put_all(records(80))
    page = page_of(store, "/library")
    (main,) = page("main")
    links = main("a")
    assert len(links) > 50
    for address in {str(link["href"]) for link in links}:
        shown = page_of(store, address)
        numbers = {
            number[1] for link in links
            if link["href"] == address and (number := re.search(r"(\d+)\D*$", link.get_text()))
        }  # fmt: skip
        assert numbers == {str(len(paths(shown)))}, address


def test_a_query_narrows_the_view_and_stays_in_its_links(store: Store) -> None:
    store.decisions.put_all(records(80))
    page = page_of(store, "/library?q=-year:..1989 title:e")
    (field,) = page("input")
    assert field["value"] == "-year:..1989 title:e"
    (main,) = page("main")
    link = main("a")[0]
    rows = [*listing(store, read_query(["-year:..1989 title:e older:1.."]), refuse)]
    assert 0 < len(rows) < 80
    assert link.get_text() == f"{len(rows)} tracks"
    assert len(paths(page_of(store, str(link["href"])))) == len(rows)


def test_a_list_has_pages_the_latest_tags_first(store: Store) -> None:
    store.decisions.put_all(records(250))
    pages = [page_of(store, "/library/files?q=")]
    while following := [link for link in pages[-1](class_="pager")[0]("a") if "Next" in link]:
        pages.append(page_of(store, str(following[0]["href"])))
    assert [len(paths(page)) for page in pages] == [100, 100, 50]
    assert len({path for page in pages for path in paths(page)}) == 250
    rows = sorted(listing(store, read_query([]), refuse), key=lambda row: -(row.years_older or 0))
    assert paths(pages[0])[0] in [
        row.path for row in rows if row.years_older == rows[0].years_older
    ]  # fmt: skip
    for page in ("0", "-1", "x", "9999999999", "²"):
        assert paths(page_of(store, f"/library/files?page={page}")) == paths(pages[0])


def test_a_waiting_file_leads_to_its_case(store: Store) -> None:
    decided, opened = (
        stored_case(case_of(name, {}), Path(f"/{name}.flac"), None, NO_RUN)
        for name in ("lead-bohemian", "bootleg-only-queen")
    )
    store.decisions.put_all([decided, opened])
    page = page_of(store, "/library/files")
    cases = [str(link["href"]) for link in page("a") if "/case/" in str(link["href"])]
    assert cases == [f"/case/{opened[0].id}"]


def test_new_decisions_are_counted_at_once_and_forgotten_ones_are_not(store: Store) -> None:
    def shown() -> str:
        return " ".join(page_of(store, "/library").get_text().split())

    assert "0 tracks of 0" in shown()
    case = stored_case(case_of("lead-bohemian", {"date": "2004"}), Path("/a.flac"), None, NO_RUN)
    store.decisions.put(*case)
    assert "1 track of 1" in shown()
    store.decisions.forget([b"/a.flac"])
    assert "0 tracks of 0" in shown()


def test_the_server_leads_from_a_number_to_a_case(page: Page) -> None:
    view = page.get("/library")
    assert view.status == 200
    shown = BeautifulSoup(view.text, "html.parser")
    assert [link.get_text() for link in shown("a", {"aria-current": "page"})] == ["Library"]
    (address,) = {str(link["href"]) for link in shown("a") if "state:review" in unquote_plus(
        str(link["href"])) and "question" not in str(link["href"])}  # fmt: skip
    listed = BeautifulSoup(page.get(address).text, "html.parser")
    assert len(paths(listed)) == 1
    (case,) = (str(link["href"]) for link in listed("a") if "/case/" in str(link["href"]))
    assert page.get(case).status == 200
    assert page.get("/library?q=older:why").status == 400
    for strange in ({"Host": page.host}, {"Host": "evil.example", "Cookie": page.cookie}):
        assert page.send("GET", "/library", strange).status in (403, 421)


def test_hostile_texts_are_shown_as_text(store: Store) -> None:
    path = Path("/music") / os.fsdecode(b"\xff<script>.flac")
    case: Any = case_of(None, {"artist": HOSTILE, "title": HOSTILE})
    store.decisions.put(*stored_case(case, path, None, NO_RUN))
    store.decisions.put(*stored_case(failing(ValueError(HOSTILE)), Path("/b.flac"), None, NO_RUN))
    page = page_of(store, "/library/files")
    assert HOSTILE.replace("\u202e", "\ufffd") in page.get_text()
    assert "\ufffd<script>.flac" in page.get_text()
    quoted = HOSTILE.replace('"', '\\"')
    address = str(httpx.URL("/library", params={"q": f'artist:"{quoted}"'}))
    assert "0 tracks of 1" in " ".join(page_of(store, address).get_text().split())


@pytest.mark.parametrize(
    ("query", "problem"), [("older:why", "give 5, 1..4"), ('artist:"x', "is not closed")]
)
def test_a_wrong_query_is_refused(store: Store, query: str, problem: str) -> None:
    for address in ("/library", "/library/files"):
        response = get(store, str(httpx.URL(address, params={"q": query})))
        assert (response.status_code, problem in response.text) == (400, True)
