"""What a Dask cluster costs beside threads on one machine: `python tests/benchmarks/bench_dask.py`.

A library whose answers from MusicBrainz are kept is decided by threads and by two worker processes
in turn, by how its files lie in folders; of the rounds the medians count. What is left then is
reading files, deciding them, and what handing out costs. At the end a run loses one of its two
workers.
"""

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.batch import BatchOptions, BatchResult, Executor, run_batch
from chart_binder.config import BatchConfig, Config, MusicBrainzConfig, StoreConfig
from chart_binder.store import open_store
from golden.bundles import golden
from integration.services import file_of
from servers.cluster import DaskCluster
from servers.musicbrainz import MusicBrainzStandIn

BUNDLE = golden("lead-bohemian")
THREADS = BatchOptions(dry_run=True)


@dataclass(frozen=True)
class Layout:
    """How files lie in folders: small ones side by side are one album, unless `below` others."""

    told: str
    per_folder: int
    below: str


LAYOUTS = (
    Layout("one file a folder, side by side (24 an album)", 1, ""),
    Layout("one file a folder, each apart (1 an album)", 1, "apart"),
    Layout("twelve files a folder, each apart (12 an album)", 12, "apart"),
)


def library(folder: Path, files: int, layout: Layout) -> Path:
    """Make a library of files that name one recording."""
    song = None
    for number in range(files):
        album = folder / str(number // layout.per_folder) / layout.below
        album.mkdir(parents=True, exist_ok=True)
        if song is None:
            song = file_of(BUNDLE, album, "0.flac")
        else:
            (album / f"{number}.flac").write_bytes(song.read_bytes())
    return folder


def config(mb: MusicBrainzStandIn, store: Path, rate_per_s: float = 0) -> Config:
    """Return what asks a stand-in and keeps in a file."""
    return Config(
        musicbrainz=MusicBrainzConfig(
            hostname=mb.hostname, https=False, rate_limit_per_s=rate_per_s,
            cache_ttl_s=0 if rate_per_s else 604_800,
        ),
        store=StoreConfig(url=f"sqlite:///{store}"),
        batch=BatchConfig(jobs=4),
    )  # fmt: skip


def decided(result: BatchResult, files: int) -> float:
    """Return the seconds of a run in which every file was decided."""
    assert result.status == 0, result
    assert result.measures.states == {"decided": files}
    return result.measures.seconds


def overhead(cluster: DaskCluster, files: int, layout: Layout, rounds: int) -> None:
    """Print what a file costs by threads and by the cluster."""
    dask = replace(THREADS, executor=Executor.DASK, scheduler=cluster.address)
    with tempfile.TemporaryDirectory() as place, MusicBrainzStandIn([BUNDLE]) as mb:
        music = library(Path(place) / "music", files, layout)
        told = config(mb, Path(place) / "store.db")
        taken: dict[str, list[float]] = {"threads": [], "dask": []}
        for options in (THREADS, dask):  # answers are kept, modules loaded
            run_batch([music], told, options)
        for _ in range(rounds):
            taken["threads"].append(decided(run_batch([music], told, THREADS), files))
            taken["dask"].append(decided(run_batch([music], told, dask), files))
    pairs = list(zip(taken["threads"], taken["dask"], strict=True))
    ratio = statistics.median(other / ours for ours, other in pairs)
    more_ms = statistics.median((other - ours) / files * 1000 for ours, other in pairs)
    each = {name: statistics.median(times) / files * 1000 for name, times in taken.items()}
    print(
        f"{layout.told}, {files} files: threads {each['threads']:.2f} ms a file,"
        f" Dask {each['dask']:.2f} ms: {more_ms:+.2f} ms a file, ratio {ratio:.2f}"
    )


def loss(cluster: DaskCluster, files: int) -> None:
    """Print what becomes of a run one of whose two workers is killed in its midst."""
    dask = BatchOptions(executor=Executor.DASK, scheduler=cluster.address)
    with tempfile.TemporaryDirectory() as place, MusicBrainzStandIn([BUNDLE]) as mb:
        music = library(Path(place) / "music", files, Layout("", 4, "apart"))
        told = config(mb, Path(place) / "store.db", rate_per_s=50)
        finished: list[str] = []

        def on_file(file: object) -> None:
            finished.append(str(file))
            if len(finished) == files // 3:
                os.kill(cluster.workers.pop(), signal.SIGKILL)

        began = time.monotonic()
        decided(run_batch([music], told, dask, on_file=on_file), files)
        with open_store(told.store.url) as store:
            kept = [len(store.decisions.history(os.fsencode(p))) for p in music.rglob("*.flac")]
    print(
        f"a worker of two killed after {files // 3} of {files} files: all decided in"
        f" {time.monotonic() - began:.1f} s, decisions kept of each file: {sorted(set(kept))}"
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=480)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with DaskCluster() as cluster:
        for layout in LAYOUTS:
            overhead(cluster, arguments.files, layout, arguments.rounds)
        loss(cluster, 60)


if __name__ == "__main__":
    main()
