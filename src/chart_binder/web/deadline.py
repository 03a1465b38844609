"""One moment by which a whole request has to be over."""

import time
from dataclasses import dataclass


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
