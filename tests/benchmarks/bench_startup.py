"""CPU time of whole processes against `python -c pass`: `python tests/benchmarks/bench_startup.py`.

Each round runs every command once, so that the machine's mood falls on all alike; the medians of
the ratios within a round are what counts.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "decisions.jsonl"
ROUNDS = 9
LIMITS = {"canon --help": 8.0, "canon decide --evidence": 25.0}


def cpu_ms(command: list[str], environment: dict[str, str]) -> float:
    """Return user and system time of a run, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent * 1000


def main() -> int:
    """Print the ratios and return 1 if one is over its limit."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "bundle.json"
        cases = map(json.loads, GOLDEN.read_text("utf-8").splitlines())
        case = next(case for case in cases if case["id"] == "pf-time")
        bundle.write_text(json.dumps(case["bundle"]), "utf-8")
        canon = [sys.executable, "-m", "chart_binder"]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "canon --help": [*canon, "--help"],
            "canon decide --evidence": [*canon, "decide", "--evidence", str(bundle)],
        }
        source = str(ROOT / "src")
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": source}
        rounds = [
            {name: cpu_ms(command, environment) for name, command in commands.items()}
            for _ in range(ROUNDS + 1)
        ][1:]
    over = 0
    for name in commands:
        spent = statistics.median(each[name] for each in rounds)
        ratio = statistics.median(each[name] / each["python -c pass"] for each in rounds)
        limit = LIMITS.get(name)
        over |= limit is not None and ratio > limit
        print(
            f"{name:<26} {spent:7.1f} ms  {ratio:5.1f} x"
            + (f"  (limit {limit:g})" if limit else "")
        )
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
