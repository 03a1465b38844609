"""The process that fetches hostile pages, seen from the outside."""

import subprocess
import sys
from pathlib import Path
from typing import Self

import msgspec

from hostile.measured import Fetching, Outcome

MOST_MB = 20.0
"""By how much a fetch may enlarge its process, whatever is sent."""
MOST_OVER_S = 1.0
"""How much longer than its deadline a fetch may take."""


class Measuring:
    """`with Measuring() as fetch: fetch(Fetching(...))`."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("measured.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=10)

    def __call__(self, wanted: Fetching) -> Outcome:
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        if pipe_in is None or pipe_out is None:
            raise AssertionError("both ends are pipes")
        pipe_in.write(msgspec.json.encode(wanted) + b"\n")
        pipe_in.flush()
        return msgspec.json.decode(pipe_out.readline(), type=Outcome)
