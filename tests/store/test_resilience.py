"""Damage, full disks, and killed or concurrent writers lose nothing that was saved."""

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from chart_binder.domain.records import EvidenceRecord
from chart_binder.errors import StoreError
from chart_binder.store import Store, open_store, read_overrides
from chart_binder.store.decisions import QUEUE_LENGTH
from corpus import rows
from store.records import decision, execute, run, write

WRITES = """
import sys
from chart_binder.store import Store, open_store
from store.records import decision
first = int(sys.argv[2])
with open_store(sys.argv[1]) as store:
    for number in range(first, first + int(sys.argv[3])):
        store.decisions.put(decision(number, b"/song/%d" % number))
        print(number, flush=True)
"""
FOLDER = Path(__file__).parents[1]


def writing(url: str, first: int, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITES, url, str(first), str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(FOLDER), *sys.path])},
    )


@pytest.mark.parametrize("count", [30, pytest.param(1_000, marks=pytest.mark.slow)])
def test_two_processes_write_decisions_at_once_and_none_is_lost(url: str, count: int) -> None:
    open_store(url).close()
    running = [writing(url, first, count) for first in (0, 10_000)]
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert [text.count("\n") for text in said] == [count, count]
    with open_store(url) as store:
        kept = {one.id for one in store.decisions.iterate()}
    assert kept == {f"decision{first + n}" for first in (0, 10_000) for n in range(count)}


def test_what_a_killed_process_was_told_is_kept_is_kept(url: str) -> None:
    open_store(url).close()
    process = writing(url, 0, 1_000_000)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(20)]
    process.kill()
    told += process.communicate()[0].splitlines(keepends=True)
    last = int([line for line in told if line.endswith("\n")][-1])
    with open_store(url) as store:
        kept = [one.id for one in store.decisions.iterate()]
        store.decisions.put(decision(9_999_999))
    assert kept[: last + 1] == [f"decision{n}" for n in range(last + 1)]
    assert len(kept) <= last + 2, "no more than the one that was in hand"


@pytest.fixture
def tiny_disk() -> Iterator[Path]:
    """A file system with room for a small store."""
    with tempfile.TemporaryDirectory() as name:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "canon-test", name],
            capture_output=True,
            check=False,
        )
        if mounted.returncode:
            pytest.skip("a file system of one's own takes root, and the right to mount")
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "-l", name], check=True)


def test_a_disk_that_fills_up_is_named_and_what_was_kept_stays(tiny_disk: Path) -> None:
    url = f"sqlite:///{tiny_disk / 'store.db'}"
    noise = random.Random(1)
    kept, said = 0, ""
    with open_store(url) as store:
        try:
            for number in range(100):
                bundle = EvidenceRecord(f"hash{number}", noise.randbytes(50_000))
                store.decisions.put(decision(number, b"/song/%d" % number), bundle)
                kept += 1
        except StoreError as error:
            said = str(error)
        assert "disk" in said
        assert str(tiny_disk) in said
        assert 0 < kept < 40
        assert len(list(store.decisions.iterate())) == kept, "reading goes on"
    with open_store(url) as store:
        assert len(list(store.decisions.iterate())) == kept
        assert store.evidence.get(f"hash{kept - 1}") is not None
        assert store.evidence.get(f"hash{kept}") is None


def filled(path: Path) -> None:
    with open_store(f"sqlite:///{path}") as store:
        for number in range(30):
            store.decisions.put(
                decision(number, b"/song/%d" % number), EvidenceRecord(f"h{number}", b"{}" * 99)
            )
        store.runs.begin(run(1))
        store.journal.intend(write(1))


def use(path: Path) -> None:
    """Go through everything; whatever is raised but `StoreError` fails the test."""
    with open_store(f"sqlite:///{path}?timeout=1") as store:
        numbers = range(30)
        reads: list[Callable[[], object]] = [
            *(partial(store.decisions.latest, b"/song/%d" % number) for number in numbers),
            *(partial(store.evidence.get, f"h{number}") for number in numbers),
            lambda: list(store.decisions.iterate()), store.journal.open_intents, store.runs.latest,
        ]  # fmt: skip
        for read in reads:
            with suppress(StoreError):
                read()
        store.decisions.put(decision(1_000))


@pytest.mark.parametrize("seed", range(12))
def test_random_bytes_in_a_store_raise_what_it_says_it_may(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "store.db"
    filled(path)
    chance = random.Random(seed)
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 30, 3_000])):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)
    with suppress(StoreError):
        use(path)


@pytest.mark.parametrize("length", [0, 50, 4_096, 20_000])
def test_a_store_that_was_cut_off_is_damaged_or_new(tmp_path: Path, length: int) -> None:
    path = tmp_path / "store.db"
    filled(path)
    os.truncate(path, length)
    if not length:  # SQLite has an empty file for a new database
        with open_store(f"sqlite:///{path}") as store:
            assert store.decisions.latest(b"/song/1") is None
        return
    with pytest.raises(StoreError) as caught:
        use(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("table", "column", "value"), rows(__file__, "damage"))
