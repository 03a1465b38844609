"""Run the tasks of a batch on the workers of a Dask cluster; only this process saves results.

The workers find `PackedRun` and the functions below it by their names. `installed` and
`open_for_run` must keep theirs, because workers with another version of the program answer them.
"""

import logging
import math
import pickle
import re
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from chart_binder.errors import CanonError, ClusterError, PluginError, UsageError, how_to_install
from chart_binder.jobs.batch import Album, AlbumResult, Worker
from chart_binder.jobs.decision import Case, Cause, Decision, FileCase, FileOutcome, State
from chart_binder.jobs.pipeline import finish
from chart_binder.jobs.stored_decisions import file_status
from chart_binder.react.conversation import wrap_plugin_errors

if TYPE_CHECKING:
    from distributed import Client

F = TypeVar("F", FileCase, FileOutcome)
_log = logging.getLogger(__name__)

MUSICBRAINZ = "musicbrainz"
MODEL = "model"
"""Resources of workers: the number of tasks of each kind that a worker takes at once."""

_CONNECT_TIMEOUT_S = 8.0
_LOCAL_TIMEOUT_S = 60.0
_POLL_S = 5.0
_WARN_EVERY_S = 30.0
_PROCESSES = 2
_SILENT = logging.CRITICAL + 1
_CONNECTION_LOST = (OSError, RuntimeError, ValueError)
_ADDRESS = re.compile(
    r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:[^\s\[\]:/?#]+|\[[0-9a-fA-F:.]+\]):[1-9]\d{0,4}"
)
_ADDRESSES = "HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT is allowed"
_GUARDED = (
    "a script that calls run_batch has to do so under `if __name__ == '__main__':`,"
    " because each worker process runs its top level again"
)
_PRELOAD = "chart_binder.jobs.batch.dask"
_MAX_OPEN_RUNS = 4
"""The number of runs that a process works for; if there are more, the oldest was killed."""


@dataclass(frozen=True, slots=True)
class PackedRun:
    """A run, and a function that opens its worker; pickled, so that Dask logs no password."""

    run_id: str
    opener: bytes = field(repr=False)

    @classmethod
    def of(cls, run_id: str, opener: Callable[[], AbstractContextManager[Worker]]) -> Self:
        """Pickle a function that opens the worker, and may raise `CanonError`."""
        return cls(run_id, pickle.dumps(opener))


class UnseenError(Exception):
    """No file of an album exists for this process; the text is the name of its machine."""


class _OpenWorker:
    """A worker that is closed when the last task that uses it is done."""

    def __init__(self, setup: PackedRun) -> None:
        self._stack = ExitStack()
        opener = pickle.loads(setup.opener)  # noqa: S301 - the sender may run any code here
        self.worker: Worker = self._stack.enter_context(opener())

    def __del__(self) -> None:
        if hasattr(self, "_stack"):
            self._stack.close()


_lock = threading.Lock()
_open_workers: dict[str, _OpenWorker] = {}
_stopped: set[str] = set()


def _open(setup: PackedRun) -> _OpenWorker:
    """Return the worker of a run; the caller keeps a reference until its task is done."""
    with _lock:
        if setup.run_id not in _open_workers:
            opened = _open_workers[setup.run_id] = _OpenWorker(setup)
            if setup.run_id in _stopped:
                opened.worker.stopping.set()
            while len(_open_workers) > _MAX_OPEN_RUNS:
                _open_workers.pop(next(iter(_open_workers)))
        return _open_workers[setup.run_id]


def gather_album(setup: PackedRun, paths: Sequence[str]) -> AlbumResult:
    """Look up an album and decide by rules. Raises `UnseenError` and `CanonError`."""
    album = Album(tuple(map(Path, paths)))
    opened = _open(setup)
    if not (opened.worker.stopping.is_set() or any(path.exists() for path in album.paths)):
        raise UnseenError(socket.gethostname())
    return opened.worker.gather(album)


def adjudicate_case(setup: PackedRun, waiting: FileCase) -> FileOutcome:
    """Let the adjudicator answer an open case. Raises `CanonError` if this process cannot work."""
    opened = _open(setup)
    return opened.worker.adjudicate(waiting)


def open_for_run(setup: PackedRun) -> str:
    """Open the worker of a run, and return the version of the program. Raises `CanonError`."""
    _open(setup)
    return installed()


def installed() -> str:
    """Return the version of the program; the scheduler needs that, too, to unpickle tasks."""
    return version("chart-binder")


def stop_run(run_id: str) -> None:
    """Stop each album of a run after its current file, and begin none."""
    with _lock:
        _stopped.add(run_id)
        if opened := _open_workers.get(run_id):
            opened.worker.stopping.set()


def close_run(run_id: str) -> None:
    """Close the worker of a run after its current tasks."""
    with _lock:
        _stopped.discard(run_id)
        _open_workers.pop(run_id, None)


def dask_setup(worker: object) -> None:
    """Ignore Ctrl-C, which only the batch is to handle; Dask calls this in each worker."""
    del worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@dataclass(slots=True)
class Cluster:
    """A cluster that this process is connected to."""

    client: "Client"
    address: str
    _looked_at: float = -math.inf
    _workers: Sequence[dict[str, Any]] = ()

    def capacity(self, resource: str) -> int:
        """Return the sum of a resource over all workers, 0 if none declares it."""
        return int(sum(worker["resources"].get(resource, 0) for worker in self.workers))

    @property
    def threads(self) -> int:
        """The number of tasks that the cluster runs at once."""
        return int(sum(worker["nthreads"] for worker in self.workers))

    @property
    def workers(self) -> Sequence[dict[str, Any]]:
        """The workers, looked up every few seconds."""
        now = time.monotonic()
        if now - self._looked_at > _POLL_S:
            self._looked_at = now
            self._workers = list(self.client.scheduler_info(n_workers=-1)["workers"].values())
        return self._workers


@contextmanager
def connect(address: str, timeout_s: float = _CONNECT_TIMEOUT_S) -> Iterator[Cluster]:
    """Connect to a scheduler. Raises `UsageError`, `PluginError` and `ClusterError`."""
    if not _ADDRESS.fullmatch(address):
        raise UsageError(f"{address!r} is not the address of a Dask scheduler: {_ADDRESSES}")
    with _quiet(), _client(_dask(), address, timeout_s) as client:
        try:
            client.wait_for_workers(1, timeout=timeout_s)
        except TimeoutError as error:
            raise ClusterError(
                f"no worker is connected to the Dask scheduler at {address}:"
                f" start some with `dask worker {address}`"
            ) from error
        yield Cluster(client, address)


@contextmanager
def start_local_cluster(albums: int, cases: int) -> Iterator[Cluster]:
    """Run two processes for `albums` and `cases`. Raises `PluginError` and `ClusterError`."""
    dask = _dask()
    security = dask.Security.temporary()  # otherwise any user of this machine could submit tasks
    share = {MUSICBRAINZ: -(-albums // _PROCESSES), MODEL: -(-cases // _PROCESSES)}
    with _quiet(), closing(_two_processes(dask, share, security)) as cluster:
        address = cluster.scheduler_address
        with _client(dask, address, _LOCAL_TIMEOUT_S, security) as client:
            yield Cluster(client, address)


def _two_processes(dask: Any, share: dict[str, int], security: object) -> Any:
    try:
        return dask.LocalCluster(
            n_workers=_PROCESSES,
            threads_per_worker=sum(share.values()),
            resources=share,
            processes=True,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # its web server: any free port
            silence_logs=logging.CRITICAL,
            security=security,
            memory_limit=0,  # tasks are bounded; a worker killed for its size is killed again
            preload=[_PRELOAD],
        )
    except (OSError, RuntimeError) as error:
        problem = f"{str(error).rstrip('.')}; {_GUARDED}"
        raise ClusterError(f"no Dask cluster can be started on this machine: {problem}") from error


@contextmanager
def prepare_workers(cluster: Cluster, setup: PackedRun) -> Iterator[None]:
    """Let all workers open what a run needs. Raises `ClusterError`, which names a failed one."""
    _check_versions(cluster)
    with wrap_plugin_errors(lambda error: _unable("scheduler", _problem(error)), CanonError):
        if problem := _problem(cluster.client.run_on_scheduler(installed)):
            raise _unable("scheduler", problem)
    answers = cluster.client.run(open_for_run, setup, on_error="return")
    for worker, answer in answers.items():
        if problem := _problem(answer):
            raise _unable(f"worker {worker}", problem)
    topic = f"chart-binder-logs-{setup.run_id}"
    _forward_logs(cluster, topic)
    has_ended = threading.Event()
    watching = threading.Thread(target=_watch, args=(cluster, has_ended), daemon=True)
    watching.start()
    try:
        yield
    finally:
        has_ended.set()
        watching.join()
        with suppress(*_CONNECTION_LOST):
            cluster.client.unregister_worker_plugin(topic)
            cluster.client.run(close_run, setup.run_id, on_error="ignore")


def _forward_logs(cluster: Cluster, topic: str) -> None:
    """Handle the workers' log records; `forward_logging` has one topic for all clients."""
    from distributed.diagnostics.plugin import ForwardLoggingPlugin

    def handle(event: tuple[float, dict[str, Any]]) -> None:
        record = logging.makeLogRecord(event[1])
        logging.getLogger(record.name).handle(record)

    cluster.client.subscribe_topic(topic, handle)
    plugin = ForwardLoggingPlugin("chart_binder", logging.NOTSET, topic)
    cluster.client.register_plugin(plugin, topic)


def _watch(cluster: Cluster, has_ended: threading.Event) -> None:
    """Warn from time to time while there is no worker, because the run waits for one."""
    while not has_ended.wait(_POLL_S):
        if not cluster.workers and cluster.client.status == "running":
            extra = {"scheduler": cluster.address}
            _log.warning("no Dask worker is connected; the run waits for one", extra=extra)
            has_ended.wait(_WARN_EVERY_S)


def _unable(who: str, problem: str | None) -> ClusterError:
    return ClusterError(f"the Dask {who} cannot work: {problem}")


def _problem(answer: object) -> str | None:
    """Return what is wrong with an answer of `installed` or `open_for_run`, or None."""
    local = version("chart-binder")
    match answer:
        case CanonError():
            return str(answer)
        case BaseException():
            return f"{answer!r}; is chart-binder {local} in its environment, with its plug-ins?"
    return None if answer == local else f"it has chart-binder {answer}, and this machine {local}"


def _check_versions(cluster: Cluster) -> None:
    """Raise `ClusterError` if versions of Dask differ, because they may not work together."""
    versions = cluster.client.get_versions()
    local = versions["client"]["packages"]["distributed"]
    workers = {f"worker {address}": process for address, process in versions["workers"].items()}
    for name, process in {"scheduler": versions["scheduler"], **workers}.items():
        remote = process["packages"]["distributed"] if process else "of an unknown version"
        if remote != local:
            raise ClusterError(
                f"the Dask {name} has distributed {remote}, and this machine {local}:"
                " install the same version on all"
            )


@contextmanager
def _client(
    dask: Any, address: str, timeout_s: float, security: object = None
) -> Iterator["Client"]:
    client = dask.Client.__new__(dask.Client)  # to close it if it cannot connect
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `_check_versions` reports versions that differ
            client.__init__(address, timeout=timeout_s, security=security, set_as_default=False)
    except (OSError, ValueError, ImportError, TypeError) as error:  # TypeError: no certificate
        client.close()  # otherwise it tries again when the program ends
        raise ClusterError(
            f"no Dask scheduler can be reached at {address!r} ({error}); {_ADDRESSES}"
        ) from error
    with client:
        yield client


def _dask() -> Any:
    """Return `distributed`. Raises `PluginError` if it is not installed."""
    try:
        import cryptography  # noqa: F401 - for `Security.temporary`
        import distributed
    except ImportError as error:
        raise PluginError(f"Dask is not installed ({error}): {how_to_install('dask')}") from error
    return distributed


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's logs in this process; this module raises or logs the relevant problems."""
    logging.getLogger("distributed")  # later loggers inherit from it
    names = [*logging.root.manager.loggerDict]
    loggers = [logging.getLogger(name) for name in names if name.split(".")[0] == "distributed"]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(_SILENT)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@dataclass(slots=True)
class DaskExecutor:
    """Runs tasks on a cluster, no more than it can soon begin.

    A task of a worker that died is done again. `albums` and `cases` are the limits if workers
    declare no resources; a cluster that `is_local` was started for exactly these.
    """

    cluster: Cluster
    setup: PackedRun
    worker: Worker
    albums: int
    cases: int
    is_local: bool = False
    _submitted: set["Future[Any]"] = field(default_factory=set)
    _plugin_name: str = ""
    _is_closed: bool = False

    @property
    def max_albums(self) -> int:
        """The number of albums handed out: those in work, and as many to begin next."""
        slots = self.cluster.capacity(MUSICBRAINZ) or self.cluster.threads
        return max(self.albums, 2 * slots)

    @property
    def max_cases(self) -> int:
        """The number of open cases that are adjudicated at once."""
        declared = 0 if self.is_local else self.cluster.capacity(MODEL)
        return declared or min(self.cases, max(self.cluster.threads, 1))

    def gather(self, album: Album) -> "Future[AlbumResult]":
        """Look up an album and decide by rules."""
        absolute = tuple(str(path.absolute()) for path in album.paths)
        path_of = dict(zip(absolute, album.paths, strict=True))

        def renamed(files: Iterable[F]) -> tuple[F, ...]:
            return tuple(replace(file, path=path_of[str(file.path)]) for file in files)

        def with_own_paths(result: AlbumResult) -> AlbumResult:
            outcomes, open_cases = renamed(result.outcomes), renamed(result.open_cases)
            return replace(result, outcomes=outcomes, open_cases=open_cases)

        failed = partial(self._album_failed, album)
        return self._submit(gather_album, absolute, MUSICBRAINZ, with_own_paths, failed)

    def adjudicate(self, file: FileCase) -> "Future[FileOutcome]":
        """Let the adjudicator answer an open case."""
        return self._submit(
            adjudicate_case,
            replace(file, path=file.path.absolute()),
            MODEL,
            lambda outcome: replace(outcome, path=file.path),
            lambda error: finish(
                self.worker.pipeline, replace(file, case=_killed(error, file.case))
            ),
        )

    def finish_early(self) -> None:
        """Stop each album after its current file; an album that was not begun gets no results.

        A plug-in also stops workers that join later. Cancelling would drop begun tasks as well.
        """
        from distributed import WorkerPlugin

        run_id = self.setup.run_id

        class StopRun(WorkerPlugin):  # type: ignore[misc]  # Any, where the extra is not installed
            """Stops the run on a worker before it is given work; Dask sends it by value."""

            name = f"chart-binder-stop-{run_id}"

            def setup(self, worker: object) -> None:
                del worker
                stop_run(run_id)

        self.worker.stopping.set()
        if not self._plugin_name:
            self._plugin_name = StopRun.name
            with suppress(*_CONNECTION_LOST):
                self.cluster.client.register_plugin(StopRun())

    def close(self) -> None:
        """Cancel all tasks that have not begun."""
        self._is_closed = True
        for future in list(self._submitted):
            future.cancel()
        if self._plugin_name:
            with suppress(*_CONNECTION_LOST):
                self.cluster.client.unregister_worker_plugin(self._plugin_name)

    def _submit(
        self,
        task: Callable[[PackedRun, Any], Any],
        argument: object,
        resource: str,
        convert: Callable[[Any], Any],
        failed: Callable[[Any], Any],
    ) -> "Future[Any]":
        """Submit a task; `convert` makes the result, `failed` makes it from an error, or raises."""
        needed = {"resources": {resource: 1}} if self.cluster.capacity(resource) else {}
        executor = self.cluster.client.get_executor(pure=False, **needed)
        try:
            future = executor.submit(task, self.setup, argument)
        except RuntimeError as error:  # the connection is lost
            raise self._scheduler_gone() from error

        result: Future[Any] = Future()

        def done(future: "Future[Any]") -> None:  # Dask calls this in a thread of its own
            self._submitted.discard(future)
            if self._is_closed:
                return
            try:
                if future.cancelled():
                    raise self._scheduler_gone()  # noqa: TRY301
                error = future.exception()
                is_failed = isinstance(error, Exception)
                result.set_result(failed(error) if is_failed else convert(future.result()))
            except BaseException as problem:  # noqa: BLE001 - it is raised where the result is used
                result.set_exception(problem)

        self._submitted.add(future)
        future.add_done_callback(done)
        return result

    def _scheduler_gone(self) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler at {self.cluster.address} is gone: what was decided is stored,"
            " and the same command continues"
        )

    def _album_failed(self, album: Album, error: Exception) -> AlbumResult:
        """Return the error outcomes of an album, or raise `ClusterError`."""
        if isinstance(error, UnseenError):
            path = next((path for path in album.paths if path.exists()), None)
            if path:
                raise ClusterError(
                    f"{path} does not exist on the machine {str(error)!r} of a Dask worker:"
                    " all machines must see the library under the same path"
                )
            return self.worker.gather(album)  # the files are gone everywhere: each gets an error
        case = _killed(error, Case(Decision(State.ERROR)))
        files = (FileCase(path, file_status(path), case) for path in album.paths)
        return AlbumResult(tuple(finish(self.worker.pipeline, file) for file in files))


def _killed(error: Exception, case: Case) -> Case:
    """Return the error case of a task that killed its workers; raise any other error."""
    from distributed import KilledWorker

    if isinstance(error, ImportError):
        raise ClusterError(f"a Dask worker lacks what the work needs: {error}") from error
    if not isinstance(error, KilledWorker):
        raise error
    why = f"the Dask worker died each of {error.allowed_failures + 1} times that it was begun"
    evidence_hash = case.decision.evidence_hash
    return replace(
        case,
        decision=Decision(State.ERROR, error=why, cause=Cause.FAULT, evidence_hash=evidence_hash),
    )
