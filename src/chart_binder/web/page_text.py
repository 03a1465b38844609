"""The text of a page as blocks: paragraphs, headings, list items, table rows or records.

Our own reduction runs before Beautiful Soup with Python's parser. With lxml instead, a page of 2 MB
takes three times as long and 108 MB, and an unclosed comment loses the rest of the page.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag

from chart_binder.react.sanitize import one_line
from chart_binder.web.markup import HEADINGS, Links, reduced, unescaped

_MOST_BLOCKS = 20_000
MOST_CHARS = 500_000
_LONGEST_BLOCK = 4_000
_MOST_NORMALIZED = 2 * _LONGEST_BLOCK  # normalization turns some letters into eighteen
_LONGEST_TITLE = 200
_LONGEST_CELL = 400
_BETWEEN_ITEMS = " · "
_LONGEST_LABEL = 40
_LONGEST_SPANNING = 60  # characters; both limits bound the size of a table with spans
_MOST_SPANNING = 8  # columns
_Spans: TypeAlias = dict[int, tuple[int, int, str]]
"""By column: the rows that a cell still spans, the columns that it spans, and its text."""


@dataclass(frozen=True, slots=True)
class Extract:
    """A page's title, its blocks and raw links."""

    title: str
    blocks: tuple[str, ...]
    cut: bool = False
    links: Links = ()


def from_html(markup: str) -> Extract:
    """Read a page of HTML, XHTML or other tagged text, however broken."""
    page = reduced(markup)
    blocks = tidy(_blocks(BeautifulSoup(page.body, "html.parser")))
    return Extract(one_line(page.title, _LONGEST_TITLE), blocks, page.cut, page.links)


def from_text(text: str) -> Extract:
    """Read plain text, each line as a block."""
    return Extract("", tidy(text[:MOST_CHARS].splitlines()), len(text) > MOST_CHARS)


def tidy(blocks: Iterator[str] | list[str]) -> tuple[str, ...]:
    """Return blocks sanitized and bounded, without empty ones and immediate repetitions.

    A label such as `Released:` is joined to the next block.
    """
    tidied: list[str] = []
    room = MOST_CHARS
    for block in blocks:
        for start in range(0, len(block), _LONGEST_BLOCK):
            if room <= 0:
                break
            normalized = one_line(block[start : start + _LONGEST_BLOCK])
            text = normalized[: min(room, _MOST_NORMALIZED)]
            room -= len(normalized)
            if not text.strip("#-|•· ") or (tidied and text == tidied[-1]):
                continue
            if tidied and _is_label(tidied[-1]) and not _is_label(text) and text[0] not in "#-":
                tidied[-1] = f"{tidied[-1]} {text}"
            else:
                tidied.append(text)
        if len(tidied) >= _MOST_BLOCKS or room <= 0:
            break
    return tuple(tidied)


def _is_label(block: str) -> bool:
    return block.endswith((":", "：")) and len(block) <= _LONGEST_LABEL and block[0] not in "#-"


def _blocks(element: Tag) -> Iterator[str]:
    """Yield the blocks of an element. `reduced` limits how deep the recursion goes."""
    run: list[str] = []
    spans: _Spans = {}
    term, is_pending = "", False  # the last <dt>, and whether no block has named it yet
    for child in element.children:
        if isinstance(child, NavigableString):
            if child.strip():  # no <dd> follows: the term is a block of its own
                if is_pending:
                    yield term
                term, is_pending = "", False
            run.append(child)
            continue
        yield from "".join(run).split("\n")
        run = []
        if not isinstance(child, Tag):
            continue
        if is_pending and child.name != "dd":
            yield term
            is_pending = False
        if child.name == "dt":
            term, is_pending = _text_of(child).rstrip(": "), True
        elif child.name == "dd":
            label = f"{term}: " if term else ""
            yield from (f"{label}{block}" for block in _blocks(child) if block.strip())
            is_pending = False
        else:
            yield from _element_blocks(child, spans)
    yield from "".join(run).split("\n")
    if is_pending:
        yield term


