"""Network connections: deadlines, proxies, certificate authorities and rate limits."""

import contextlib
import email.utils
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import Any, Protocol, Self
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore

from chart_binder.errors import ConfigError, masked


class Deadline:
    """A moment, `seconds` after its creation, at which all waiting ends.

    httpx applies its timeouts to each read, so they do not stop a slow server. Either connections
    are opened by a `TimedBackend`, or the deadline is used in a `with` statement and `watch` is the
    `trace` of each request. Then the connection is shut down, which ends a waiting read.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends_at = time.monotonic() + seconds
        self._socket: socket.socket | None = None
        self._timer: threading.Timer | None = None

    @property
    def left_s(self) -> float:
        """Seconds that remain; 0.0 once there are none."""
        return max(0.0, self._ends_at - time.monotonic())

    @property
    def has_passed(self) -> bool:
        """Whether no time remains."""
        return not self.left_s

    def __enter__(self) -> Self:
        self._timer = threading.Timer(self.left_s, self._shut_down)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def shorten(self, seconds: float) -> None:
        """Move the deadline to `seconds` from now, if that is sooner; inside `with` only."""
        if seconds < self.left_s:
            self.__exit__()
            self._ends_at = time.monotonic() + seconds
            self.__enter__()

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Remember the connection of a request: an httpx `trace` extension."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
            if self.has_passed:
                self._shut_down()

    def _shut_down(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # closed or being wrapped for TLS meanwhile
                self._socket.shutdown(socket.SHUT_RDWR)


class TimedBackend(httpcore.NetworkBackend):
    """Opens connections on which all waiting ends at a deadline."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._system = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline applies
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect, or raise `httpcore.ConnectTimeout` or `ConnectError`."""
        left_s = _left_s(self._deadline, httpcore.ConnectTimeout)
        stream = self._system.connect_tcp(host, port, left_s, local_address, socket_options)
        return TimedStream(stream, self._deadline)


class TimedStream(httpcore.NetworkStream):
    """A connection on which every wait is bounded by the deadline, whatever timeout is given."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Return what has arrived, or raise `httpcore.ReadTimeout`."""
        return self._stream.read(max_bytes, _left_s(self._deadline, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Send all bytes of `buffer`, or raise `httpcore.WriteTimeout`."""
        self._stream.write(buffer, _left_s(self._deadline, httpcore.WriteTimeout))

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        """Return the encrypted stream, or raise `httpcore.ConnectTimeout` or `ConnectError`."""
        left_s = _left_s(self._deadline, httpcore.ConnectTimeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, left_s)
        return TimedStream(stream, self._deadline)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        """Return an attribute of the connection that httpcore defines, such as `socket`."""
        return self._stream.get_extra_info(info)


def _left_s(deadline: Deadline, error: type[httpcore.TimeoutException]) -> float:
    """Return the remaining seconds, or raise `error`, because a timeout of 0 would mean no wait."""
    left_s = deadline.left_s
    if not left_s:
        raise error(f"not finished within {deadline.seconds:g} s")
    return left_s


def retry_after_s(header: str) -> float:
    """Return the seconds to wait by a Retry-After header (RFC 9110, 10.2.3); 0.0 if invalid."""
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = email.utils.parsedate_to_datetime(header).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, moment - time.time())


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine by its name or address."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def environment_proxy(scheme: str, host: str) -> httpcore.Proxy | None:
    """Return the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name for a host, if any.

    There is none for this machine. Raises `ConfigError`, which names the variable, if its value is
    not the address of a proxy.
    """
    name, proxy = named_proxy(host, scheme)
    if not proxy:
        return None
    reason = None
    try:
        split = urlsplit(proxy)
        if split.scheme not in {"http", "https"}:
            return None
        if split.hostname and split.port != 0 and proxy.isascii() and proxy.isprintable():
            auth = unquote_to_bytes(split.username or ""), unquote_to_bytes(split.password or "")
            bare = f"{split.scheme}://{split.netloc.rpartition('@')[2]}"
            return httpcore.Proxy(bare, auth=auth if split.username else None)
    except ValueError as error:
        reason = error
    raise ConfigError(
        f"{name} in the environment is {masked(proxy)!r}, which is not the address"
        " of a proxy: write http://host:port"
    ) from reason


def named_proxy(host: str, *schemes: str) -> tuple[str, str]:
    """Return the variable that names a proxy for a host, and its value, or two empty texts.

    `schemes` are tried in order; the scheme `all` means ALL_PROXY.
    """
    proxies = getproxies()
    scheme = next(filter(proxies.get, schemes), None)
    is_local = is_this_machine(urlsplit(f"//{host}").hostname or host)
    if scheme is None or is_local or proxy_bypass(host):
        return "", ""
    return f"{scheme.upper()}_PROXY", proxies[scheme]


@cache
def trusted_authorities() -> ssl.SSLContext:
    """Return the certificate authorities of certifi, SSL_CERT_FILE or SSL_CERT_DIR; read once.

    Raises `ConfigError`, which names the variable, if no certificates can be read there.
    """
    import httpx  # takes 170 ms to import, which only requests to a server need

    try:
        return httpx.create_ssl_context()
    except OSError as error:
        name = "SSL_CERT_FILE" if os.environ.get("SSL_CERT_FILE") else "SSL_CERT_DIR"
        raise ConfigError(
            f"{name} in the environment is {os.environ.get(name, '')!r}, from which no certificates"
            " can be read: unset it, or set it to the place of your certificates"
        ) from error


def no_authorities() -> ssl.SSLContext:
    """Return a context that trusts no authority, for connections without TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class RateLimiter(Protocol):
    """Assigns the times of requests, for all threads and processes that share it."""

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Take the next free moment of `service`; return how many seconds after `now` it is."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """Spaces requests `interval_s` seconds apart unless it is 0; all processes share `clock`."""

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
        left_s = now + wait_s - self.clock()  # reserving took some of that time
        if left_s > 0:
            self.wait(min(left_s, wait_s))
