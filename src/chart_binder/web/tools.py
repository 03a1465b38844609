"""The tools with which a model looks at the open web."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from chart_binder.errors import LookupFailedError
from chart_binder.react.tools import SAYS_NOTHING, Observation, Tool, ToolError
from chart_binder.web.readings import page_reading
from chart_binder.web.results import nothing_found, search_results
from chart_binder.web.errors import FetchError, SearchError
from chart_binder.web.outcomes import Degraded, Hits, NothingFound

if TYPE_CHECKING:
    from chart_binder.config import FetchConfig, LLMConfig, SearxngConfig
    from chart_binder.web.fetch import PageFetcher
    from chart_binder.web.run_pages import RunPages
    from chart_binder.web.searxng import SearxngClient


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
    from chart_binder.web.searxng import SearxngClient  # noqa: PLC0415 - httpx is slow to load

    return SearxngClient(config)


def _open_fetch(config: "FetchConfig") -> "PageFetcher":
    from chart_binder.web.fetch import PageFetcher  # noqa: PLC0415 - httpx and bs4 are slow to load

    return PageFetcher(config)


def _run_pages(fetcher: "PageFetcher") -> "RunPages":
    from chart_binder.web.run_pages import RunPages  # noqa: PLC0415 - as above

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
