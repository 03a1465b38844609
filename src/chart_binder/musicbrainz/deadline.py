"""Sockets that give up at one moment, however slowly the other side drips."""

import ssl
import time
from collections.abc import Iterable

import httpcore

# httpcore hands the "timeout" of a request to these methods as it is given. Elsewhere that is a
# number of seconds which starts anew with every read; here it is a moment of the monotonic clock.


class DeadlineBackend(httpcore.NetworkBackend):
    """Opens connections on which every `timeout` is a moment (`time.monotonic`)."""

    def __init__(self) -> None:
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect, or raise `httpcore.ConnectTimeout` or `ConnectError`."""
        left_s = _left(timeout, httpcore.ConnectTimeout)
        return _DeadlineStream(
            self._backend.connect_tcp(host, port, left_s, local_address, socket_options)
        )


class _DeadlineStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left_s = _left(timeout, httpcore.ConnectTimeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, left_s))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _left(moment: float | None, over: type[httpcore.TimeoutException]) -> float | None:
    if moment is None:
        return None
    left_s = moment - time.monotonic()
    if left_s <= 0:
        raise over("the time for the whole answer is over")
    return left_s
