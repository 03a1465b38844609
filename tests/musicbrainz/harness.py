"""Evidence sources for tests: a store, a clock that tests set, and the waits asked for."""

from dataclasses import dataclass, field
from typing import Any

from chart_binder.config import MusicBrainzConfig
from chart_binder.musicbrainz.source import MusicBrainzSource, connect
from chart_binder.musicbrainz.tool import MemoryCache
from chart_binder.store.store import Store


@dataclass(frozen=True, slots=True)
class StoreInMemory:
    """A cache and a rate limiter in memory in place of a store, for tests with many requests."""

    answers: MemoryCache = field(default_factory=MemoryCache)
    slots: MemoryCache = field(default_factory=MemoryCache)


class Harness:
    """A store, a clock that tests set and a list of the waits that were asked for."""

    def __init__(self, store: Store | StoreInMemory) -> None:
        self.store = store
        self.now = 1_800_000_000.0
        self.waits: list[float] = []

    @staticmethod
    def settings(hostname: str, **settings: Any) -> MusicBrainzConfig:
        """Settings for `hostname`, by default without https and rate limit."""
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
