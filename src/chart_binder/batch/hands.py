"""Who works for a batch: threads of this process, or a Dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from chart_binder.batch.worker import WorkerSetup
from chart_binder.jobs.batch.dask_cluster import connected, local, ready
from chart_binder.jobs.batch.dask_hands import DaskHands
from chart_binder.jobs.batch.dask_tasks import Packed
from chart_binder.jobs.batch.hands import Hands, Threads
from chart_binder.jobs.batch.worker import Worker


class Executor(StrEnum):
    """Who does the work: threads of this process, or the workers of a Dask cluster."""

    THREADS = "threads"
    DASK = "dask"


@contextmanager
def hands_for(
    setup: WorkerSetup,
    worker: Worker,
    executor: Executor,
    jobs: int | None,
    scheduler: str | None,
) -> Iterator[Hands]:
    """Yield who looks up `jobs` albums at once; without a `scheduler` a cluster is started here.

    Without `jobs` it is as many as the configuration says. `worker` is what this process works
    with. Raises `PluginError` and `ClusterError`.
    """
    jobs, cases = jobs or setup.config.batch.jobs, setup.config.batch.model_jobs
    if executor == Executor.THREADS:
        yield Threads(worker, jobs, cases)
        return
    shared = Packed.of(setup.elsewhere())
    there = connected(scheduler) if scheduler else local(jobs, cases)
    with there as cluster, ready(cluster, shared):
        yield DaskHands(cluster, shared, worker, jobs, cases, is_ours=not scheduler)
