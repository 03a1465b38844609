"""The tools with which a model looks at the open web, and how their results are shown.

Making the tools loads no network library: each is loaded with the first call.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from chart_binder.errors import FetchError, LookupFailedError, SearchError
from chart_binder.react.sanitize import one_line
from chart_binder.react.steps import Observation
from chart_binder.react.tools import SAYS_NOTHING, Tool, ToolError
from chart_binder.web.passages import excerpt, page_reading
from chart_binder.web.searxng import Degraded, Hit, Hits, NothingFound, SearxngClient

if TYPE_CHECKING:
    from chart_binder.config import LLMConfig
    from chart_binder.web.fetch import Found, Page, PageFetcher

_LONGEST_SNIPPET: Final = 300
_LONGEST_BOX: Final = 500
_LONGEST_TITLE: Final = 120
_MOST_SUGGESTIONS: Final = 3
_LONGEST_QUERY: Final = 80
_SPARE: Final = 70  # characters kept for the last lines
_ROOM_FOR_OTHERS: Final = 4  # the part of an observation that other articles may take: a fourth


def web_search(config: "LLMConfig", searxng: "SearxngClient | None" = None) -> Tool:
    """Return the tool that searches with the configured server, or with `searxng`."""
    client = searxng or SearxngClient(config.searxng)

    def web_search(query: str) -> Observation:
        """Search the web. Returns titles, addresses and snippets of the best results."""
        try:
            outcome = client.search(query)
        except SearchError as error:
            raise ToolError(f"The search service {error.brief}. {SAYS_NOTHING}") from error
        match outcome:
            case Hits():
                return search_results(outcome, config.searxng.max_results, config.fetch.max_chars)
            case NothingFound():
                return nothing_found(outcome)
            case Degraded():
                raise _degraded(outcome)

    return Tool.of(web_search)


def _degraded(found: Degraded) -> ToolError:
    """Return what to raise; its cause tells the operator which engines fail, and why."""
    if found.unreadable:
        return ToolError(
            f"Search results came, but none with an address that can be read. {SAYS_NOTHING}"
        )
    error = ToolError(f"The search engines are failing at the moment. {SAYS_NOTHING}")
    error.__cause__ = LookupFailedError(
        f"SearXNG answers, but its engines fail: {', '.join(found.failing)}; wait, or"
        " turn others on, under engines in its settings.yml"
    )
    return error


def web_fetch(config: "LLMConfig", pages: "PageFetcher | None" = None) -> Tool:
    """Return the tool that reads one page as `[llm.fetch]` allows, or with `pages`.

    In one run no page is asked for twice, and of a long one the passages are shown that bear on
    what the run is about.
    """

    @cache
    def fetcher() -> "PageFetcher":
        from chart_binder.web.fetch import PageFetcher

        return pages or PageFetcher(config.fetch)

    def for_run(about: str) -> Callable[..., Observation]:
        @cache
        def run_fetch() -> "Callable[[str], Page]":
            return fetcher().for_run()

        # `find` is left out where it is not given: a call is recorded as it was made.
        def web_fetch(url: str, find: str | UnsetType = UNSET) -> Observation:
            """Read a web page: its passages about dates and releases, or those with words to find.

            Args:
                find: words to look for in a long page.
            """
            try:
                page = run_fetch()(url)
            except FetchError as error:
                raise ToolError(f"{error}.") from error
            return page_reading(page, config.fetch.max_chars, about, find or "")

        return web_fetch

    return replace(Tool.of(for_run("")), per_run=for_run)


def wikipedia(config: "LLMConfig") -> Tool:
    """Return the tool that asks the Wikipedia of `[llm.wikipedia]`, as `[llm.fetch]` allows.

    Of a long article the passages are shown that bear on the query and on what the run is about.
    """

    def for_run(about: str) -> Callable[..., Observation]:
        def wikipedia(query: str, language: str = "") -> Observation:
            """Read the Wikipedia article that fits best; language is a code such as en or ja."""
            found = _look_up(config, query, language)
            return _article(found, f"{query} / {about}", config.fetch.max_chars)

        return wikipedia

    return replace(Tool.of(for_run("")), per_run=for_run)


def _look_up(config: "LLMConfig", query: str, language: str) -> "Found":
    from chart_binder.web.fetch import LANGUAGE, Wikipedia, in_address

    address = in_address(query)
    asked = (address[0] if address else "") or language.strip().lower()
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


def _article(found: "Found", about: str, max_chars: int) -> Observation:
    if found.page is None:
        return Observation("Wikipedia has no such article. Try other words, or another language.")
    entries = [
        (f"{number}. {one_line(title, 80)}\n   {url}", url)
        for number, (title, url) in enumerate(found.others.items(), start=1)
    ]
    head = "Other articles:"
    others, listed = _whole_entries(entries, max_chars // _ROOM_FOR_OTHERS - len(head) - 1)
    lines = [head, *others] if others else []
    seen = page_reading(found.page, max_chars - sum(len(line) + 1 for line in lines), about)
    return Observation("\n".join((seen.content, *lines)), (*seen.sources, *listed))


def _whole_entries(
    entries: Sequence[tuple[str, str]], room: int
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the texts of those entries that there is room for, and their addresses."""
    texts, urls = [], []
    for text, url in entries:
        if len(text) < room:
            room -= len(text) + 1
            texts.append(text)
            urls += [url] if url else []
    return texts, urls


def search_results(found: Hits, max_results: int, max_chars: int) -> Observation:
    """Show what was found, numbered, whole entries only; the sources are addresses in the text."""
    entries = [*_direct_entries(found), *_hit_entries(found.hits[:max_results], found.query)]
    head = "Search results:"  # without the query: it would look like something that was found
    texts, sources = _whole_entries(entries, max_chars - len(head) - _SPARE)
    lines = [head, *texts]
    if left_out := len(entries) - len(texts):
        lines.append(f"({left_out} more not shown)")
    if found.failing:
        lines.append("(some search engines did not answer)")
    return Observation("\n".join(lines)[:max_chars], tuple(dict.fromkeys(sources)))


def nothing_found(found: NothingFound) -> Observation:
    """Say that the search worked and found nothing, with what the engines suggest instead."""
    instead = " or ".join(
        repr(one_line(text, _LONGEST_QUERY)) for text in found.suggestions[:_MOST_SUGGESTIONS]
    )
    advice = f"Try {instead}." if instead else "Try fewer or other words."
    return Observation(f"No results. {advice}")


def _direct_entries(found: Hits) -> Iterator[tuple[str, str]]:
    """Yield answers and infoboxes; where no address is given, the text may end in another's."""
    for each in found.direct:
        shown = excerpt(each.lines, _LONGEST_BOX, found.query, per_line=3)
        text = " | ".join(shown.lines)
        yield f"{each.label}: {text} ({each.url or 'no address given'})", each.url


def _hit_entries(hits: tuple[Hit, ...], query: str) -> Iterator[tuple[str, str]]:
    for number, hit in enumerate(hits, start=1):
        host = (urlsplit(hit.url).hostname or "").removeprefix("www.")
        about = f"{host}, {hit.date}" if hit.date else host
        lines = [f"{number}. {one_line(hit.title, _LONGEST_TITLE)} ({about})", f"   {hit.url}"]
        if hit.snippet:
            shown = excerpt((hit.snippet,), _LONGEST_SNIPPET, query)
            lines.append(f"   {' '.join(shown.lines)}")
        yield "\n".join(lines), hit.url
