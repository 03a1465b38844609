"""Requests for sibling recordings over a library: `python tests/benchmarks/bench_siblings.py`.

Twelve invented artists with 4, 20 or 80 records of twelve tracks. The library has of each artist an
original album, its remaster, whose tracks are recordings of their own, and a best-of of remasters;
and two compilations with a song of each artist, whose recordings are on no other record. Files have
only recording ids. Counted are the requests a file without siblings, with them one by one, and
with them an album at a time, and the files that are decided for their original album.
"""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.config import MusicBrainzConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tags import TrackTags
from chart_binder.jobs.gather import SiblingNeed
from chart_binder.musicbrainz.source import MusicBrainzSource, connect
from chart_binder.musicbrainz.tool import MemoryCache
from chart_binder.rules.decide import decide
from musicbrainz.sibling_worlds import World
from servers.musicbrainz import MusicBrainzStandIn

ARTISTS = {4: 4, 20: 4, 80: 4}
"""How many artists have how many records."""
TRACKS = 12
LIMIT = 1.0
"""Requests for siblings a file that needs them, by album."""
NEED = SiblingNeed("when_needed", RulesConfig())


def library() -> tuple[World, dict[str, list[str]]]:
    """Return a world, and the recordings of the files of each album in the library."""
    world = World("library")
    albums: dict[str, list[str]] = {}
    artists = [f"Artist {size}-{n}" for size, count in ARTISTS.items() for n in range(count)]
    for number, artist in enumerate(artists):
        _add_artist(world, albums, artist, number)
        for record in range(int(artist.split()[1].split("-")[0]) - 3):
            for track in range(TRACKS):
                name, title = f"{artist}/{record}/{track}", f"Other {record}, part {track}"
                on = f"R{number}-{record} album {1980 + record % 40}-05-01"
                world.add(f"{name} | {artist} | {title} | {200 + track} | - | - | {on}")
    return world, albums


def _add_artist(world: World, albums: dict[str, list[str]], artist: str, number: int) -> None:
    for track in range(TRACKS):
        row = f"| {artist} | Song {track} of {number} | {180 + track * 7}"
        first = f"A{number} album 1971-03-01 group:1971-03-01"
        again = f"A{number} album 2009-03-01 group:1971-03-01"
        best = f"B{number} compilation 2010-03-01"
        rows = {
            "original": f"{row} | - | - | {first}",
            "remaster": f"{row} | - | 2009 remaster | {again}",
            "best": f"{row} | - | 2010 remaster | {best}",
        }
        if track in (0, 1):
            rows[f"various {track}"] = f"{row} | - | - | V{track} various 2004-01-01"
        for kind, text in rows.items():
            name = f"{number}/{track}/{kind}"
            world.add(name + text)
            album = kind if kind.startswith("various") else f"{number}/{kind}"
            albums.setdefault(album, []).append(name)


def kind_of(album: str) -> str:
    """Return what an album of the library is."""
    return album.rsplit("/", maxsplit=1)[-1].split(maxsplit=1)[0]


def right(world: World, name: str, bundle: EvidenceBundle) -> bool:
    """Whether a file is decided for its original album."""
    verdict = decide(bundle, RulesConfig())
    crg = getattr(verdict, "crg", None)
    return world.name_of(crg) == f"A{name.split('/', maxsplit=1)[0]}"


def one_by_one(source: MusicBrainzSource, files: Sequence[TrackTags]) -> list[EvidenceBundle]:
    """Return the evidence about files, looked up one by one."""
    bundles = map(source.gather, files)
    return [source.with_siblings(one) if NEED(one) else one for one in bundles]


def by_album(source: MusicBrainzSource, files: Sequence[TrackTags]) -> list[EvidenceBundle]:
    """Return the evidence about the files of an album, looked up together."""
    bundles = [*map(source.together(files), files)]
    widen = source.siblings_together([one for one in bundles if NEED(one)])
    return [widen(one) if NEED(one) else one for one in bundles]


def without(source: MusicBrainzSource, files: Sequence[TrackTags]) -> list[EvidenceBundle]:
    """Return the evidence without siblings."""
    return [*map(source.together(files), files)]


Way = Callable[[MusicBrainzSource, Sequence[TrackTags]], list[EvidenceBundle]]
WAYS: dict[str, Way] = {"without": without, "one by one": one_by_one, "by album": by_album}


def main() -> int:
    """Print the table; return 1 if requests for siblings miss the limit."""
    world, albums = library()
    requests: dict[str, Counter[str]] = {name: Counter() for name in WAYS}
    rights: dict[str, Counter[str]] = {name: Counter() for name in WAYS}
    files: Counter[str] = Counter()
    with MusicBrainzStandIn(world.bundles) as server:
        config = MusicBrainzConfig(hostname=server.hostname, https=False, rate_limit_per_s=0.0)
        for way, gather in WAYS.items():
            memory = MemoryCache()
            source = connect(config, memory, memory)
            for album, names in albums.items():
                kind, before = kind_of(album), source.requests
                bundles = gather(source, [world.tags(name) for name in names])
                requests[way][kind] += source.requests - before
                rights[way][kind] += sum(map(right, [world] * len(names), names, bundles))
                files[kind] += len(names) if way == "without" else 0
    print("requests a file, and files decided for their original album")
    print(f"{'':10} {'files':>6} " + " ".join(f"{name:>20}" for name in WAYS))
    for kind, count in [*files.items(), ("all", files.total())]:
        cells = []
        for way in WAYS:
            sent = requests[way][kind] if kind != "all" else requests[way].total()
            decided = rights[way][kind] if kind != "all" else rights[way].total()
            cells.append(f"{sent / count:8.2f} {decided / count:10.0%} ")
        print(f"{kind:10} {count:6} " + " ".join(f"{cell:>20}" for cell in cells))
    more = requests["by album"].total() - requests["without"].total()
    needing = files.total() - files["original"]
    print(f"more by album: {more / needing:.2f} a file that needs siblings; the limit is {LIMIT:g}")
    return int(more / needing > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
