"""Writes what the demo prints into the README, shortened: `python tests/demo/make_readme.py`."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
BEFORE, AFTER = "<!-- demo output -->\n````text\n", "\n````\n<!-- /demo output -->"


def shortened(printed: list[str]) -> Iterator[str]:
    """Yield the decision by rules, the open question, the run, and the decision it led to."""
    yield from _from_to(printed, "01-", "")
    yield "..."
    yield from _from_to(printed, "  Why not another", "===")[:7]
    yield "..."
    yield from _from_to(printed, "## Why this is open", "")
    yield "..."
    run = _from_to(printed, "--- turn 1: reply", "===")
    yield from (line for line in run if not line.endswith(": finish") and ": act " not in line)
    yield "..."
    yield from _from_to(printed, "02-", "")


def _from_to(lines: list[str], first: str, end: str) -> list[str]:
    start = next(number for number, line in enumerate(lines) if line.startswith(first))
    rest = lines[start:]
    stop = (n for n, line in enumerate(rest) if line == "" == end or (end and line.startswith(end)))
    return rest[: next(stop)]


printed = subprocess.run(
    [sys.executable, "-m", "chart_binder", "demo"], capture_output=True, text=True, check=True
).stdout.splitlines()
head, _, rest = README.read_text("utf-8").partition(BEFORE)
tail = rest.partition(AFTER)[2]
README.write_text(head + BEFORE + "\n".join(shortened(printed)) + AFTER + tail, "utf-8")
