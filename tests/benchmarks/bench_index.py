"""What an index answers a second, and a library decided from it: `... bench_index.py --help`.

`look-ups` times look-ups by id (rows to evidence, with its hash, and bare reads of the recording's
rows by SQLite), by artist and title, in 1, 2 and 4 processes, and from a cold page cache.
`library` makes files with tags of releases in the index and decides them with `canon batch`;
`--dask` does the same with Dask workers. The dump is invented (`tests/make_dump.py`).
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.domain.evidence_json import evidence_hash
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import NothingFoundError
from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.build import BuildOptions, build_index
from chart_binder.musicbrainz.index.reader import Reader
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.source import MusicBrainzSource
from make_dump import write_dump
from musicbrainz.index.building import SilentMeter
from servers.cluster import DaskCluster

GOALS = {"by id": 15_000, "by id, with hash": 8_000, "by artist and title": 2_000}
"""Look-ups a second on one core, for 1 M recordings."""
LIBRARY_GOAL_S = 600
SAMPLE = 20_000
MOST = 250
"""Releases of a recording in the library. An invented dump has a few with thousands."""


class Rate(NamedTuple):
    """Look-ups a second by the clock, and by the processor's time of the process."""

    by_clock: float
    by_cpu: float


def sample(path: Path, size: int) -> list[TrackTags]:
    """Return tags of random recordings, with id, artist, title and length."""
    reader = Reader(path)
    chance = random.Random(size)
    chosen: list[TrackTags] = []
    query = "SELECT key FROM recording WHERE key >= ? LIMIT 1"
    while len(chosen) < size:
        rows = reader.execute(query, (chance.getrandbits(64) - 2**63,)).fetchall()
        chosen += [
            TrackTags(
                recording_mbid=recording.id, artist=recording.artist_credit_phrase,
                title=recording.title, duration_ms=recording.length_ms,
            )
            for recording in map(reader.recording, reader.recording_rows([row[0] for row in rows]))
        ]  # fmt: skip
    return chosen


def rate_of(call: Callable[[TrackTags], object], chosen: Sequence[TrackTags]) -> Rate:
    """Return how many calls a second were answered."""
    clock, cpu = time.perf_counter(), time.process_time()
    for tags in chosen:
        call(tags)
    spent = time.perf_counter() - clock, time.process_time() - cpu
    return Rate(len(chosen) / spent[0], len(chosen) / spent[1])


def calls(path: Path) -> dict[str, Callable[[TrackTags], object]]:
    """Return the kinds of look-ups by name."""
    source = MusicBrainzSource(IndexService(path))
    execute = layout.open_index(path).execute

    def bare(tags: TrackTags) -> None:
        key, _ = layout.key_and_rest(tags.recording_mbid or "")
        row = execute("SELECT * FROM recording WHERE key = ?", (key,)).fetchone()
        credit = execute("SELECT * FROM credit WHERE id = ?", (row[3],)).fetchone()
        execute("SELECT * FROM artist WHERE id = ?", (credit[2],)).fetchone()
        for number in layout.ids_of(row[9]):
            release = execute("SELECT * FROM release WHERE id = ?", (number,)).fetchone()
            execute("SELECT * FROM release_group WHERE id = ?", (release[4],)).fetchone()

    def by_name(tags: TrackTags) -> None:
        named = TrackTags(artist=tags.artist, title=tags.title, duration_ms=tags.duration_ms)
        try:
            source.gather(named)
        except NothingFoundError:
            MISSED.append(named)

    return {
        "bare SQLite": bare,
        "by id": lambda tags: source.gather(TrackTags(recording_mbid=tags.recording_mbid)),
        "by id, with hash": lambda tags: evidence_hash(
            source.gather(TrackTags(recording_mbid=tags.recording_mbid))
        ),
        "by artist and title": by_name,
    }


MISSED: list[TrackTags] = []


def measure(path: Path, name: str, chosen: Sequence[TrackTags]) -> Rate:
    """Time a kind of look-ups in this process."""
    return rate_of(calls(path)[name], chosen)


