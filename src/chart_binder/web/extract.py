"""What a page says, as blocks of plain text in reading order.

A heading starts with `#`, a list item with `-`; a table's row is one block, `a | b | c`, so that
a date stays beside what it dates.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag

from chart_binder.react.inert import one_line
from chart_binder.web.markup import reduced

_MOST_BLOCKS = 20_000
_LONGEST_BLOCK = 10_000
_LONGEST_TITLE = 200
_LONGEST_CELL = 400
_BETWEEN_ITEMS = " · "
_LONGEST_JSON = 300_000
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
    return Extract("", "", _tidy(text.splitlines()))


def from_json(text: str) -> Extract:
    """Read JSON, a block a value: `release-groups[0].first-release-date: 1974-11-08`."""
    if len(text) > _LONGEST_JSON:  # as objects it would be twenty times its size
        return from_text(text)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return from_text(text)
    return Extract("", "", _tidy(_values(document)))


def _tidy(blocks: Iterator[str] | list[str]) -> tuple[str, ...]:
    """Make blocks harmless, drop empty ones and those that repeat the one before."""
    tidy: list[str] = []
    for block in blocks:
        for start in range(0, len(block), _LONGEST_BLOCK):
            text = one_line(block[start : start + _LONGEST_BLOCK])
            if text.strip("#-|•· ") and (not tidy or text != tidy[-1]):
                tidy.append(text)
        if len(tidy) >= _MOST_BLOCKS:
            break
    return tuple(tidy)


def _title(text: str) -> str:
    title = one_line(text)
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"


def _blocks(element: Tag) -> Iterator[str]:
    """Yield the blocks of an element; no deeper than `reduced` lets markup nest."""
    run: list[str] = []
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
            yield from _inside(child)
    yield from "".join(run).split("\n")
    if waiting:
        yield term


def _inside(child: Tag) -> Iterator[str]:
    if child.name == "tr" and not _is_layout(child):
        yield _row(child)
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


def _row(row: Tag) -> str:
    texts = [_flat(cell) for cell in _cells(row)]
    while texts and not texts[-1]:
        texts.pop()
    return " | ".join(texts)


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


def _values(document: object) -> Iterator[str]:
    """Yield `path: value` for every value of a JSON document, in order."""
    pending: list[tuple[str, object]] = [("", document)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            inner = [(f"{path}.{name}".lstrip("."), value[name]) for name in value]
            pending.extend(reversed(inner))
        elif isinstance(value, list):
            pending.extend((f"{path}[{at}]", item) for at, item in reversed(list(enumerate(value))))
        elif value not in (None, ""):
            yield f"{path}: {value}" if path else str(value)
