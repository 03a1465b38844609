"""What keeping decisions costs beside bare `sqlite3`: `python tests/benchmarks/bench_store.py`.

Both put rows of the same columns into tables with the same indexes, each in a transaction of its
own that is on the disk when it ends (WAL, synchronous FULL), and read the latest of a path; rounds
are interleaved, and the medians of the ratios within a round count. `--rows 1000000` says how many
decisions stand there before; they are put in bare, all at once.
"""

import argparse
import contextlib
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from chart_binder.domain.records import DecisionRecord, EvidenceRecord, new_id, now_utc
from chart_binder.store import Store, open_store
from chart_binder.store.database import path_key

ROUNDS, CALLS = 7, 100
LIMITS = {"put": 4.0, "latest": 40.0}


def decision(number: int) -> DecisionRecord:
    """Return a decision of ordinary size; a thousand files stand in one album's folder."""
    return DecisionRecord(
        id=new_id(),
        run_id="run",
        path=b"/music/artist %d/album/%d.flac" % (number // 1000, number),
        file_size=30_000_000,
        file_mtime_ns=time.time_ns(),
        recording_mbid="b1a9c0e9-d987-4042-ae91-78d6a3267d69",
        state="decided" if number % 10 else "review",
        decided_by="rules",
        crg_mbid="6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd",
        rr_mbid="6defd963-fe91-4550-b18e-82c685603c2b",
        evidence_hash=f"{number:064x}",
        rules_version="0123456789abcdef",
        trace="evh=9b1f2c3d;crg=ALBUM_LEAD_WINDOW;rr=ORIGIN_COUNTRY_EARLIEST;src=mb;cfg=lw90,rg10",
        document=b'{"state":"decided"}' * 60,
        decided_at_utc=now_utc(),
    )


def row(made: DecisionRecord) -> dict[str, object]:
    """Return the columns of a decision."""
    return msgspec.structs.asdict(made) | {"path_key": path_key(made.path)}


def insertion(names: dict[str, object]) -> str:
    """Return the statement that both sides come to."""
    marks = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO decisions ({', '.join(names)}) VALUES ({marks})"


def each_s(calls: list[Callable[[], object]]) -> float:
    """Return the seconds of one call."""
    began = time.perf_counter()
    for call in calls:
        call()
    return (time.perf_counter() - began) / len(calls)


def queue_line(store: Store) -> str:
    """Return when the first case of the review queue is there, and when the last."""
    began = time.perf_counter()
    waiting = [time.perf_counter() - began for _ in store.waiting.cases({"review"})]
    return f"review queue of {len(waiting)}: first {waiting[0]:.2f} s, all {waiting[-1]:.2f} s"


def main() -> int:
    """Print calls a second and ratios; return 1 if one is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--url", help="a store elsewhere: measured alone, without a ratio")
    arguments = parser.parse_args()
    rows: int = arguments.rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        url = arguments.url or f"sqlite:///{path}"
        with (
            open_store(url) as store,
            contextlib.closing(sqlite3.connect(path, isolation_level=None)) as bare,
        ):
            open_store(f"sqlite:///{path}").close()
            bare.execute("PRAGMA synchronous=FULL")
            insert = insertion(row(decision(0)))
            began = time.perf_counter()
            bare.execute("BEGIN IMMEDIATE")
            bare.executemany(insert, (row(decision(n)) for n in range(rows)))
            bare.execute("COMMIT")
            print(f"{rows} decisions put in bare: {time.perf_counter() - began:.0f} s")
            print(f"{path.stat().st_size / max(1, rows):.0f} bytes each, with indexes")

            def bare_put(made: DecisionRecord) -> None:
                bare.execute("BEGIN IMMEDIATE")
                bare.execute(insert, row(made))
                bare.execute("COMMIT")

            def bare_latest(wanted: bytes) -> None:
                bare.execute(
                    "SELECT * FROM decisions WHERE path_key = ? AND path = ?"
                    " ORDER BY seq DESC LIMIT 1",
                    (path_key(wanted), wanted),
                ).fetchone()

            chance = random.Random(1)
            spent: dict[str, list[tuple[float, float]]] = {"put": [], "latest": []}
            for turn in range(ROUNDS + 1):
                first = rows + 2 * turn * CALLS
                ours = [decision(first + n) for n in range(CALLS)]
                theirs = [decision(first + CALLS + n) for n in range(CALLS)]
                asked = [decision(chance.randrange(max(1, rows))).path for _ in range(CALLS)]
                puts = (
                    each_s([partial(store.decisions.put, made) for made in ours]),
                    each_s([partial(bare_put, made) for made in theirs]),
                )
                reads = (
                    each_s([partial(store.decisions.latest, one) for one in asked]),
                    each_s([partial(bare_latest, one) for one in asked]),
                )
                if turn:
                    spent["put"].append(puts)
                    spent["latest"].append(reads)
            bundle = EvidenceRecord("hash", b'{"artist": "Queen"}' * 500)
            shared = [decision(rows * 2 + n) for n in range(CALLS)]
            whole = each_s([partial(store.decisions.put, one, bundle) for one in shared])
            began = time.perf_counter()
            found = sum(1 for _ in store.decisions.iterate({"review"}))
            through = time.perf_counter() - began
            queue = queue_line(store)
    over = 0
    for name, times in spent.items():
        ratio = statistics.median(ours / theirs for ours, theirs in times)
        ours_s, theirs_s = (statistics.median(each) for each in zip(*times, strict=True))
        over |= ratio > LIMITS[name]
        print(
            f"{name:<7} {1 / ours_s:8.0f} /s  bare {1 / theirs_s:8.0f} /s"
            f"  {ratio:5.1f} x (limit {LIMITS[name]:g})"
        )
    print(f"put with evidence that is there: {1 / whole:.0f} /s")
    print(f"going through {found} for review: {found / through:.0f} /s\n{queue}")
    return int(over and not arguments.url)


if __name__ == "__main__":
    sys.exit(main())
