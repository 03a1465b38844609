"""Search with a SearXNG server: the client, and what its answers mean.

The first search imports httpx, because every run creates the tools and not every run searches.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from chart_binder import __version__
from chart_binder.errors import ERROR_NUMBER, ConfigError, SearchError, UnknownHostError, masked
from chart_binder.react.sanitize import one_line
from chart_binder.web.documents import normal_address, registered_site

if TYPE_CHECKING:
    import httpx

    from chart_binder.config import SearxngConfig
    from chart_binder.web.transport import Body, Resolve

LONGEST_QUERY = 300
_LONGEST_URL = 500
_LONGEST_TEXT = 2_000  # before normalization, which turns some letters into eighteen
_MOST_BYTES = 2_000_000
# SearXNG ignores `!!!` alone and `:wumpscut:`; `?word` means something to its ancestor searx.
_SYNTAX = re.compile(r"[!?]+[^!?].*|!!|:[^:]+|<.+")
_COMPUTED = frozenset({"avg", "min", "max", "sum", "prod", "range", "random"})

_CHECK_URL = "check that it runs there and that llm.searxng.url is right"
_ENABLE_JSON = "add json to search.formats in its settings.yml (formats: [html, json])"
_SEE_LOG = "see its log"
_UNUSABLE = "gave no usable answer"
# By status: the problem, advice, and what a model is told ("the search service ...").
_STATUSES = {
    400: ("refused the search (400)", "check llm.searxng.language", "refused the search"),
    403: ("does not give JSON (403)", _ENABLE_JSON, "is not set up for programs"),
    404: ("has no search there (404)", _CHECK_URL, "is not set up"),
    429: (
        "refuses more requests (429)",
        "set server.limiter to false in its settings.yml, or pass this machine in limiter.toml",
        "refuses more searches for now",
    ),
}


@dataclass(frozen=True, slots=True)
class Hit:
    """One result."""

    url: str
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchHits:
    """Results of a search; `failing` engines, such as `google (CAPTCHA)`, might have had more."""

    hits: tuple[Hit, ...]
    failing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NothingFound:
    """Every engine answered, and none found anything."""

    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Degraded:
    """No usable results, because engines failed or all `unreadable` results lack an address.

    This says nothing about what exists.
    """

    failing: tuple[str, ...]
    unreadable: int = 0


SearchOutcome: TypeAlias = SearchHits | NothingFound | Degraded


class SearxngClient:
    """Asks one SearXNG server. Threads may share it. `resolve` replaces the system's resolver."""

    def __init__(self, config: "SearxngConfig", *, resolve: "Resolve | None" = None) -> None:
        self._config = config
        self._resolve = resolve
        self._url = config.url.rstrip("/").removesuffix("/search") + "/search"

    def search(self, query: str) -> SearchOutcome:
        """Search for the words of a query.

        The call takes at most `timeout_s`. Redirects are not followed and proxies of the
        environment not used, because the server is the operator's own, mostly on this machine.
        Raises `SearchError`, which says what to do.
        """
        plain = plain_query(query)
        if not plain:
            raise SearchError(
                "there are no words to search for", "give some", "was given no words to search for"
            )
        response, body = self._ask(plain)
        return outcome(self._read(response, body))

    def _ask(self, plain: str) -> "tuple[httpx.Response, Body]":
        import httpx

        from chart_binder.net import Deadline
        from chart_binder.web import transport

        deadline = Deadline(self._config.timeout_s)
        resolve = self._resolve or transport.resolve_by_system
        scheme = self._url.partition(":")[0].lower()
        parameters = {"q": plain, "format": "json", "language": self._config.language}
        headers = {  # SearXNG's limiter refuses requests that accept no HTML or no language
            "User-Agent": f"canon/{__version__}",
            "Accept": "application/json,text/html;q=0.1",
            "Accept-Language": "en,*;q=0.5",
            "Accept-Encoding": transport.ACCEPTED_ENCODINGS,
        }
        try:
            with (
                # The operator may configure any address.
                transport.open_client(lambda *_: None, deadline, resolve, scheme) as client,
                client.stream("GET", self._url, params=parameters, headers=headers) as response,
            ):
                return response, transport.read_body(response, _MOST_BYTES)
        except httpx.TimeoutException as error:
            problem = f"did not answer completely in {deadline.seconds:g} s"
            advice = "see whether it is overloaded, or raise llm.searxng.timeout_s"
            raise self._error(problem, advice, "did not answer in time") from error
        except ConfigError as error:
            raise self._error("cannot be asked", str(error), "is not set up") from error
        except httpx.InvalidURL as error:  # its text may quote a part of a password
            raise self._error("has an invalid address", _CHECK_URL, "is not set up") from error
        except httpx.DecodingError as error:
            problem = f"sent a body that cannot be unpacked: {one_line(str(error))}"
            raise self._error(problem, _SEE_LOG, _UNUSABLE) from error
        except (httpx.HTTPError, UnknownHostError) as error:
            problem = f"cannot be asked ({ERROR_NUMBER.sub('', one_line(str(error)))})"
            raise self._error(problem, _CHECK_URL, "cannot be reached") from error

    def _read(self, response: "httpx.Response", body: "Body") -> dict[str, object]:
        status = response.status_code
        if response.has_redirect_location:
            target = one_line(response.headers["location"])[:100]
            raise self._error(
                f"answered with a redirect to {target!r}, which is not followed",
                "set llm.searxng.url to where it really is",
                "is not set up",
            )
        if not response.is_success:
            unlisted = (f"answered {status}", _SEE_LOG, _UNUSABLE)
            problem, advice, brief = _STATUSES.get(status, unlisted)
            error = _json(body.data).get("error")
            reason = f": {one_line(error)[:120]}" if isinstance(error, str) else ""
            raise self._error(problem + reason, advice, brief + reason)
        answer = _json(body.data)
        if not isinstance(answer.get("results"), list):
            raise self._error(*_unreadable(body))
        return answer

    def _error(self, problem: str, advice: str, brief: str) -> SearchError:
        return SearchError(f"SearXNG at {masked(self._config.url)} {problem}", advice, brief)


