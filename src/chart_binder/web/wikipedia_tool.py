"""The tool with which a model reads Wikipedia."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from chart_binder.react.inert import one_line
from chart_binder.react.tools import SAYS_NOTHING, Observation, Tool, ToolError
from chart_binder.web.readings import page_reading
from chart_binder.web.errors import FetchError

if TYPE_CHECKING:
    from chart_binder.config import LLMConfig
    from chart_binder.web.wikipedia import Article, NoArticle

_ROOM_FOR_OTHERS: Final = 4
"""The part of an observation that other pages may take: a fourth."""


def wikipedia(config: "LLMConfig") -> Tool:
    """Return the tool that asks the Wikipedia of `[llm.wikipedia]`, as `[llm.fetch]` allows.

    Of a long article the passages are shown that bear on the query and on what the run is about.
    """

    def for_run(about: str) -> Callable[..., Observation]:
        def wikipedia(query: str, language: str = "") -> Observation:
            """Read the Wikipedia article that fits best; language is a code such as en or ja."""
            found = _looked_up(config, query, language)
            return _shown(found, f"{query} / {about}", config.fetch.max_chars)

        return wikipedia

    return replace(Tool.of(for_run("")), per_run=for_run)


def _looked_up(config: "LLMConfig", query: str, language: str) -> "Article | NoArticle":
    from chart_binder.web.wikipedia import (  # noqa: PLC0415 - httpx and bs4 are slow to load
        LANGUAGE,
        Wikipedia,
        in_address,
    )

    address = in_address(query)
    asked = address[0] if address else language.strip().lower()
    if asked and not LANGUAGE.fullmatch(asked):
        raise ToolError(
            f"{one_line(language, 40)!r} is no language: give its code, such as en, ja, zh-yue."
        )
    if not query.strip():
        raise ToolError("Give a title, or words to look for.")
    try:
        return Wikipedia(config.wikipedia, config.fetch, asked).look_up(query)
    except FetchError as error:
        raise ToolError(f"The look-up at Wikipedia failed: {error}. {SAYS_NOTHING}") from error


def _shown(found: "Article | NoArticle", about: str, max_chars: int) -> Observation:
    from chart_binder.web.wikipedia import NoArticle  # noqa: PLC0415 - as above

    if isinstance(found, NoArticle):
        instead = one_line(found.suggestion, 80)
        advice = f"Try {instead!r}." if instead else "Try other words, or another language."
        return Observation(f"Wikipedia has no such article. {advice}")
    others = _others(found, max_chars // _ROOM_FOR_OTHERS)
    room = max_chars - sum(len(line) + 1 for line in others)
    seen = page_reading(found.page, room, about)
    listed = [url for url in found.others.values() if any(url in line for line in others)]
    return Observation("\n".join((seen.content, *others)), (*seen.sources, *listed))


def _others(found: "Article", room: int) -> list[str]:
    """Name other articles, each with its address, so that no page is cited for another's title."""
    lines: list[str] = []
    for number, (title, url) in enumerate(found.others.items(), start=1):
        entry = [f"{number}. {one_line(title, 80)}", f"   {url}"]
        lead = [] if lines else ["Other articles:"]
        cost = sum(len(line) + 1 for line in (*lead, *entry))
        if cost > room:
            break
        lines += [*lead, *entry]
        room -= cost
    return lines