def test_a_value_of_another_kind_is_a_damaged_store(
    tmp_path: Path, table: str, column: str, value: object
) -> None:
    path = tmp_path / "store.db"
    filled(path)
    execute(path, f"UPDATE {table} SET {column} = ?", values=[value])
    read: dict[str, Callable[[Store], object]] = {
        "decisions": lambda store: list(store.decisions.iterate()),
        "evidence": lambda store: store.evidence.get("h1"),
        "runs": lambda store: store.runs.latest(),
        "writes": lambda store: store.journal.get("write1"),
    }
    with (
        open_store(f"sqlite:///{path}") as store,
        pytest.raises(
            StoreError, match=f"is damaged: its {table.removesuffix('s')} record"
        ) as caught,
    ):
        read[table](store)
    assert str(path) in str(caught.value)


def test_a_locked_store_is_waited_for_as_long_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path)
    with (
        open_store(f"sqlite:///{path}?timeout=0.2") as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(StoreError, match="locked by another program"):
            store.journal.done("write1", "now")
        assert 0.15 < time.monotonic() - began < 5
        assert len(store.journal.open_intents()) == 1
        other.execute("ROLLBACK")
        store.journal.done("write1", "now")
        assert store.journal.open_intents() == ()


def left_open(path: Path) -> None:
    """Leave the store with a log, as a killed process does."""
    killed = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute('DELETE FROM decisions WHERE seq = 30'); c.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", killed, str(path)], check=True)


@pytest.mark.parametrize(("leave", "count"), [(lambda _: None, 30), (left_open, 29)])
def test_a_file_on_a_read_only_file_system_is_read_and_named_when_written(
    tiny_disk: Path, leave: Callable[[Path], None], count: int
) -> None:
    path = tiny_disk / "store.db"
    filled(path)
    leave(path)
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    try:
        assert read_overrides(f"sqlite:///{path}") == {}
        with open_store(f"sqlite:///{path}") as store:
            assert len(list(store.decisions.iterate())) == count
            with pytest.raises(StoreError, match="is read-only: make the file and") as caught:
                store.decisions.put(decision(1_000))
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(tiny_disk)], check=True)
    assert str(path) in str(caught.value)
    with open_store(f"sqlite:///{path}") as store:
        assert len(list(store.decisions.iterate())) == count


NOW = 1_000_000.0
RESERVE = f"""
import sys
from chart_binder.store import open_store
with open_store(sys.argv[1]) as store:
    for _ in range(20):
        print(store.slots.reserve("service", 0.5, {NOW}))
"""


def test_processes_that_make_the_store_together_get_moments_one_interval_apart(url: str) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", RESERVE, url], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    waits = [float(line) for process in running for line in process.communicate()[0].split()]
    assert [process.returncode for process in running] == [0, 0]
    assert sorted(waits) == [0.5 * k for k in range(40)]


MAKE = """
import sys, time
from chart_binder.store import open_store
from chart_binder.store.database import Database
start = float(input())
for number in range(40):
    time.sleep(max(0.0, start + number / 20 - time.time()))
    open_store(f"sqlite:///{sys.argv[1]}/{number}.db").close()
"""


def test_processes_that_make_many_files_at_once_wait_for_each_other(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", MAKE, tmp_path], stdin=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    start = time.time() + 1
    for process in running:
        assert process.stdin
        process.stdin.write(f"{start}\n")
        process.stdin.close()
    assert [process.wait() for process in running] == [0, 0, 0, 0]


@pytest.mark.parametrize(("service", "interval_s", "now", "waits"), [
    ("service", 1, NOW, [1, 2, 3]),
    ("another, which nobody asked yet", 1, NOW, [0, 1, 2]),
    ("service", 1, NOW + 500, [0, 1, 2]),  # a moment that passed unused is not saved up
    ("service", 0, NOW + 500, [0, 0, 0]),
    # After a clock was set back.
    *(("service", 1, NOW - back, [0, 1, 2]) for back in (3_600, 86_400 * 365)),
    ("service", 1, NOW - QUEUE_LENGTH - 1.5, [0, 1, 2]),
])  # fmt: skip
def test_a_service_is_asked_again_after_its_interval(
    store: Store, service: str, interval_s: float, now: float, waits: list[float]
) -> None:
    assert store.slots.reserve("service", 1, NOW) == 0
    assert [store.slots.reserve(service, interval_s, now) for _ in range(3)] == waits


def test_threads_write_and_read_at_once_without_a_failure(url: str) -> None:
    def turn(number: int) -> bool:
        store.answers.put(f"key {number % 7}", b"%d" % number, number)
        return store.answers.get(f"key {number % 7}") is not None

    with open_store(url) as store, ThreadPoolExecutor(20) as pool:
        assert all(pool.map(turn, range(300)))


def test_of_many_threads_that_write_none_waits_longer_than_it_may(tmp_path: Path) -> None:
    def turn(number: int) -> None:
        store.decisions.put(decision(number, b"/song/%d" % number))

    with open_store(f"sqlite:///{tmp_path / 's.db'}?timeout=0.02") as store:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(turn, range(160)))
        assert len(list(store.decisions.iterate())) == 160
