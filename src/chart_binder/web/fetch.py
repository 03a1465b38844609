"""Fetch pages within limits, as robots.txt allows, one request at a time for each host."""

import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import httpx

from chart_binder import __version__
from chart_binder.config import FetchConfig
from chart_binder.errors import AddressForbiddenError, ConfigError, FetchError, UnknownHostError
from chart_binder.net import Deadline
from chart_binder.react.sanitize import one_line
from chart_binder.web.guard import Guard
from chart_binder.web.page_text import Extract, from_csv, from_html, from_json, from_text, from_xml
from chart_binder.web.transport import (
    ACCEPTED_ENCODINGS,
    Body,
    Resolve,
    decode_text,
    open_client,
    read_body,
    resolve_by_system,
)

if TYPE_CHECKING:
    from protego import Protego

MOST_REDIRECTS = 5
READERS: Mapping[str, Callable[[str], Extract]] = MappingProxyType(
    {
        "text/plain": from_text,
        "text/csv": from_csv,
        **dict.fromkeys(("text/html", "application/xhtml+xml"), from_html),
        **dict.fromkeys(("text/xml", "application/xml"), from_xml),
        **dict.fromkeys(("application/rss+xml", "application/atom+xml"), from_xml),
        **dict.fromkeys(("application/json", "application/ld+json"), from_json),
    }
)
"""The content types that can be read, each with its reader."""
_MOST_RUN_PAGES = 30
MOST_UNASKED_PAGES: Final = 12
"""The pages that code may open in one run though neither a model nor a person asked for them."""
_BINARY_WITHIN = 1_024  # a NUL among the first characters means that a body is not text
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# From specific to general: the first class that fits describes the failure.
_FAILURES: tuple[tuple[type[httpx.HTTPError], str], ...] = (
    (httpx.TimeoutException, "did not answer completely in {seconds} s"),
    (httpx.ConnectError, "cannot be connected to"),
    (httpx.DecodingError, "sent a body that cannot be unpacked"),
    (httpx.ProtocolError, "interrupted the answer, or does not speak HTTP"),
    (httpx.HTTPError, "interrupted the answer"),
)


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page that was read.

    `requested_url` redirected through the addresses `via` to `url`, where the page was read. `cut`
    means that only the beginning of the page was read.
    """

    url: str
    requested_url: str
    extract: Extract
    cut: bool
    via: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The page's title, or its address if it has none."""
        return self.extract.title or self.url

    @property
    def sources(self) -> tuple[str, ...]:
        """The addresses by which the page may be cited, all on one host."""
        urls = (self.url, self.requested_url)
        hosts = {httpx.URL(url).host.removeprefix("www.") for url in urls}
        return tuple(dict.fromkeys(urls)) if len(hosts) == 1 else (self.url,)


