"""MusicBrainz's web service over the network: requests, and a cache with retries."""

import logging
import math
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import ClassVar, NamedTuple, Protocol
from urllib.parse import urlsplit

import httpcore
from msgspec.structs import replace

from chart_binder import __version__
from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.evidence import Provenance
from chart_binder.domain.records import CachedAnswer
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.client import Answer, ServiceHealth
from chart_binder.musicbrainz.web_service import Metadata, ServiceQuery, UnreadableError
from chart_binder.net import Deadline, Throttle, TimedBackend, environment_proxy, retry_after_s

_log = logging.getLogger(__name__)

MAX_BYTES = 16_000_000
"""The longest response; a hundred releases with all includes take less than one million bytes."""
_MAX_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEMPORARY = frozenset({429, 500, 502, 503, 504, 520})
"""A proxy sends 520 if the server behind it sent an empty or unreadable response."""
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_WRONG_SERVER = "check that musicbrainz.hostname and musicbrainz.https name a MusicBrainz server"


@dataclass(eq=False)
class RequestError(Exception):
    """A request failed; `advice` tells a person what to do. It may succeed later if temporary."""

    problem: str
    advice: str
    is_temporary: bool = False
    retry_after_s: float = 0.0

    def __str__(self) -> str:
        return self.problem


class _Response(NamedTuple):
    status: int
    headers: Mapping[bytes, bytes]
    body: bytes

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


class MusicBrainzServer:
    """Sends requests to MusicBrainz at one host and counts them in `sent`. Threads may share it.

    `sent_by_all` counts those of all servers in this process. Both counts include failed requests.
    """

    sent_by_all: ClassVar[int] = 0
    _lock = threading.Lock()

    def __init__(self, config: MusicBrainzConfig, throttle: Throttle) -> None:
        """Open no connection yet. Raises `ConfigError` if the proxy is invalid."""
        self.sent = 0
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
        self._proxy = environment_proxy(self._scheme, self._host)

    def fetch(self, query: ServiceQuery) -> tuple[bytes, Metadata | None]:
        """Return a response's body and content (None if not found). Raises `RequestError`."""
        target = query.target
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._get(target)
            next_target = _redirect_target(response, target)
            if next_target is None:
                return response.body, _content(response, query)
            target = next_target
        raise RequestError("too many redirects", _WRONG_SERVER)

    def _get(self, target: str) -> _Response:
        self._throttle.wait_turn(f"musicbrainz {self._host}")
        with self._lock:
            self.sent += 1
            MusicBrainzServer.sent_by_all += 1
        started = time.monotonic()
        pool = httpcore.ConnectionPool(
            ssl_context=self._ssl_context,
            proxy=self._proxy,
            max_keepalive_connections=0,
            network_backend=TimedBackend(Deadline(self._timeout_s)),
        )
        name, colon, port = self._host.partition(":")
        try:
            url = f"{self._scheme}://{name.encode('idna').decode('ascii')}{colon}{port}{target}"
            with pool, pool.stream("GET", url, headers=self._headers) as response:
                body = _read_bounded(response)
        except _ERRORS as error:
            raise _translated(error, self._timeout_s) from error
        status, seconds = response.status, round(time.monotonic() - started, 3)
        extra = {"path": target, "cached": False, "status": status, "seconds": seconds}
        _log.debug("musicbrainz", extra=extra)
        headers = {key.lower(): value for key, value in response.headers}
        return _Response(status, headers, body)


def _content(response: _Response, query: ServiceQuery) -> Metadata | None:
    error = ws.error_text(response.body)
    if response.status == HTTPStatus.NOT_FOUND and error:
        return None
    if response.status != HTTPStatus.OK:
        phrase = _PHRASES.get(response.status, "")
        problem = f"the server answered {response.status} {phrase}".rstrip()
        problem += f" ({error})" if error else ""
        if response.status not in _TEMPORARY:
            raise RequestError(problem, _WRONG_SERVER)
        after_s = retry_after_s(response.header(b"retry-after"))
        advice = f"try again in {after_s:.0f} s" if after_s else "try again later"
        raise RequestError(problem, advice, is_temporary=True, retry_after_s=after_s)
    try:
        return ws.parse_response(response.body, query.wanted)
    except UnreadableError as unreadable:
        raise RequestError(str(unreadable), _WRONG_SERVER) from unreadable


