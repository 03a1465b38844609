"""Fetches of hostile pages, measured: each in a fresh process of known memory.

`with Measuring() as fetch: fetch(Fetching(...))` starts this file as a process that forks for every
line on its standard input. That process is warm: it has loaded everything and tried one page, so
that what a fork grows by is due to the page.
"""

import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from itertools import chain, repeat
from pathlib import Path
from typing import Literal, Self

import msgspec

from chart_binder.config import FetchConfig, LLMConfig
from chart_binder.errors import AddressForbiddenError, UnknownHostError
from chart_binder.net import trusted_authorities
from chart_binder.react.tools import Observation, ToolError
from chart_binder.web.fetch import PageFetcher
from chart_binder.web.guard import Address
from chart_binder.web.tools import web_fetch

MAX_GROWTH_MB = 20.0
"""By how much a fetch may enlarge its process, whatever is sent."""
MAX_DELAY_S = 1.0
"""How much longer than its deadline a fetch may take."""


class Fetching(msgspec.Struct, frozen=True):
    """What to fetch, and how: `names` holds for each name the addresses of its n-th look-up.

    `private` are the private hosts allowed.
    """

    url: str
    ports: tuple[int, ...]
    timeout_s: float
    names: dict[str, list[list[str]]] = {}
    private: tuple[str, ...] = ()


class Outcome(msgspec.Struct, frozen=True):
    """The result of a fetch; `grown_mb` is by how much the process was larger at its largest.

    `seconds` are those of the clock; for `queued_seconds` of them the process was ready to run and
    the machine was busy with others, which is not due to the page.
    """

    result: Literal["read", "failed", "refused"]
    text: str
    seconds: float
    cpu_seconds: float
    queued_seconds: float
    grown_mb: float

    @property
    def own_seconds(self) -> float:
        """The seconds it would have taken on a machine that has nothing else to do."""
        return self.seconds - self.queued_seconds


class Measuring:
    """The process that fetches, seen from outside."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
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


def main() -> None:
    """Answer line by line until standard input ends."""
    trusted_authorities()
    measured(Fetching("http://127.0.0.1:9/", (9,), 1.0, private=("127.0.0.1",)))
    from chart_binder.web import passages  # noqa: F401 - loaded by the first page

    gc.collect()
    gc.freeze()
    for line in sys.stdin.buffer:
        wanted = msgspec.json.decode(line, type=Fetching)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.write(writing, msgspec.json.encode(measured(wanted)))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as answer:
            sys.stdout.buffer.write(answer.read() + b"\n")
        sys.stdout.buffer.flush()
        os.waitpid(child, 0)


def measured(wanted: Fetching) -> Outcome:
    """Fetch one page as the tool does, and measure it."""
    config = LLMConfig(
        fetch=FetchConfig(
            timeout_s=wanted.timeout_s, ports=wanted.ports, allow_private_hosts=wanted.private
        )
    )
    tool = web_fetch(config, PageFetcher(config.fetch, resolve=_resolver(wanted.names)))
    before_kb = _largest_kb()
    started, started_cpu, queued = time.monotonic(), time.process_time(), _queued_seconds()
    result: Literal["read", "failed", "refused"] = "read"
    try:
        observed = tool.function(wanted.url)
        text = observed.content if isinstance(observed, Observation) else str(observed)
    except ToolError as error:
        text = str(error)
        result = "refused" if isinstance(error.__cause__, AddressForbiddenError) else "failed"
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - started_cpu
    queued = _queued_seconds() - queued
    grown_mb = (_largest_kb() - before_kb) / 1024
    return Outcome(result, text, seconds, cpu_seconds, queued, grown_mb)


def _largest_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _queued_seconds() -> float:
    """Return how long this thread has waited for a processor, 0 where the system does not say."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _resolver(names: dict[str, list[list[str]]]) -> Callable[[str, int], Sequence[Address]]:
    """Return a resolver: the n-th answer to a name is the n-th of its list, later ones the last."""
    answers = {name: chain(given, repeat(given[-1])) for name, given in names.items()}

    def resolve(host: str, port: int) -> Sequence[Address]:
        if host not in answers:
            raise UnknownHostError(f"there is no host called {host!r}")
        return tuple(map(ip_address, next(answers[host])))

    return resolve


if __name__ == "__main__":
    main()