class PageFetcher:
    """Reads pages as one configuration allows. Threads may share it.

    `resolve` and `trust` replace the system's resolver and certificate authorities.
    """

    def __init__(
        self,
        config: FetchConfig,
        *,
        resolve: Resolve = resolve_by_system,
        trust: ssl.SSLContext | None = None,
        pacing: "HostPacing | None" = None,
    ) -> None:
        self._config = config
        self._guard = Guard.of(config)
        self._resolve = resolve
        self._trust = trust
        self._pacing = pacing or PROCESS_PACING
        self._robots = _Robots(user_agent(config))

    def fetch(self, url: str, unasked_deadline: Deadline | None = None) -> WebPage:
        """Read a page within `timeout_s`.

        A page that nobody asked for has a deadline of its own; robots.txt must allow it, and
        `never` must not name its host. Raises `FetchError`; its subclass `AddressForbiddenError`
        means that the address, or one that it redirects to, is forbidden.
        """
        is_asked_for, timeout_s = unasked_deadline is None, self._config.timeout_s
        deadline = Deadline(
            min(unasked_deadline.left_s if unasked_deadline else timeout_s, timeout_s)
        )
        trail = [self._guard.target(url)]
        visit = Visit(self._config, self._guard, deadline, self._resolve, self._trust)
        with ExitStack() as turn:
            while len(trail) <= MOST_REDIRECTS + 1:
                self._enter_host(visit, trail, turn, is_asked_for=is_asked_for)
                with visit.ask(trail[-1]) as answer:
                    if isinstance(answer, httpx.Response):
                        return _page(trail, answer, self._config.max_bytes)
                    trail.append(answer)
        raise FetchError(f"{trail[-1].host} redirects more than {MOST_REDIRECTS} times")

    def address(self, url: str) -> str:
        """Return the normal spelling of an address. Raises `AddressForbiddenError`."""
        return str(self._guard.target(url))

    def _enter_host(
        self, visit: "Visit", trail: list[httpx.URL], turn: ExitStack, *, is_asked_for: bool
    ) -> None:
        target = trail[-1]
        if not is_asked_for and _is_in_domain(target.host, self._config.never):
            raise AddressForbiddenError(f"{target.host} is not read unasked ([llm.fetch] never)")
        if len(trail) == 1 or trail[-2].host != target.host:
            turn.close()
            # The operator's own hosts need no pause between two requests.
            rules = self._robots.cached(target)
            pause_s = max(self._config.host_pause_s, rules.delay_s if rules else 0.0)
            pause_s = 0.0 if self._guard.is_private(target.host) else pause_s
            turn.enter_context(self._pacing.at(target.host, pause_s, visit.deadline))
        if self._config.robots == "obey" or not is_asked_for:
            self._robots.check(visit, target)


def _is_in_domain(host: str, domains: Iterable[str]) -> bool:
    """Return whether a host is one of the domains or below one."""
    return any(f".{host}".endswith(f".{domain.lower().strip('.')}") for domain in domains)


class RunPages:
    """The pages of one run, which all its tools share. Threads may share it.

    Each page is read once. If that failed, the next request for it tries again.
    """

    def __init__(self, fetcher: PageFetcher) -> None:
        self._fetcher = fetcher
        self._pages: dict[str, WebPage] = {}
        self._being_read: set[str] = set()
        self._unasked_left = MOST_UNASKED_PAGES
        self._changed = threading.Condition()

    def fetch(self, url: str, unasked_deadline: Deadline | None = None) -> WebPage:
        """Return a page; raises `FetchError`.

        A page that nobody asked for has a deadline of its own. In a run there are at most
        `MOST_UNASKED_PAGES` of them.
        """
        address = self._fetcher.address(url)
        with self._changed:
            left_s = unasked_deadline.left_s if unasked_deadline else None
            self._changed.wait_for(lambda: address not in self._being_read, left_s)
            if address in self._pages:
                return self._pages[address]
            if unasked_deadline:
                if not self._unasked_left:
                    raise AddressForbiddenError("no further page is opened unasked in this run")
                self._unasked_left -= 1
            self._being_read.add(address)
        pages: dict[str, WebPage] = {}
        try:
            page = self._fetcher.fetch(url, unasked_deadline)
            pages = dict.fromkeys((page.requested_url, *page.via, page.url), page)
        finally:
            with self._changed:
                if len(self._pages) >= _MOST_RUN_PAGES:
                    self._pages.clear()
                self._pages |= pages
                self._being_read.discard(address)
                self._changed.notify_all()
        return page


def user_agent(config: FetchConfig) -> str:
    """Return the name that the program gives itself on the open web."""
    return config.user_agent or f"canon/{__version__}"


def _page(trail: list[httpx.URL], answer: httpx.Response, max_bytes: int) -> WebPage:
    requested_url, url = str(trail[0]), str(trail[-1])
    host, type_header = answer.url.host, answer.headers.get("content-type", "")
    content_type = type_header.partition(";")[0].strip().lower()
    if not answer.is_success:
        raise FetchError(_status(answer))
    if content_type and content_type not in READERS:
        raise FetchError(
            f"{host} sent {one_line(content_type, 60)}: only web pages and text are read"
        )
    body = read_body(answer, max_bytes)
    text = decode_text(body.data, answer.charset_encoding)
    if "\0" in text[:_BINARY_WITHIN]:
        raise FetchError(f"{host} sent something that is not text")
    if not content_type:
        content_type = "text/html" if text.lstrip()[:1] == "<" else "text/plain"
    extract = READERS[content_type](text)
    via = tuple(map(str, trail[1:-1]))
    return WebPage(url, requested_url, extract, body.cut or extract.cut, via)


