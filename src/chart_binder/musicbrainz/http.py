"""One try at MusicBrainz' web service, its redirects understood like its refusals."""

import logging
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore

from chart_binder.errors import ConfigError, masked
from chart_binder.musicbrainz.queries import Question
from chart_binder.musicbrainz.responses import Metadata, UnreadableError, error_text, read
from chart_binder.net import Deadline, TimedBackend, retry_after_s

MOST_BYTES = 16_000_000
"""A hundred releases with all that is asked of them take less than one million."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class FailureError(Exception):
    """The server could not be asked: `advice` is what a person could do about it.

    `is_passing`: another try may well succeed, though not before `retry_after_s` seconds.
    """

    def __init__(
        self, problem: str, advice: str, *, is_passing: bool = False, retry_after_s: float = 0.0
    ) -> None:
        super().__init__(problem)
        self.advice = advice
        self.is_passing = is_passing
        self.retry_after_s = retry_after_s


class Transport:
    """Sends requests to one server, each on a connection of its own; threads may share it."""

    def __init__(
        self, scheme: str, host: str, *, user_agent: str, timeout_s: float, proxy: str | None
    ) -> None:
        """`host` may have a port; `proxy` is a URL."""
        self._scheme = scheme
        self._host = host
        self._headers: dict[bytes | str, bytes | str] = {
            "User-Agent": user_agent,
            "Accept": "application/xml",
            "Accept-Encoding": "identity",
        }
        self._timeout_s = timeout_s
        self._trust = httpcore.default_ssl_context() if scheme == "https" else None
        self._proxy = _proxy(proxy) if proxy else None

    def get(self, target: str) -> Reply:
        """Return what is at a path with query, a redirect as it is, or raise `FailureError`."""
        try:
            url = f"{self._scheme}://{_ascii(self._host)}{target}"
            with (
                self._connections() as connections,
                connections.stream("GET", url, headers=self._headers) as response,
            ):
                body = _bounded(response)
        except tuple(_MEANING) as error:
            raise self._meaning(error) from error
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers
        }
        return Reply(response.status, headers, body)

    def _connections(self) -> httpcore.ConnectionPool:
        """Return what makes the connection of one request, which ends with its deadline."""
        return httpcore.ConnectionPool(
            ssl_context=self._trust,
            proxy=self._proxy,
            max_keepalive_connections=0,
            network_backend=TimedBackend(Deadline(self._timeout_s)),
        )

    def _meaning(self, error: Exception) -> FailureError:
        kind = next(kind for kind in _MEANING if isinstance(error, kind))
        return _MEANING[kind](error, self._timeout_s)


def environment_proxy(scheme: str, host: str) -> str | None:
    """Return the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name for a host.

    None for this machine itself: a mirror here cannot be reached through somewhere else. Raises
    `ConfigError` that names the variable.
    """
    name = urlsplit(f"//{host}").hostname or host
    if _is_here(name) or proxy_bypass(host):
        return None
    proxy = getproxies().get(scheme)
    return proxy if proxy and _is_web_proxy(proxy, f"{scheme.upper()}_PROXY") else None


def _is_web_proxy(url: str, variable: str) -> bool:
    """Tell whether a proxy speaks HTTP; raise `ConfigError` where it has no possible address."""
    try:
        split = urlsplit(url)
        if split.scheme not in {"http", "https"}:
            return False
        if split.hostname and split.port != 0 and url.isascii() and url.isprintable():
            return True
        reason = None
    except ValueError as error:
        reason = error
    raise ConfigError(
        f"{variable} in the environment is {masked(url)!r}, which is no address of a proxy:"
        " http://host:port is allowed"
    ) from reason


def _is_here(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _ascii(host: str) -> str:
    name, colon, port = host.partition(":")
    return name.encode("idna").decode("ascii") + colon + port


def _proxy(url: str) -> httpcore.Proxy:
    split = urlsplit(url)
    bare = f"{split.scheme}://{split.netloc.rpartition('@')[2]}"
    if not split.username:
        return httpcore.Proxy(bare)
    user, password = map(unquote_to_bytes, (split.username, split.password or ""))
    return httpcore.Proxy(bare, auth=(user, password))


def _bounded(response: httpcore.Response) -> bytes:
    body = bytearray()
    for piece in response.iter_stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise FailureError(
                f"the answer is longer than {MOST_BYTES // 1_000_000} MB",
                "check that musicbrainz.hostname is a MusicBrainz server",
            )
    return bytes(body)


def _too_slow(_: Exception, timeout_s: float) -> FailureError:
    return FailureError(
        f"no whole answer within {timeout_s:g} s",
        "try again later, or raise musicbrainz.timeout_s",
    )


def _not_connected(error: Exception, _: float) -> FailureError:
    cause = next(iter(error.args), None)  # httpcore wraps what the socket raised
    if isinstance(cause, ssl.SSLError):
        reason = getattr(cause, "verify_message", "") or cause.reason
        return FailureError(
            f"no secure connection ({reason})",
            "check the clock and the certificate; a mirror may need musicbrainz.https = false",
        )
    text = cause.strerror if isinstance(cause, OSError) else None
    return FailureError(
        f"no connection ({text or error})",
        "check the network and musicbrainz.hostname; for a mirror, that it runs",
        is_passing=True,
    )


def _broken_off(error: Exception, _: float) -> FailureError:
    return FailureError(
        f"the connection broke off ({error or type(error).__name__})",
        "try again later; check that musicbrainz.https fits the server",
        is_passing=True,
    )


def _not_sent(error: Exception, _: float) -> FailureError:
    return FailureError(
        f"the request could not be sent ({error})",
        "check musicbrainz.hostname, and the proxy in the environment",
    )


_MEANING: dict[type[Exception], Callable[[Exception, float], FailureError]] = {
    httpcore.TimeoutException: _too_slow,
    httpcore.ConnectError: _not_connected,
    httpcore.NetworkError: _broken_off,
    httpcore.RemoteProtocolError: _broken_off,
    httpcore.LocalProtocolError: _not_sent,
    httpcore.UnsupportedProtocol: _not_sent,
    httpcore.ProxyError: _not_sent,
    UnicodeError: _not_sent,  # a host name that cannot be written in IDNA
}
"""The first that fits holds."""


class KeptAnswer(Protocol):
    """An answer as it was received; `fetched_at` is in seconds since the epoch."""

    @property
    def body(self) -> bytes:
        """The answer's bytes."""
        ...

    @property
    def fetched_at(self) -> float:
        """When it was received."""
        ...


