"""One framework is measured in this process: `python -m benchmarks.frameworks.measured MODULE`."""

import importlib
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from benchmarks.frameworks.script import ANSWER, KEYS, looked_up

Run: TypeAlias = Callable[[int], Sequence[str | None]]

BATCHES = 60
SHORTEST_S = 0.02
KILOBYTES = 1024


def main(name: str) -> None:
    """Print what the imports take, what one run takes, and the most memory there was."""
    started = time.process_time()
    run: Run = importlib.import_module(f"benchmarks.frameworks.{name}").run
    imports_s = time.process_time() - started
    print(
        json.dumps(
            {
                "import_ms": imports_s * 1000,
                "wall_ms": run_s(run) * 1000,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTES,
            }
        )
    )


def run_s(run: Run) -> float:
    """Return the seconds of one run in the shortest of several batches, the least disturbed one."""
    times = 1
    while batch_s(run, times) < SHORTEST_S:
        times *= 2
    return min(batch_s(run, times) for _ in range(BATCHES)) / times


def batch_s(run: Run, times: int) -> float:
    """Return the seconds of so many runs, all of which must do what they are said to do."""
    looked_up.clear()
    started = time.perf_counter()
    answers = run(times)
    seconds = time.perf_counter() - started
    assert list(answers) == [ANSWER] * times, answers[:3]
    assert looked_up == [*KEYS] * times
    return seconds


if __name__ == "__main__":
    main(sys.argv[1])
