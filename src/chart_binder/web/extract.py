"""What a page says, as blocks of plain text in reading order.

A heading starts with `#`, a list item with `-`; a table's row is one block, `a | b | c`, so that
a date stays beside what it dates.
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag

from chart_binder.react.inert import one_line
from chart_binder.web import elements
from chart_binder.web.markup import reduced
from chart_binder.web.records import told

_MOST_BLOCKS = 20_000
_MOST_CHARS = 500_000
_LONGEST_BLOCK = 4_000
_MOST_UNFOLDED = 2 * _LONGEST_BLOCK  # a few letters unfold to eighteen others
_LONGEST_TITLE = 200
_LONGEST_CELL = 400
_BETWEEN_ITEMS = " · "
_LONGEST_JSON = 300_000
_LONGEST_LABEL = 40
_LONGEST_SPANNING = 60  # with at most so many columns, so that spans cannot blow a table up
_MOST_SPANNING = 8
_Spans: TypeAlias = dict[int, tuple[int, int, str]]
"""By column: rows that a cell reaches down still, columns it takes, what it says."""
_IS_PAGE = re.compile(r"<html[\s>]", re.IGNORECASE)
_ROOT_WITHIN = 2_000
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(frozen=True, slots=True)
class Extract:
    """A page's title, its own date of publication ("" where it has none), and its blocks."""

    title: str
    published: str
    blocks: tuple[str, ...]
    cut: bool = False


def from_html(markup: str) -> Extract:
    """Read a page of HTML, XHTML or other tagged text, however broken."""
    page = reduced(markup)
    blocks = _tidy(_blocks(BeautifulSoup(page.body, "html.parser")))
    return Extract(_title(page.title), one_line(page.published), blocks, page.cut)


def from_text(text: str) -> Extract:
    """Read plain text, a block a line."""
    return Extract("", "", _tidy(text[:_MOST_CHARS].splitlines()), len(text) > _MOST_CHARS)


def from_csv(text: str) -> Extract:
    """Read a table of comma-separated values, a block a row."""
    try:
        rows = [" | ".join(cells) for cells in csv.reader(text[:_MOST_CHARS].splitlines())]
    except csv.Error:
        return from_text(text)
    return Extract("", "", _tidy(rows), len(text) > _MOST_CHARS)


def from_json(text: str) -> Extract:
    """Read JSON, a block a record: `releases[0]: title: Killer Queen | date: 1974-10-11`."""
    if len(text) > _LONGEST_JSON:  # as objects it would be twenty times its size
        return from_text(text)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return from_text(text)
    return Extract("", "", _tidy(told(document)))


def from_xml(text: str) -> Extract:
    """Read XML as JSON is read; a page of XHTML is a page."""
    if _IS_PAGE.search(text, 0, _ROOT_WITHIN):
        return from_html(text)
    members, cut = elements.document(text)
    return Extract("", "", _tidy(told(members)), cut)


def _tidy(blocks: Iterator[str] | list[str]) -> tuple[str, ...]:
    """Make blocks harmless, drop empty ones and those that repeat the one before."""
    tidy: list[str] = []
    room = _MOST_CHARS
    for block in blocks:
        for start in range(0, len(block), _LONGEST_BLOCK):
            if room <= 0:
                break
            unfolded = one_line(block[start : start + _LONGEST_BLOCK])
            text = unfolded[: min(room, _MOST_UNFOLDED)]
            room -= len(unfolded)
            if not text.strip("#-|•· ") or (tidy and text == tidy[-1]):
                continue
            if tidy and _is_label(tidy[-1]) and not _is_label(text) and text[0] not in "#-":
                tidy[-1] = f"{tidy[-1]} {text}"
            else:
                tidy.append(text)
        if len(tidy) >= _MOST_BLOCKS or room <= 0:
            break
    return tuple(tidy)


def _is_label(block: str) -> bool:
    """Tell a block that names what the next one says: `Released:`."""
    return block.endswith((":", "：")) and len(block) <= _LONGEST_LABEL and block[0] not in "#-"


def _title(text: str) -> str:
    title = one_line(text)
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"


def _blocks(element: Tag) -> Iterator[str]:
    """Yield the blocks of an element; no deeper than `reduced` lets markup nest."""
    run: list[str] = []
    spans: _Spans = {}
    term, waiting = "", False  # a <dt>, and whether no <dd> has shown it yet
    for child in element.children:
        if isinstance(child, NavigableString):
            if child.strip():  # text that is no <dd>: the term stands for itself
                if waiting:
                    yield term
                term, waiting = "", False
            run.append(child)
            continue
        yield from "".join(run).split("\n")
        run = []
        if not isinstance(child, Tag):
            continue
        if waiting and child.name != "dd":
            yield term
            waiting = False
        if child.name == "dt":
            term, waiting = _flat(child).rstrip(": "), True
        elif child.name == "dd":
            label = f"{term}: " if term else ""
            yield from (f"{label}{block}" for block in _blocks(child) if block.strip())
            waiting = False
        else:
            yield from _inside(child, spans)
    yield from "".join(run).split("\n")
    if waiting:
        yield term


def _inside(child: Tag, spans: _Spans) -> Iterator[str]:
    if child.name == "tr" and not _is_layout(child):
        yield _row(child, spans)
    elif child.name == "li":
        yield from (f"- {block}" for block in _blocks(child) if block.strip())
    elif child.name in _HEADINGS:
        yield f"{'#' * int(child.name[1:])} {_flat(child)}"
    else:
        yield from _blocks(child)


def _is_layout(row: Tag) -> bool:
    """Tell a row that arranges a page from one that states something."""
    return row.find(["table", *_HEADINGS]) is not None or any(
        len(_flat(cell)) > _LONGEST_CELL for cell in _cells(row)
    )


def _row(row: Tag, spans: _Spans) -> str:
    """Return a row's cells, with those of rows above that reach down to it."""
    above = spans.copy()
    spans.clear()
    texts: list[str] = []
    column = 0
    cells = iter(_cells(row))
    while True:
        if column in above:
            rows, columns, text = above[column]
        elif (cell := next(cells, None)) is not None:
            rows, columns, text = _span(cell, "rowspan"), _span(cell, "colspan"), _flat(cell)
        else:
            break
        if rows > 1 and len(text) <= _LONGEST_SPANNING and column < _MOST_SPANNING:
            spans[column] = (rows - 1, columns, text)
        texts.append(text)
        column += columns
    while texts and not texts[-1]:
        texts.pop()
    return " | ".join(texts)


def _span(cell: Tag, name: str) -> int:
    return int(str(cell.get(name, 1)))


def _cells(row: Tag) -> list[Tag]:
    return [cell for cell in row.children if isinstance(cell, Tag) and cell.name in {"th", "td"}]


def _flat(element: Tag) -> str:
    """Return all text of an element on one line, list items apart."""
    parts: list[str] = []
    for inner in element.descendants:
        if isinstance(inner, NavigableString):
            parts.append(inner)
        elif isinstance(inner, Tag):
            parts.append(_BETWEEN_ITEMS if inner.name == "li" else " ")
    return " ".join("".join(parts).split()).removeprefix(_BETWEEN_ITEMS.strip()).strip()
