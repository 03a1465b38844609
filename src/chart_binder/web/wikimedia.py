"""Wikipedia and Wikidata, read through their interfaces for programs.

Wikipedia, in any language, is searched and read through MediaWiki's API (mediawiki.org/wiki/
API:Search, API:Parsing_wikitext). Articles are read as HTML, because the API's plain text omits
infoboxes and tables, where the dates are.
"""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import quote, unquote

import msgspec

from chart_binder.config import FetchConfig, WikipediaConfig
from chart_binder.domain.vocabulary import fold
from chart_binder.errors import FetchError
from chart_binder.files import decode_json
from chart_binder.net import Deadline
from chart_binder.react.sanitize import one_line
from chart_binder.web.fetch import PROCESS_PACING, Visit, WebPage
from chart_binder.web.guard import Guard
from chart_binder.web.page_text import from_html
from chart_binder.web.transport import Resolve

T = TypeVar("T")


class TooLongError(FetchError):
    """The answer is longer than the limit."""


@dataclass(frozen=True, slots=True)
class JsonServer:
    """Reads JSON from the server at `home`, guarded and limited as `[llm.fetch]` says.

    `name` is the name of its service in errors, and `home` has no slash at its end.
    """

    name: str
    home: str
    config: FetchConfig
    resolve: Resolve

    def read(
        self, path: str, kind: type[T], deadline: Deadline, query: Mapping[str, str] | None = None
    ) -> T:
        """Return the answer; raises `FetchError`, or its subclass `TooLongError`."""
        guard = Guard.of(self.config)
        target = guard.target(f"{self.home}{path}")
        visit = Visit(self.config, guard, deadline, self.resolve)
        with PROCESS_PACING.at(target.host, 0.0, deadline):
            body = visit.body(target.copy_with(params=query) if query else target)
        unexpected = f"{self.home} does not answer as {self.name} does"
        if body.cut:
            raise TooLongError(unexpected)
        try:
            return decode_json(body.data, kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise FetchError(unexpected) from error


# Wikipedia.

LANGUAGE: Final = re.compile(r"[a-z]{2,12}(?:-[a-z]{2,12}){0,3}")
"""The subdomain of a Wikipedia: `en`, `simple`, `zh-yue`, `be-tarask`."""
_LONGEST_QUERY: Final = 200
_NOT_THERE: Final = frozenset({"missingtitle", "invalidtitle", "pagecannotexist"})
_SYNTAX: Final = re.compile(r'(?<!\S)([-!~][^\s"]*)')
_ALWAYS: Final = {"format": "json", "formatversion": "2", "redirects": "1"}
_PARSE: Final = {
    "action": "parse", "prop": "text|properties", "disableeditsection": "1", "disabletoc": "1",
    "disablelimitreport": "1",
}  # fmt: skip
_SEARCH: Final = {
    "action": "query", "list": "search", "srlimit": "4", "srprop": "", "srinfo": ""
}  # fmt: skip


class _Error(msgspec.Struct, frozen=True):
    code: str
    info: str = ""


class _Redirect(msgspec.Struct, frozen=True):
    tofragment: str = ""


class _Article(msgspec.Struct, frozen=True):
    title: str
    text: str = ""
    properties: dict[str, msgspec.Raw] | tuple[()] = ()
    redirects: tuple[_Redirect, ...] = ()


class _Query(msgspec.Struct, frozen=True):
    search: tuple[_Article, ...] = ()


class _Answer(msgspec.Struct, frozen=True):
    error: _Error | None = None
    query: _Query | None = None
    parse: _Article | None = None


@dataclass(frozen=True, slots=True)
class Article:
    """An article with its markup.

    `is_section` means that a redirect leads to one of its sections, `is_disambiguation` that it is
    a disambiguation page.
    """

    page: WebPage
    markup: str
    is_section: bool
    is_disambiguation: bool


class Wikipedia:
    """Asks the Wikipedia of one language, guarded and limited as `[llm.fetch]` says.

    If no language is given, it is that of the configuration.
    """

    def __init__(
        self, config: WikipediaConfig, fetch: FetchConfig, language: str, resolve: Resolve
    ) -> None:
        home = config.url.replace("{language}", language or config.language).rstrip("/")
        self._server = JsonServer("Wikipedia", home, fetch, resolve)
        self._timeout_s = fetch.timeout_s

    def look_up(self, query: str) -> WebPage | None:
        """Return the article with a title or an address, or the one that fits words best.

        Raises `FetchError` if Wikipedia could not be asked.
        """
        deadline = Deadline(self._timeout_s)
        if address := in_address(query):
            return self._page(address[1], deadline)
        titles = [hit.title for hit in self._search(query, deadline)]
        exact = [title for title in titles if fold(title) == fold(query.strip())]
        pages = (self._page(title, deadline) for title in [*exact, *titles])
        return next(filter(None, pages), None)

    def _search(self, query: str, deadline: Deadline) -> tuple[_Article, ...]:
        # Unquoted, `-word` would exclude the word.
        words = _SYNTAX.sub(r'"\1"', one_line(query)[:_LONGEST_QUERY])
        results = self._ask({**_SEARCH, "srsearch": words}, deadline).query
        return results.search if results else ()

    def _page(self, title: str, deadline: Deadline) -> WebPage | None:
        article = self.article(title, deadline)
        return article.page if article else None

    def article(self, title: str, deadline: Deadline) -> Article | None:
        """Return the article with a title, or None. Of a very long article, read the opening only.

        Raises `FetchError` if Wikipedia could not be asked.
        """
        query = {**_PARSE, "page": title}
        try:
            parsed, cut = self._ask(query, deadline).parse, False
        except TooLongError:
            parsed, cut = self._ask({**query, "section": "0"}, deadline).parse, True
        if parsed is None:
            return None
        address = self.address(parsed.title)
        extract = from_html(f"<title>{html.escape(parsed.title)}</title>{parsed.text}")
        return Article(
            WebPage(address, address, extract, cut or extract.cut),
            parsed.text,
            any(redirect.tofragment for redirect in parsed.redirects),
            "disambiguation" in parsed.properties,
        )

    def _ask(self, query: Mapping[str, str], deadline: Deadline) -> _Answer:
        answer = self._server.read("/w/api.php", _Answer, deadline, {**_ALWAYS, **query})
        if answer.error is None:
            return answer
        if answer.error.code in _NOT_THERE:
            return _Answer()
        raise FetchError(f"Wikipedia refused the question: {one_line(answer.error.info, 200)}")

    def address(self, title: str) -> str:
        """Return the address of an article."""
        return f"{self._server.home}/wiki/{quote(title.replace(' ', '_'), safe=_UNQUOTED)}"


_UNQUOTED: Final = "/:,;@!$*()'~"
"""The characters that MediaWiki does not escape in the address of a page."""
_ADDRESS: Final = re.compile(
    r"(?:(?://|\b)([a-z-]+)(?:\.m)?\.wikipedia\.org|//[^\s/]+)/wiki/([^?#\s>]+)", re.IGNORECASE
)


def in_address(query: str) -> tuple[str, str] | None:
    """Return language and title from the address of a wiki page; the language may be ""."""
    match = _ADDRESS.search(query)
    return ((match[1] or "").lower(), unquote(match[2]).replace("_", " ")) if match else None
