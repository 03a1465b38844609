"""What a page keeps from its readers, as far as its markup says so."""

import re

from chart_binder.web.style import declarations, hides
from chart_binder.web.stylesheet import PageStyle
from chart_binder.web.tokens import Token, attributes_of

_MAY_HIDE = re.compile(r"hidden|style|class|color|\bid\b", re.IGNORECASE)
_COLOURS = ("color", "bgcolor")  # attributes of old
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


def is_hidden(tag: Token, page: PageStyle) -> bool:
    """Tell whether a start tag hides its element: by attribute, style, class, the page's sheets."""
    if tag.name in _NEVER_HIDDEN or not _MAY_HIDE.search(tag.text):
        return False
    attributes = attributes_of(tag)
    classes = attributes.get("class", "")
    old = [(name, attributes[name].strip().lower()) for name in _COLOURS if name in attributes]
    style = attributes.get("style", "")
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or hides([*old, *declarations(style)], on_white=page.on_white)
        or _hides(classes.lower())
        or page.hides(tag.name, classes, attributes.get("id", ""))
    )


def _hides(classes: str) -> bool:
    hiding = not _HIDING_CLASSES.isdisjoint(classes.split())
    return hiding and not _SHOWN_ELSEWHERE.search(classes)
