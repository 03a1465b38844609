"""The report in a real browser: it fits, it is read by eye and ear, and its links open lists."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench_library import records
from chart_binder.jobs.library import library_figures
from chart_binder.jobs.listing import listing, read_query
from chart_binder.pages.figures import report_page
from chart_binder.store import open_store
from jobs.test_listing import refuse

WIDTHS, FILES = (360, 1200), 8
BOXES = """selector => [...document.querySelectorAll(selector)].map(text =>
    text.getBoundingClientRect()).filter(box => box.width).map(box => [box.left, box.right])"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 800 files."""
    folder = tmp_path_factory.mktemp("report")
    with open_store(f"sqlite:///{folder}/store.db") as store:
        store.decisions.put_all(records(800))
        query = read_query([])
        figures, lists = library_figures(listing(store, query, refuse), query, FILES)
    page = folder / "report.html"
    page.write_text(report_page(figures, lists, "today"), "utf-8")
    return page


@pytest.fixture(scope="module")
def crowded(report: Path) -> Path:
    """The same report of many more files: each number has five or six digits."""
    text = re.sub(r">(\d+)</a>", lambda found: f">{int(found[1]) * 4321:,}</a>", report.read_text())
    page = report.with_name("crowded.html")
    page.write_text(text, "utf-8")
    return page


@pytest.fixture(params=[(width, scheme) for width in WIDTHS for scheme in ("light", "dark")])
def page(request: pytest.FixtureRequest, browser: Any, report: Path) -> Iterator[Any]:
    width, scheme = request.param
    size = {"width": width, "height": 800}
    page = browser.new_page(viewport=size, color_scheme=scheme, java_script_enabled=True)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.goto(report.as_uri())
    yield page
    page.close()
    assert problems == []


def test_the_page_fits_and_every_label_is_inside(page: Any, crowded: Path) -> None:
    width = page.viewport_size["width"]
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    boxes = page.evaluate(BOXES, "svg text")
    assert boxes
    assert all(0 <= left < right <= width for left, right in boxes)
    labels = page.evaluate(BOXES, "#older_by_decade ~ .plot .label")
    assert len(labels) > 3
    assert all(left[1] < right[0] for left, right in pairwise(labels)), "none covers another"
    page.goto(crowded.as_uri())
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_a_number_and_a_bar_open_the_list_of_their_files(page: Any) -> None:
    bar = page.locator("svg a").first
    number = re.search(r"[\d,]+$", bar.locator("title").text_content())
    assert number
    target = page.locator(bar.get_attribute("href"))
    assert not target.is_visible()
    bar.click()
    assert target.is_visible()
    assert target.locator("li").count() == min(FILES, int(number[0].replace(",", "")))
    assert target.evaluate("element => element.getBoundingClientRect().top < innerHeight")


def test_the_keyboard_reaches_the_numbers(page: Any) -> None:
    page.keyboard.press("Tab")
    assert "tracks" in page.evaluate("document.activeElement.textContent")
    href = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("Enter")
    assert page.locator(href).is_visible()


def test_axe_finds_nothing_serious(browser: Any, report: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme, bypass_csp=True)
        page.goto(report.as_uri())
        page.locator("details").first.evaluate("element => element.open = true")
        violations = axe.Axe().run(page).response["violations"]
        serious = [rule for rule in violations if rule["impact"] in ("serious", "critical")]
        assert serious == [], scheme
        page.close()
