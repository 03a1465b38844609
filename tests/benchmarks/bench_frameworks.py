"""The loop beside other ReAct frameworks: `python tests/benchmarks/bench_frameworks.py`.

    pip install -e '.[compare]'

Each is made to do the same: three turns with an instant model in the same process, two calls of
one tool, one answer, written as its own parser reads it (`frameworks/*.py`, one module each).
Agents, models and tools are made once, outside of what is timed; nothing is printed, streamed or
traced. LangChain is `AgentExecutor` with `create_react_agent`, whose tool gets the text as it
stands; LlamaIndex is `ReActAgent`, all runs inside one event loop; smolagents is its agent for
calls in JSON and its agent for calls in Python. Ours is the loop alone, and the whole adjudicator,
which also writes evidence down and checks the answer. What the others can do beyond these turns,
and what ours does in them (a repeated call known again, outside text made inert, every event
recorded), is not weighed.

Each is measured in a process of its own, round by round in turn, so that the machine's mood falls
on all alike: the wall-clock time of one run, the processor time of its imports, the most memory its
process had. Of many measurements the smallest counts, for it is the least disturbed one. The
yardstick is a dozen lines of plain Python that do the same (`frameworks/bare.py`). It fails where
the loop takes more than a tenth of the fastest other framework. What is not installed is left out,
and named.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

TESTS = Path(__file__).parents[1]
ROUNDS = 5
MOST_OF_THE_FASTEST = 0.1
QUIET = {"LANGSMITH_TRACING": "false", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
COLUMNS = {"wall_ms": "ms a run", "import_ms": "ms imports", "peak_mb": "MB peak"}

Figures: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Contestant:
    """A module of `frameworks/`, its name for people, and the package it needs."""

    module: str
    title: str
    package: str


BARE = Contestant("bare", "plain Python", "json")
LOOP = Contestant("react", "the loop", "chart_binder")
OTHERS = (
    Contestant("langchain_executor", "LangChain AgentExecutor", "langchain_classic"),
    Contestant("llama_index_agent", "LlamaIndex ReActAgent", "llama_index"),
    Contestant("smolagents_calls", "smolagents, JSON calls", "smolagents"),
    Contestant("smolagents_code", "smolagents, Python calls", "smolagents"),
)
OURS = (BARE, LOOP, Contestant("adjudicator", "the whole adjudicator", "chart_binder"))


def measured(contestant: Contestant) -> Figures:
    """Return the figures of a fresh process."""
    command = [sys.executable, "-m", "benchmarks.frameworks.measured", contestant.module]
    environment = {**os.environ, **QUIET}
    done = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{contestant.title} failed:\n{done.stderr.decode()}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def least(rounds: list[dict[Contestant, Figures]]) -> dict[Contestant, Figures]:
    """Return the smallest of each figure."""
    return {
        one: {what: min(each[one][what] for each in rounds) for what in COLUMNS}
        for one in rounds[0]
    }


def main() -> int:
    """Print the figures; return 1 if the loop takes too much beside the fastest other."""
    there = [each for each in OTHERS if find_spec(each.package)]
    for absent in OTHERS:
        if absent not in there:
            print(f"left out: {absent.title}, for {absent.package} is not installed")
    contestants = [*OURS, *there]
    best = least([{each: measured(each) for each in contestants} for _ in range(ROUNDS)])
    print(f"{'':26}" + "".join(f"{title:>12} {'x loop':>8}" for title in COLUMNS.values()))
    for each in contestants:
        ratios = {what: best[each][what] / best[LOOP][what] for what in COLUMNS}
        cells = (f"{best[each][what]:12.2f} {ratios[what]:8.2f}" for what in COLUMNS)
        print(f"{each.title:26}" + "".join(cells))
    if not there:
        return 0
    fastest = min(there, key=lambda each: best[each]["wall_ms"])
    share = best[LOOP]["wall_ms"] / best[fastest]["wall_ms"]
    print(f"the loop takes {share:.3f} of {fastest.title}; the limit is {MOST_OF_THE_FASTEST}")
    return int(share > MOST_OF_THE_FASTEST)


if __name__ == "__main__":
    sys.exit(main())
