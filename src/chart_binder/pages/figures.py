"""The figures of a library as sections of a page, and the report that is complete in one file."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import tomli
from markupsafe import Markup

from chart_binder import __version__
from chart_binder.jobs.library import (
    FILES,
    UNCERTAIN,
    Figure,
    FigureRow,
    FileLists,
    LibraryFigures,
    columns_of,
)
from chart_binder.pages.html import render_file
from chart_binder.pages.plots import Bar, BarPart, column_chart, row_chart

Href = Callable[[Figure], str]
"""Returns the address of the files of a figure."""
_CHARTS = {"older_by_decade": column_chart, "older_by_years": column_chart, "older_by_both": None}
"""How tables are drawn; other tables have level bars."""
_SHADES = (1, 3, 10, 30)
"""The shares of the largest number, in percent, from which a cell is darker by a step."""


def figure_values(figures: LibraryFigures, href: Href) -> dict[str, object]:
    """Return the values of a template that shows the figures with `figures.html`."""
    sections = [
        {
            "key": key,
            "rows": rows,
            "columns": columns_of(rows),
            "chart": _chart(key, rows, href),
            "most": max(figure.count for row in rows for figure in row.figures.values()),
            **words,
        }
        for key, words in _words()["sections"].items()
        if (rows := getattr(figures, key))
    ]
    return {"figures": figures, "sections": sections, "href": href, "shown": shown, "shade": shade}


def report_page(figures: LibraryFigures, lists: FileLists, made_at: str) -> str:
    """Return a page that is complete in one file, with the first files of each figure."""
    listed: dict[str, tuple[str, Figure]] = {}
    for title, figure in _titled(figures):
        if figure.query in lists:
            listed.setdefault(figure.query, (title, figure))
    anchors = {query: f"files-{number}" for number, query in enumerate(listed, start=1)}
    return render_file(
        "report.html",
        title="Library report",
        made=f"canon {__version__}, {made_at}",
        lists=[
            (anchors[query], title, figure, lists[query], list_call(query))
            for query, (title, figure) in listed.items()
        ],
        **figure_values(figures, lambda figure: f"#{anchors.get(figure.query, 'main')}"),
    )


def list_call(query: str) -> str:
    """Return the command that lists all files of a query."""
    return shlex.join(["canon", "ls", "--limit", "0", *([query] if query else ())])


def shown(name: str) -> str:
    """Return the name of a row or a column in words, such as `2-4` with a dash for `2..4`."""
    words: str | None = _words()["names"].get(name)
    if words is None and ".." in name:
        return f"{name[:-2]}+" if name.endswith("..") else name.replace("..", "\N{EN DASH}")
    return words or name.replace("_", " ").lower()


def shade(count: int, most: int) -> int:
    """Return how dark a cell is: from 1 to 5."""
    return 1 + sum(100 * count >= share * most for share in _SHADES)


@cache
def _words() -> Mapping[str, Any]:
    """Return the sections in their order, each with title and note, and the names in words."""
    text = resources.files("chart_binder.pages").joinpath("figures.toml").read_text("utf-8")
    return tomli.loads(text)


def _chart(key: str, rows: Sequence[FigureRow], href: Href) -> Markup | None:
    draw = _CHARTS.get(key, row_chart)
    bars = [Bar(shown(row.name), [*_parts(row, href)]) for row in rows]
    return draw(key, _words()["sections"][key]["title"], bars) if draw else None


def _parts(row: FigureRow, href: Href) -> Iterator[BarPart]:
    for name in columns_of([row]):
        figure = row.figures[name]
        label = "" if name == FILES else shown(name)
        yield BarPart(2 if name == UNCERTAIN else 1, label, figure.count, href(figure))


def _titled(figures: LibraryFigures) -> Iterator[tuple[str, Figure]]:
    """Yield every figure, with the title of its list."""
    yield "All files", figures.files
    yield "Older than their album", figures.older
    yield "Older than their album: certain year", figures.older_certain
    for key, words in _words()["sections"].items():
        for row in getattr(figures, key):
            for name, figure in row.figures.items():
                parts = (shown(row.name), shown(name) if name != FILES else "")
                yield f"{words['title']}: {', '.join(filter(None, parts))}", figure
