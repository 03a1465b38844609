"""A page's markup, reduced to what carries text before any tree is built of it.

A tree of a hostile page costs seconds and hundreds of megabytes: 100,000 nested elements, a
million tags, attributes without end, comments that never close. This pass is linear in its
input, keeps only the tags that shape text, closes what was left open, and drops what no reader
sees. What comes out is small, shallow and well-formed.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MOST_TOKENS = 200_000
_MOST_TAGS_KEPT = 15_000
_MOST_CHARS_KEPT = 500_000
_DEEPEST = 40
_ATTRIBUTES_READ = 1_000  # characters of one tag

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
_NOT_MARKUP_INSIDE = _names("script style textarea title iframe noembed noframes xmp")

_DECLARATIONS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<", ">"))
_MARK = re.compile(r"<(?=[A-Za-z/!?])")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9:_-]{0,30}")
_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?""", re.ASCII)
_MAY_HIDE = re.compile(
    r"hidden|display|opacity|font-size|indent|left|d-none|sr-only|reader|editsection|navbox"
    r"|noprint",
    re.IGNORECASE,
)
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(hidden|collapse)|opacity\s*:\s*0*\.?0*\s*(;|!|$)"
    r"|font-size\s*:\s*0*\.?0*\s*(px|em|rem|pt|%)?\s*(;|!|$)"
    r"|(left|top|text-indent)\s*:\s*-\s*\d{3}",
    re.IGNORECASE,
)
_HIDING_CLASSES = _names(
    "hidden d-none sr-only visually-hidden visuallyhidden screen-reader-text mw-editsection navbox"
    " noprint"
)
# `hidden md:block`, `d-none d-md-block`: hidden on a telephone only.
_SHOWN_ELSEWHERE = re.compile(
    r":(?:block|flex|grid|inline|table)|d-\w+-(?:block|flex|inline|table)"
)
# Pages hide themselves whole until their script has run.
_NEVER_HIDDEN = _names("html body main article")
_SELF_CLOSED = re.compile(r"""(?:^|[\s"'])/$""")
_DATE_NAMES = _names(
    "article:published_time datepublished date dc.date dcterms.date og:published_time"
)
# int() refuses thousands of digits, and no character has more than seven.
_ENDLESS_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{8,};?")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Markup:
    """The reduced markup, with what the head of the page says; `cut` where a limit was met.

    A line end in `body` is where one block of text ends; there is no other white space but blanks.
    """

    body: str
    title: str
    published: str
    cut: bool


class _Token(NamedTuple):
    """`<name text>`, `</name>` (`closes`), or text (no name)."""

    name: str
    text: str
    closes: bool = False


def reduced(markup: str) -> Markup:
    """Reduce a page of any size and shape."""
    return _Reduction().of(markup)


class _Reduction:
    def __init__(self) -> None:
        self._out: list[str] = []
        self._chars = 0
        self._tags = 0
        self._open: list[str] = []
        self._unread = ""  # the element whose content is being passed over
        self._unread_depth = 0
        self._title = ""
        self._published = ""

    def of(self, markup: str) -> Markup:
        cut = False
        for count, token in enumerate(_tokens(markup)):
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

    def _take(self, token: _Token) -> None:
        if self._unread:
            self._pass_over(token)
        elif not token.name:
            self._text(token.text)
        elif token.closes:
            self._end(token.name)
        else:
            self._start(token)

    def _pass_over(self, token: _Token) -> None:
        if token.name != self._unread:
            if not token.name and self._unread == "title" and not self._title:
                self._title = _SPACES.sub(" ", _unescaped(token.text[:2_000])).strip()
            return
        self._unread_depth += -1 if token.closes else 1
        # A paragraph cannot hold a paragraph: the next one ends a hidden one left open.
        if not self._unread_depth or (self._unread == "p" and not token.closes):
            self._unread = ""
            self._boundary()

    def _start(self, token: _Token) -> None:
        name = token.name
        if name == "meta":
            self._meta(token.text)
        elif name in _UNREAD or _is_hidden(name, token.text):
            if not _SELF_CLOSED.search(token.text):
                self._unread, self._unread_depth = name, 1
        elif name not in _KEPT:
            if name not in _INLINE:
                self._boundary()
        elif len(self._open) < _DEEPEST:
            self._close_all(_CLOSES.get(name, frozenset()))
            self._emit(f"<{name}>")
            self._tags += 1
            self._open.append(name)
        else:
            self._boundary()

    def _end(self, name: str) -> None:
        if name not in _KEPT:
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
        line = _SPACES.sub(" ", _unescaped(text[:room]))
        if line:
            self._emit(html.escape(line, quote=False)[:room])

    def _emit(self, piece: str) -> None:
        self._out.append(piece)
        self._chars += len(piece)

    def _meta(self, text: str) -> None:
        attributes = _attributes(text)
        name = (attributes.get("property") or attributes.get("name", "")).lower()
        content = attributes.get("content", "").strip()
        if name in _DATE_NAMES and content and not self._published:
            self._published = content[:40]
        elif name == "og:title" and content and not self._title:
            self._title = content[:2_000]


