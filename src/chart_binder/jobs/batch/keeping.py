"""What is settled is kept many at a time, so that the disk is waited for once."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from chart_binder.domain.kept import KeptRun, now_utc
from chart_binder.domain.measures import Measures
from chart_binder.jobs.batch.work import Settled, Stage
from chart_binder.jobs.keeping import is_outweighed

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_MOST_HELD = 100
_LONGEST_HELD_S = 0.5


@dataclass(slots=True)
class Keeping:
    """Holds what is settled for a moment, then keeps it; without a store nothing is kept."""

    store: "Store | None"
    run: KeptRun
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
        started = time.monotonic()
        to_keep = [settled.kept for settled in held if settled.kept]
        if self.store and to_keep:
            store = self.store
            self.store.decisions.put_all(
                settled.kept
                for settled in held
                if settled.kept and not is_outweighed(store, settled.kept[0], settled.decision)
            )
        self._held = []
        share_s = (time.monotonic() - started) / max(1, len(to_keep))
        return [_timed(settled, share_s) if settled.kept else settled for settled in held]

    def begin(self) -> None:
        """Keep that the run began. Raises `StoreError`."""
        if self.store:
            self.store.runs.begin(self.run)

    def measure(self, found: Measures) -> None:
        """Keep what the run has come to so far. Raises `StoreError`."""
        if self.store:
            self.store.runs.measure(self.run.id, found.states, msgspec.json.encode(found))

    def end(self, status: int, found: Measures) -> None:
        """Keep how the run ended. Raises `StoreError`."""
        if self.store:
            self.measure(found)
            self.store.runs.end(self.run.id, now_utc(), status, found.states)


def _timed(settled: Settled, seconds: float) -> Settled:
    return replace(settled, seconds={**settled.seconds, Stage.STORE: seconds})
