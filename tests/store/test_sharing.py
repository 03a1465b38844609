"""Threads and processes share one store without losing a write or a moment."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chart_binder.store import open_store
from chart_binder.store.store import QUEUE_LENGTH
from store.records import decision

NOW = 1_000_000.0
RESERVE = f"""
import sys
from chart_binder.store import open_store
with open_store(sys.argv[1]) as store:
    for _ in range(20):
        print(store.slots.reserve("service", 0.5, {NOW}))
"""


@pytest.mark.slow
def test_threads_get_moments_exactly_one_interval_apart(url: str) -> None:
    with open_store(url) as store, ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: store.slots.reserve("service", 0.5, NOW), range(100)))
    assert sorted(waits) == [0.5 * k for k in range(100)]


def test_processes_that_make_the_store_together_get_moments_one_interval_apart(url: str) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", RESERVE, url], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    waits = [float(line) for process in running for line in process.communicate()[0].split()]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert sorted(waits) == [0.5 * k for k in range(60)]


def test_services_do_not_wait_for_one_another(url: str) -> None:
    with open_store(url) as store:
        assert store.slots.reserve("one", 10, NOW) == 0
        assert store.slots.reserve("other", 10, NOW) == 0
        assert store.slots.reserve("one", 10, NOW) == 10


def test_a_moment_in_the_past_is_not_saved_up(url: str) -> None:
    with open_store(url) as store:
        store.slots.reserve("service", 1, NOW)
        assert [store.slots.reserve("service", 1, NOW + 500) for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("back_s", [3_600, 86_400 * 365, QUEUE_LENGTH + 1.5])
def test_a_clock_that_was_set_back_is_not_waited_for(url: str, back_s: float) -> None:
    with open_store(url) as store:
        store.slots.reserve("service", 1, NOW)
        assert [store.slots.reserve("service", 1, NOW - back_s) for _ in range(3)] == [0, 1, 2]


def test_without_an_interval_nobody_waits(url: str) -> None:
    with open_store(url) as store:
        assert [store.slots.reserve("service", 0, NOW) for _ in range(3)] == [0, 0, 0]


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
