"""A real Dask cluster on loopback: a scheduler and two worker processes.

As a program, for a process of its own, it starts the cluster, prints what `DaskCluster` reads,
and ends with standard input.
"""

import json
import logging
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from chart_binder.jobs.batch import Worker

RESOURCES = {"musicbrainz": 2, "model": 1}
"""Of each worker."""
ALLOWED_FAILURES = 1
"""How often a task may be at hand when a worker dies, and be begun again."""


class Poison:
    """What kills each worker that opens it."""

    def open(self) -> AbstractContextManager[Worker]:
        """End the process."""
        os._exit(1)


class DaskCluster:
    """`with DaskCluster() as cluster: ... --scheduler cluster.address`.

    `workers` are the process ids; a worker that is killed is started again, as another process.
    """

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "servers.cluster"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ
            | {
                "PYTHONPATH": str(Path(__file__).parents[1]),
                "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(ALLOWED_FAILURES),
                "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "120s",
            },
        )
        assert self._process.stdout
        said = json.loads(self._process.stdout.readline())
        self.address: str = said["address"]
        self.workers: list[int] = said["workers"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()


def main() -> None:
    """Run a cluster until standard input ends."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=sum(RESOURCES.values()),
        resources=RESOURCES,
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        silence_logs=logging.CRITICAL,
    ) as cluster:
        workers = [nanny.process.pid for nanny in cluster.workers.values()]
        said = {"address": cluster.scheduler_address, "workers": workers}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
