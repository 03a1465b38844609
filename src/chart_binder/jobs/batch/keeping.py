"""What is settled is kept many at a time, so that the disk is waited for once."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from chart_binder.domain.kept import KeptRun
from chart_binder.jobs.batch.work import Settled, Stage

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_MOST_HELD = 100
_LONGEST_HELD_S = 0.5


@dataclass(slots=True)
class Keeping:
    """Holds what is settled for a moment, then keeps it; without a store nothing is kept.

    The run is kept with its first decision.
    """

    store: "Store | None"
    run: KeptRun
    has_begun: bool = False
    _held: list[Settled] = field(default_factory=list)
    _since: float = 0.0

    def hold(self, settled: Settled) -> None:
        """Take what is settled."""
        if not self._held:
            self._since = time.monotonic()
        self._held.append(settled)

    @property
    def is_due(self) -> bool:
        """Whether what is held should be kept now."""
        if not self._held:
            return False
        return len(self._held) >= _MOST_HELD or time.monotonic() - self._since >= _LONGEST_HELD_S

    def keep(self) -> Sequence[Settled]:
        """Keep what is held, all of it or nothing, and return it. Raises `StoreError`."""
        held = self._held
        to_keep = [settled.kept for settled in held if settled.kept]
        started = time.monotonic()
        if self.store and to_keep:
            if not self.has_begun:
                self.store.runs.begin(self.run)
                self.has_begun = True
            self.store.decisions.put_all(to_keep)
        self._held = []
        share_s = (time.monotonic() - started) / max(1, len(to_keep))
        return [_timed(settled, share_s) if settled.kept else settled for settled in held]

    def end(self, ended_at_utc: str, status: int, counts: Mapping[str, int]) -> None:
        """Keep how the run ended, if anything was kept. Raises `StoreError`."""
        if self.store and self.has_begun:
            self.store.runs.end(self.run.id, ended_at_utc, status, counts)


def _timed(settled: Settled, seconds: float) -> Settled:
    return replace(settled, seconds={**settled.seconds, Stage.STORE: seconds})