def _unreadable(body: "Body") -> tuple[str, str, str]:
    if body.cut and len(body.data) < _MOST_BYTES:
        return "interrupted its answer", _SEE_LOG, _UNUSABLE
    if body.cut:
        return f"sent more than {_MOST_BYTES} bytes", _CHECK_URL, _UNUSABLE
    if body.data.lstrip()[:1] == b"<":
        return "answered with HTML instead of JSON", f"{_CHECK_URL}, and {_ENABLE_JSON}", _UNUSABLE
    return "answered with something that is not its JSON", _CHECK_URL, _UNUSABLE


def plain_query(text: str) -> str:
    """Return a query on one line, bounded, with every word that is SearXNG syntax in quotes.

    Inside a quotation the syntax mark is removed instead. A word that SearXNG computes with is
    capitalized, which engines ignore.
    """
    visible = "".join(
        " " if unicodedata.category(character) in {"Cc", "Zl", "Zp"} else character
        for character in text
        if unicodedata.category(character) not in {"Cf", "Cs"}
    ).strip()
    if len(visible) > LONGEST_QUERY:
        whole_words, _, _ = visible[: LONGEST_QUERY + 1].rpartition(" ")
        visible = whole_words or visible[:LONGEST_QUERY]
    words: list[str] = []
    quoted = False
    for word in visible.split():
        plain = _plain_word(word, quoted=quoted)
        quoted ^= plain.count('"') % 2 == 1
        words += [plain] if plain else []
    if words and words[0] in _COMPUTED:
        words[0] = words[0].capitalize()
    return " ".join(words)


def _plain_word(word: str, *, quoted: bool) -> str:
    if not _SYNTAX.fullmatch(word):
        return word
    if quoted:
        return word.lstrip("!?:<")
    bare = word.replace('"', "")
    return f'"{bare}"'


def _json(data: bytes) -> dict[str, object]:
    """Return a JSON object, read leniently, or {} if the data is not one."""
    try:
        answer = json.loads(data.decode("utf-8-sig", "replace"), strict=False, parse_int=str)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def outcome(body: Mapping[str, object]) -> SearchOutcome:
    """Return the outcome of a search by the JSON answer of the server."""
    hits, failing = tuple(_hits(body)), tuple(_failing(body))
    if hits:
        return SearchHits(hits, failing)
    if failing or body.get("results"):
        return Degraded(failing, len(_list(body.get("results"))))
    suggestions = map(_text, [*_list(body.get("corrections")), *_list(body.get("suggestions"))])
    return NothingFound(tuple(dict.fromkeys(text for text in suggestions if text)))


def _hits(body: Mapping[str, object]) -> Iterator[Hit]:
    """Yield the results: for each page, and for each text of a site, only the first.

    The same text from two sites counts twice, because a site may copy an honest page.
    """
    yielded: set[object] = set()
    for result in _objects(body.get("results")):
        url = _web_address(result.get("url"))
        title, snippet = _text(result.get("title")), _text(result.get("content"))
        keys = {normal_address(url), (registered_site(url), title, snippet) if snippet else url}
        if url and yielded.isdisjoint(keys):
            yielded |= keys
            yield Hit(url, title or url, snippet)


def _failing(body: Mapping[str, object]) -> Iterator[str]:
    for entry in _list(body.get("unresponsive_engines")):
        engine, *reasons = map(_text, entry if isinstance(entry, list) and entry else [entry])
        yield f"{engine} ({reasons[0]})" if reasons and reasons[0] else engine


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in _list(value) if isinstance(item, dict)]


def _text(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return one_line(str(value)[:_LONGEST_TEXT]) if isinstance(value, str | int | float) else ""


def _web_address(value: object) -> str:
    """Return the normal spelling of an address that a model may be shown, or ""."""
    import httpx

    if not isinstance(value, str) or len(value) > _LONGEST_URL:
        return ""
    try:
        url = httpx.URL(value.strip()).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError):
        return ""
    return str(url) if url.scheme in {"http", "https"} and url.host and not url.userinfo else ""
