"""Search over a SearXNG server: one request, one deadline, one sentence for every failure."""

from collections.abc import Sequence
from importlib.metadata import version

import httpx

from chart_binder.config import SearxngConfig
from chart_binder.masking import masked
from chart_binder.net.deadline import Deadline
from chart_binder.react.inert import one_line
from chart_binder.web.addresses import Address
from chart_binder.web.body import ACCEPTED_ENCODINGS, Body, read_body
from chart_binder.web.errors import SearchError, UnknownHostError
from chart_binder.web.outcomes import SearchOutcome
from chart_binder.web.query import plain_query
from chart_binder.web.transport import (
    Resolve,
    open_client,
    resolve_by_system,
    trusted_authorities,
)
from chart_binder.web.wire import SearchBody, document, outcome, read

_MOST_BYTES = 2_000_000
_CHECK_URL = "check that it runs there and that llm.searxng.url is right"
_ENABLE_JSON = "add json to search.formats in its settings.yml (formats: [html, json])"
_SEE_LOG = "see its log"
_UNUSABLE = "gave no usable answer"
# What a status means, what to do, and what a model may know ("the search service ...").
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


class SearxngClient:
    """Asks one SearXNG server; may be shared between threads.

    `resolve` stands for the system's resolver.
    """

    def __init__(self, config: SearxngConfig, *, resolve: Resolve = resolve_by_system) -> None:
        self._config = config
        self._resolve = resolve
        self._url = config.url.rstrip("/").removesuffix("/search") + "/search"

    def search(self, query: str) -> SearchOutcome:
        """Search for the words of a query, or raise `SearchError`.

        The whole call is over within `timeout_s`. Redirects are not followed, and proxies from
        the environment do not apply: the server is the operator's own, most often on this machine.
        """
        plain = plain_query(query)
        if not plain:
            raise SearchError(
                "there are no words to search for", "give some", "was given no words to search for"
            )
        response, body = self._ask(plain)
        return outcome(self._read(response, body), plain)

    def check(self) -> SearchOutcome:
        """Search once for something every engine knows, so that `doctor` can say what is wrong.

        `SearchError` says what is broken between here and the server and how to mend it; what is
        broken behind the server is a `Degraded` outcome, or `failing` engines beside hits.
        """
        return self.search("MusicBrainz")

    def _ask(self, plain: str) -> tuple[httpx.Response, Body]:
        deadline = Deadline.after(self._config.timeout_s)
        # Reading the authorities costs more than a local search: only where they are needed.
        trust = trusted_authorities() if self._url.startswith("https:") else None
        parameters = {"q": plain, "format": "json", "language": self._config.language}
        try:
            with (
                open_client(_admit_any, deadline, self._resolve, trust) as client,
                client.stream("GET", self._url, params=parameters, headers=_headers()) as response,
            ):
                return response, read_body(response, _MOST_BYTES)
        except httpx.TimeoutException as error:
            problem = f"did not answer completely in {deadline.seconds:g} s"
            advice = "see whether it is overloaded, or raise llm.searxng.timeout_s"
            raise self._error(problem, advice, "did not answer in time") from error
        except httpx.InvalidURL as error:  # its text may quote a part of a password
            raise self._error("has no possible address", _CHECK_URL, "is not set up") from error
        except httpx.DecodingError as error:
            problem = f"sent a body that cannot be unpacked: {one_line(str(error))}"
            raise self._error(problem, _SEE_LOG, _UNUSABLE) from error
        except (httpx.HTTPError, UnknownHostError) as error:
            problem = f"cannot be asked: {one_line(str(error))}"
            raise self._error(problem, _CHECK_URL, "cannot be reached") from error

    def _read(self, response: httpx.Response, body: Body) -> SearchBody:
        status = response.status_code
        if response.has_redirect_location:
            target = one_line(response.headers["location"])[:100]
            raise self._error(
                f"answered with a redirect to {target!r}, which is not followed",
                "set llm.searxng.url to where it really is",
                "is not set up",
            )
        if status != httpx.codes.OK:
            unlisted = (f"answered {status}", _SEE_LOG, _UNUSABLE)
            problem, advice, brief = _STATUSES.get(status, unlisted)
            reason = _reason(body)
            raise self._error(problem + reason, advice, brief + reason)
        try:
            return read(body.data)
        except (ValueError, RecursionError) as error:
            raise self._error(*_unreadable(body)) from error

    def _error(self, problem: str, advice: str, brief: str) -> SearchError:
        return SearchError(f"SearXNG at {masked(self._config.url)} {problem}", advice, brief)


def _admit_any(_host: str, _addresses: Sequence[Address]) -> None:
    """Let the operator's own setting lead wherever it leads."""


def _headers() -> dict[str, str]:
    """Say who asks; SearXNG's limiter turns away what does not also take HTML and a language."""
    return {
        "User-Agent": f"canon/{version('chart-binder')}",
        "Accept": "application/json,text/html;q=0.1",
        "Accept-Language": "en,*;q=0.5",
        "Accept-Encoding": ACCEPTED_ENCODINGS,
    }


def _reason(body: Body) -> str:
    """Return `: reason` where an error answer gives one in JSON."""
    try:
        answer = document(body.data)
    except (ValueError, RecursionError):
        return ""
    error = answer.get("error") if isinstance(answer, dict) else None
    return f": {one_line(error)[:120]}" if isinstance(error, str) else ""


def _unreadable(body: Body) -> tuple[str, str, str]:
    if body.cut and len(body.data) < _MOST_BYTES:
        return "broke off in its answer", _SEE_LOG, _UNUSABLE
    if body.cut:
        return f"sent more than {_MOST_BYTES} bytes", _CHECK_URL, _UNUSABLE
    if body.data.lstrip()[:1] == b"<":
        return "answered with HTML instead of JSON", f"{_CHECK_URL}, and {_ENABLE_JSON}", _UNUSABLE
    return "answered with something that is not its JSON", _CHECK_URL, _UNUSABLE
