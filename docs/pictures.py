"""Pictures for the site, made of real output: screens of commands, and a timeline of a decision.

`python docs/pictures.py` takes the photographs of pages in `images/` again (extra `test-web`).
"""

import shutil
import sys
import tempfile
from datetime import date
from html import escape
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from chart_binder.jobs.evaluate import GoldenCase, read_golden
from chart_binder.jobs.explain import Appearance, appearances

TESTS = Path(__file__).parents[1] / "tests"
IMAGES = Path(__file__).parent / "images"
FILES = 6000
"""The number of files in the library that is photographed."""
SCREENS = {
    "explain": "A decision and why the others lost",
    "transcript": "A run of a model",
    "review": "A case in review",
}
"""The files of tests/integration/screens that are shown, with a title."""
CASE = "lead-bohemian"
"""The golden case of the timeline."""
WIDTH, ROW, LEFT = 760, 26, 300


def screen(name: str, title: str) -> str:
    """Return the longest screen of a command as SVG, with its call."""
    text = (TESTS / "integration" / "screens" / f"{name}.txt").read_text("utf-8")
    shown = max(text.split("\n\n$ "), key=len).removeprefix("$ ")
    console = Console(record=True, width=100, file=StringIO())
    console.print(Text(f"$ {shown}"), markup=False, emoji=False)
    return console.export_svg(title=title, unique_id=name)


def timeline() -> str:
    """Return the days on which each candidate may have carried the recording, as SVG."""
    with (TESTS / "golden" / "decisions.jsonl").open("rb") as lines:
        cases = {case.name: case for case in read_golden(lines) if isinstance(case, GoldenCase)}
    spans = {row: (row.since, row.by) for row in appearances(cases[CASE].bundle)}
    dated = {row: (first, last) for row, (first, last) in spans.items() if first and last}
    begin, end = min(dated.values())[0], max(last for _, last in dated.values())
    scale = (WIDTH - LEFT - 10) / max(1, (end - begin).days)
    rows = (
        _bar(number, row, LEFT + (first - begin).days * scale, (last - first).days * scale)
        for number, (row, (first, last)) in enumerate(sorted(dated.items(), key=_first_day))
    )
    size = f'viewBox="0 0 {WIDTH} {ROW * len(dated)}" width="{WIDTH}"'
    style = 'font-size="13" font-family="sans-serif"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{"".join(rows)}</svg>'


def _first_day(row: tuple[Appearance, tuple[date, date]]) -> date:
    return row[1][0]


def _bar(number: int, row: Appearance, x: float, width: float) -> str:
    y = ROW * number
    label = escape(f"{row.title} ({row.kind}) {row.since:%Y-%m-%d}")
    colour = "#0a7d6b" if row.counts else "#999"
    return (
        f'<text x="0" y="{y + 17}" fill="#888">{label}</text>'
        f'<rect x="{x:.0f}" y="{y + 5}" width="{max(width, 4):.0f}" height="14" fill="{colour}"/>'
    )


def photograph(address: str, name: str, width: int = 1100, height: int = 860) -> None:
    """Save how Chromium shows a page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(address)
        page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()


def library() -> str:
    """Return the report of a library of golden cases, as the rules decide them."""
    sys.path.insert(0, str(TESTS))
    from benchmarks.bench_library import records
    from chart_binder.jobs.library import library_figures
    from chart_binder.jobs.listing import listing, read_query
    from chart_binder.pages.figures import report_page
    from chart_binder.store import open_store

    with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/s.db") as store:
        store.decisions.put_all(records(FILES))
        query = read_query([])
        return report_page(*library_figures(listing(store, query, print), query, 1), "")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        report.write_text(library(), "utf-8")
        photograph(report.as_uri(), "library")
