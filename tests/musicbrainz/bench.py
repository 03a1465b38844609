"""What a test of this room works on."""

from dataclasses import dataclass, field
from typing import Any

from chart_binder.config import MusicBrainzConfig
from chart_binder.musicbrainz.source import MusicBrainzSource, connect
from chart_binder.musicbrainz.tool import MemoryCache
from chart_binder.store.store import Store


@dataclass(frozen=True, slots=True)
class Remembered:
    """In place of a store the memory of this process, for tests with many requests."""

    answers: MemoryCache = field(default_factory=MemoryCache)
    slots: MemoryCache = field(default_factory=MemoryCache)


class Bench:
    """A store, a clock that tests set and a list of the waits that were asked for."""

    def __init__(self, store: Store | Remembered) -> None:
        self.store = store
        self.now = 1_800_000_000.0
        self.waits: list[float] = []

    @staticmethod
    def settings(hostname: str, **settings: Any) -> MusicBrainzConfig:
        """Return what leads to `hostname`, without https, a limit or patience unless told."""
        plain = {"https": False, "rate_limit_per_s": 0.0, "timeout_s": 2.0}
        return MusicBrainzConfig(**{"hostname": hostname, **plain, **settings})

    def source(self, hostname: str, **settings: Any) -> MusicBrainzSource:
        """Return a source with those settings."""
        return connect(
            self.settings(hostname, **settings),
            self.store.answers,
            self.store.slots,
            clock=lambda: self.now,
            wait=self.waits.append,
        )
