"""The text of web pages, in blocks: a paragraph, a heading, a list item or a table row each.

Our own reduction stands before Beautiful Soup, with Python's parser: with lxml below it a page of
2 MB takes three times as long and 108 MB, and an unclosed comment drops the rest.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag

from chart_binder.react.sanitize import one_line
from chart_binder.web.markup import (
    PageStyle,
    Token,
    attributes_of,
    is_hidden,
    name_set,
    tokens,
    unescaped,
)

_MOST_BLOCKS = 20_000
MOST_CHARS = 500_000
_LONGEST_BLOCK = 4_000
_MOST_UNFOLDED = 2 * _LONGEST_BLOCK  # a few letters unfold to eighteen others
_LONGEST_TITLE = 200
_LONGEST_CELL = 400
_BETWEEN_ITEMS = " · "
_LONGEST_LABEL = 40
_LONGEST_SPANNING = 60  # with at most so many columns, so that spans cannot blow a table up
_MOST_SPANNING = 8
_Spans: TypeAlias = dict[int, tuple[int, int, str]]
"""By column: rows that a cell reaches down still, columns it takes, what it says."""


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
    blocks = tidy(_blocks(BeautifulSoup(page.body, "html.parser")))
    title = one_line(page.title)
    title = title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"
    return Extract(title, one_line(page.published), blocks, page.cut)


def from_text(text: str) -> Extract:
    """Read plain text, a block a line."""
    return Extract("", "", tidy(text[:MOST_CHARS].splitlines()), len(text) > MOST_CHARS)


def tidy(blocks: Iterator[str] | list[str]) -> tuple[str, ...]:
    """Return blocks sanitized and bounded, without what is empty or repeats the one before.

    A label such as `Released:` is put before the block that it names.
    """
    kept: list[str] = []
    room = MOST_CHARS
    for block in blocks:
        for start in range(0, len(block), _LONGEST_BLOCK):
            if room <= 0:
                break
            unfolded = one_line(block[start : start + _LONGEST_BLOCK])
            text = unfolded[: min(room, _MOST_UNFOLDED)]
            room -= len(unfolded)
            if not text.strip("#-|•· ") or (kept and text == kept[-1]):
                continue
            if kept and _is_label(kept[-1]) and not _is_label(text) and text[0] not in "#-":
                kept[-1] = f"{kept[-1]} {text}"
            else:
                kept.append(text)
        if len(kept) >= _MOST_BLOCKS or room <= 0:
            break
    return tuple(kept)


def _is_label(block: str) -> bool:
    return block.endswith((":", "：")) and len(block) <= _LONGEST_LABEL and block[0] not in "#-"


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


_MOST_TOKENS = 150_000
_MOST_TAGS_KEPT = 12_000  # a tree of them is about 14 MB
_MOST_CHARS_KEPT = 500_000
_DEEPEST = 40
_LONGEST_RAW_TITLE = 1_000
_LONGEST_DATE = 40

_HEADINGS = name_set("h1 h2 h3 h4 h5 h6")
_KEPT = _HEADINGS | name_set("li dt dd table caption tr th td")
# What a start tag closes, up to the next table: authors leave these end tags out.
_CLOSES = {
    "li": name_set("li"),
    "dt": name_set("dt dd"),
    "dd": name_set("dt dd"),
    "tr": name_set("tr td th caption"),
    "td": name_set("td th"),
    "th": name_set("td th"),
    **dict.fromkeys(_HEADINGS, _HEADINGS),
}
# What the end of a list closes, though no list is kept: an item left open would go on.
_ENDS = {"ul": name_set("li"), "ol": name_set("li"), "dl": name_set("dt dd")}
_INLINE = name_set(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rp rt ruby"
    " s samp small span strike strong sub sup time tt u var wbr"
)
_VOID = name_set("area base br col embed hr img input link meta param source track wbr")
# Read by the browser, not by people; `nav` and `footer` are not what a page is about.
_UNREAD = name_set(
    "script style template noscript svg canvas iframe object audio video nav footer select button"
    " textarea dialog noframes noembed xmp title"
)
_DATE_NAMES = name_set(
    "article:published_time datepublished date dc.date dcterms.date og:published_time"
)
_SEVERAL = re.compile(r"[2-9]|[1-9][0-9]", re.ASCII)
_DATE = re.compile(r"(?:1[89]|20)\d\d(?:-\d\d(?:-\d\d)?)?(?!\d)", re.ASCII)
_SPACES = re.compile(r"\s+")
_BLANKS = re.compile(r"[^\S\n]+")


@dataclass(frozen=True, slots=True)
class ReducedMarkup:
    """The reduced markup, with what the head of the page says; `cut` where a limit was met.

    A line end in `body` is where one block of text ends; there is no other white space but blanks.
    """

    body: str
    title: str
    published: str
    cut: bool


def reduced(markup: str) -> ReducedMarkup:
    """Reduce a page of any size and shape to what carries text, before a tree is built of it.

    A tree of a hostile page costs seconds and hundreds of megabytes: 100,000 nested elements, a
    million tags, attributes without end, comments that never close. This pass is linear in its
    input, keeps only the tags that shape text, closes what was left open, and drops what no reader
    sees. What comes out is small, shallow and well-formed.
    """
    return _Reduction(PageStyle.of(markup)).of(markup)


def _spans(cell: Token) -> str:
    """Return how far a cell reaches, as attributes."""
    if "span" not in cell.text or cell.name not in {"td", "th"}:
        return ""
    given = attributes_of(cell)
    spans = [(name, given.get(name, "").strip()) for name in ("rowspan", "colspan")]
    return "".join(f" {name}={span}" for name, span in spans if _SEVERAL.fullmatch(span))


def _date_of(time: Token) -> str:
    """Return the date that a text such as `2 days ago` stands for."""
    found = _DATE.match(attributes_of(time).get("datetime", "").strip()) if time.text else None
    return found[0] if found else ""


class _Reduction:
    def __init__(self, style: PageStyle) -> None:
        self._style = style
        self._out: list[str] = []
        self._chars = 0
        self._tags = 0
        self._open: list[str] = []
        self._unread = ""  # the element whose content is being passed over
        self._unread_depth = 0
        self._preformatted = False
        self._when = ""  # the date that the text to come stands for
        self._title = ""
        self._published = ""

    def of(self, markup: str) -> ReducedMarkup:
        cut = False
        for count, token in enumerate(tokens(markup)):
            self._take(token)
            if (
                count >= _MOST_TOKENS
                or self._tags >= _MOST_TAGS_KEPT
                or self._chars >= _MOST_CHARS_KEPT
            ):
                cut = True
                break
        while self._open:
            self._close_last()
        return ReducedMarkup("".join(self._out), self._title, self._published, cut)

    def _take(self, token: Token) -> None:
        if self._unread:
            self._pass_over(token)
        elif not token.name:
            self._text(token.text)
        elif token.closes:
            self._end(token.name)
        else:
            self._start(token)

    def _pass_over(self, token: Token) -> None:
        if token.name != self._unread:
            if not token.name and self._unread == "title" and not self._title:
                self._title = _SPACES.sub(" ", unescaped(token.text[:_LONGEST_RAW_TITLE])).strip()
            return
        self._unread_depth += -1 if token.closes else 1
        # A paragraph cannot hold a paragraph: the next one ends a hidden one left open.
        if not self._unread_depth or (self._unread == "p" and not token.closes):
            self._unread = ""
            self._boundary()

    def _start(self, token: Token) -> None:
        name = token.name
        if name == "meta":
            self._meta(token)
        elif name in _UNREAD or (name not in _VOID and is_hidden(token, self._style)):
            if not token.is_empty_element:
                self._unread, self._unread_depth = name, 1
        elif name not in _KEPT:
            if name == "time":
                self._when = _date_of(token)
            self._preformatted = self._preformatted or name == "pre"
            if name not in _INLINE:
                self._boundary()
        elif len(self._open) < _DEEPEST:
            self._close_all(_CLOSES.get(name, frozenset()))
            self._emit(f"<{name}{_spans(token)}>")
            self._tags += 1
            self._open.append(name)
        else:
            self._boundary()

    def _end(self, name: str) -> None:
        if name not in _KEPT:
            self._preformatted = self._preformatted and name != "pre"
            self._close_all(_ENDS.get(name, frozenset()))
            if name not in _INLINE:
                self._boundary()
        elif name in self._open and (name == "table" or name in self._since_table()):
            while self._open[-1] != name:
                self._close_last()
            self._close_last()

    def _close_all(self, names: frozenset[str]) -> None:
        while not names.isdisjoint(self._since_table()):
            self._close_last()

    def _since_table(self) -> set[str]:
        """Return what is open inside the innermost table, or all that is."""
        names: set[str] = set()
        for name in reversed(self._open):
            if name == "table":
                break
            names.add(name)
        return names

    def _close_last(self) -> None:
        self._emit(f"</{self._open.pop()}>")

    def _boundary(self) -> None:
        if self._out and self._out[-1] != "\n":
            self._emit("\n")

    def _text(self, text: str) -> None:
        room = _MOST_CHARS_KEPT - self._chars
        spaces = _BLANKS if self._preformatted else _SPACES
        line = spaces.sub(" ", unescaped(text[:room]))
        if self._when:
            line = line if self._when[:4] in line else f"{self._when} ({line.strip()})"
            self._when = ""
        if line:
            self._emit(html.escape(line, quote=False)[:room])

    def _emit(self, piece: str) -> None:
        self._out.append(piece)
        self._chars += len(piece)

    def _meta(self, tag: Token) -> None:
        attributes = attributes_of(tag)
        names = (attributes.get(each) for each in ("property", "name", "itemprop"))
        name = next(filter(None, names), "").lower()
        content = attributes.get("content", "").strip()
        if name in _DATE_NAMES and content and not self._published:
            self._published = content[:_LONGEST_DATE]
        elif name == "og:title" and content and not self._title:
            self._title = content[:_LONGEST_RAW_TITLE]