def drop_pages(path: Path) -> None:
    """Make the system forget the pages of a file."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def look_ups(path: Path) -> int:
    """Print rates; return 1 if one misses its goal by the time of the processor."""
    chosen = sample(path, SAMPLE)
    kinds = calls(path)
    rates: dict[str, Rate] = {}
    for name, call in kinds.items():
        rate_of(call, chosen[:2_000])
        rates[name] = max(rate_of(call, chosen) for _ in range(3))
    bare = rates["bare SQLite"].by_cpu
    print(f"{'':<22} {'a second':>9} {'a CPU s':>9} {'of SQLite':>9}")
    for name, rate in rates.items():
        print(f"{name:<22} {rate.by_clock:9,.0f} {rate.by_cpu:9,.0f} {rate.by_cpu / bare:9.0%}")
    print(f"not found by artist and title: {len({one.recording_mbid for one in MISSED})}")
    for name in ("by id", "by artist and title"):
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            copy = Path(shutil.copy(path, folder))  # mapped pages are not forgotten
            drop_pages(copy)
            with ProcessPoolExecutor(1) as pool:
                cold = pool.submit(measure, copy, name, chosen[:2_000]).result()
        print(f"{name + ', cold':<22} {cold.by_clock:9,.0f} {cold.by_cpu:9,.0f}")
    for count in (1, 2, 4):
        with ProcessPoolExecutor(count) as pool:
            list(pool.map(measure, *zip(*[(path, "by id", chosen[:500])] * count, strict=True)))
            clock = time.perf_counter()
            list(pool.map(measure, *zip(*[(path, "by id", chosen)] * count, strict=True)))
            spent = time.perf_counter() - clock
        print(f"{count} processes by id: {count * len(chosen) / spent:9,.0f} a second in all")
    return int(any(rates[name].by_cpu < goal for name, goal in GOALS.items()))


# A library.


def flac(tags: dict[str, str], length_ms: int) -> bytes:
    """Return a FLAC file without sound that says how long it is."""
    samples = length_ms * 44_100 // 1_000
    packed = 44_100 << 44 | 1 << 41 | 15 << 36 | samples
    info = struct.pack(">HH3s3sQ16s", 4096, 4096, b"", b"", packed, b"")
    texts = [f"{name}={text}".encode() for name, text in tags.items()]
    comments = struct.pack("<I4sI", 4, b"test", len(texts))
    comments += b"".join(struct.pack("<I", len(text)) + text for text in texts)
    blocks = ((0, info), (0x84, comments))
    return b"fLaC" + b"".join(
        bytes([kind]) + len(block).to_bytes(3, "big") + block for kind, block in blocks
    )


def albums(path: Path) -> Iterator[list[tuple[dict[str, str], int]]]:
    """Yield the tracks of random releases as tags and lengths."""
    reader = Reader(path)
    query = "SELECT id FROM release ORDER BY random()"
    for (number,) in layout.open_index(path).execute(query):
        (release,) = reader.releases([number], tracks=True)
        tracks = [track for track in release.tracks if track.recording]
        ids = {track.recording.id for track in tracks if track.recording}
        if (
            max((len(reader.release_ids("recording", mbid) or ()) for mbid in ids), default=0)
            > MOST
        ):
            continue
        yield [
            (
                {
                    "TITLE": track.recording.title or "",
                    "ARTIST": track.recording.artist_credit_phrase or "",
                    "ALBUM": release.title or "",
                    "DATE": release.date or "",
                    "TRACKNUMBER": str(place),
                    "MUSICBRAINZ_TRACKID": track.recording.id,
                    "MUSICBRAINZ_ALBUMID": release.id,
                },
                track.recording.length_ms or 180_000,
            )
            for place, track in enumerate(tracks, 1)
            if track.recording
        ]


def make_library(path: Path, folder: Path, files: int, *, has_ids: bool) -> None:
    """Write files with the tags of releases, each release in a folder."""
    count = 0
    for number, album in enumerate(albums(path)):
        place = folder / f"{number // 500:03}" / f"{number:06}"
        place.mkdir(parents=True)
        for track, (tags, length_ms) in enumerate(album[: files - count], 1):
            kept = {
                name: text
                for name, text in tags.items()
                if has_ids or not name.startswith("MUSICBRAINZ")
            }
            (place / f"{track:02}.flac").write_bytes(flac(kept, length_ms))
            count += 1
        if count == files:
            return


def run(call: Sequence[str], environment: Mapping[str, str], *workers: int) -> list[int]:
    """Return the most memory of a program and of each worker, without mapped files, in MB."""
    with subprocess.Popen(call, env=environment, stdout=sys.stderr) as process:
        paths = [Path(f"/proc/{number}/status") for number in (process.pid, *workers)]
        most = [0] * len(paths)
        while process.poll() is None:
            found = (re.search(r"RssAnon:\s+(\d+)", path.read_text()) for path in paths)
            used = [int(each[1]) // 1024 if each else 0 for each in found]
            most = [*map(max, most, used)]
            time.sleep(0.5)
    return most


def library(path: Path, files: int, *, dask: bool, has_ids: bool) -> int:
    """Decide a library in a process of its own; print what that took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_library(path, folder / "music", files, has_ids=has_ids)
        environment = os.environ | {
            "CANON_MUSICBRAINZ__SOURCE": "index", "CANON_MUSICBRAINZ__INDEX": str(path),
            "CANON_STORE__URL": f"sqlite:///{folder}/store.db",
        }  # fmt: skip
        call = [sys.executable, "-m", "chart_binder", "batch", str(folder / "music"), "--quiet"]
        clock = time.perf_counter()
        if dask:
            with DaskCluster() as cluster:
                call += ["--executor=dask", "--scheduler", cluster.address]
                peak_mb = run(call, environment, *cluster.workers)
        else:
            peak_mb = run(call, environment)
        spent = time.perf_counter() - clock
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        with sqlite3.connect(folder / "store.db") as store:
            query = "SELECT state, count(*) FROM decisions GROUP BY state"
            states = dict(store.execute(query).fetchall())
    print(json.dumps({
        "files": files, "minutes": round(spent / 60, 2), "files a second": round(files / spent),
        "CPU minutes": round((used.ru_utime + used.ru_stime) / 60, 2),
        "peak MB with the mapped index": used.ru_maxrss // 1024, "peak MB": peak_mb,
        "states": states,
    }))  # fmt: skip
    return int(spent > LIBRARY_GOAL_S)


def main() -> int:
    """Measure; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("look-ups", "library"))
    parser.add_argument("--index", type=Path, help="an index of an invented dump, if there is one")
    parser.add_argument("--recordings", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--without-ids", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = options.index
        if path is None:
            path = Path(name) / "index"
            dump = write_dump(Path(name) / "dump", options.recordings)
            build_index(dump, BuildOptions(path, jobs=os.cpu_count() or 1), SilentMeter())
        if options.what == "look-ups":
            return look_ups(path)
        return library(path, options.files, dask=options.dask, has_ids=not options.without_ids)


if __name__ == "__main__":
    sys.exit(main())
