"""Build indexes of dumps, and ask them and a web service with the same rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, write_bundle
from chart_binder.domain.tags import TrackTags
from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.build import BuildOptions, build_index
from chart_binder.musicbrainz.index.dump import Meter
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.source import MusicBrainzSource
from chart_binder.musicbrainz.web_service import Metadata, ServiceQuery
from musicbrainz.harness import Harness, StoreInMemory
from servers.musicbrainz_dump import MusicBrainzDumpStandIn

DUMP = Path(__file__).parents[1] / "mbdump"
"""The small dump of real rows."""
OLD_INDEX = bytes(68) + b"cani"
"""The least that a build takes for an index and replaces."""


class SilentMeter(Meter):
    """Shows nothing."""

    def begin(self, stage: str, total: float = 0, unit: str = "") -> None: ...
    def show(self, done: float) -> None: ...
    def follow(self, done: Callable[[], float] | None) -> None: ...


def build(source: Path, out: Path) -> layout.Summary:
    """Build an index in one process."""
    return build_index(source, BuildOptions(out), SilentMeter())


@dataclass(frozen=True)
class BothPaths:
    """An index of a dump, and a web service that serves the rows of the dump."""

    index: MusicBrainzSource
    web: MusicBrainzSource
    server: MusicBrainzDumpStandIn

    def bundle(self, tags: TrackTags) -> EvidenceBundle:
        """Return the evidence of the index, if the web service gives the same."""
        bundle, other = self.index.gather(tags), self.web.gather(tags)
        assert evidence_hash(bundle) == evidence_hash(other), (
            f"{tags}\nindex: {write_bundle(bundle)!r}\nweb:   {write_bundle(other)!r}"
        )
        return bundle

    def answers(self, query: ServiceQuery) -> Iterator[Metadata]:
        """Yield the response of the index, and that of the web service."""
        for source in (self.index, self.web):
            metadata = source.service.fetch(query).metadata
            assert metadata
            yield metadata


@contextmanager
def both_paths(dump: Path, index: Path) -> Iterator[BothPaths]:
    """Build the index of a dump, and serve the dump."""
    build(dump, index)
    with MusicBrainzDumpStandIn(dump) as server:
        # The stand-in reads a table of a large dump when it is first asked for a row of it.
        web = Harness(StoreInMemory(), server).source(timeout_s=60.0)
        yield BothPaths(MusicBrainzSource(IndexService(index)), web, server)
