"""A band with two albums, best hits and a place on a sampler; how its files are looked up."""

from collections.abc import Iterable
from dataclasses import replace

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash
from chart_binder.domain.tags import TrackTags
from musicbrainz.albums import VARIOUS, Record, artist_of, bundles_of, songs_of
from musicbrainz.bench import Bench
from servers.http import Response
from servers.musicbrainz import MusicBrainzStandIn

FIRST = Record("First", "The Band", songs_of("The Band", "First", 6), editions=3)
SECOND = Record("Second", "The Band", songs_of("The Band", "Second", 6), editions=2)
SAMPLER = Record(
    "Sampler", VARIOUS, (FIRST.songs[0], *songs_of("Others", "Some", 3), SECOND.songs[0])
)
HITS = Record("Hits", "The Band", (*FIRST.songs[:2], *SECOND.songs[:2]), editions=2)
RECORDS = (FIRST, SECOND, SAMPLER, HITS)
ARTIST = str(artist_of("The Band").mb_artist_id)
BAND = bundles_of(RECORDS)


def same(one: EvidenceBundle, other: EvidenceBundle) -> bool:
    """Whether two files' evidence is the same, by its hash and by all but when it was fetched."""
    assert evidence_hash(one) == evidence_hash(other)
    return (one.artist, one.recording_title, one.artifact) == (
        other.artist,
        other.recording_title,
        other.artifact,
    )


def as_one_by_one(bench: Bench, server: MusicBrainzStandIn, files: Iterable[TrackTags]) -> int:
    """Hold files looked up together against each on its own; return the requests together."""
    files = list(files)
    source = bench.source(server.hostname)
    gathered = [*map(source.together(files), files)]
    requests = source.requests
    assert requests == len(server.requests)
    for tags, bundle in zip(files, gathered, strict=True):
        alone = bench.source(server.hostname, cache_ttl_s=0.0).gather(tags)
        assert same(bundle, alone), tags
    return requests


def lists_asked(server: MusicBrainzStandIn) -> int:
    return sum("artist=" in target for target in server.targets)


def with_body(response: Response, body: bytes) -> Response:
    return replace(response, body=body)