def _status(answer: httpx.Response) -> str:
    reason = answer.reason_phrase[:60]
    return f"{answer.url.host} answered {answer.status_code} {reason}".strip()[:300]


@dataclass(frozen=True, slots=True)
class Visit:
    """Sends requests to addresses that the guard allows, until the deadline."""

    config: FetchConfig
    guard: Guard
    deadline: Deadline
    resolve: Resolve
    trust: ssl.SSLContext | None = None

    @contextmanager
    def ask(self, target: httpx.URL) -> Iterator[httpx.Response | httpx.URL]:
        """Yield the response with its body unread, or a redirect's target if the guard allows it.

        Raises `FetchError`, also if reading the response fails.
        """
        headers = {
            "User-Agent": user_agent(self.config),
            "Accept": "text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.8,"
            "application/xml;q=0.7",
            "Accept-Encoding": ACCEPTED_ENCODINGS,
            "Accept-Language": "en,*;q=0.5",
        }
        admit, deadline = self.guard.admit, self.deadline
        try:
            with (
                open_client(admit, deadline, self.resolve, target.scheme, self.trust) as client,
                client.stream("GET", target, headers=headers) as response,
            ):
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    yield self.guard.target(response.headers["location"], base=target)
                else:
                    yield response
        except (UnknownHostError, ConfigError) as error:
            raise FetchError(str(error)) from error
        except httpx.InvalidURL as error:  # httpx parses the target even if it does not follow it
            raise FetchError(f"{target.host} redirects to a malformed address") from error
        except httpx.HTTPError as error:
            words = next(words for kind, words in _FAILURES if isinstance(error, kind))
            if _concerns_certificate(error):
                words = "has no certificate that proves it is that host"
            problem = words.format(seconds=f"{round(self.deadline.seconds, 1):g}")
            raise FetchError(f"{target.host} {problem}") from error

    def body(self, target: httpx.URL) -> Body:
        """Return the body of a successful response; raises `FetchError` for any other."""
        with self.ask(target) as answer:
            if isinstance(answer, httpx.URL):
                raise FetchError(f"{target.host} redirects to {answer.host}")
            if not answer.is_success:
                raise FetchError(_status(answer))
            return read_body(answer, self.config.max_bytes)


