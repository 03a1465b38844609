"""Which styles keep a text from a page's readers.

A value is read as a browser reads it, comments and escapes resolved; where one declaration of
several hides, the text counts as hidden.
"""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import TypeAlias

Declarations: TypeAlias = Sequence[tuple[str, str]]
"""Names and values, in lower case."""

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_LONGEST_VALUE = 200
_LAST_CODE_POINT = 0x10FFFF
_ZERO = r"[+-]?(?:0+(?:\.0*)?|\.0+)(?:[a-z]+|%)?"
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
        "font-size": re.compile(_ZERO),
        "font": re.compile(rf"(?:[a-z0-9-]+ )*{_ZERO}\s?(?:/\s?\S+)? .+"),
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
_SIZES = frozenset(("width", "height", "max-width", "max-height"))
_OVERFLOWS = frozenset(("overflow", "overflow-x", "overflow-y"))
_BACKGROUNDS = frozenset(("background", "background-color", "bgcolor"))
_UNSEEN_COLOUR = re.compile(
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
WHITE = "#ffffff"


def declarations(css: str) -> Declarations:
    """Return what a style declares, in its order."""
    pairs = (each.partition(":") for each in plain(css).lower().split(";"))
    return [
        (name.strip(), " ".join(value.partition("!")[0].split())[:_LONGEST_VALUE])
        for name, _, value in pairs
        if name
    ]


def plain(css: str) -> str:
    """Return CSS without comments and escapes."""
    return _ESCAPE.sub(_meant, without_comments(css))


def without_comments(css: str) -> str:
    """Return CSS without its comments."""
    return _COMMENT.sub(" ", css)


def hides(style: Declarations, *, on_white: bool) -> bool:
    """Tell whether a style hides its element; `on_white` where the page has no other ground."""
    return (
        any((shape := _HIDING.get(name)) and shape.fullmatch(value) for name, value in style)
        or _is_shut(style)
        or _is_unseen(style, on_white=on_white)
    )


def colour(written: str) -> str:
    """Return a colour as `#rrggbb` where it is written in a well-known way."""
    written = _NAMED.get(written, written)
    if triple := _TRIPLE.fullmatch(written):
        return "#" + "".join(f"{min(int(part), 255):02x}" for part in triple.groups())
    if short := _SHORT_HEX.fullmatch(written):
        return "#" + "".join(part * 2 for part in short.groups())
    return written


def _is_shut(style: Declarations) -> bool:
    """Tell a box without room for what does not leave it."""
    return any(name in _SIZES and _NO_SIZE.fullmatch(value) for name, value in style) and any(
        name in _OVERFLOWS and _CLIPPED.fullmatch(value) for name, value in style
    )


def _is_unseen(style: Declarations, *, on_white: bool) -> bool:
    """Tell a text of its ground's colour, or of none, but not one that shows its ground."""
    inks = {colour(_joined(value)) for name, value in style if name == "color"}
    if not inks or any(name.endswith("background-clip") for name, _ in style):
        return False
    grounds = [_joined(value) for name, value in style if name in _BACKGROUNDS]
    shown = {colour(part) for ground in grounds for part in ground.split()}
    if not grounds and on_white:
        shown = {WHITE}
    return not inks.isdisjoint(shown) or any(map(_UNSEEN_COLOUR.fullmatch, inks))


def _joined(value: str) -> str:
    return _IN_PARENTHESES.sub(r"\1", value)


def _meant(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[2]
    point = int(escape[1], 16)
    return chr(point) if 0 < point <= _LAST_CODE_POINT else "\ufffd"
