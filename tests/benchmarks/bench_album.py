"""Requests to MusicBrainz a file, by album and not: `python tests/benchmarks/bench_album.py`.

Thirty invented artists with two albums of twelve files each, and once more the best known two of
them with six. Each has a discography of 15 to 600 releases: seven of ten are the artist's own
(albums of twelve tracks, singles of three, both in several editions), the others compilations of
twenty tracks, one by the artist. Files have the tags that Picard writes. The stand-in gives at most
500 tracks a page, as MusicBrainz does.

Evidence is held against what comes one by one. Requests are counted one by one, an album at a time,
and all of an artist at once.
"""

import sys
from dataclasses import replace
from itertools import cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.evidence_json import evidence_hash
from chart_binder.musicbrainz.source import MusicBrainzSource, connect
from chart_binder.musicbrainz.tool import MemoryCache
from musicbrainz.albums import VARIOUS, Record, bundles_of, files_of, songs_of
from servers.musicbrainz import MusicBrainzStandIn

ARTISTS = {15: 6, 30: 6, 60: 6, 120: 6, 300: 4, 600: 2}
"""How many artists have how many releases."""
ALBUMS, MANY_ALBUMS, TRACKS = 2, 6, 12
SINGLE_TRACKS, COMPILATION_TRACKS = 3, 20
OWN = 0.7
"""The share of releases that are the artist's own."""
LIMIT = 6.0
"""How many times fewer requests there have to be over the whole library."""


def discography(name: str, releases: int, in_library: int) -> list[Record]:
    """Return records of an artist that come to so many releases; the first are in the library."""
    own = round(releases * OWN)
    albums = [
        Record(title, name, songs_of(name, title, TRACKS), editions=editions_of(releases))
        for title in (f"{name} album {number}" for number in range(releases))
    ]
    records, count = albums[:in_library], sum(album.editions for album in albums[:in_library])
    for number, album in enumerate(albums):
        title = f"{name} single {number}"
        songs = (album.songs[0], *songs_of(name, title, SINGLE_TRACKS - 1))
        single = Record(title, name, songs, editions=2, kind="Single")
        for record in (single, album) if number >= in_library else (single,):
            records.append(replace(record, editions=max(1, min(record.editions, own - count))))
            count += records[-1].editions
        if count >= own:
            break
    sampled = [song for record in records for song in record.songs[:4]]
    return records + [
        Record(title, VARIOUS, (song, *songs_of("Others", title, COMPILATION_TRACKS - 1)))
        for title, song in zip(
            (f"{name} compilation {number}" for number in range(releases - count)), cycle(sampled)
        )
    ]


def editions_of(releases: int) -> int:
    """Return how often an album came out: that of a well-known artist more often."""
    return max(2, min(8, releases // 15))


def source_at(server: MusicBrainzStandIn) -> MusicBrainzSource:
    """Return a source that remembers nothing."""
    config = MusicBrainzConfig(hostname=server.hostname, https=False, rate_limit_per_s=0.0)
    memory = MemoryCache()
    return connect(config, memory, memory)


def requests_of(size: int, name: str, in_library: int) -> tuple[int, int, int]:
    """Return requests for an artist's files: one by one, by album, all at once."""
    records = discography(name, size, in_library)
    albums = [files_of(record) for record in records[:in_library]]
    everything = [tags for files in albums for tags in files]
    with MusicBrainzStandIn(bundles_of(records)) as server:
        alone, by_album, at_once = (source_at(server) for _ in range(3))
        hashes = {tags: evidence_hash(alone.gather(tags)) for tags in everything}
        for source, groups in ((by_album, albums), (at_once, [everything])):
            for files in groups:
                gather = source.together(files)
                assert all(evidence_hash(gather(tags)) == hashes[tags] for tags in files)
    return alone.requests, by_album.requests, at_once.requests


def main() -> int:
    """Print the table; return 1 if the whole library misses the limit."""
    print("requests a file, and how many times fewer than one by one")
    print("  releases artists files  one by one      by album     by artist")
    totals = [0, 0, 0]
    for size, artists in ARTISTS.items():
        sums = counted(size, artists, ALBUMS)
        print(row(str(size), artists, ALBUMS, sums))
        totals = [a + b for a, b in zip(totals, sums, strict=True)]
    print(row("all", sum(ARTISTS.values()), ALBUMS, totals))
    print(row(f"{max(ARTISTS)}", 2, MANY_ALBUMS, counted(max(ARTISTS), 2, MANY_ALBUMS)))
    fewer = totals[0] / totals[1]
    print(f"all, by album: {fewer:.1f} times fewer; the limit is {LIMIT:g}")
    return int(fewer < LIMIT)


def counted(size: int, artists: int, in_library: int) -> list[int]:
    """Return the requests for artists with discographies of a size."""
    counts = [requests_of(size, f"Artist {size}-{n}", in_library) for n in range(artists)]
    return [sum(column) for column in zip(*counts, strict=True)]


def row(name: str, artists: int, in_library: int, sums: list[int]) -> str:
    """Return a line of the table."""
    files = artists * in_library * TRACKS
    alone, *together = sums
    cells = (f"{count / files:5.2f} ({alone / count:4.1f})" for count in together)
    return f"{name:>10} {artists:7} {files:5}  {alone / files:10.2f}  {'  '.join(cells)}"


if __name__ == "__main__":
    sys.exit(main())
