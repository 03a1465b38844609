"""HTTP requests to MusicBrainz: connections, proxies, rate limit, redirects and refusals."""

import logging
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore

from chart_binder import __version__
from chart_binder.config import MusicBrainzConfig
from chart_binder.errors import ConfigError, masked
from chart_binder.musicbrainz.web_service import (
    Metadata,
    Query,
    UnreadableError,
    error_text,
    parse_response,
)
from chart_binder.net import Deadline, TimedBackend, is_this_machine, retry_after_s

MAX_BYTES = 16_000_000
"""A hundred releases with everything included take less than one million."""
_MAX_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEMPORARY = frozenset({429, 500, 502, 503, 504})
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_WRONG_SERVER = "check that musicbrainz.hostname and musicbrainz.https name a MusicBrainz server"

_log = logging.getLogger(__name__)


class RequestError(Exception):
    """A request failed; `advice` says what a person can do about it.

    `is_temporary`: another try may succeed, though not before `retry_after_s` seconds.
    """

    def __init__(
        self,
        problem: str,
        advice: str,
        *,
        is_temporary: bool = False,
        retry_after_s: float = 0.0,
    ) -> None:
        super().__init__(problem)
        self.advice = advice
        self.is_temporary = is_temporary
        self.retry_after_s = retry_after_s


class RateLimiter(Protocol):
    """Assigns the times of requests, for all threads and processes that share it."""

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Take the next free moment of `service`; return how many seconds after `now` it is."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """Spaces requests `interval_s` apart; 0 means no limit.

    `clock` (seconds since the epoch) is shared with other processes; `wait` sleeps.
    """

    limiter: RateLimiter
    interval_s: float
    clock: Callable[[], float] = time.time
    wait: Callable[[float], None] = time.sleep

    def wait_turn(self, service: str) -> None:
        """Wait until the next request to `service` may be sent."""
        if self.interval_s <= 0:
            return
        now = self.clock()
        wait_s = self.limiter.reserve(service, self.interval_s, now)
        left_s = now + wait_s - self.clock()  # reserving took some of it
        if left_s > 0:
            self.wait(min(left_s, wait_s))


class Counter:
    """A counter that threads may share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def add_one(self) -> None:
        """Count one more."""
        with self._lock:
            self.count += 1


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Server:
    """MusicBrainz at one host; `sent` counts requests, including failed ones.

    Each request has its own connection; threads may share the server.
    """

    def __init__(self, config: MusicBrainzConfig, throttle: Throttle) -> None:
        """Set up; no socket is opened yet. Raises `ConfigError` for an impossible proxy."""
        self.sent = Counter()
        self._host = config.hostname
        self._scheme = "https" if config.https else "http"
        self._timeout_s = config.timeout_s
        self._throttle = throttle
        contact = config.contact.encode("ascii", "replace").decode()
        self._headers: dict[bytes | str, bytes | str] = {
            "User-Agent": f"canon/{__version__}" + (f" ( {contact} )" if contact else ""),
            "Accept": "application/xml",
            "Accept-Encoding": "identity",
        }
        self._ssl_context = httpcore.default_ssl_context() if config.https else None
        proxy = environment_proxy(self._scheme, self._host)
        self._proxy = _proxy(proxy) if proxy else None

    def fetch(self, query: Query) -> tuple[bytes, Metadata | None]:
        """Return a response's body and its content, or raise `RequestError`.

        The content is `None` if MusicBrainz knows no such thing. Redirects, which are the response
        for an id that was merged into another, are followed.
        """
        target = query.target
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._get(target)
            next_target = _redirect_target(response, target)
            if next_target is None:
                return response.body, _content(response, query)
            target = next_target
        raise RequestError("the server sends us on for ever", _WRONG_SERVER)

    def _get(self, target: str) -> HttpResponse:
        self._throttle.wait_turn(f"musicbrainz {self._host}")
        self.sent.add_one()
        started = time.monotonic()
        try:
            response = self._send(target)
        except _ERRORS as error:
            raise _translated(error, self._timeout_s) from error
        seconds = round(time.monotonic() - started, 3)
        _log.debug(
            "musicbrainz",
            extra={"path": target, "cached": False, "status": response.status, "seconds": seconds},
        )
        return response

    def _send(self, target: str) -> HttpResponse:
        name, colon, port = self._host.partition(":")
        url = f"{self._scheme}://{name.encode('idna').decode('ascii')}{colon}{port}{target}"
        with (
            httpcore.ConnectionPool(
                ssl_context=self._ssl_context,
                proxy=self._proxy,
                max_keepalive_connections=0,
                network_backend=TimedBackend(Deadline(self._timeout_s)),
            ) as connections,
            connections.stream("GET", url, headers=self._headers) as response,
        ):
            body = _read_bounded(response)
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers
        }
        return HttpResponse(response.status, headers, body)


