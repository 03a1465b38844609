"""Wikipedia in any language, searched and read through its API.

The API is MediaWiki's (mediawiki.org/wiki/API:Search, API:Parsing_wikitext). Pages are taken as
they are rendered: the plain text that it also gives has no infoboxes and tables, where dates are.
"""

import html
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote

import msgspec

from chart_binder.config import FetchConfig, WikipediaConfig
from chart_binder.domain.vocabulary import fold
from chart_binder.errors import FetchError
from chart_binder.net import Deadline
from chart_binder.react.sanitize import one_line
from chart_binder.typed_json import decode_json
from chart_binder.web.fetch import PROCESS_PACING, Page, open_visit
from chart_binder.web.guard import Guard
from chart_binder.web.page_text import from_html
from chart_binder.web.transport import Resolve, resolve_by_system

LANGUAGE: Final = re.compile(r"[a-z]{2,12}(?:-[a-z]{2,12}){0,3}")
"""A wiki's name below wikipedia.org: `en`, `simple`, `zh-yue`, `be-tarask`."""
_LONGEST_QUERY: Final = 200
_NOT_THERE: Final = frozenset({"missingtitle", "invalidtitle", "pagecannotexist"})
_SYNTAX: Final = re.compile(r'(?<!\S)([-!~][^\s"]*)')
_ALWAYS: Final = {"format": "json", "formatversion": "2", "redirects": "1"}
_PARSE: Final = {
    "action": "parse", "prop": "text", "disableeditsection": "1", "disabletoc": "1",
    "disablelimitreport": "1",
}  # fmt: skip
_SEARCH: Final = {
    "action": "query", "list": "search", "srlimit": "4", "srprop": "", "srinfo": "suggestion"
}  # fmt: skip


class _TooLongError(FetchError):
    """The answer is longer than what is read."""


class _Error(msgspec.Struct, frozen=True):
    code: str
    info: str = ""


class _Article(msgspec.Struct, frozen=True):
    title: str
    text: str = ""


class _Query(msgspec.Struct, frozen=True):
    search: tuple[_Article, ...] = ()
    searchinfo: Mapping[str, object] = {}


class _Answer(msgspec.Struct, frozen=True):
    error: _Error | None = None
    query: _Query | None = None
    parse: _Article | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The page that fits a query best, if any, and the addresses of others that fit, by title.

    `suggestion` is what Wikipedia would look for where it has nothing.
    """

    page: Page | None
    others: Mapping[str, str] = field(default_factory=dict)
    suggestion: str = ""


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
        self._home = config.url.replace("{language}", self.language).rstrip("/")
        self._fetch = fetch
        self._guard = Guard.of(fetch)
        self._resolve = resolve
        self._trust = trust

    def look_up(self, query: str) -> Found:
        """Return the article of a title, or of an address, or the one that fits words best.

        Raises `FetchError` where Wikipedia could not be asked.
        """
        deadline = Deadline(self._fetch.timeout_s)
        if title := self._title_in(query):
            return Found(self._page(title, deadline))
        found = self._search(query, deadline)
        titles = [hit.title for hit in found.search]
        exact = [title for title in titles if fold(title) == fold(query.strip())]
        for title in [*exact, *titles]:
            if page := self._page(title, deadline):
                others = {each: self._address(each) for each in titles if each != title}
                return Found(page, others)
        return Found(None, suggestion=str(found.searchinfo.get("suggestion", "")))

    def _search(self, query: str, deadline: Deadline) -> _Query:
        words = _SYNTAX.sub(r'"\1"', one_line(query)[:_LONGEST_QUERY])  # -word is "not that word"
        return self._ask({**_SEARCH, "srsearch": words}, deadline).query or _Query()

    def _page(self, title: str, deadline: Deadline) -> Page | None:
        """Return a page, or its opening section where the whole is too long."""
        asked = {**_PARSE, "page": title}
        try:
            found, cut = self._ask(asked, deadline).parse, False
        except _TooLongError:
            found, cut = self._ask({**asked, "section": "0"}, deadline).parse, True
        if found is None:
            return None
        address = self._address(found.title)
        extract = from_html(f"<title>{html.escape(found.title)}</title>{found.text}")
        return Page(address, address, "text/html", extract, cut or extract.cut)

    def _ask(self, asked: Mapping[str, str], deadline: Deadline) -> _Answer:
        """Return the answer; `_TooLongError`, a `FetchError`, for more than what is read."""
        api = self._guard.target(f"{self._home}/w/api.php")
        with (
            PROCESS_PACING.at(api.host, 0.0, deadline),
            open_visit(self._fetch, self._guard, deadline, self._resolve, self._trust) as visit,
        ):
            body = visit.body(api.copy_with(params={**_ALWAYS, **asked}))
        unexpected = f"{self._home} does not answer as Wikipedia does"
        if body.cut:
            raise _TooLongError(unexpected)
        try:
            answer = decode_json(body.data, _Answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise FetchError(unexpected) from error
        if answer.error is None:
            return answer
        if answer.error.code in _NOT_THERE:
            return _Answer()
        raise FetchError(f"Wikipedia refused the question: {one_line(answer.error.info, 200)}")

    def _title_in(self, query: str) -> str:
        """Return the title in an address of this wiki."""
        _, slash, title = query.strip().partition(f"{self._home}/wiki/")
        title = title if slash else (in_address(query) or ("", ""))[1]
        return unquote(re.split(r"[?#\s>]", title)[0]).replace("_", " ").strip()

    def _address(self, title: str) -> str:
        return f"{self._home}/wiki/{quote(title.replace(' ', '_'), safe=_UNQUOTED)}"


_UNQUOTED: Final = "/:,;@!$*()'~"
"""What MediaWiki leaves as it is in the address of a page."""
_ADDRESS: Final = re.compile(
    r"(?:https?://)?([a-z-]+)(?:\.m)?\.wikipedia\.org/wiki/(\S+)", re.IGNORECASE
)


def in_address(query: str) -> tuple[str, str] | None:
    """Return the language and the title, quoted, in an address of Wikipedia."""
    found = _ADDRESS.search(query)
    return (str(found[1]).lower(), str(found[2])) if found else None
