"""What a model is shown of a page."""

from typing import TYPE_CHECKING

from chart_binder.react.tools import Observation
from chart_binder.web.passages import excerpt

if TYPE_CHECKING:
    from chart_binder.web.fetch import Page

_QUOTED = "> "
_LONGEST_URL = 300  # of max_chars, which is 200 at the least: the text comes before the address
_LAST_LINE = 110


def shown(page: "Page", max_chars: int, wanted: str = "") -> Observation:
    """Show a page as quoted text under its title and address, and say what was left out."""
    head = [f"Title: {page.title}", f"Address: {page.url[:_LONGEST_URL]}"]
    if page.extract.published:
        head.append(f"Published: {page.extract.published}")
    room = max_chars - sum(len(line) + 1 for line in head) - _LAST_LINE
    chosen = excerpt(page.extract.blocks, room, f"{wanted} {page.title}", len(_QUOTED) + 1)
    lines = [*head, *(f"{_QUOTED}{line}" for line in chosen.lines)]
    if not chosen.total:
        lines.append("(the page holds no readable text)")
    elif chosen.shown < chosen.total:
        lines.append(
            f"(passages with dates, labels and releases; {chosen.shown:,} of "
            f"{chosen.total:,} characters shown)"
        )
    if page.cut:
        lines.append("(the page is too long: its end was not read)")
    return Observation("\n".join(lines)[:max_chars], page.sources)
