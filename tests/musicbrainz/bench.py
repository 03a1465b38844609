"""What a test of this room works on."""

from typing import Any

from chart_binder.config import MusicBrainzConfig
from chart_binder.musicbrainz.source import MusicBrainzSource, connect
from chart_binder.store.database import Store


class Bench:
    """A store, a clock that tests set and a list of the waits that were asked for."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = 1_800_000_000.0
        self.waits: list[float] = []

    def source(self, hostname: str, **settings: Any) -> MusicBrainzSource:
        """Return a source at `hostname`, without https, a limit or patience unless told."""
        plain = {"https": False, "rate_limit_per_s": 0.0, "timeout_s": 2.0}
        config = MusicBrainzConfig(**{"hostname": hostname, **plain, **settings})
        return connect(
            config,
            self.store.answers,
            self.store.slots,
            clock=lambda: self.now,
            wait=self.waits.append,
        )