def _redirect_target(response: _Response, target: str) -> str | None:
    """Return the target of a redirect on this server, with the old query if it has none."""
    if response.status not in _REDIRECTS:
        return None
    location = response.header(b"location")
    refusal = RequestError(f"the server redirects to {location[:200]!r}", _WRONG_SERVER)
    try:
        redirect = urlsplit(location)
    except ValueError as error:  # half of an IPv6 address
        raise refusal from error
    query = redirect.query or urlsplit(target).query
    next_target = f"{redirect.path}?{query}" if query else redirect.path
    is_ours = redirect.path.startswith("/ws/2/") and next_target.isascii()
    if not is_ours or next_target == target:
        raise refusal
    return next_target


def _read_bounded(response: httpcore.Response) -> bytes:
    body = bytearray()
    for piece in response.iter_stream():
        body += piece
        if len(body) > MAX_BYTES:
            too_long = f"the answer is longer than {MAX_BYTES // 1_000_000} MB"
            raise RequestError(too_long, _WRONG_SERVER)
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
            advice = "check clock and certificate; a mirror may need musicbrainz.https = false"
        case httpcore.ConnectError():
            cause = next(iter(error.args), None)  # httpcore wraps what the socket raised
            text = cause.strerror if isinstance(cause, OSError) else None
            problem, is_temporary = f"no connection ({text or error})", True
            advice = "check the network and musicbrainz.hostname"
        case httpcore.NetworkError() | httpcore.RemoteProtocolError():
            problem = f"the connection was interrupted ({error or type(error).__name__})"
            advice = "try again later; check that musicbrainz.https fits the server"
            is_temporary = True
        case _:
            problem = f"the request could not be sent ({error})"
            advice = "check musicbrainz.hostname, and the proxy in the environment"
    return RequestError(problem, advice, is_temporary=is_temporary)


# Cached responses.

MAX_RETRY_AFTER_S = 30.0
"""If a server asks for a longer wait, the request fails."""
_PAUSES_S = (0.5, 1.0)
"""Pauses before the second and the third try; longer if the server requests it."""
TRIES = 1 + len(_PAUSES_S)


