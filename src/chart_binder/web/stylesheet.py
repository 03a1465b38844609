"""What a page's own style sheets hide, as far as simple selectors say so.

Of `.x`, `#x` and `p.x` only `display` and `visibility` are heeded: what else a sheet does to
them is most often the beginning of a motion. What any other rule shows again is left alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from chart_binder.web.style import WHITE, colour, declarations, plain, without_comments
from chart_binder.web.tokens import attributes_of, tokens

_MOST_CHARS = 200_000
_MOST_TOKENS = 150_000
_MOST_RULES = 5_000
_HAS_STYLE = re.compile(r"<style", re.IGNORECASE)
_BRACE = re.compile(r"[{}]")
_SIMPLE = re.compile(r"([A-Za-z][\w-]*)?([.#][\w-]+)")
_NAMES = re.compile(r"[.#][\w-]+")
_FOR_SCREENS = re.compile(r"(?:only\s+)?(?:all|screen)?", re.IGNORECASE)
_AT_ALL_TIMES = re.compile(
    r"@media\s+(?:only\s+)?(?:all|screen)\s*|@layer\b.*|@supports\b.*", re.IGNORECASE | re.DOTALL
)
_SHEET_ELSEWHERE = re.compile(r"\bstylesheet\b|@import\b", re.IGNORECASE)
_GROUND = re.compile(
    r"\b(?:background[\w-]{0,20}|bgcolor)\s{0,4}[:=]\s{0,4}[\"']?\s{0,4}([^;\"'}>]{0,40})",
    re.IGNORECASE,
)
_NO_GROUND = frozenset((WHITE, "none", "transparent", "inherit", "initial"))
_Selector: TypeAlias = tuple[str, str]
"""An element's name, or "" for any, with `.class` or `#id`."""


@dataclass(frozen=True, slots=True)
class PageStyle:
    """The selectors that hide, and whether all of the page is white, by what it says itself."""

    hiding: frozenset[_Selector] = frozenset()
    on_white: bool = False

    @classmethod
    def of(cls, markup: str) -> "PageStyle":
        """Read the styles of a page, in time linear in its length."""
        hiding = _hiding(_sheets(markup)) if _HAS_STYLE.search(markup) else frozenset()
        return cls(hiding, _is_white(markup))

    def hides(self, name: str, classes: str, identity: str) -> bool:
        """Tell whether an element is hidden by a simple selector."""
        if not self.hiding:
            return False
        marks = [f".{each}" for each in classes.split()]
        marks += [f"#{identity.strip()}"] if identity else []
        return any(("", mark) in self.hiding or (name, mark) in self.hiding for mark in marks)


def _is_white(markup: str) -> bool:
    return _SHEET_ELSEWHERE.search(markup) is None and all(
        colour(ground[1].strip().lower()) in _NO_GROUND for ground in _GROUND.finditer(markup)
    )


def _sheets(markup: str) -> str:
    """Return the sheets for screens; those for browsers without scripts hide other things."""
    sheets: list[str] = []
    without_scripts = is_sheet = False
    for token in islice(tokens(markup), _MOST_TOKENS):
        if token.name == "noscript":
            without_scripts = not token.closes
        elif token.name:
            is_sheet = token.name == "style" and not token.closes and not without_scripts
            media = attributes_of(token).get("media", "") if is_sheet else ""
            is_sheet = is_sheet and _FOR_SCREENS.fullmatch(media.strip()) is not None
        elif is_sheet:
            sheets.append(token.text)
    return "\n".join(sheets)[:_MOST_CHARS]


def _hiding(css: str) -> frozenset[_Selector]:
    hiding: set[_Selector] = set()
    shown: set[str] = set()
    for selectors, body, is_conditional in islice(_rules(without_comments(css)), _MOST_RULES):
        does_hide = _does_hide(body)
        if does_hide is None:
            continue
        for selector in plain(selectors).split(","):
            simple = _SIMPLE.fullmatch(selector.strip())
            key = ((simple[1] or "").lower(), simple[2]) if simple else ("", "")
            if simple and does_hide and not is_conditional:
                hiding.add(key)
            elif simple and not is_conditional and key in hiding:
                hiding.discard(key)  # of two rules for one thing the later one holds
            elif not does_hide and (simple is None or simple[1] or is_conditional):
                shown.update(_NAMES.findall(selector))
    return frozenset(key for key in hiding if key[1] not in shown)


def _does_hide(body: str) -> bool | None:
    """Tell whether a rule hides or shows; None where it does neither."""
    told: bool | None = None
    for name, value in declarations(body):
        if name == "display":
            told = value == "none"
        elif name == "visibility" and not told:
            told = value in {"hidden", "collapse"}
    return told


def _rules(css: str) -> Iterator[tuple[str, str, bool]]:
    """Yield selectors, body, and whether the rule holds at some times only."""
    opened: list[tuple[str, int]] = []
    conditions = 0
    position = 0
    for brace in _BRACE.finditer(css):
        if brace[0] == "{":
            head = css[position : brace.start()].rpartition(";")[2].strip()
            opened.append((head, brace.end()))
            conditions += _is_condition(head)
        elif opened:
            head, start = opened.pop()
            conditions -= _is_condition(head)
            if not head.startswith("@"):
                yield head, css[max(start, position) : brace.start()], conditions > 0
        position = brace.end()


def _is_condition(head: str) -> bool:
    return head.startswith("@") and _AT_ALL_TIMES.fullmatch(head) is None