def _element_blocks(child: Tag, spans: _Spans) -> Iterator[str]:
    if child.name == "tr" and not _is_layout(child):
        yield _row(child, spans)
    elif child.name == "li":
        yield from (f"- {block}" for block in _blocks(child) if block.strip())
    elif child.name in HEADINGS:
        yield f"{'#' * int(child.name[1:])} {_text_of(child)}"
    else:
        yield from _blocks(child)


def _is_layout(row: Tag) -> bool:
    """Return whether a row only arranges the page: it has a table, a heading or a long cell."""
    return row.find(["table", *HEADINGS]) is not None or any(
        len(_text_of(cell)) > _LONGEST_CELL for cell in _cells(row)
    )


def _row(row: Tag, spans: _Spans) -> str:
    """Return the cells of a row and those that reach into it from above; update `spans`."""
    above = spans.copy()
    spans.clear()
    texts: list[str] = []
    column = 0
    cells = iter(_cells(row))
    while True:
        if column in above:
            rows, columns, text = above[column]
        elif (cell := next(cells, None)) is not None:
            rows, columns = (int(str(cell.get(name, 1))) for name in ("rowspan", "colspan"))
            text = _text_of(cell)
        else:
            break
        if rows > 1 and len(text) <= _LONGEST_SPANNING and column < _MOST_SPANNING:
            spans[column] = (rows - 1, columns, text)
        texts.append(text)
        column += columns
    while texts and not texts[-1]:
        texts.pop()
    return " | ".join(texts)


def _cells(row: Tag) -> list[Tag]:
    return [cell for cell in row.children if isinstance(cell, Tag) and cell.name in {"th", "td"}]


def _text_of(element: Tag) -> str:
    parts: list[str] = []
    for inner in element.descendants:
        if isinstance(inner, NavigableString):
            parts.append(inner)
        elif isinstance(inner, Tag):
            parts.append(_BETWEEN_ITEMS if inner.name == "li" else " ")
    return " ".join("".join(parts).split()).removeprefix(_BETWEEN_ITEMS.strip()).strip()


_LONGEST_JSON = 300_000
_DEEPEST = 40
_IS_PAGE = re.compile(r"<html[\s>]", re.IGNORECASE)
_ROOT_WITHIN = 2_000  # characters that are searched for `<html>`
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
_OF_XML = (
    (re.compile(r"<(/?)title\b"), r"<\1b"),
    (re.compile(r"<(?:item|entry)\b"), "<tr><td"),
    (re.compile(r"</(?:item|entry)\b"), "</td></tr"),
)
"""Elements of XML, and what they are in HTML: an entry of a feed is a row."""


def from_csv(text: str) -> Extract:
    """Read a table of comma-separated values, each row as a block."""
    try:
        rows = [" | ".join(cells) for cells in csv.reader(text[:MOST_CHARS].splitlines())]
    except csv.Error:
        return from_text(text)
    return Extract("", tidy(rows), len(text) > MOST_CHARS)


def from_json(text: str) -> Extract:
    """Read JSON, each record as a block: `releases[0]: title: Killer Queen | date: 1974-10-11`."""
    if len(text) > _LONGEST_JSON:  # parsed, it would take twenty times its size
        return from_text(text)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return from_text(text)
    return Extract("", tidy(_lines_of(document)))


def from_xml(text: str) -> Extract:
    """Read XML, such as a feed, like HTML; its texts may be HTML."""
    if not _IS_PAGE.search(text, 0, _ROOT_WITHIN):
        text = unescaped(_CDATA.sub("", text))
        for pattern, replacement in _OF_XML:
            text = pattern.sub(replacement, text)
    return from_html(text)


def _lines_of(value: object, path: str = "", depth: int = 0) -> Iterator[str]:
    """Yield a line for each leaf of a document, and one for each record (an object in a list)."""
    if isinstance(value, Mapping) and path.endswith("]"):
        if record := " | ".join(_lines_of(value, "", depth + 1)):
            yield f"{path}: {record}"
    elif isinstance(value, list):
        for at, item in enumerate(value if depth < _DEEPEST else ()):
            yield from _lines_of(item, f"{path}[{at}]", depth + 1)
    elif isinstance(value, Mapping):
        for name, member in value.items() if depth < _DEEPEST else ():
            yield from _lines_of(member, f"{path}.{name}".lstrip("."), depth + 1)
    elif value not in (None, ""):
        yield f"{path}: {value}" if path else str(value)
