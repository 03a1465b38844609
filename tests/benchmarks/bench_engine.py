"""What a real engine makes of each setting: `python tests/benchmarks/bench_engine.py`."""

import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.llm.result import Outcome
from engine.adjudications import runs
from engine.cases import cases
from engine.examined import examine


def main() -> None:
    """Make all adjudications, examine them and print how many had which outcome."""
    came: dict[str, Counter[str]] = defaultdict(Counter)
    for case in cases():
        for run in runs(case):
            examine(run)
            came[case.setting.name][run.result.outcome] += 1
    for name, outcomes in came.items():
        counts = "  ".join(f"{outcome} {outcomes[outcome]:3}" for outcome in Outcome)
        print(f"{name:20} {outcomes.total():4} runs  {counts}")
    print(f"{sum(outcomes.total() for outcomes in came.values())} runs, no exception")


if __name__ == "__main__":
    main()
