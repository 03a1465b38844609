"""One GET over HTTP, within one deadline."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore

from chart_binder.errors import ConfigError
from chart_binder.masking import masked
from chart_binder.net.deadline import Deadline, TimedBackend

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
            network_backend=TimedBackend(Deadline.after(self._timeout_s)),
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