def _tokens(markup: str) -> Iterator[_Token]:
    """Cut markup into tokens as a browser would, in one pass over it."""
    ends = _TagEnds(markup)
    position = 0
    while (mark := _MARK.search(markup, position)) is not None:
        start = mark.start()
        if start > position:
            yield _Token("", markup[position:start])
        if markup[start + 1] in "!?":
            text, position = _declaration(markup, start)
            if text:
                yield _Token("", html.escape(text))
        else:
            closes = markup[start + 1] == "/"
            end = markup.find(">", start) if closes else ends.after(start)
            name = _NAME.match(markup, start + 1 + closes)
            if end < 0:
                return
            position = end + 1
            if name is None:
                continue
            word, rest = name[0].lower(), markup[name.end() : end]
            yield _Token(word, rest, closes)
            if word in _NOT_MARKUP_INSIDE and not closes and not _SELF_CLOSED.search(rest):
                inside = position
                position = _close_of(word, markup, position)
                yield _Token("", markup[inside:position])
    yield _Token("", markup[position:])


def _declaration(markup: str, start: int) -> tuple[str, int]:
    """Return the text of a CDATA section, or none, with where the declaration ends."""
    opening, closing = next(pair for pair in _DECLARATIONS if markup.startswith(pair[0], start))
    inside = start + len(opening)
    end = markup.find(closing, inside)
    if end < 0:
        return "", len(markup)
    return markup[inside:end] if opening == "<![CDATA[" else "", end + len(closing)


def _close_of(name: str, markup: str, position: int) -> int:
    found = re.compile(f"</{name}", re.IGNORECASE).search(markup, position)
    return len(markup) if found is None else found.start()


class _TagEnds:
    """Where start tags end, `>` inside quoted values not counted, in linear time over all tags."""

    def __init__(self, markup: str) -> None:
        self._markup = markup
        self._found = {">": -1, '"': -1, "'": -1}

    def after(self, start: int) -> int:
        """Return the place of the `>` that ends the tag, or -1."""
        position = start + 1
        while True:
            end = self._next(">", position)
            quote = min(self._next('"', position), self._next("'", position))
            if end == len(self._markup):
                return -1
            if quote > end:
                return end
            position = quote + 1
            if self._markup[max(quote - 4, start) : quote].rstrip().endswith("="):
                closing = self._next(self._markup[quote], position)
                if closing == len(self._markup):
                    return end
                position = closing + 1

    def _next(self, character: str, position: int) -> int:
        """Find from `position`, which only ever grows, so that nothing is searched twice."""
        if self._found[character] < position:
            found = self._markup.find(character, position)
            self._found[character] = len(self._markup) if found < 0 else found
        return self._found[character]


def _is_hidden(name: str, text: str) -> bool:
    if name in _VOID or name in _NEVER_HIDDEN:
        return False
    if not _MAY_HIDE.search(text, 0, _ATTRIBUTES_READ):
        return False
    attributes = _attributes(text)
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or _HIDING_STYLE.search(attributes.get("style", "")) is not None
        or _hides(attributes.get("class", "").lower())
    )


def _hides(classes: str) -> bool:
    hiding = not _HIDING_CLASSES.isdisjoint(classes.split())
    return hiding and not _SHOWN_ELSEWHERE.search(classes)


def _attributes(text: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(text, 0, _ATTRIBUTES_READ):
        value = found[2] or found[3] or found[4] or ""
        attributes.setdefault(found[1].lower(), _unescaped(value))
    return attributes


def _unescaped(text: str) -> str:
    return html.unescape(_ENDLESS_REFERENCE.sub("\ufffd", text)) if "&" in text else text
