"""How long a server asks to be left alone."""

import email.utils
import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import httpcore


@dataclass(frozen=True, slots=True)
class Deadline:
    """`seconds` were allowed in all; `ends_at` is when they are over, on the monotonic clock."""

    seconds: float
    ends_at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """Return the deadline that lies so many seconds ahead."""
        return cls(seconds, time.monotonic() + seconds)

    def left(self) -> float:
        """Return the seconds that remain, 0.0 once there are none."""
        return max(0.0, self.ends_at - time.monotonic())


class TimedBackend(httpcore.NetworkBackend):
    """Opens connections that end with a deadline."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._system = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline holds
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect, or raise `httpcore.ConnectTimeout` or `ConnectError`."""
        left_s = _left(self._deadline, httpcore.ConnectTimeout)
        stream = self._system.connect_tcp(host, port, left_s, local_address, socket_options)
        return TimedStream(stream, self._deadline)


class TimedStream(httpcore.NetworkStream):
    """A connection whose every wait is what the deadline leaves, whatever timeout is asked for."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Return what has come, or raise `httpcore.ReadTimeout`."""
        return self._stream.read(max_bytes, _left(self._deadline, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Send it all, or raise `httpcore.WriteTimeout`."""
        self._stream.write(buffer, _left(self._deadline, httpcore.WriteTimeout))

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        """Go on in secret, or raise `httpcore.ConnectTimeout` or `ConnectError`."""
        left_s = _left(self._deadline, httpcore.ConnectTimeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, left_s)
        return TimedStream(stream, self._deadline)

    def close(self) -> None:
        """Hang up."""
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore knows of the connection."""
        return self._stream.get_extra_info(info)


def _left(deadline: Deadline, over: type[httpcore.TimeoutException]) -> float:
    left_s = deadline.left()
    if not left_s:
        raise over(f"not over within {deadline.seconds:g} s")
    return left_s


def retry_after_s(header: str) -> float:
    """Read seconds or an HTTP date (RFC 9110, 10.2.3); what cannot be read asks for nothing."""
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = email.utils.parsedate_to_datetime(header).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, moment - time.time())
