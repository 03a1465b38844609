"""A run that is to stop ends on every worker of a cluster, on one that joins it later too."""

from distributed import Worker, WorkerPlugin

from chart_binder.jobs.batch.dask_tasks import stop


class StopRun(WorkerPlugin):  # type: ignore[misc]  # Any, where the extra is not installed
    """Tells each worker that a run is to stop, before it is given work.

    It goes by its `name` wherever a cluster has it.
    """

    def __init__(self, run_id: str) -> None:
        self.name = f"chart-binder-stop-{run_id}"
        self._run_id = run_id

    def setup(self, worker: Worker) -> None:
        """Begin no album of the run, and end those that are begun (Dask calls this)."""
        del worker
        stop(self._run_id)
