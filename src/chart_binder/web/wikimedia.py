"""Wikipedia and Wikidata, read through the interfaces that they have for programs.

Wikipedia, in any language, is searched and read through MediaWiki's API (mediawiki.org/wiki/
API:Search, API:Parsing_wikitext). Its pages are taken as they are rendered: the plain text that it
also gives has no infoboxes and tables, where dates are.
"""

import html
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import quote, unquote

import msgspec

from chart_binder.config import FetchConfig, WikipediaConfig
from chart_binder.domain.vocabulary import fold
from chart_binder.errors import FetchError
from chart_binder.files import decode_json
from chart_binder.net import Deadline
from chart_binder.react.sanitize import one_line
from chart_binder.web.fetch import PROCESS_PACING, Page, Visit
from chart_binder.web.guard import Guard
from chart_binder.web.page_text import from_html
from chart_binder.web.transport import Resolve, resolve_by_system

T = TypeVar("T")


class TooLongError(FetchError):
    """The answer is longer than what is read."""


class JsonServer:
    """Reads JSON from the server at `home`; the guard and the limits are those of `[llm.fetch]`.

    `name` is what its format is called. `resolve` and `trust` take the place of the system's
    resolver and certificate authorities.
    """

    def __init__(
        self,
        name: str,
        home: str,
        config: FetchConfig,
        *,
        resolve: Resolve = resolve_by_system,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self.home = home.rstrip("/")
        self._name = name
        self._config = config
        self._guard = Guard.of(config)
        self._resolve = resolve
        self._trust = trust

    def read(
        self, path: str, kind: type[T], deadline: Deadline, query: Mapping[str, str] | None = None
    ) -> T:
        """Return the answer; `TooLongError`, a `FetchError`, for more than what is read."""
        target = self._guard.target(f"{self.home}{path}")
        visit = Visit(self._config, self._guard, deadline, self._resolve, self._trust)
        with PROCESS_PACING.at(target.host, 0.0, deadline):
            body = visit.body(target.copy_with(params=query) if query else target)
        unexpected = f"{self.home} does not answer as {self._name} does"
        if body.cut:
            raise TooLongError(unexpected)
        try:
            return decode_json(body.data, kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise FetchError(unexpected) from error


# Wikipedia.

LANGUAGE: Final = re.compile(r"[a-z]{2,12}(?:-[a-z]{2,12}){0,3}")
"""A wiki's name below wikipedia.org: `en`, `simple`, `zh-yue`, `be-tarask`."""
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
    """An article as it was read, with its markup.

    `is_section` tells that a redirect led to a section of it, `is_disambiguation` that it is a
    disambiguation page.
    """

    page: Page
    markup: str
    is_section: bool
    is_disambiguation: bool


@dataclass(frozen=True, slots=True)
class Lookup:
    """The page that fits best, if any, and others' addresses by title."""

    page: Page | None
    others: Mapping[str, str] = field(default_factory=dict)


class Wikipedia:
    """Asks the Wikipedia of one language; the guard and the limits are those of `[llm.fetch]`.

    `resolve` and `trust` take the place of the system's resolver and certificate authorities.
    """

    def __init__(
        self,
        config: WikipediaConfig,
        fetch: FetchConfig,
        language: str = "",
        *,
        resolve: Resolve = resolve_by_system,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self.language = language or config.language
        home = config.url.replace("{language}", self.language)
        self._server = JsonServer("Wikipedia", home, fetch, resolve=resolve, trust=trust)
        self._timeout_s = fetch.timeout_s

    def look_up(self, query: str) -> Lookup:
        """Return the article of a title, or of an address, or the one that fits words best.

        Raises `FetchError` where Wikipedia could not be asked.
        """
        deadline = Deadline(self._timeout_s)
        if address := in_address(query):
            return Lookup(self._page(address[1], deadline))
        titles = [hit.title for hit in self._search(query, deadline)]
        exact = [title for title in titles if fold(title) == fold(query.strip())]
        for title in [*exact, *titles]:
            if page := self._page(title, deadline):
                others = {other: self.address(other) for other in titles if other != title}
                return Lookup(page, others)
        return Lookup(None)

    def _search(self, query: str, deadline: Deadline) -> tuple[_Article, ...]:
        words = _SYNTAX.sub(r'"\1"', one_line(query)[:_LONGEST_QUERY])  # -word is "not that word"
        results = self._ask({**_SEARCH, "srsearch": words}, deadline).query
        return results.search if results else ()

    def _page(self, title: str, deadline: Deadline) -> Page | None:
        article = self.article(title, deadline)
        return article.page if article else None

    def article(self, title: str, deadline: Deadline) -> Article | None:
        """Return the article of a title, of a long one the opening; None where there is none.

        Raises `FetchError` where Wikipedia could not be asked.
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
            Page(address, address, extract, cut or extract.cut),
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
"""What MediaWiki leaves as it is in the address of a page."""
_ADDRESS: Final = re.compile(
    r"(?:(?://|\b)([a-z-]+)(?:\.m)?\.wikipedia\.org|//[^\s/]+)/wiki/([^?#\s>]+)", re.IGNORECASE
)


def in_address(query: str) -> tuple[str, str] | None:
    """Return the language, where it tells, and the title in an address of a wiki's page."""
    match = _ADDRESS.search(query)
    return ((match[1] or "").lower(), unquote(match[2]).replace("_", " ")) if match else None
