"""One page of the open web, read under guard."""

import ssl
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import version

import httpx

from chart_binder.config import FetchConfig
from chart_binder.net.deadline import Deadline
from chart_binder.web.body import ACCEPTED_ENCODINGS, Body, read_body
from chart_binder.web.charset import decoded
from chart_binder.web.errors import FetchError, UnknownHostError
from chart_binder.web.extract import Extract, from_html, from_json, from_text
from chart_binder.web.guard import Guard
from chart_binder.web.transport import (
    Resolve,
    open_client,
    resolve_by_system,
    trusted_authorities,
)

MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_READERS = {
    "text/html": from_html,
    "application/xhtml+xml": from_html,
    "text/xml": from_html,
    "application/xml": from_html,
    "application/rss+xml": from_html,
    "application/atom+xml": from_html,
    "text/plain": from_text,
    "text/csv": from_text,
    "application/json": from_json,
    "application/ld+json": from_json,
}
_BINARY_WITHIN = 1_024
# From the most telling class to the least; the first that fits names the failure.
_FAILURES: tuple[tuple[type[httpx.HTTPError], str], ...] = (
    (httpx.TimeoutException, "did not answer completely in {seconds:g} s"),
    (httpx.ConnectError, "cannot be connected to"),
    (httpx.DecodingError, "sent a body that cannot be unpacked"),
    (httpx.ProtocolError, "broke off or does not speak HTTP"),
    (httpx.HTTPError, "broke off"),
)


@dataclass(frozen=True, slots=True)
class Page:
    """What one address says.

    `url` is where it was read in the end, without a fragment; `asked` what was asked for;
    `cut` tells that the page was longer than what was read of it.
    """

    url: str
    asked: str
    content_type: str
    extract: Extract
    cut: bool

    @property
    def title(self) -> str:
        """The page's title, or its address where it has none."""
        return self.extract.title or self.url

    @property
    def text(self) -> str:
        """All that was read, a block a line."""
        return "\n".join(self.extract.blocks)

    @property
    def sources(self) -> tuple[str, ...]:
        """The addresses the page may be cited by: never two hosts for one page."""
        same = _site(self.asked) == _site(self.url)
        return (self.url, self.asked) if same and self.asked != self.url else (self.url,)


class PageFetcher:
    """Reads pages as one configuration allows; may be shared between threads.

    `resolve` and `trust` stand for the system's resolver and certificate authorities.
    """

    def __init__(
        self,
        config: FetchConfig,
        *,
        resolve: Resolve = resolve_by_system,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._config = config
        self._guard = Guard.of(config)
        self._resolve = resolve
        self._trust = trust

    def fetch(self, url: str) -> Page:
        """Read a page and return what it says, or raise `FetchError`.

        `RefusedError`, a kind of it, means that the address, or one it redirects to, is forbidden.
        """
        deadline = Deadline.after(self._config.timeout_s)
        target = self._guard.target(url)
        asked = str(target)
        trust = self._trust or trusted_authorities()
        with open_client(self._guard.admit, deadline, self._resolve, trust) as client:
            for _ in range(MOST_REDIRECTS + 1):
                answer = self._ask(client, target, deadline)
                if isinstance(answer, Page):
                    return Page(answer.url, asked, answer.content_type, answer.extract, answer.cut)
                target = answer
        raise FetchError(f"{target.host} redirects more than {MOST_REDIRECTS} times")

    def _ask(self, client: httpx.Client, target: httpx.URL, deadline: Deadline) -> Page | httpx.URL:
        """Return the page at an address, or the address it sends to."""
        try:
            with client.stream("GET", target, headers=self._headers()) as response:
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    return self._guard.target(response.headers["location"], base=target)
                if not response.is_success:
                    raise FetchError(f"{target.host} answered {_status(response)}")
                content_type, charset = _content_type(response)
                if content_type and content_type not in _READERS:
                    raise FetchError(
                        f"{target.host} sent {content_type[:60]}: only web pages and text are read"
                    )
                body = read_body(response, self._config.max_bytes)
        except UnknownHostError as error:
            raise FetchError(str(error)) from error
        except httpx.HTTPError as error:
            raise FetchError(f"{target.host} {_failure(error, deadline)}") from error
        return _page(target, content_type, charset, body)

    def _headers(self) -> dict[str, str]:
        return {
            "User-Agent": self._config.user_agent or f"canon/{version('chart-binder')}",
            "Accept": "text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.8,"
            "application/xml;q=0.7",
            "Accept-Encoding": ACCEPTED_ENCODINGS,
            "Accept-Language": "en,*;q=0.5",
        }


def _site(url: str) -> str:
    return httpx.URL(url).host.removeprefix("www.")


def _page(target: httpx.URL, content_type: str, charset: str | None, body: Body) -> Page:
    text = decoded(body.data, charset)
    if "\0" in text[:_BINARY_WITHIN]:
        raise FetchError(f"{target.host} sent something that is not text")
    if not content_type:
        content_type = "text/html" if text.lstrip()[:1] == "<" else "text/plain"
    extract = _READERS[content_type](text)
    return Page(str(target), str(target), content_type, extract, body.cut or extract.cut)


def _content_type(response: httpx.Response) -> tuple[str, str | None]:
    header = Message()
    header["Content-Type"] = response.headers.get("content-type", "")
    named = response.headers.get("content-type", "").strip()
    return (header.get_content_type() if named else "", header.get_content_charset())


def _status(response: httpx.Response) -> str:
    return f"{response.status_code} {response.reason_phrase}".strip()[:60]


def _failure(error: httpx.HTTPError, deadline: Deadline) -> str:
    if _concerns_certificate(error):
        return "has no certificate that proves it is that host"
    words = next(words for kind, words in _FAILURES if isinstance(error, kind))
    return words.format(seconds=deadline.seconds)


def _concerns_certificate(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__  # httpcore raises "from None" on its way
    return error is not None
