"""What this room needs from the outside: kept answers, paced requests."""

from typing import Protocol


class KeptAnswer(Protocol):
    """An answer as it was received; `fetched_at` is in seconds since the epoch."""

    @property
    def body(self) -> bytes:
        """The answer's bytes."""
        ...

    @property
    def fetched_at(self) -> float:
        """When it was received."""
        ...


class AnswerCache(Protocol):
    """Where answers are kept between runs; a `StoreError` passes through this room."""

    def get(self, key: str) -> KeptAnswer | None:
        """Return the answer kept under `key`, however old."""
        ...

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Keep `body` under `key`, in place of an earlier one."""
        ...

    def forget(self, key: str) -> None:
        """Keep nothing under `key` any more."""
        ...


class RateLimiter(Protocol):
    """Who says when the next request may go, for all threads and processes here."""

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Take the next free moment of `service`; return how many seconds after `now` it is."""
        ...
