"""Markup cut into tags and text as a browser would, in time linear in its length.

The standard library's parser is quadratic on comments, declarations and quotes that never close;
a page of two megabytes can be made of nothing else.
"""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

_NOT_MARKUP_INSIDE = frozenset(
    ("script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp")
)

_DECLARATIONS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<", ">"))
_MARK = re.compile(r"<(?=[A-Za-z/!?])")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9:_-]{0,30}")
_SELF_CLOSED = re.compile(r"""(?:^|[\s"'])/$""")
_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?""", re.ASCII)
_ATTRIBUTES_READ = 1_000  # characters of one tag
# int() refuses thousands of digits, and no character has more than seven.
_ENDLESS_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{8,};?")


class Token(NamedTuple):
    """`<name text>`, `</name>` (`closes`), or text as it is written (no name)."""

    name: str
    text: str
    closes: bool = False

    @property
    def holds_nothing(self) -> bool:
        """Whether it is an empty element of XML, `<name />`."""
        return _SELF_CLOSED.search(self.text) is not None


def tokens(markup: str) -> Iterator[Token]:
    """Cut markup into tokens as a browser would, in one pass over it."""
    ends = _TagEnds(markup)
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
            end = markup.find(">", start) if closes else ends.after(start)
            name = _NAME.match(markup, start + 1 + closes)
            if end < 0:
                return
            position = end + 1
            if name is None:
                continue
            word, rest = name[0].lower(), markup[name.end() : end]
            yield (token := Token(word, rest, closes))
            if word in _NOT_MARKUP_INSIDE and not closes and not token.holds_nothing:
                inside = position
                position = _close_of(word, markup, position)
                yield Token("", markup[inside:position])
    yield Token("", markup[position:])


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


def attributes_of(tag: Token) -> dict[str, str]:
    """Return a start tag's attributes, names in lower case, values unescaped."""
    attributes: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(tag.text, 0, _ATTRIBUTES_READ):
        value = found[2] or found[3] or found[4] or ""
        attributes.setdefault(found[1].lower(), unescaped(value))
    return attributes


def unescaped(text: str) -> str:
    """Return text with its character references resolved."""
    return html.unescape(_ENDLESS_REFERENCE.sub("\ufffd", text)) if "&" in text else text
