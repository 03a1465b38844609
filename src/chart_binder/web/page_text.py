"""The text of a page as blocks: paragraphs, headings, list items, table rows or records.

Our own reduction runs before Beautiful Soup with Python's parser. With lxml instead, a page of 2 MB
takes three times as long and 108 MB, and an unclosed comment loses the rest of the page.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag

from chart_binder.react.sanitize import one_line
from chart_binder.web.markup import HEADINGS, Links, attributes_of, reduced, tokens, unescaped

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
    """A page's title, its date of publication ("" if it states none), its blocks and raw links."""

    title: str
    published: str
    blocks: tuple[str, ...]
    cut: bool = False
    links: Links = ()


def from_html(markup: str) -> Extract:
    """Read a page of HTML, XHTML or other tagged text, however broken."""
    page = reduced(markup)
    blocks = tidy(_blocks(BeautifulSoup(page.body, "html.parser")))
    title, published = one_line(page.title, _LONGEST_TITLE), one_line(page.published)
    return Extract(title, published, blocks, page.cut, page.links)


def from_text(text: str) -> Extract:
    """Read plain text, each line as a block."""
    return Extract("", "", tidy(text[:MOST_CHARS].splitlines()), len(text) > MOST_CHARS)


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
_IS_PAGE = re.compile(r"<html[\s>]", re.IGNORECASE)
_ROOT_WITHIN = 2_000  # characters that are searched for `<html>`
_LONGEST_LINE = 240
_LONGEST_NAME = 60
_NAMES = ("title", "name")
_Members: TypeAlias = Mapping[str, Any]


def from_csv(text: str) -> Extract:
    """Read a table of comma-separated values, each row as a block."""
    try:
        rows = [" | ".join(cells) for cells in csv.reader(text[:MOST_CHARS].splitlines())]
    except csv.Error:
        return from_text(text)
    return Extract("", "", tidy(rows), len(text) > MOST_CHARS)


def from_json(text: str) -> Extract:
    """Read JSON, each record as a block: `releases[0]: title: Killer Queen | date: 1974-10-11`."""
    if len(text) > _LONGEST_JSON:  # parsed, it would take twenty times its size
        return from_text(text)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return from_text(text)
    return Extract("", "", tidy(_lines_of(document)))


def from_xml(text: str) -> Extract:
    """Read XML like JSON, and XHTML like HTML."""
    if _IS_PAGE.search(text, 0, _ROOT_WITHIN):
        return from_html(text)
    members, cut = _read_xml(text)
    return Extract("", "", tidy(_lines_of(members)), cut)


def _lines_of(document: object) -> Iterator[str]:
    """Yield a document as lines, in its order; each object in a list is a record."""
    for path, value in _leaves(document, with_records=True):
        if isinstance(value, Mapping):
            yield from _record_lines(path, value)
        else:
            yield f"{path}: {value}" if path else str(value)


def _leaves(
    value: object, path: str = "", depth: int = 0, *, with_records: bool = False
) -> Iterator[tuple[str, object]]:
    """Yield the path and value of each leaf; `with_records` an object in a list is a leaf, too."""
    if with_records and isinstance(value, Mapping) and path.endswith("]"):
        yield path, value
    elif isinstance(value, Mapping | list):
        for inner, member in _members(path, value) if depth < _DEEPEST else ():
            yield from _leaves(member, inner, depth + 1, with_records=with_records)
    elif value not in (None, ""):
        yield path, value


def _members(path: str, value: _Members | list[object]) -> Iterator[tuple[str, object]]:
    if isinstance(value, list):
        return ((f"{path}[{at}]", item) for at, item in enumerate(value))
    return ((f"{path}.{name}".lstrip("."), member) for name, member in value.items())


def _record_lines(path: str, record: Mapping[str, object]) -> Iterator[str]:
    """Yield the values of a record on as few lines as fit; later lines repeat its name."""
    names = (record.get(name) for name in _NAMES)
    name = next((name[:_LONGEST_NAME] for name in names if isinstance(name, str) and name), "")
    line = ""
    for inner, value in _leaves(record):
        longer = f"{line} | {inner}: {value}" if line else f"{path}: {inner}: {value}"
        if line and len(longer) > _LONGEST_LINE:
            yield line
            longer = f"{path} ({name}): {inner}: {value}" if name else f"{path}: {inner}: {value}"
        line = longer
    if line:
        yield line


_MOST_XML_TOKENS = 60_000
_MOST_XML_CHARS = 300_000
_DEEPEST = 40
_TEXT_MEMBER = "text"
_XML_PREFIXES = ("xmlns", "xml:", "xsi:")


def _read_xml(markup: str) -> tuple[_Members, bool]:
    """Return XML as objects, lists and strings, and whether a limit cut it.

    `<release id="x"><title>Y</title></release>` is `{"release": {"id": "x", "title": "Y"}}`;
    siblings of the same name are a list. Elements without an end tag end with the text.
    """
    opened = [_Element("", {})]
    chars = 0
    cut = False
    for count, token in enumerate(tokens(markup)):
        if cut := count >= _MOST_XML_TOKENS or chars >= _MOST_XML_CHARS:
            break
        if not token.name:
            opened[-1].texts.append(unescaped(token.text).strip())
            chars += len(opened[-1].texts[-1])
        elif token.closes:
            _close(opened, token.name)
        elif len(opened) < _DEEPEST:
            members = {
                name: value
                for name, value in attributes_of(token).items()
                if value and not name.startswith(_XML_PREFIXES)
            }
            chars += sum(map(len, (*members, *members.values())))
            opened.append(_Element(token.name, members))
            if token.is_empty_element:
                _close(opened, token.name)
    while len(opened) > 1:
        _close(opened, opened[-1].name)
    value = opened[0].value
    return value if isinstance(value, dict) else {_TEXT_MEMBER: value}, cut


def _close(opened: list["_Element"], name: str) -> None:
    while name in (element.name for element in opened[1:]):
        closed = opened.pop()
        opened[-1].add(closed.name, closed.value)
        if closed.name == name:
            return


@dataclass(slots=True)
class _Element:
    name: str
    members: dict[str, Any]
    texts: list[str] = field(default_factory=list)

    def add(self, name: str, value: object) -> None:
        old_value = self.members.get(name)
        if value and isinstance(old_value, list):
            old_value.append(value)
        elif value:
            self.members[name] = value if old_value is None else [old_value, value]

    @property
    def value(self) -> _Members | str:
        text = _without_markup(" ".join(filter(None, self.texts)))
        if not self.members:
            return text
        self.add(_TEXT_MEMBER, text)
        return self.members


def _without_markup(text: str) -> str:
    """Return the text of a member, which may itself be HTML, without tags."""
    if "<" not in text:
        return text
    body = reduced(text).body
    return " ".join("".join(unescaped(token.text) or " " for token in tokens(body)).split())
