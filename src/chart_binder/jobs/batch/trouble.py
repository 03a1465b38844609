"""A service that fails is asked less often, and in the end no more."""

import time
from collections.abc import Callable
from dataclasses import dataclass

MOST_IN_A_ROW = 8
"""Failures after which a service is not asked any more in this run."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0


@dataclass(slots=True)
class Trouble:
    """How often a service has failed in a row; the pause doubles each time.

    `why` is the last failure, in a sentence.
    """

    in_a_row: int = 0
    why: str = ""
    clock: Callable[[], float] = time.monotonic
    ready_at: float = 0.0

    def met(self, failure: str | None) -> None:
        """Take note of how it went: `failure` is why not, `None` that it went well.

        What fails within a pause was asked before it, beside what failed already: it says nothing
        more, so that a service is not given up for one outage, however much was asked at once.
        """
        if failure is None:
            self.in_a_row = 0
            return
        self.why = failure
        if not self.may_go:
            return
        self.in_a_row += 1
        pause_s = min(_FIRST_PAUSE_S * 2 ** (self.in_a_row - 1), _LONGEST_PAUSE_S)
        self.ready_at = self.clock() + pause_s

    @property
    def is_over(self) -> bool:
        """Whether the service is given up for this run."""
        return self.in_a_row >= MOST_IN_A_ROW

    @property
    def may_go(self) -> bool:
        """Whether the service may be asked now."""
        return not self.in_a_row or self.clock() >= self.ready_at
