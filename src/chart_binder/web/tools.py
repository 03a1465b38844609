"""The tools with which a model looks at the open web."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType

from chart_binder.errors import FetchError, LookupFailedError, SearchError
from chart_binder.react.sanitize import one_line
from chart_binder.react.tools import SAYS_NOTHING, Observation, Tool, ToolError
from chart_binder.web.passages import page_reading
from chart_binder.web.results import Degraded, Hits, NothingFound, nothing_found, search_results

if TYPE_CHECKING:
    from chart_binder.config import FetchConfig, LLMConfig, SearxngConfig
    from chart_binder.web.fetch import PageFetcher, RunPages
    from chart_binder.web.searxng import SearxngClient
    from chart_binder.web.wikipedia import Article, NoArticle


def web_search(config: "LLMConfig", searxng: "SearxngClient | None" = None) -> Tool:
    """Return the tool that searches with the configured server, or with `searxng`."""
    client = searxng

    def web_search(query: str) -> Observation:
        """Search the web. Returns titles, addresses and snippets of the best results."""
        nonlocal client
        client = client or _open_search(config.searxng)
        return _search(client, query, config)

    return Tool.of(web_search)


def web_fetch(config: "LLMConfig", pages: "PageFetcher | None" = None) -> Tool:
    """Return the tool that reads one page as `[llm.fetch]` allows, or with `pages`.

    In one run no page is asked for twice, and of a long one the passages are shown that bear on
    what the run is about.
    """

    @cache
    def fetcher() -> "PageFetcher":
        return pages or _open_fetch(config.fetch)

    def for_run(about: str) -> Callable[..., Observation]:
        read = cache(lambda: _run_pages(fetcher()))

        # `find` is left out where it is not given: a call is recorded as it was made.
        def web_fetch(url: str, find: str | UnsetType = UNSET) -> Observation:
            """Read a web page: its passages about dates and releases, or those with words to find.

            Args:
                find: words to look for in a long page.
            """
            return _fetch(read(), url, config.fetch.max_chars, about, find or "")

        return web_fetch

    return replace(Tool.of(for_run("")), per_run=for_run)


def _open_search(config: "SearxngConfig") -> "SearxngClient":
    from chart_binder.web.searxng import SearxngClient

    return SearxngClient(config)


def _open_fetch(config: "FetchConfig") -> "PageFetcher":
    from chart_binder.web.fetch import PageFetcher

    return PageFetcher(config)


def _run_pages(fetcher: "PageFetcher") -> "RunPages":
    from chart_binder.web.fetch import RunPages

    return RunPages(fetcher)


def _search(client: "SearxngClient", query: str, config: "LLMConfig") -> Observation:
    try:
        outcome = client.search(query)
    except SearchError as error:
        raise ToolError(f"The search service {error.brief}. {SAYS_NOTHING}") from error
    match outcome:
        case Hits():
            return search_results(outcome, config.searxng.max_results, config.fetch.max_chars)
        case NothingFound():
            return nothing_found(outcome)
        case Degraded() if outcome.unreadable:
            raise ToolError(
                f"Search results came, but none with an address that can be read. {SAYS_NOTHING}"
            )
        case Degraded():
            raise ToolError(
                f"The search engines are failing at the moment. {SAYS_NOTHING}"
            ) from _failing(outcome)


def _failing(found: "Degraded") -> LookupFailedError:
    """Say to the operator what a model need not know: which engines fail, and why."""
    named = ", ".join(map(str, found.failing))
    return LookupFailedError(
        f"SearXNG answers, but its engines fail: {named}; wait, or turn others on, under engines in"
        " its settings.yml"
    )


def _fetch(pages: "RunPages", url: str, max_chars: int, about: str, find: str) -> Observation:
    try:
        page = pages.fetch(url)
    except FetchError as error:
        raise ToolError(f"{error}.") from error
    return page_reading(page, max_chars, about, find)


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
    from chart_binder.web.wikipedia import LANGUAGE, Wikipedia, in_address

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
    from chart_binder.web.wikipedia import NoArticle

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