class AnswerCache(Protocol):
    """Stores responses between runs. A `StoreError` that it raises is passed on."""

    def get(self, key: str) -> CachedAnswer | None:
        """Return the response stored under `key`, however old, or None."""

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Store `body` under `key`, replacing an earlier one."""

    def forget(self, key: str) -> None:
        """Delete what is stored under `key`."""


class CachedService:
    """MusicBrainz with a cache of all responses except failures; offline, any age is accepted."""

    is_local = False

    def __init__(
        self,
        config: MusicBrainzConfig,
        server: MusicBrainzServer | None,
        cache: AnswerCache,
        throttle: Throttle,
    ) -> None:
        self._config = config
        self._server = server
        self._cache = cache
        self._throttle = throttle

    @property
    def host(self) -> str:
        """The name of the server, with its port if it has one."""
        return self._config.hostname

    @property
    def is_offline(self) -> bool:
        """Whether no request is sent."""
        return self._server is None

    @property
    def requests(self) -> int:
        """The number of requests sent, including failed ones."""
        return self._server.sent if self._server else 0

    def fetch(self, query: ServiceQuery) -> Answer:
        """Return the response, else an old one with a warning, else raise `LookupFailedError`."""
        cached = self._cached(query)
        if cached is not None and self.is_fresh(cached.fetched_at):
            _log.debug("musicbrainz", extra={"path": query.target, "cached": True, "seconds": 0.0})
            return cached
        try:
            return self._fetch_new(query)
        except LookupFailedError as error:
            if cached is None:
                raise
            age_s = round(self.age_s(cached.fetched_at))
            _log.warning(
                "an old musicbrainz answer is used", extra={"why": str(error), "age_s": age_s}
            )
            return cached

    def cost(self, query: ServiceQuery) -> float:
        """Return how many requests a response takes: 0 if cached, else 1, infinite if offline."""
        cached = self._cache.get(self._key(query))
        if cached is not None and self.is_fresh(cached.fetched_at):
            return 0
        return 1 if self._server else math.inf

    def is_fresh(self, fetched_at: float) -> bool:
        """Whether a response of that time needs no new request; offline, none needs one."""
        return self._server is None or 0 <= self.now() - fetched_at < self._config.cache_ttl_s

    def forget(self, query: ServiceQuery) -> None:
        """Delete the cached response to a query because it is wrong."""
        self._cache.forget(self._key(query))

    def now(self) -> float:
        """Return the current time in seconds since the epoch."""
        return self._throttle.clock()

    def age_s(self, fetched_at: float) -> float:
        """Return how many seconds ago something was fetched."""
        return max(0.0, self.now() - fetched_at)

    def dated(self, provenance: Provenance, oldest_at: float) -> Provenance:
        """Return a provenance with the time and age of its oldest response."""
        fetched = datetime.fromtimestamp(oldest_at, UTC).isoformat(timespec="seconds")
        age_s = round(self.age_s(oldest_at), 1)
        return replace(provenance, fetched_at_utc=fetched, cache_age_s=age_s)

    def failure(self, problem: str) -> LookupFailedError:
        """Return the error for a failed look-up, with the host."""
        return LookupFailedError(f"the look-up at MusicBrainz ({self.host}) failed: {problem}")

    def check(self) -> ServiceHealth:
        """Check the service with one request, and its configuration; a failure is not raised."""
        problems = _config_problems(self._config)
        if self._server is None:
            return ServiceHealth(self.host, is_reachable=None, problems=problems)
        try:
            _, metadata = self._server.fetch(ws.LookUp("artist", VARIOUS_ARTISTS))
        except RequestError as error:
            problem = f"{error}: {error.advice}"
            return ServiceHealth(self.host, is_reachable=False, problems=(problem, *problems))
        if metadata is None:
            empty = "the server has no data: import MusicBrainz's data into the mirror"
            problems = (empty, *problems)
        return ServiceHealth(self.host, is_reachable=True, problems=problems)

    def _key(self, query: ServiceQuery) -> str:
        return self.host + query.target

    def _fetch_new(self, query: ServiceQuery) -> Answer:
        if self._server is None:
            raise self.failure(
                "canon is offline, and no answer to it is stored: run once without --offline"
            )
        for pause_s in (*_PAUSES_S, None):
            try:
                body, metadata = self._server.fetch(query)
            except RequestError as error:
                is_last = pause_s is None or error.retry_after_s > MAX_RETRY_AFTER_S
                if is_last or not error.is_temporary:
                    times = f", {TRIES} times" if error.is_temporary and pause_s is None else ""
                    raise self.failure(f"{error}{times}; {error.advice}") from error
                after_s = max(error.retry_after_s, pause_s or 0.0)
                _log.info(
                    "musicbrainz request repeated", extra={"why": str(error), "after_s": after_s}
                )
                self._throttle.wait(after_s)
                continue
            answer = Answer(metadata, self.now())
            self._cache.put(self._key(query), body, answer.fetched_at)
            return answer
        raise AssertionError("the last try ends in an answer or a failure")

    def _cached(self, query: ServiceQuery) -> Answer | None:
        key = self._key(query)
        cached = self._cache.get(key)
        if cached is None:
            return None
        try:
            is_error = ws.error_text(cached.body)
            metadata = None if is_error else ws.parse_response(cached.body, query.wanted)
        except UnreadableError as error:
            _log.warning(
                "a cached musicbrainz answer cannot be read", extra={"key": key, "why": str(error)}
            )
            return None
        return Answer(metadata, cached.fetched_at)


_PUBLIC = frozenset({"musicbrainz.org", "www.musicbrainz.org", "beta.musicbrainz.org"})
_PUBLIC_RATE = 1.0
"""Requests a second for one address (musicbrainz.org/doc/MusicBrainz_API/Rate_Limiting)."""


def _config_problems(config: MusicBrainzConfig) -> tuple[str, ...]:
    if config.hostname.partition(":")[0].lower() not in _PUBLIC:
        return ()
    rate = config.rate_limit_per_s
    too_fast = f"the public service allows {_PUBLIC_RATE:g} request a second, not {rate:g}"
    checks = (
        (not config.contact, "no contact for MusicBrainz to write to: set musicbrainz.contact"),
        (rate > _PUBLIC_RATE, f"{too_fast}: lower musicbrainz.rate_limit_per_s"),
        (not rate, "the public service has a rate limit: set musicbrainz.rate_limit_per_s to 1"),
        (not config.https, "the public service speaks https: set musicbrainz.https to true"),
    )
    return tuple(problem for is_so, problem in checks if is_so)
