"""The one way out: resolved once, checked, pinned to what was checked, over by a deadline."""

import queue
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from ipaddress import ip_address
from typing import Any, TypeAlias

import httpcore
import httpx

from chart_binder.net.deadline import Deadline, TimedStream
from chart_binder.web.addresses import Address, parsed
from chart_binder.web.errors import RefusedError, UnknownHostError

Resolve: TypeAlias = Callable[[str, int], Sequence[Address]]
Admit: TypeAlias = Callable[[str, Sequence[Address]], None]

_MOST_ADDRESSES_TRIED = 4


def open_client(
    admit: Admit, deadline: Deadline, resolve: Resolve, trust: ssl.SSLContext | None
) -> httpx.Client:
    """Return a client for one request and its redirects.

    Every connection is resolved by `resolve`, held against `admit` (which raises to refuse) and
    made to one of the very addresses that were checked. All waiting ends with the deadline, as
    `httpx.TimeoutException`. Proxies and passwords from the environment do not apply: behind a
    proxy no address could be checked. Without `trust` no https server is believed.
    """
    return httpx.Client(
        transport=_PinnedTransport(_PinnedBackend(admit, deadline, resolve), trust or _nobody()),
        timeout=None,  # noqa: S113 - the deadline holds for every single read, write and connect
        trust_env=False,
    )


def resolve_by_system(host: str, port: int) -> tuple[Address, ...]:
    """Ask the system's resolver; `UnknownHostError` where it knows no such host."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnknownHostError(f"there is no host called {host!r}") from error
    return tuple(dict.fromkeys(ip_address(entry[4][0]) for entry in found))


def _nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def trusted_authorities() -> ssl.SSLContext:
    """Return certifi's authorities, or those of SSL_CERT_FILE or SSL_CERT_DIR where set."""
    return httpx.create_ssl_context()


class _PinnedTransport(httpx.HTTPTransport):
    def __init__(self, backend: httpcore.NetworkBackend, trust: ssl.SSLContext) -> None:
        super().__init__(verify=trust, trust_env=False)
        # httpx offers no argument for a network backend; everything else of its transport holds.
        # No connection is kept, so that each redirect is resolved and checked anew.
        self._pool = httpcore.ConnectionPool(
            ssl_context=trust, network_backend=backend, max_keepalive_connections=0
        )


class _PinnedBackend(httpcore.NetworkBackend):
    def __init__(self, admit: Admit, deadline: Deadline, resolve: Resolve) -> None:
        self._admit = admit
        self._deadline = deadline
        self._resolve = resolve
        self._system = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline's share counts
        local_address: str | None = None,  # noqa: ARG002 - httpx was given none
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002 - httpx was given none
    ) -> httpcore.NetworkStream:
        addresses = self._addresses(host, port)
        self._admit(host, addresses)
        stream = self._connect(addresses[:_MOST_ADDRESSES_TRIED], port)
        peer = ip_address(stream.get_extra_info("server_addr")[0])
        if peer not in addresses:
            stream.close()
            raise RefusedError(f"{host} cannot be fetched: another machine answered for it")
        return TimedStream(stream, self._deadline)

    def _addresses(self, host: str, port: int) -> Sequence[Address]:
        """Resolve in a thread of its own: the system's resolver knows no deadline."""
        literal = parsed(host)
        if literal is not None:
            return (literal,)
        answer: queue.SimpleQueue[Sequence[Address] | UnknownHostError] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answer.put(self._resolve(host, port))
            except UnknownHostError as error:
                answer.put(error)

        threading.Thread(target=ask, name=f"resolve {host}", daemon=True).start()
        try:
            addresses = answer.get(timeout=self._deadline.left())
        except queue.Empty:
            raise httpcore.ConnectTimeout(f"{host} was not resolved in time") from None
        if isinstance(addresses, UnknownHostError):
            raise addresses
        return addresses

    def _connect(self, addresses: Sequence[Address], port: int) -> httpcore.NetworkStream:
        failure: Exception = httpcore.ConnectError("no address")
        for tried, address in enumerate(addresses):
            share_s = self._deadline.left() / (len(addresses) - tried)
            try:
                return self._system.connect_tcp(str(address), port, _some(share_s))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


def _some(seconds: float) -> float:
    """Return a timeout that is never 0, which would mean: do not wait at all."""
    return max(seconds, 0.001)