def _concerns_certificate(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__  # httpcore raises "from None" in between
    return error is not None


_MOST_HOSTS = 500
_LONGEST_PAUSE_S = 60.0


class HostPacing:
    """Makes threads ask a host one after another, with a pause in between."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: set[str] = set()
        self._ended: dict[str, float] = {}

    @contextmanager
    def at(self, host: str, pause_s: float, deadline: Deadline) -> Iterator[None]:
        """Reserve a host once it is free and `pause_s` seconds have passed since its last use.

        Raises `FetchError` if that would be after the deadline.
        """
        with self._changed:
            while True:
                left_s = deadline.left_s
                wait_s = self._ended.get(host, -pause_s) + pause_s - time.monotonic()
                if host not in self._busy and wait_s <= 0:
                    break
                wait_s = left_s if host in self._busy else wait_s
                if not left_s or wait_s > left_s:
                    raise FetchError(f"{host} is busy with other requests")
                self._changed.wait(wait_s)
            self._busy.add(host)
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(host)
                now = self._ended[host] = time.monotonic()
                if len(self._ended) > _MOST_HOSTS:
                    ends = self._ended.items()
                    self._ended = {h: at for h, at in ends if now - at < _LONGEST_PAUSE_S}
                self._changed.notify_all()


PROCESS_PACING = HostPacing()

_ROBOTS_KEPT_S = 86_400.0  # RFC 9309, 2.4
_MOST_ROBOTS_KEPT = 500
_MOST_ROBOTS_BYTES = 512_000  # RFC 9309, 2.5
_MOST_ROBOTS_LINES = 5_000
_ROBOTS_CHARACTERS = "\t\n\r" + "".join(map(chr, range(0x20, 0x7F)))
_BEHIND_PRODUCT = re.compile(r"[^A-Za-z_-]")
_LONGEST_DELAY_S = 60.0
_ABSURD_DELAY_S = 1_000_000.0  # a longer delay is a mistake of the site and is ignored


@dataclass(frozen=True, slots=True)
class SiteRules:
    """The rules of a site's robots.txt (RFC 9309) for one program; there are none by default."""

    product: str = ""
    parsed: "Protego | None" = None

    @classmethod
    def parse(cls, text: str, agent: str) -> "SiteRules":
        """Read a robots.txt, however odd; `agent` is a user agent that begins with the product."""
        from protego import Protego  # takes 34 ms

        # A byte order mark would hide the first group, a lone surrogate would raise, and digits of
        # other scripts would count as a delay. Escaped they do no harm, and paths keep their sense.
        plain = quote(text.lstrip("\ufeff"), safe=_ROBOTS_CHARACTERS, errors="replace")
        lines = plain.splitlines()[:_MOST_ROBOTS_LINES]
        product = _BEHIND_PRODUCT.split(agent.strip(), maxsplit=1)[0]
        try:
            return cls(product, Protego.parse("\n".join(lines)))
        except ValueError:  # the only exception that protego is known to raise
            return cls()

    def allows(self, url: str) -> bool:
        """Return whether the page may be requested; the longest rule that fits decides."""
        return self.parsed is None or self.parsed.can_fetch(url, self.product)

    @property
    def delay_s(self) -> float:
        """The seconds between two requests that the site asks for (`Crawl-delay`), at most 60."""
        delay_s = self.parsed.crawl_delay(self.product) if self.parsed else None
        return min(delay_s, _LONGEST_DELAY_S) if delay_s and delay_s < _ABSURD_DELAY_S else 0.0


class _Robots:
    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._rules: dict[httpx.URL, tuple[float, SiteRules]] = {}

    def cached(self, target: httpx.URL) -> SiteRules | None:
        until, rules = self._rules.get(_robots_url(target), (0.0, None))
        return rules if until >= time.monotonic() else None

    def check(self, visit: Visit, target: httpx.URL) -> None:
        """Raise `AddressForbiddenError` if the site does not want programs to read an address.

        Raises `FetchError` if its robots.txt cannot be read (RFC 9309, 2.3.1.4).
        """
        rules = self.cached(target)
        if rules is None:
            rules = SiteRules.parse(_robots_txt(visit, _robots_url(target)), self._agent)
            if len(self._rules) >= _MOST_ROBOTS_KEPT:
                self._rules.clear()
            self._rules[_robots_url(target)] = (time.monotonic() + _ROBOTS_KEPT_S, rules)
        if not rules.allows(str(target)):
            raise AddressForbiddenError(
                f"{target.host} does not want programs to read that page (its robots.txt says so)"
            )


def _robots_txt(visit: Visit, target: httpx.URL) -> str:
    """Return the robots.txt of a site, or an empty string if it has none."""
    site = target.host
    with suppress(AddressForbiddenError):
        for _ in range(MOST_REDIRECTS + 1):
            with visit.ask(target) as answer:
                if isinstance(answer, httpx.Response):
                    if not (answer.is_success or answer.is_client_error):
                        raise FetchError(f"{_status(answer)}, asked for its robots.txt")
                    body = read_body(answer, _MOST_ROBOTS_BYTES) if answer.is_success else None
                    return decode_text(body.data, "utf-8") if body else ""
            if answer.host != site:  # the rules of another site are not this site's
                break
            target = answer
    return ""


def _robots_url(target: httpx.URL) -> httpx.URL:
    return target.copy_with(raw_path=b"/robots.txt")
