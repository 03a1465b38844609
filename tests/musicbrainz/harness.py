"""Evidence sources for tests: a store, a clock that tests set, and the waits asked for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tags import TrackTags
from chart_binder.musicbrainz.source import MusicBrainzSource, connect
from chart_binder.musicbrainz.tool import MemoryCache
from chart_binder.store import Store
from servers.http import Request, Response
from servers.musicbrainz import Behave, MusicBrainzStandIn


def age_s(bundle: EvidenceBundle) -> float | None:
    """Return the age of the oldest response that a bundle was made of."""
    return bundle.provenance.cache_age_s if bundle.provenance else None


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the messages of the warnings that were logged."""
    return [line.message for line in caplog.records if line.levelname == "WARNING"]


def edited(change: Callable[[bytes], bytes], only: str = "") -> Behave:
    """Answer honestly, but change the bodies of requests with `only` in their target."""

    def behave(_: int, request: Request, honest: Response) -> Response:
        if only in request.target and isinstance(honest.body, bytes):
            return replace(honest, body=change(honest.body))
        return honest

    return behave


@dataclass(frozen=True, slots=True)
class StoreInMemory:
    """A cache and a rate limiter in memory in place of a store, for tests with many requests."""

    answers: MemoryCache = field(default_factory=MemoryCache)
    slots: MemoryCache = field(default_factory=MemoryCache)


class Harness:
    """A server, a store, a clock that tests set and a list of the waits that were asked for."""

    def __init__(self, store: Store | StoreInMemory, server: MusicBrainzStandIn) -> None:
        self.store = store
        self.server = server
        self.now = 1_800_000_000.0
        self.waits: list[float] = []

    @staticmethod
    def settings(hostname: str, **settings: Any) -> MusicBrainzConfig:
        """Settings for `hostname`, by default without https and rate limit."""
        plain = {"https": False, "rate_limit_per_s": 0.0, "timeout_s": 2.0}
        return MusicBrainzConfig(**{"hostname": hostname, **plain, **settings})

    def source(self, hostname: str | None = None, **settings: Any) -> MusicBrainzSource:
        """Return a source with those settings, by default for `server`."""
        return connect(
            self.settings(hostname or self.server.hostname, **settings), self.store.answers,
            self.store.slots, clock=lambda: self.now, wait=self.waits.append,
        )  # fmt: skip

    def gather(
        self, served: Iterable[EvidenceBundle], tags: TrackTags, behave: Behave | None = None,
        **settings: Any,
    ) -> EvidenceBundle:  # fmt: skip
        """Return the evidence about a file from a stand-in, which `server` then is."""
        with MusicBrainzStandIn(served, behave=behave) as self.server:
            return self.source(**settings).gather(tags)
