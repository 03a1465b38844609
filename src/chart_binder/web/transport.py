"""The one way out: resolved once, checked, pinned to what was checked, over by a deadline."""

import queue
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import Any, TypeAlias

import httpcore
import httpx

from chart_binder.errors import RefusedError, UnknownHostError
from chart_binder.net import Deadline, TimedStream
from chart_binder.web.guard import Address, parsed

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
            addresses = answer.get(timeout=self._deadline.left_s)
        except queue.Empty:
            raise httpcore.ConnectTimeout(f"{host} was not resolved in time") from None
        if isinstance(addresses, UnknownHostError):
            raise addresses
        return addresses

    def _connect(self, addresses: Sequence[Address], port: int) -> httpcore.NetworkStream:
        failure: Exception = httpcore.ConnectError("no address")
        for tried, address in enumerate(addresses):
            share_s = self._deadline.left_s / (len(addresses) - tried)
            try:
                return self._system.connect_tcp(str(address), port, _some(share_s))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


def _some(seconds: float) -> float:
    """Return a timeout that is never 0, which would mean: do not wait at all."""
    return max(seconds, 0.001)


ACCEPTED_ENCODINGS = "gzip, deflate"
"""Not br or zstd: Python's libraries for them bound what they unpack in their newest versions only.
"""
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class Body:
    """The unpacked bytes; `cut` says that there was more, or that the server broke off."""

    data: bytes
    cut: bool


def read_body(response: httpx.Response, max_bytes: int) -> Body:
    """Read at most `max_bytes` of a streamed response, unpacked.

    Raises `httpx.DecodingError` for an encoding nobody asked for or that cannot be unpacked,
    and whatever httpx raises for a connection that fails.
    """
    packing = _packing(response)
    data = bytearray()
    arrived = 0
    for chunk in response.iter_raw():
        arrived += len(chunk)
        for piece in packing.pieces(chunk):
            data += piece
            if len(data) > max_bytes:
                return Body(bytes(data[:max_bytes]), cut=True)
        if arrived > max_bytes:
            return Body(bytes(data), cut=True)
    return Body(bytes(data), cut=packing.is_unfinished)


def _packing(response: httpx.Response) -> "_Plain | _Inflater":
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return _Plain()
    if encoding in {"gzip", "x-gzip"}:
        return _Inflater(_GZIP)
    if encoding == "deflate":
        return _Inflater(_ZLIB, _RAW)
    raise httpx.DecodingError(f"content encoding {encoding[:40]!r}", request=response.request)


class _Plain:
    is_unfinished = False

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk


class _Inflater:
    """gzip, its concatenated members included, or deflate, in pieces of bounded size.

    What is called deflate is zlib's format; some servers send it without its frame.
    """

    _PIECE = 65_536

    def __init__(self, frame: int, other: int | None = None) -> None:
        self._frame = frame
        self._other = other
        self._stream = zlib.decompressobj(frame)
        self._members = 0
        self._is_within = False  # a member that has not ended

    @property
    def is_unfinished(self) -> bool:
        """Whether what is packed should have gone on."""
        return self._is_within

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while True:
            piece = self._unpacked(chunk)
            if piece is None:
                return
            yield piece
            chunk = self._stream.unconsumed_tail
            if self._stream.eof:
                chunk = self._stream.unused_data
                self._stream = zlib.decompressobj(self._frame)
                self._members += 1
                self._is_within = False
                if not chunk:
                    return
            elif not chunk and len(piece) < self._PIECE:
                return

    def _unpacked(self, chunk: bytes) -> bytes | None:
        """Return the next piece; None for what is behind the end."""
        try:
            piece = self._stream.decompress(chunk, self._PIECE)
        except zlib.error as error:
            if self._members:
                return None  # some servers pad behind the last member
            if self._other is None:
                raise httpx.DecodingError("the packed body is broken") from error
            self._frame, self._other = self._other, None
            self._stream = zlib.decompressobj(self._frame)
            return self._unpacked(chunk)
        # Behind a member there may be padding; only what unpacks to something is another one.
        self._is_within = self._is_within or bool(piece) or not self._members
        if piece:
            self._other = None
        return piece
