"""Requests wait for their turn."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from chart_binder.musicbrainz.ports import RateLimiter


@dataclass(frozen=True, slots=True)
class Pace:
    """When requests may go: `interval_s` apart (0: at once).

    `clock` (seconds since the epoch) is the one that other processes go by; `wait` sleeps.
    """

    limiter: RateLimiter
    interval_s: float
    clock: Callable[[], float] = time.time
    wait: Callable[[float], None] = time.sleep

    def take_turn(self, service: str) -> None:
        """Wait until the next request to `service` may go."""
        if self.interval_s <= 0:
            return
        now = self.clock()
        wait_s = self.limiter.reserve(service, self.interval_s, now)
        left_s = now + wait_s - self.clock()  # reserving took some of it
        if left_s > 0:
            self.wait(min(left_s, wait_s))
