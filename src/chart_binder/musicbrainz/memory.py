"""Kept answers and paced requests of one process, for a caller without a store."""

import threading
from dataclasses import dataclass
from functools import cache

_MOST_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer as it was received; `fetched_at` is in seconds since the epoch."""

    body: bytes
    fetched_at: float


class Memory:
    """What `ports.AnswerCache` and `ports.RateLimiter` ask for; threads may share it.

    Of more than a thousand answers the oldest is forgotten.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> Kept | None:
        """Return the answer kept under `key`."""
        return self._kept.get(key)

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Keep `body` under `key`, in place of an earlier one."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = Kept(body, fetched_at)
            if len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]

    def forget(self, key: str) -> None:
        """Keep nothing under `key` any more."""
        with self._lock:
            self._kept.pop(key, None)

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Take the next free moment of `service`; return how many seconds after `now` it is."""
        with self._lock:
            moment = max(now, self._next.get(service, now))
            self._next[service] = moment + interval_s
        return moment - now


@cache
def process_memory() -> Memory:
    """Return the one that all of this process share, for they share the rate limit."""
    return Memory()
