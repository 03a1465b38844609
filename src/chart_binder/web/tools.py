"""The tools with which a model searches and reads the open web, and how results are shown.

Network libraries are loaded by the first call of a tool, not when the tool is made.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from chart_binder.errors import FetchError, LookupFailedError, SearchError
from chart_binder.react.sanitize import one_line
from chart_binder.react.steps import Document, Observation
from chart_binder.react.tools import RunContext, ServiceFailedError, Tool, ToolError
from chart_binder.web.links import links_of
from chart_binder.web.passages import document_of, excerpt, page_reading
from chart_binder.web.searxng import Degraded, Hit, NothingFound, SearchHits, SearxngClient

if TYPE_CHECKING:
    from chart_binder.config import LLMConfig
    from chart_binder.web.fetch import PageFetcher, RunPages, WebPage
    from chart_binder.web.transport import Resolve

_Entry: TypeAlias = tuple[str, Document]
"""A result as a text and as a document."""

_LONGEST_SNIPPET: Final = 300
_LONGEST_REASON: Final = 120
_MOST_OPENED: Final = 4
"""How many results of a search are opened and read."""
_QUOTE_MARK: Final = "> "
_LONGEST_TITLE: Final = 120
_MOST_SUGGESTIONS: Final = 3
_LONGEST_QUERY: Final = 80
_ROOM_FOR_LAST_LINES: Final = 70  # characters reserved for the last lines


def web_search(
    config: "LLMConfig", searxng: "SearxngClient | None" = None, pages: "PageFetcher | None" = None
) -> Tool:
    """Return the tool that searches with the configured server and reads the best results.

    `searxng` and `pages` replace the clients that the configuration describes.
    """
    client = searxng or SearxngClient(config.searxng)

    def for_run(run: RunContext) -> Callable[..., Observation]:
        def web_search(query: str) -> Observation:
            """Search the web and read the best pages: their passages about dates and releases."""
            try:
                outcome = client.search(query)
            except SearchError as error:
                raise ServiceFailedError(f"The search service {error.brief}.") from error
            match outcome:
                case SearchHits():
                    best = outcome.hits[: min(_MOST_OPENED, config.searxng.max_results)]
                    fetched = _read_pages(
                        best, run_pages(run, config, pages), config.fetch.timeout_s
                    )
                    return search_results(outcome, fetched, config, query, run.about)
                case NothingFound():
                    return nothing_found(outcome)
                case Degraded():
                    raise _engines_failed(outcome)

        return web_search

    return replace(Tool.of(for_run(RunContext())), per_run=for_run)


def run_pages(run: RunContext, config: "LLMConfig", pages: "PageFetcher | None") -> "RunPages":
    """Return the pages of a run, which all its tools share."""

    def make() -> "RunPages":
        from chart_binder.web.fetch import PageFetcher, RunPages

        return RunPages(pages or PageFetcher(config.fetch))

    return run.shared("pages", make)


def _read_pages(
    hits: Sequence[Hit], pages: "RunPages", timeout_s: float
) -> "Sequence[WebPage | FetchError]":
    """Return the page of each hit or why it cannot be read; all are read at once."""
    from concurrent.futures import ThreadPoolExecutor

    from chart_binder.net import Deadline

    deadline = Deadline(timeout_s)

    def read(hit: Hit) -> "WebPage | FetchError":
        try:
            return pages.fetch(hit.url, deadline)
        except FetchError as error:
            return error

    with ThreadPoolExecutor(max(1, len(hits))) as threads:
        return tuple(threads.map(read, hits))


def _engines_failed(outcome: Degraded) -> ToolError:
    """Return the error for the model; its cause tells the operator which engines fail, and why."""
    if outcome.unreadable:
        return ServiceFailedError("Search results came, but none with an address that can be read.")
    error = ServiceFailedError("The search engines are failing at the moment.")
    error.__cause__ = LookupFailedError(
        f"SearXNG answers, but its engines fail: {', '.join(outcome.failing)}; wait, or"
        " turn others on, under engines in its settings.yml"
    )
    return error


def web_fetch(config: "LLMConfig", pages: "PageFetcher | None" = None) -> Tool:
    """Return the tool that reads one page, as `[llm.fetch]` allows or with `pages`.

    No page is requested twice in one run. Of a long page, the passages on what the run is about are
    shown.
    """

    def for_run(run: RunContext) -> Callable[..., Observation]:
        # UNSET, because a call without `find` is recorded without it.
        def web_fetch(url: str, find: str | UnsetType = UNSET) -> Observation:
            """Read a web page: its passages about dates and releases, or those with words to find.

            Args:
                find: words to look for in a long page.
            """
            try:
                page = run_pages(run, config, pages).fetch(url)
            except FetchError as error:
                raise ToolError(f"{error}.") from error
            links = links_of(page, run.about)
            return page_reading(page, config.fetch.max_chars, run.about, find or "", links)

        return web_fetch

    return replace(Tool.of(for_run(RunContext())), per_run=for_run)


def wikipedia(config: "LLMConfig", resolve: "Resolve | None" = None) -> Tool:
    """Return the tool that asks the Wikipedia of `[llm.wikipedia]`, as `[llm.fetch]` allows.

    Of a long article, the passages on the query and on what the run is about are shown. `resolve`
    replaces the system's resolver.
    """

    def for_run(run: RunContext) -> Callable[..., Observation]:
        def wikipedia(query: str, language: str = "") -> Observation:
            """Read the Wikipedia article that fits best; language is a code such as en or ja."""
            page, topic = _look_up(config, query, language, resolve), f"{query} / {run.about}"
            if page is None:
                return Observation(_NO_ARTICLE)
            max_chars, links = config.fetch.max_chars, links_of(page, run.about)
            return page_reading(page, max_chars, topic, links=links)

        return wikipedia

    return replace(Tool.of(for_run(RunContext())), per_run=for_run)


_NO_ARTICLE: Final = "Wikipedia has no such article. Try other words, or another language."


def _look_up(
    config: "LLMConfig", query: str, language: str, resolve: "Resolve | None"
) -> "WebPage | None":
    from chart_binder.web.transport import resolve_by_system
    from chart_binder.web.wikimedia import LANGUAGE, Wikipedia, in_address

    address = in_address(query)
    code = (address[0] if address else "") or language.strip().lower()
    if code and not LANGUAGE.fullmatch(code):
        raise ToolError(
            f"{one_line(language, 40)!r} is not a language code: give one, such as en, ja, zh-yue."
        )
    if not query.strip():
        raise ToolError("Give a title, or words to look for.")
    try:
        server = Wikipedia(config.wikipedia, config.fetch, code, resolve or resolve_by_system)
        return server.look_up(query)
    except FetchError as error:
        raise ServiceFailedError(f"The look-up at Wikipedia failed: {error}.") from error


def search_results(
    results: SearchHits,
    fetched: "Sequence[WebPage | FetchError]",
    config: "LLMConfig",
    query: str,
    about: str,
) -> Observation:
    """Show results as numbered entries, whole ones only; below the best, passages of their pages.

    `fetched` are the pages of the first hits, or why they could not be read.
    """
    hits = results.hits[: config.searxng.max_results]
    head = "Search results:"  # the query would look like a result
    room = config.fetch.max_chars - len(head) - _ROOM_FOR_LAST_LINES
    entries: list[_Entry] = []
    room_for_pages = room
    addresses = set[str]()
    for number, hit in enumerate(hits, start=1):
        page = fetched[number - 1] if number <= len(fetched) else None
        entries_left = len(hits) - number + 1
        entry = _entry(number, hit, page, room_for_pages // entries_left, query, about)
        if entry[1].address not in addresses:  # two results may lead to one page
            addresses.add(entry[1].address)
            entries.append(entry)
            room_for_pages -= len(entry[0]) + 1
    shown_entries = _entries_that_fit(entries, room)
    lines = [head, *(text for text, _ in shown_entries)]
    if left_out := len(entries) - len(shown_entries):
        lines.append(f"({left_out} more not shown)")
    if results.failing:
        lines.append("(some search engines did not answer)")
    documents = tuple(document for _, document in shown_entries)
    sources = tuple(document.address for document in documents)
    content = "\n".join(lines)[: config.fetch.max_chars]
    return Observation(content, sources, documents=documents)


def _entry(
    number: int,
    hit: Hit,
    page: "WebPage | FetchError | None",
    room: int,
    query: str,
    about: str,
) -> _Entry:
    """Return a result: passages of its page, or its snippet."""
    topic = f"{query} / {about}"
    if page is None or isinstance(page, FetchError):
        snippet = " ".join(excerpt((hit.snippet,), _LONGEST_SNIPPET, topic).lines)
        lines = [_heading(number, hit.title, hit.url)]
        reason = "the search engine's words" if page is None else f"not read: {page}"
        lines += [f"   ({one_line(reason, _LONGEST_REASON)}) {snippet}".rstrip()]
        return "\n".join(lines), Document(hit.url, hit.title, (), snippet, number=number)
    heading = _heading(number, page.title, page.url)
    per_line = len(_QUOTE_MARK) + 1
    chosen = excerpt(page.extract.blocks, max(0, room - len(heading) - 1), topic, "", per_line)
    lines = [heading, *(f"{_QUOTE_MARK}{line}" for line in chosen.lines)]
    return "\n".join(lines), document_of(page, chosen, number, links_of(page, about))


def _heading(number: int, title: str, url: str) -> str:
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    return f"{number}. {one_line(title, _LONGEST_TITLE)} ({host})\n   {url}"


def _entries_that_fit(entries: Sequence[_Entry], room: int) -> Sequence[_Entry]:
    """Return the entries whose texts and line ends fit into `room` characters."""
    fitting_entries = []
    for entry in entries:
        if len(entry[0]) < room:
            room -= len(entry[0]) + 1
            fitting_entries.append(entry)
    return fitting_entries


def nothing_found(outcome: NothingFound) -> Observation:
    """Return the observation of a search without results, with the engines' suggestions."""
    instead = " or ".join(
        repr(one_line(text, _LONGEST_QUERY)) for text in outcome.suggestions[:_MOST_SUGGESTIONS]
    )
    advice = f"Try {instead}." if instead else "Try fewer or other words."
    return Observation(f"No results. {advice}")
