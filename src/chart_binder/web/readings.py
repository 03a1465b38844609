"""What a model is shown of a page."""

from typing import TYPE_CHECKING

from chart_binder.react.inert import one_line
from chart_binder.react.tools import Observation
from chart_binder.web.passages import excerpt
from chart_binder.web.worth import says

if TYPE_CHECKING:
    from chart_binder.web.fetch import Page

_QUOTED = "> "
_ROOM_FOR_REMARKS = 70  # each
_LONGEST_FIND = 30


def page_reading(page: "Page", max_chars: int, about: str = "", find: str = "") -> Observation:
    """Show a page as quoted text under its title and address, and say what was left out.

    Of a long page the passages are shown that bear on what the run is `about`; those that have the
    words to `find` come before.
    """
    # max_chars may be as little as 200: what was asked for goes before what it is called.
    head = [f"Title: {page.title[: max_chars // 5]}"]
    if len(page.url) <= max_chars // 4:
        head.append(f"Address: {page.url}")
    if page.extract.published:
        head.append(f"Published: {page.extract.published}")
    remarks = 1 + page.cut + bool(find)
    room = max_chars - sum(len(line) + 1 for line in head) - remarks * _ROOM_FOR_REMARKS
    chosen = excerpt(page.extract.blocks, room, about or page.title, find, len(_QUOTED) + 1)
    lines = [*head, *(f"{_QUOTED}{line}" for line in chosen.lines)]
    if find:
        lines += _missing(page, find)
    if not chosen.total:
        lines.append("(the page holds no readable text)")
    elif chosen.shown < chosen.total:
        lines.append(
            f"(passages about dates and releases: {chosen.shown:,} of {chosen.total:,} characters)"
        )
    if page.cut:
        lines.append("(the page goes on: its end was not read)")
    return Observation("\n".join(lines)[:max_chars], page.sources)


def _missing(page: "Page", find: str) -> list[str]:
    """Say so where the words to find are not on the page, or in no one place of it."""
    words, found = says((page.title, *page.extract.blocks), find)
    if found == words:
        return []
    quoted = repr(one_line(find, _LONGEST_FIND))
    if not found:
        return [f"(nothing on the page says {quoted})"]
    return [f"(no passage has all the words of {quoted})"]
