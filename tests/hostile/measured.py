"""Fetches what it is told on standard input, each address in a fresh process of known memory.

A line in is one `Fetching` as JSON, a line out one `Outcome`. The process is warm: it has loaded
everything and read one page, so that what grows is the page's own doing.
"""

import gc
import os
import resource
import ssl
import sys
import time
from collections.abc import Sequence
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Literal

import msgspec

from chart_binder.config import FetchConfig, LLMConfig
from chart_binder.errors import RefusedError, UnknownHostError
from chart_binder.react.tools import Observation, ToolError
from chart_binder.web.fetch import PageFetcher
from chart_binder.web.guard import Address
from chart_binder.web.tools import web_fetch
from chart_binder.web.transport import trusted_authorities


class Fetching(msgspec.Struct, frozen=True):
    """What to fetch, and how: `names` says where each name leads, the n-th time it is asked for.

    `trust` is a file of certificate authorities; `private` are the private hosts allowed.
    """

    url: str
    ports: tuple[int, ...]
    timeout_s: float
    names: dict[str, list[list[str]]] = {}
    private: tuple[str, ...] = ()
    trust: str = ""


class Outcome(msgspec.Struct, frozen=True):
    """What came of it; `grown_mb` is by how much the process was larger at its largest.

    `seconds` are those of the clock; for `queued_seconds` of them the process was ready to run and
    the machine was busy with others, which is no doing of the page's.
    """

    came_of: Literal["read", "failed", "refused"]
    said: str
    seconds: float
    cpu_seconds: float
    queued_seconds: float
    grown_mb: float

    @property
    def own_seconds(self) -> float:
        """The seconds it would have taken on a machine that has nothing else to do."""
        return self.seconds - self.queued_seconds


def main() -> None:
    """Answer line by line until standard input ends."""
    warm_up()
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


def warm_up() -> None:
    """Load all that a fetch loads, without a network."""
    trusted_authorities()
    measured(Fetching("http://127.0.0.1:9/", (9,), 1.0, private=("127.0.0.1",)))
    from chart_binder.web import passages  # noqa: F401 - loaded by the first page


def measured(wanted: Fetching) -> Outcome:
    """Fetch one page as the tool does, and measure it."""
    config = LLMConfig(
        fetch=FetchConfig(
            timeout_s=wanted.timeout_s, ports=wanted.ports, allow_private_hosts=wanted.private
        )
    )
    trust = ssl.create_default_context(cafile=wanted.trust) if wanted.trust else None
    fetcher = PageFetcher(config.fetch, resolve=_Names(wanted.names), trust=trust)
    tool = web_fetch(config, fetcher)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, started_cpu, queued = time.monotonic(), time.process_time(), _queued_seconds()
    came_of: Literal["read", "failed", "refused"] = "read"
    try:
        told = tool.function(wanted.url)
        said = told.content if isinstance(told, Observation) else str(told)
    except ToolError as error:
        said = str(error)
        came_of = "refused" if isinstance(error.__cause__, RefusedError) else "failed"
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - started_cpu
    queued = _queued_seconds() - queued
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    return Outcome(came_of, said, seconds, cpu_seconds, queued, grown_kb / 1024)


def _queued_seconds() -> float:
    """Return how long this thread has waited for a processor, 0 where the system does not tell."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class _Names:
    """A name service that may change its mind: the n-th answer to a name is the n-th of its list.

    A name whose answers have run out keeps its last one.
    """

    def __init__(self, names: dict[str, list[list[str]]]) -> None:
        self._answers = {name: (answers, count()) for name, answers in names.items()}

    def __call__(self, host: str, port: int) -> Sequence[Address]:
        if host not in self._answers:
            raise UnknownHostError(f"there is no host called {host!r}")
        answers, asked = self._answers[host]
        return tuple(map(ip_address, answers[min(next(asked), len(answers) - 1)]))


if __name__ == "__main__":
    main()
