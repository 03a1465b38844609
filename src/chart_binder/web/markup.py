"""HTML and XML as tokens, and the reduction of a page to visible text and tags that structure it.

Attributes and inline styles show which elements are hidden. Style sheets are not read, because
their authors can hide text in ways that no parser detects (docs/security.md).
"""

import html
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeAlias


def name_set(words: str) -> frozenset[str]:
    """Return the names in a text, which are separated by spaces."""
    return frozenset(words.split())


Links: TypeAlias = tuple[tuple[str, str], ...]
"""The text and the target of each link."""

_RAW_TEXT = name_set("script style textarea title iframe noembed noframes xmp")

_DECLARATIONS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<", ">"))
_MARK = re.compile(r"<(?=[A-Za-z/!?])")
_VALUE_OR_END = re.compile(r"""=\s{0,3}(?:"[^"]*"|'[^']*')|>""")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9:_-]{0,30}")
_SELF_CLOSED = re.compile(r"""(?:^|[\s"'])/$""")
_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?""", re.ASCII)
_MOST_ATTRIBUTE_CHARS = 1_000  # characters of one tag
# int() refuses thousands of digits, and no character has more than seven.
_ENDLESS_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{8,};?")


class Token(NamedTuple):
    """`<name text>`, `</name>` (`closes`), or raw text (without a name)."""

    name: str
    text: str
    closes: bool = False

    @property
    def is_empty_element(self) -> bool:
        """Whether it is an empty element, `<name />`."""
        return _SELF_CLOSED.search(self.text) is not None


def tokens(markup: str) -> Iterator[Token]:
    """Cut markup into tokens as a browser would, in a single pass."""
    position = 0
    while (mark := _MARK.search(markup, position)) is not None:
        start = mark.start()
        if start > position:
            yield Token("", markup[position:start])
        if markup[start + 1] in "!?":
            text, position = _declaration(markup, start)
            if text:
                yield Token("", html.escape(text))
        else:
            closes = markup[start + 1] == "/"
            end = markup.find(">", start) if closes else _tag_end(markup, start)
            name = _NAME.match(markup, start + 1 + closes)
            if end < 0:
                return
            position = end + 1
            if name is None:
                continue
            word, attributes = name[0].lower(), markup[name.end() : end]
            yield (token := Token(word, attributes, closes))
            if word in _RAW_TEXT and not closes and not token.is_empty_element:
                closing = re.compile(f"</{word}", re.IGNORECASE).search(markup, position)
                inside, position = position, closing.start() if closing else len(markup)
                yield Token("", markup[inside:position])
    yield Token("", markup[position:])


def _declaration(markup: str, start: int) -> tuple[str, int]:
    """Return the text of a declaration, if it is a CDATA section, and the offset of its end."""
    opening, closing = next(pair for pair in _DECLARATIONS if markup.startswith(pair[0], start))
    inside = start + len(opening)
    end = markup.find(closing, inside)
    if end < 0:
        return "", len(markup)
    return markup[inside:end] if opening == "<![CDATA[" else "", end + len(closing)


def _tag_end(markup: str, start: int) -> int:
    """Return the offset of the `>` that ends a start tag, or -1; ignore those in quoted values.

    All tags together take linear time: a quote that has no partner is the last of its kind.
    """
    parts = _VALUE_OR_END.finditer(markup, start)
    return next((part.start() for part in parts if part[0] == ">"), -1)


def attributes_of(tag: Token) -> dict[str, str]:
    """Return the attributes of a start tag, names in lower case, values unescaped."""
    attributes: dict[str, str] = {}
    for attribute in _ATTRIBUTE.finditer(tag.text, 0, _MOST_ATTRIBUTE_CHARS):
        value = attribute[2] or attribute[3] or attribute[4] or ""
        attributes.setdefault(attribute[1].lower(), unescaped(value))
    return attributes


def unescaped(text: str) -> str:
    """Return text with its character references resolved."""
    return html.unescape(_ENDLESS_REFERENCE.sub("\ufffd", text)) if "&" in text else text


_MAY_HIDE = re.compile(r"hidden|style|class", re.IGNORECASE)
_HIDING_CLASSES = name_set(
    "d-none hidden mw-editsection navbox noprint reference screen-reader-text sr-only"
    " visually-hidden visuallyhidden"
)
# `hidden md:block` and `d-none d-md-block` hide an element on small screens only.
_SHOWN_IF_WIDE = re.compile(r":(?:block|flex|grid|inline|table)|d-\w+-(?:block|flex|inline|table)")
# Pages hide themselves completely until their script has run.
_NEVER_HIDDEN = name_set("html body main article")


def is_hidden(tag: Token) -> bool:
    """Return whether a start tag hides its element by an attribute, its style or a class."""
    if tag.name in _NEVER_HIDDEN or not _MAY_HIDE.search(tag.text):
        return False
    attributes = attributes_of(tag)
    classes = attributes.get("class", "").lower()
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or _hides(_declarations(attributes.get("style", "")))
        or (not _HIDING_CLASSES.isdisjoint(classes.split()) and not _SHOWN_IF_WIDE.search(classes))
    )


_Declarations: TypeAlias = Sequence[tuple[str, str]]
"""Names and values, in lower case."""

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_LONGEST_VALUE = 200
_ZERO = r"[+-]?(?:0+(?:\.0*)?|\.0+)(?:[a-z]+|%)?"
_UNREADABLE = rf"{_ZERO}|(?:[01]|[01]?\.\d+)p[xt]|0?\.[01]\d*r?em"
"""A size of letters that nobody can read."""
_FAR = re.compile(r"-\s*\d{3}.*")
_NO_SIZE = re.compile(rf"{_ZERO}|1px")
_CLIPPED = re.compile(r".*(?:hidden|clip).*")
_HIDING = MappingProxyType(
    {
        "display": re.compile(r"none"),
        "visibility": re.compile(r"hidden|collapse"),
        "content-visibility": re.compile(r"hidden"),
        "opacity": re.compile(rf"{_ZERO}|-.+"),
        "filter": re.compile(rf".*opacity\(\s*{_ZERO}\s*\).*"),
        "font-size": re.compile(_UNREADABLE),
        "zoom": re.compile(_ZERO),
        "font": re.compile(rf"(?:[a-z0-9-]+ )*(?:{_UNREADABLE})\s?(?:/\s?\S+)? .+"),
        "transform": re.compile(rf".*scale[xy]?\((?:[^)]*,)?\s*{_ZERO}\s*[,)].*"),
        "scale": re.compile(rf"{_ZERO}(?: .*)?"),
        "clip": re.compile(r"rect\((?:[\s,]*[01](?:px)?(?=[\s,)])){4}\s*\)"),
        "clip-path": re.compile(
            rf"inset\(\s*(?:[5-9]\d|100)(?:\.\d+)?%\s*(?:round.*)?\)|inset\([^)]*\b100%.*"
            rf"|(?:circle|ellipse)\(\s*{_ZERO}\b.*"
        ),
        **dict.fromkeys(("left", "right", "top", "text-indent", "margin-left", "margin-top"), _FAR),
    }
)
_SIZES = name_set("width height max-width max-height")
_OVERFLOWS = name_set("overflow overflow-x overflow-y")
_BACKGROUNDS = name_set("background background-color")
_TRANSPARENT = re.compile(
    rf"transparent|(?:rgb|hsl)a?\((?:[^,/)]*,){{3}}\s*{_ZERO}\s*\)"
    rf"|(?:rgb|hsl)a?\([^/)]*/\s*{_ZERO}\s*\)|#[0-9a-f]{{3}}0|#[0-9a-f]{{6}}00"
)
_TRIPLE = re.compile(
    r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})(?:[\s,/]+1(?:\.0*)?)?\s*\)"
)
_NAMED = MappingProxyType(
    {"white": "#ffffff", "black": "#000000", "red": "#ff0000", "yellow": "#ffff00"}
)
_IN_PARENTHESES = re.compile(r"\s*([(,)])\s*")
_SHORT_HEX = re.compile(r"#([0-9a-f])([0-9a-f])([0-9a-f])f?")


def _declarations(style: str) -> _Declarations:
    plain = _ESCAPE.sub(_unescape_css, _COMMENT.sub(" ", style)).lower()
    pairs = (declaration.partition(":") for declaration in plain.split(";"))
    return [
        (name.strip(), " ".join(value.partition("!")[0].split())[:_LONGEST_VALUE])
        for name, _, value in pairs
        if name
    ]


def _unescape_css(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[2]
    point = int(escape[1], 16)
    return chr(point) if 0 < point <= sys.maxunicode else "\ufffd"


def _hides(style: _Declarations) -> bool:
    return (
        any((hiding := _HIDING.get(name)) and hiding.fullmatch(value) for name, value in style)
        or (  # a box without a size that clips its content
            any(name in _SIZES and _NO_SIZE.fullmatch(value) for name, value in style)
            and any(name in _OVERFLOWS and _CLIPPED.fullmatch(value) for name, value in style)
        )
        or _is_invisible(style)
    )


def _colour(value: str) -> str:
    value = _NAMED.get(value, value)
    if triple := _TRIPLE.fullmatch(value):
        return "#" + "".join(f"{min(int(part), 255):02x}" for part in triple.groups())
    if short := _SHORT_HEX.fullmatch(value):
        return "#" + "".join(part * 2 for part in short.groups())
    return value


def _is_invisible(style: _Declarations) -> bool:
    """Return whether text is transparent or has the colour of its background in the same style.

    A background that is clipped to the text gives the text its colour.
    """
    colours = {_colour(_without_blanks(value)) for name, value in style if name == "color"}
    if not colours or any(name.endswith("background-clip") for name, _ in style):
        return False
    backgrounds = [_without_blanks(value) for name, value in style if name in _BACKGROUNDS]
    grounds = {_colour(part) for background in backgrounds for part in background.split()}
    return not colours.isdisjoint(grounds) or any(map(_TRANSPARENT.fullmatch, colours))


def _without_blanks(value: str) -> str:
    return _IN_PARENTHESES.sub(r"\1", value)


_MOST_TOKENS = 150_000
_MOST_TAGS_KEPT = 11_000  # a tree of them is about 13 MB, of cells with spans 18 MB
_MOST_CHARS_KEPT = 500_000
_MOST_LINKS = 500
_LONGEST_LINK_TEXT, _LONGEST_TARGET = 100, 300
_DEEPEST = 40
_LONGEST_RAW_TITLE = 1_000

HEADINGS = name_set("h1 h2 h3 h4 h5 h6")
_OUTPUT_TAGS = HEADINGS | name_set("li dt dd table caption tr th td")
# The elements that a start tag closes within its table, because authors omit their end tags.
_CLOSES = {
    "li": name_set("li"),
    "dt": name_set("dt dd"),
    "dd": name_set("dt dd"),
    "tr": name_set("tr td th caption"),
    "td": name_set("td th"),
    "th": name_set("td th"),
    **dict.fromkeys(HEADINGS, HEADINGS),
}
# The items that the end of a list closes; the tags of the list itself are dropped.
_ENDS = {"ul": name_set("li"), "ol": name_set("li"), "dl": name_set("dt dd")}
_INLINE = name_set(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rp rt ruby"
    " s samp small span strike strong sub sup time tt u var wbr"
)
_RUBY = name_set("rp rt ruby")
_VOID = name_set("area base br col embed hr img input link meta param source track wbr")
# Elements whose text is dropped; `nav` and `footer` do not belong to the page's subject.
_UNREAD = name_set(
    "script style template noscript svg canvas iframe object audio video nav footer select button"
    " textarea dialog noframes noembed xmp title rp"
)
_SEVERAL = re.compile(r"[2-9]|[1-9][0-9]", re.ASCII)
_DATE = re.compile(r"(?:1[89]|20)\d\d(?:-\d\d(?:-\d\d)?)?(?!\d)", re.ASCII)
_SPACES = re.compile(r"\s+")
_BLANKS = re.compile(r"[^\S\n]+")


@dataclass(frozen=True, slots=True)
class ReducedMarkup:
    """The reduced markup, and the title from the head; `cut` if a limit was reached.

    A line end in `body` ends a block of text; all other white space is single blanks. The targets
    of `links` are raw.
    """

    body: str
    title: str
    cut: bool
    links: Links = ()


def reduced(markup: str) -> ReducedMarkup:
    """Reduce a page of any size and shape to the tags that structure its text.

    To parse a hostile page as a tree would take seconds and hundreds of megabytes. This takes
    linear time, and its result is small, shallow, well-formed and without hidden text.
    """
    reduction = _Reduction()
    for count, token in enumerate(tokens(markup)):
        reduction.take(token)
        if count >= _MOST_TOKENS or reduction.is_full:
            return reduction.finished(cut=True)
    return reduction.finished(cut=False)


def _spans(cell: Token) -> str:
    if "span" not in cell.text or cell.name not in {"td", "th"}:
        return ""
    attributes = attributes_of(cell)
    spans = [(name, attributes.get(name, "").strip()) for name in ("rowspan", "colspan")]
    return "".join(f" {name}={span}" for name, span in spans if _SEVERAL.fullmatch(span))


class _Reduction:
    def __init__(self) -> None:
        self._out: list[str] = []
        self._chars = 0
        self._tags = 0
        self._open: list[str] = []
        self._unread = ""  # the name of the unread element around the token
        self._unread_depth = 0
        self._preformatted = False
        self._when = ""  # the date that the next text stands for
        self._title = ""
        self._links: list[tuple[str, str]] = []
        self._link = ("", 0)  # the target of the open link, and its index in the output

    @property
    def is_full(self) -> bool:
        return self._tags >= _MOST_TAGS_KEPT or self._chars >= _MOST_CHARS_KEPT

    def finished(self, *, cut: bool) -> ReducedMarkup:
        while self._open:
            self._close_last()
        links = tuple(self._links)
        return ReducedMarkup("".join(self._out), self._title, cut, links)

    def take(self, token: Token) -> None:
        if self._unread:
            self._pass_over(token)
        elif not token.name:
            self._text(token.text)
        elif token.closes:
            self._end(token.name)
        else:
            self._start(token)

    def _pass_over(self, token: Token) -> None:
        if self._unread == "rp" and token.name and token.name not in _INLINE - _RUBY:
            self._unread = ""  # its end tag may be omitted
            if token.name != "rp":
                self.take(token)
            return
        if token.name != self._unread:
            if not token.name and self._unread == "title" and not self._title:
                self._title = _SPACES.sub(" ", unescaped(token.text[:_LONGEST_RAW_TITLE])).strip()
            return
        self._unread_depth += -1 if token.closes else 1
        # A paragraph cannot contain a paragraph: the next one ends a hidden one.
        if not self._unread_depth or (self._unread == "p" and not token.closes):
            if self._unread not in _INLINE:
                self._boundary()
            self._unread = ""

    def _start(self, token: Token) -> None:
        name = token.name
        if name == "meta":
            self._meta(token)
        elif name in _UNREAD or (name not in _VOID and is_hidden(token)):
            if not token.is_empty_element:
                self._unread, self._unread_depth = name, 1
        elif name not in _OUTPUT_TAGS:
            if name == "time":
                when = _DATE.match(attributes_of(token).get("datetime", "").strip())
                self._when = when[0] if when else ""
            if name == "a":
                self._link = (attributes_of(token).get("href", "").strip(), len(self._out))
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
        if name == "a":
            self._end_link()
        if name not in _OUTPUT_TAGS:
            self._preformatted = self._preformatted and name != "pre"
            self._close_all(_ENDS.get(name, frozenset()))
            if name not in _INLINE:
                self._boundary()
        elif name in self._open and (name == "table" or name in self._since_table()):
            while self._open[-1] != name:
                self._close_last()
            self._close_last()

    def _end_link(self) -> None:
        (target, start), self._link = self._link, ("", 0)
        if 0 < len(target) <= _LONGEST_TARGET and len(self._links) < _MOST_LINKS:
            # Each piece of the output is a tag or a text.
            texts = (piece for piece in self._out[start:] if not piece.startswith("<"))
            text = " ".join(unescaped("".join(texts)).split())
            if 0 < len(text) <= _LONGEST_LINK_TEXT:
                self._links.append((text, target))

    def _close_all(self, names: frozenset[str]) -> None:
        while not names.isdisjoint(self._since_table()):
            self._close_last()

    def _since_table(self) -> set[str]:
        """Return the elements that are open inside the innermost table, or all open elements."""
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
        if attributes.get("property", "").lower() == "og:title" and not self._title:
            self._title = attributes.get("content", "").strip()[:_LONGEST_RAW_TITLE]
