"""What a page keeps from its readers, as far as its markup says so."""

import re

from chart_binder.web.tokens import Token, attributes_of

_MAY_HIDE = re.compile(
    r"hidden|display|opacity|font-size|indent|left|d-none|sr-only|reader|editsection|navbox"
    r"|noprint|reference",
    re.IGNORECASE,
)
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(hidden|collapse)|opacity\s*:\s*0*\.?0*\s*(;|!|$)"
    r"|font-size\s*:\s*0*\.?0*\s*(px|em|rem|pt|%)?\s*(;|!|$)"
    r"|(left|top|text-indent)\s*:\s*-\s*\d{3}",
    re.IGNORECASE,
)
_HIDING_CLASSES = frozenset(
    (
        "d-none",
        "hidden",
        "mw-editsection",
        "navbox",
        "noprint",
        "reference",
        "screen-reader-text",
        "sr-only",
        "visually-hidden",
        "visuallyhidden",
    )
)
# `hidden md:block`, `d-none d-md-block`: hidden on a telephone only.
_SHOWN_ELSEWHERE = re.compile(
    r":(?:block|flex|grid|inline|table)|d-\w+-(?:block|flex|inline|table)"
)
# Pages hide themselves whole until their script has run.
_NEVER_HIDDEN = frozenset(("html", "body", "main", "article"))


def is_hidden(tag: Token) -> bool:
    """Tell whether a start tag hides its element: by attribute, by style, by a well-known class."""
    if tag.name in _NEVER_HIDDEN or not _MAY_HIDE.search(tag.text):
        return False
    attributes = attributes_of(tag)
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or _HIDING_STYLE.search(attributes.get("style", "")) is not None
        or _hides(attributes.get("class", "").lower())
    )


def _hides(classes: str) -> bool:
    hiding = not _HIDING_CLASSES.isdisjoint(classes.split())
    return hiding and not _SHOWN_ELSEWHERE.search(classes)
