"""One request at a time to a host, over all threads of this process, with a pause after each."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from chart_binder.net.deadline import Deadline
from chart_binder.web.errors import FetchError

_MANY = 500
_LONGEST_PAUSE_S = 60.0


class Turns:
    """Whose turn it is at each host; a library is decided by many threads at once."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: set[str] = set()
        self._ended: dict[str, float] = {}

    @contextmanager
    def at(self, host: str, pause_s: float, deadline: Deadline) -> Iterator[None]:
        """Have a host for oneself, once nobody asks it and `pause_s` have passed since.

        Raises `FetchError` where the deadline comes first.
        """
        self._take(host, pause_s, deadline)
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(host)
                self._ended[host] = time.monotonic()
                self._forget()
                self._changed.notify_all()

    def _take(self, host: str, pause_s: float, deadline: Deadline) -> None:
        with self._changed:
            while True:
                left_s = deadline.left()
                wait_s = self._ended.get(host, -pause_s) + pause_s - time.monotonic()
                if host not in self._busy and wait_s <= 0:
                    self._busy.add(host)
                    return
                wait_s = left_s if host in self._busy else wait_s
                if not left_s or wait_s > left_s:
                    raise FetchError(f"{host} is being asked too much at the moment")
                self._changed.wait(wait_s)

    def _forget(self) -> None:
        if len(self._ended) > _MANY:
            long_ago = time.monotonic() - _LONGEST_PAUSE_S
            self._ended = {host: ended for host, ended in self._ended.items() if ended > long_ago}


OF_THIS_PROCESS = Turns()