def _content(response: HttpResponse, query: Query) -> Metadata | None:
    error = error_text(response.body)
    if response.status == HTTPStatus.NOT_FOUND and error:
        return None
    if response.status != HTTPStatus.OK:
        phrase = _PHRASES.get(response.status, "")
        problem = f"the server answered {response.status} {phrase}".rstrip()
        problem += f" ({error})" if error else ""
        if response.status not in _TEMPORARY:
            raise RequestError(problem, _WRONG_SERVER)
        after_s = retry_after_s(response.headers.get("retry-after", ""))
        raise RequestError(problem, "try again later", is_temporary=True, retry_after_s=after_s)
    try:
        return parse_response(response.body, query.wanted)
    except UnreadableError as unreadable:
        raise RequestError(str(unreadable), _WRONG_SERVER) from unreadable


def _redirect_target(response: HttpResponse, target: str) -> str | None:
    """Return the target of a redirect on this server; it keeps our query if it names none."""
    if response.status not in _REDIRECTS:
        return None
    location = response.headers.get("location", "")
    refused = RequestError(f"the server sends us on to {location[:200]!r}", _WRONG_SERVER)
    try:
        there = urlsplit(location)
    except ValueError as error:  # half of an IPv6 address
        raise refused from error
    query = there.query or urlsplit(target).query
    next_target = f"{there.path}?{query}" if query else there.path
    is_ours = there.path.startswith("/ws/2/") and next_target.isascii()
    if not is_ours or next_target == target:
        raise refused
    return next_target


def _read_bounded(response: httpcore.Response) -> bytes:
    body = bytearray()
    for piece in response.iter_stream():
        body += piece
        if len(body) > MAX_BYTES:
            raise RequestError(
                f"the answer is longer than {MAX_BYTES // 1_000_000} MB",
                "check that musicbrainz.hostname is a MusicBrainz server",
            )
    return bytes(body)


_ERRORS = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    UnicodeError,  # a host name that cannot be written in IDNA
)


def _translated(error: Exception, timeout_s: float) -> RequestError:
    is_temporary = False
    match error:
        case httpcore.TimeoutException():
            problem = f"no whole answer within {timeout_s:g} s"
            advice = "try again later, or raise musicbrainz.timeout_s"
        case httpcore.ConnectError(args=(ssl.SSLError() as refusal, *_)):
            reason = getattr(refusal, "verify_message", "") or refusal.reason
            problem = f"no secure connection ({reason})"
            advice = (
                "check the clock and the certificate; a mirror may need musicbrainz.https = false"
            )
        case httpcore.ConnectError():
            cause = next(iter(error.args), None)  # httpcore wraps what the socket raised
            text = cause.strerror if isinstance(cause, OSError) else None
            problem, is_temporary = f"no connection ({text or error})", True
            advice = "check the network and musicbrainz.hostname; for a mirror, that it runs"
        case httpcore.NetworkError() | httpcore.RemoteProtocolError():
            problem = f"the connection broke off ({error or type(error).__name__})"
            advice = "try again later; check that musicbrainz.https fits the server"
            is_temporary = True
        case _:
            problem = f"the request could not be sent ({error})"
            advice = "check musicbrainz.hostname, and the proxy in the environment"
    return RequestError(problem, advice, is_temporary=is_temporary)


def environment_proxy(scheme: str, host: str) -> str | None:
    """Return the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name for a host.

    None for this machine itself, which cannot be reached through another, and for one that does not
    speak HTTP. Raises `ConfigError` that names the variable if its address is impossible.
    """
    proxy = getproxies().get(scheme)
    if not proxy or is_this_machine(urlsplit(f"//{host}").hostname or host) or proxy_bypass(host):
        return None
    reason = None
    try:
        split = urlsplit(proxy)
        if split.scheme not in {"http", "https"}:
            return None
        if split.hostname and split.port != 0 and proxy.isascii() and proxy.isprintable():
            return proxy
    except ValueError as error:
        reason = error
    raise ConfigError(
        f"{scheme.upper()}_PROXY in the environment is {masked(proxy)!r}, which is no address of a"
        " proxy: http://host:port is allowed"
    ) from reason


def _proxy(url: str) -> httpcore.Proxy:
    split = urlsplit(url)
    auth = unquote_to_bytes(split.username or ""), unquote_to_bytes(split.password or "")
    bare = f"{split.scheme}://{split.netloc.rpartition('@')[2]}"
    return httpcore.Proxy(bare, auth=auth if split.username else None)
