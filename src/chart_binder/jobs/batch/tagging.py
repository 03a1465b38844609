"""Tags are written, or shown, once the decision on a file is kept."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from chart_binder.jobs.batch.work import Settled
from chart_binder.jobs.decision import State
from chart_binder.jobs.write import Told

_MOST_IN_HAND = 64
_WITH_AN_ANSWER = (State.DECIDED, State.REVIEW)


class Tagging:
    """Writes the tags of settled files, a few at once; without `write` nothing is written.

    `write` tells what became of a file's tags.
    """

    def __init__(self, write: Callable[[Settled], Told] | None, at_once: int = 1) -> None:
        self._write = write
        self._pool = ThreadPoolExecutor(at_once, "canon-write") if write else None
        self._in_hand = 0

    @property
    def has_room(self) -> bool:
        """Whether more may be settled before what is in hand is written."""
        return self._in_hand < _MOST_IN_HAND

    def begin(self, settled: Settled) -> "Future[tuple[Told, float]] | None":
        """Begin to write, where there is an answer that may be written."""
        is_file = settled.kept is not None or settled.is_resumed
        if self._pool is None or not is_file or settled.decision.state not in _WITH_AN_ANSWER:
            return None
        self._in_hand += 1
        return self._pool.submit(self._written, settled)

    def is_done(self) -> None:
        """Take note that one is written."""
        self._in_hand -= 1

    def close(self) -> None:
        """End the threads, each after the file that it is at."""
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _written(self, settled: Settled) -> tuple[Told, float]:
        assert self._write is not None
        started = time.monotonic()
        return self._write(settled), time.monotonic() - started
