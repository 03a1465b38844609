"""A page's markup, reduced to what carries text before any tree is built of it.

A tree of a hostile page costs seconds and hundreds of megabytes: 100,000 nested elements, a
million tags, attributes without end, comments that never close. This pass is linear in its
input, keeps only the tags that shape text, closes what was left open, and drops what no reader
sees. What comes out is small, shallow and well-formed.
"""

import html
import re
from dataclasses import dataclass

from chart_binder.web.hidden_text import (
    PageStyle,
    Token,
    attributes_of,
    is_hidden,
    tokens,
    unescaped,
)


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MOST_TOKENS = 150_000
_MOST_TAGS_KEPT = 12_000  # a tree of them is about 14 MB
_MOST_CHARS_KEPT = 500_000
_DEEPEST = 40
_LONGEST_TITLE = 1_000
_LONGEST_DATE = 40

_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_KEPT = _HEADINGS | _names("li dt dd table caption tr th td")
# What a start tag closes, up to the next table: authors leave these end tags out.
_CLOSES = {
    "li": _names("li"),
    "dt": _names("dt dd"),
    "dd": _names("dt dd"),
    "tr": _names("tr td th caption"),
    "td": _names("td th"),
    "th": _names("td th"),
    **dict.fromkeys(_HEADINGS, _HEADINGS),
}
# What the end of a list closes, though no list is kept: an item left open would go on.
_ENDS = {"ul": _names("li"), "ol": _names("li"), "dl": _names("dt dd")}
_INLINE = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rp rt ruby"
    " s samp small span strike strong sub sup time tt u var wbr"
)
_VOID = _names("area base br col embed hr img input link meta param source track wbr")
# Read by the browser, not by people; `nav` and `footer` are not what a page is about.
_UNREAD = _names(
    "script style template noscript svg canvas iframe object audio video nav footer select button"
    " textarea dialog noframes noembed xmp title"
)
_DATE_NAMES = _names(
    "article:published_time datepublished date dc.date dcterms.date og:published_time"
)
_SEVERAL = re.compile(r"[2-9]|[1-9][0-9]", re.ASCII)
_DATE = re.compile(r"(?:1[89]|20)\d\d(?:-\d\d(?:-\d\d)?)?(?!\d)", re.ASCII)
_SPACES = re.compile(r"\s+")
_BLANKS = re.compile(r"[^\S\n]+")


@dataclass(frozen=True, slots=True)
class Markup:
    """The reduced markup, with what the head of the page says; `cut` where a limit was met.

    A line end in `body` is where one block of text ends; there is no other white space but blanks.
    """

    body: str
    title: str
    published: str
    cut: bool


def reduced(markup: str) -> Markup:
    """Reduce a page of any size and shape."""
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

    def of(self, markup: str) -> Markup:
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
        return Markup("".join(self._out), self._title, self._published, cut)

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
                self._title = _SPACES.sub(" ", unescaped(token.text[:_LONGEST_TITLE])).strip()
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
            if not token.holds_nothing:
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
            self._title = content[:_LONGEST_TITLE]