class AnswerCache(Protocol):
    """Where answers are kept between runs; a `StoreError` passes through this room."""

    def get(self, key: str) -> KeptAnswer | None:
        """Return the answer kept under `key`, however old."""
        ...

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Keep `body` under `key`, in place of an earlier one."""
        ...

    def forget(self, key: str) -> None:
        """Keep nothing under `key` any more."""
        ...


class RateLimiter(Protocol):
    """Who says when the next request may go, for all threads and processes here."""

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Take the next free moment of `service`; return how many seconds after `now` it is."""
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """When requests may go: `interval_s` apart (0: at once).

    `clock` (seconds since the epoch) is the one that other processes go by; `wait` sleeps.
    """

    limiter: RateLimiter
    interval_s: float
    clock: Callable[[], float] = time.time
    wait: Callable[[float], None] = time.sleep

    def take_turn(self, service: str) -> None:
        """Wait until the next request to `service` may go."""
        if self.interval_s <= 0:
            return
        now = self.clock()
        wait_s = self.limiter.reserve(service, self.interval_s, now)
        left_s = now + wait_s - self.clock()  # reserving took some of it
        if left_s > 0:
            self.wait(min(left_s, wait_s))


class Tally:
    """How often something happened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def add_one(self) -> None:
        """Count one more."""
        with self._lock:
            self.count += 1


_MOST_REDIRECTS = 3
_REDIRECTING = frozenset({301, 302, 303, 307, 308})
_PASSING = frozenset({429, 500, 502, 503, 504})
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_WRONG_SERVER = "check that musicbrainz.hostname and musicbrainz.https name a MusicBrainz server"

_log = logging.getLogger(__name__)


class Server:
    """MusicBrainz at one host, asked at a pace; `sent` counts requests, failed ones among them."""

    def __init__(self, host: str, transport: Transport, pace: Pace) -> None:
        self.host = host
        self._transport = transport
        self._pace = pace
        self.sent = Tally()

    def ask(self, question: Question) -> tuple[bytes, Metadata | None]:
        """Return an answer's body with what it says, or raise `FailureError`.

        `None` means that MusicBrainz knows no such thing. A redirect is followed: that is how it
        answers about an id which was merged into another.
        """
        target = question.target
        for _ in range(_MOST_REDIRECTS + 1):
            reply = self._get(target)
            following = _redirected(reply, target)
            if following is None:
                return reply.body, _understood(reply, question)
            target = following
        raise FailureError("the server sends us on for ever", _WRONG_SERVER)

    def _get(self, target: str) -> Reply:
        self._pace.take_turn(f"musicbrainz {self.host}")
        self.sent.add_one()
        started = time.monotonic()
        reply = self._transport.get(target)
        seconds = round(time.monotonic() - started, 3)
        _log.debug(
            "musicbrainz",
            extra={"path": target, "cached": False, "status": reply.status, "seconds": seconds},
        )
        return reply


def _understood(reply: Reply, question: Question) -> Metadata | None:
    """Tell answer, "no such thing" and failure apart: only MusicBrainz' own 404 is an answer."""
    said = error_text(reply.body)
    if reply.status == HTTPStatus.NOT_FOUND and said:
        return None
    if reply.status != HTTPStatus.OK:
        raise _refused(reply, said)
    try:
        return read(reply.body, question.wanted)
    except UnreadableError as error:
        raise FailureError(str(error), _WRONG_SERVER) from error


def _refused(reply: Reply, said: str | None) -> FailureError:
    problem = f"the server answered {reply.status} {_PHRASES.get(reply.status, '')}".rstrip()
    if said:
        problem += f" ({said})"
    if reply.status not in _PASSING:
        return FailureError(problem, _WRONG_SERVER)
    after_s = retry_after_s(reply.headers.get("retry-after", ""))
    return FailureError(problem, "try again later", is_passing=True, retry_after_s=after_s)


def _redirected(reply: Reply, target: str) -> str | None:
    """Return where a redirect leads on this server; our query is kept where it names none."""
    if reply.status not in _REDIRECTING:
        return None
    location = reply.headers.get("location", "")
    try:
        there = urlsplit(location)
    except ValueError as error:  # half of an IPv6 address
        raise _led_astray(location) from error
    query = there.query or urlsplit(target).query
    following = f"{there.path}?{query}" if query else there.path
    leads_on = there.path.startswith("/ws/2/") and following.isascii() and following != target
    if not leads_on:
        raise _led_astray(location)
    return following


def _led_astray(location: str) -> FailureError:
    return FailureError(f"the server sends us on to {location[:200]!r}", _WRONG_SERVER)
