"""A request is cut off when its time is over, however slowly its bytes arrive."""

import contextlib
import socket
import threading
from collections.abc import Mapping
from time import monotonic
from typing import Any, Self


class Deadline:
    """A moment `seconds` from now at which the watched connection is hung up.

    httpx counts its timeouts for each read: a server that drips a byte now and then, in the
    headers or in the body, is never cut by them. Hanging up wakes a read that is waiting.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._socket: socket.socket | None = None
        self._set(seconds)

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    @property
    def left(self) -> float:
        """Seconds until the moment; 0 after it."""
        return max(0.0, self._end - monotonic())

    @property
    def passed(self) -> bool:
        """Whether the moment is over."""
        return monotonic() >= self._end

    def shorten(self, seconds: float) -> None:
        """Have the moment come in `seconds`, if that is sooner."""
        if seconds < self.left:
            self._timer.cancel()
            self._set(seconds)
            self._timer.start()

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Take note of a request's connection: an httpx `trace` extension."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
            if self.passed:
                self._hang_up()

    def _set(self, seconds: float) -> None:
        self._end = monotonic() + seconds
        self._timer = threading.Timer(seconds, self._hang_up)
        self._timer.daemon = True

    def _hang_up(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # closed or being wrapped for TLS meanwhile
                self._socket.shutdown(socket.SHUT_RDWR)
