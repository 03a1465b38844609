"""The workers of a Dask cluster do the work of a batch; what comes of it is kept here alone."""

import logging
import math
import multiprocessing
import threading
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from chart_binder.errors import CanonError, ClusterError, PluginError, UsageError
from chart_binder.jobs.batch.dask_tasks import (
    Packed,
    UnseenError,
    gather_album,
    installed,
    let_go,
    look_into,
    readied,
)
from chart_binder.jobs.batch.work import Album, AlbumResult, FileOutcome, OpenCase, Worker
from chart_binder.jobs.decide import Case, Cause, Decision, State
from chart_binder.jobs.stored_decisions import file_status
from chart_binder.react.conversation import wrap_plugin_errors

if TYPE_CHECKING:
    from distributed import Client, WorkerPlugin

    from chart_binder.jobs.batch.dask_stopping import StopRun


_log = logging.getLogger(__name__)

MUSICBRAINZ = "musicbrainz"
MODEL = "model"
"""Resources that a cluster's workers may declare, with how much each has of them."""

_CONNECTS_WITHIN_S = 8.0
_LOOKS_EVERY_S = 5.0
_TOLD_EVERY_S = 30.0
_PROCESSES = 2
_SILENT = logging.CRITICAL + 1
_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
_ADDRESSES = "HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT is allowed"
_GUARDED = (
    "a script that calls run_batch has to do so under `if __name__ == '__main__':`,"
    " for each worker process runs its top level again"
)
_PRELOAD = "chart_binder.jobs.batch.dask_tasks"


@dataclass(slots=True)
class Cluster:
    """A cluster that this process is connected to, at `address`."""

    client: "Client"
    address: str
    _looked_at: float = -math.inf
    _workers: Sequence[dict[str, Any]] = ()

    def has(self, resource: str) -> int:
        """Return how much of a resource the workers declare all in all; 0: none does."""
        return int(sum(each["resources"].get(resource, 0) for each in self.workers))

    @property
    def threads(self) -> int:
        """Tasks that the cluster works on at once."""
        return int(sum(each["nthreads"] for each in self.workers))

    @property
    def workers(self) -> Sequence[dict[str, Any]]:
        """The workers as they were a few seconds ago: they may come and go."""
        now = time.monotonic()
        if now - self._looked_at > _LOOKS_EVERY_S:
            self._looked_at = now
            self._workers = list(self.client.scheduler_info(n_workers=-1)["workers"].values())
        return self._workers

    def tell(self, what: Callable[[str], None], run_id: str) -> None:
        """Have each worker do something for a run; one that is gone need not."""
        with suppress(OSError, RuntimeError, ValueError):  # the whole cluster may be
            self.client.run(what, run_id, on_error="ignore")

    def give(self, plugin: "WorkerPlugin") -> None:
        """Give a plugin to each worker, and to those that join later."""
        with suppress(OSError, RuntimeError, ValueError):
            self.client.register_plugin(plugin)

    def take(self, name: str) -> None:
        """Take a plugin that was given back."""
        with suppress(OSError, RuntimeError, ValueError):
            self.client.unregister_worker_plugin(name)


@contextmanager
def connect(address: str, timeout_s: float = _CONNECTS_WITHIN_S) -> Iterator[Cluster]:
    """Connect to the scheduler of a cluster.

    Raises `PluginError`, `ClusterError`, and `UsageError` where the address cannot be one.
    """
    _check_address(address)
    dask = _dask()
    with _quiet(), _client(dask, address, timeout_s) as client:
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
    """Start a cluster of two processes on this machine, and end it.

    Between them they look up `albums` and look into `cases` at once, rounded up to even numbers.
    Raises `PluginError` and `ClusterError`.
    """
    _check_may_start()
    dask = _dask()
    security = dask.Security.temporary()  # else whoever is on this machine could give it work
    share = {MUSICBRAINZ: -(-albums // _PROCESSES), MODEL: -(-cases // _PROCESSES)}
    with _quiet(), ExitStack() as stack:
        cluster = _two_processes(dask, share, security)
        stack.callback(cluster.close)
        client = stack.enter_context(
            _client(dask, cluster.scheduler_address, _CONNECTS_WITHIN_S, security)
        )
        yield Cluster(client, cluster.scheduler_address)


def _two_processes(dask: Any, share: Mapping[str, int], security: object) -> Any:
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
            memory_limit=0,  # what is in hand is bounded; a worker ended for its size ends again
            preload=[_PRELOAD],
        )
    except (OSError, RuntimeError) as error:
        raise ClusterError(
            f"no Dask cluster can be started on this machine: {str(error).rstrip('.')}; {_GUARDED}"
        ) from error


def _check_may_start() -> None:
    """Refuse in a process that is only about to be a worker of this very cluster."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ClusterError(f"a worker process began the batch that it is to work for: {_GUARDED}")


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        is_one = parts.scheme in _SCHEMES and parts.hostname and parts.port
    except ValueError:  # brackets, port
        is_one = False
    if not is_one:
        raise UsageError(f"no Dask scheduler can be at {address!r}: {_ADDRESSES}")


@contextmanager
def prepare_workers(cluster: Cluster, setup: Packed) -> Iterator[None]:
    """Have all workers open what a run needs, and close it at the end.

    Raises `ClusterError` that names which of them cannot work, and says why.
    """
    _check_versions(cluster)
    with wrap_plugin_errors(lambda error: _unable("scheduler", _problem(error)), CanonError):
        if problem := _problem(cluster.client.run_on_scheduler(installed)):
            raise _unable("scheduler", problem)
    answers = cluster.client.run(readied, setup, on_error="return")
    for worker, answer in answers.items():
        if problem := _problem(answer):
            raise _unable(f"worker {worker}", problem)
    _forward_logs(cluster, setup.run_id)
    is_over = threading.Event()
    watching = threading.Thread(target=_watch, args=(cluster, is_over), daemon=True)
    watching.start()
    try:
        yield
    finally:
        is_over.set()
        watching.join()
        cluster.take(_logs_of(setup.run_id))
        cluster.tell(let_go, setup.run_id)


def _forward_logs(cluster: Cluster, run_id: str) -> None:
    """Have the workers' logs told here, under the run: another's end does not end it.

    Dask's own `forward_logging` has one name for a logger, whoever asks.
    """
    from distributed.diagnostics.plugin import ForwardLoggingPlugin

    def told(event: tuple[float, dict[str, Any]]) -> None:
        record = logging.makeLogRecord(event[1])
        logging.getLogger(record.name).handle(record)

    name = _logs_of(run_id)
    cluster.client.subscribe_topic(name, told)
    plugin = ForwardLoggingPlugin("chart_binder", logging.NOTSET, name)
    cluster.client.register_plugin(plugin, name)


def _logs_of(run_id: str) -> str:
    return f"chart-binder-logs-{run_id}"


def _watch(cluster: Cluster, is_over: threading.Event) -> None:
    """Say now and then that nobody is there to work: the run waits for workers to come."""
    while not is_over.wait(_LOOKS_EVERY_S):
        if not cluster.workers and cluster.client.status == "running":
            told = {"scheduler": cluster.address}
            _log.warning("no Dask worker is there; the run waits for one", extra=told)
            is_over.wait(_TOLD_EVERY_S)


def _unable(who: str, problem: str | None) -> ClusterError:
    return ClusterError(f"the Dask {who} cannot work: {problem}")


def _problem(answer: object) -> str | None:
    ours = version("chart-binder")
    if isinstance(answer, CanonError):
        return str(answer)
    if isinstance(answer, BaseException) and "No module named" in str(answer):
        return f"{answer}; install chart-binder {ours} in its environment"
    if isinstance(answer, BaseException):
        return f"{type(answer).__name__}: {answer}"
    return None if answer == ours else f"it has chart-binder {answer}, and this machine {ours}"


def _check_versions(cluster: Cluster) -> None:
    """Hold all versions of Dask against ours: it promises nothing between different ones."""
    found = cluster.client.get_versions()
    ours = _distributed(found["client"])
    others = {"scheduler": found["scheduler"]} | {
        f"worker {address}": each for address, each in found["workers"].items()
    }
    for who, each in others.items():
        if (theirs := _distributed(each)) != ours:
            raise ClusterError(
                f"the Dask {who} has distributed {theirs}, and this machine {ours}:"
                " install the same version on all"
            )


def _distributed(versions: Any) -> str:
    return str(versions["packages"]["distributed"]) if versions else "of an unknown version"


@contextmanager
def _client(
    dask: Any, address: str, timeout_s: float, security: object = None
) -> Iterator["Client"]:
    client = dask.Client.__new__(dask.Client)  # it is to be closed if it cannot connect, too
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions that differ are told of in our words
            client.__init__(address, timeout=timeout_s, security=security, set_as_default=False)
    except (OSError, ValueError, ImportError, TypeError) as error:  # TypeError: no certificate
        client.close()  # else it tries to as the program ends, for twice the time
        raise ClusterError(
            f"no Dask scheduler can be reached at {address!r} ({error}); {_ADDRESSES}"
        ) from error
    with client:
        yield client


def _dask() -> Any:
    """Return `distributed`. Raises `PluginError` where it is not installed."""
    try:
        import cryptography  # noqa: F401 - what keeps a cluster to ourselves
        import distributed
    except ImportError as error:
        raise PluginError(
            f"Dask is not installed ({error}): pip install 'chart-binder[dask]' brings it"
        ) from error
    return distributed


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's logs still in this process: what matters of them is told in our words."""
    logging.getLogger("distributed")  # what is made later inherits from it
    loggers = [
        logging.getLogger(name)
        for name in list(logging.root.manager.loggerDict)
        if name.partition(".")[0] == "distributed"
    ]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(_SILENT)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


One = TypeVar("One", FileOutcome, OpenCase)
Task = Callable[[Packed, Any], Any]
Failed = Callable[[Exception], Any]
"""Returns what is made of a task that cannot be done, or raises `CanonError` to end the run."""


class _Told(Future[Any]):
    """A task of the cluster, whose outcome is made of it, or raised, where it is asked for."""

    def __init__(self, made: Callable[[], Any]) -> None:
        super().__init__()
        self._made = made

    def result(self, timeout: float | None = None) -> Any:
        """Return what came of the task, once it is done; raise what ends the run."""
        super().result(timeout)
        return self._made()


@dataclass(slots=True)
class DaskExecutor:
    """Hands out tasks, no more than the cluster can soon begin.

    A task whose worker died is done again by another: its result comes once. `albums_at_once` and
    `cases_at_once` hold where the workers declare no resources; `is_ours` is a cluster that was
    started for just as many.
    """

    cluster: Cluster
    setup: Packed
    worker: Worker
    albums_at_once: int
    cases_at_once: int
    is_ours: bool = False
    _in_hand: set["Future[Any]"] = field(default_factory=set)
    _stopping: "StopRun | None" = None
    _is_closed: bool = False

    @property
    def albums(self) -> int:
        """Albums that are handed out: what is worked on, and as much that can begin at once."""
        slots = self.cluster.has(MUSICBRAINZ) or self.cluster.threads
        return max(self.albums_at_once, 2 * slots)

    @property
    def cases(self) -> int:
        """Open cases that a model looks into at once."""
        declared = 0 if self.is_ours else self.cluster.has(MODEL)
        return declared or min(self.cases_at_once, max(self.cluster.threads, 1))

    def gather(self, album: Album) -> "Future[AlbumResult]":
        """Look up an album and decide by rules."""
        there = [str(path.absolute()) for path in album.paths]

        def found(gathered: AlbumResult) -> AlbumResult:
            given: defaultdict[str, deque[Path]] = defaultdict(deque)  # a file may come twice
            for name, path in zip(there, album.paths, strict=True):
                given[name].append(path)
            return replace(
                gathered,
                settled=tuple(_under_its_name(it, given) for it in gathered.settled),
                waiting=tuple(_under_its_name(it, given) for it in gathered.waiting),
            )

        return self._submit(
            gather_album, tuple(there), MUSICBRAINZ, found, partial(self._not_gathered, album)
        )

    def look_into(self, waiting: OpenCase) -> "Future[FileOutcome]":
        """Let the adjudicator look into an open case."""
        return self._submit(
            look_into,
            replace(waiting, path=waiting.path.absolute()),
            MODEL,
            lambda settled: replace(settled, path=waiting.path),
            lambda error: self.worker.settled(replace(waiting, case=_lost(error, waiting.case))),
        )

    def recall(self) -> None:
        """Have the workers end albums with the file in hand; those not begun come back empty.

        A worker that joins later comes to know of it, too. Cancelling would drop what is in hand
        as well: Dask does not tell what has begun.
        """
        self.worker.stopping.set()
        if self._stopping is None:
            from chart_binder.jobs.batch.dask_stopping import StopRun

            self._stopping = StopRun(self.setup.run_id)
            self.cluster.give(self._stopping)

    def close(self) -> None:
        """Let go of all tasks; the cluster forgets those that are not begun."""
        self._is_closed = True
        for future in list(self._in_hand):
            future.cancel()
        if self._stopping:
            self.cluster.take(self._stopping.name)

    def _submit(
        self, task: Task, argument: object, resource: str, found: Callable[[Any], Any], lost: Failed
    ) -> "Future[Any]":
        asked = {"resources": {resource: 1}} if self.cluster.has(resource) else {}
        executor = self.cluster.client.get_executor(pure=False, **asked)
        try:
            future = executor.submit(task, self.setup, argument)
        except RuntimeError as error:  # the connection is lost
            raise self._gone() from error
        told = _Told(partial(self._result, future, found, lost))
        told.set_running_or_notify_cancel()
        self._in_hand.add(future)
        future.add_done_callback(partial(self._done, told))
        return told

    def _done(self, told: "Future[Any]", future: "Future[Any]") -> None:
        """Say that a task is done; this is called in Dask's thread."""
        self._in_hand.discard(future)
        if not self._is_closed:
            told.set_result(None)

    def _result(self, future: "Future[Any]", found: Callable[[Any], Any], lost: Failed) -> Any:
        if future.cancelled():
            raise self._gone()
        error = future.exception()
        if isinstance(error, Exception):
            return lost(error)
        return found(future.result())

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler at {self.cluster.address} is gone: what was decided is kept,"
            " and the same command goes on from there"
        )

    def _not_gathered(self, album: Album, error: Exception) -> AlbumResult:
        if isinstance(error, UnseenError):
            seen = next((path for path in album.paths if path.exists()), None)
            if seen:
                raise ClusterError(
                    f"{seen} is not there on the machine {str(error)!r} of a Dask worker:"
                    " all machines must see the library under the same path"
                )
            return self.worker.gather(album)  # gone everywhere, as each file's error says
        case = _lost(error, Case(Decision(State.ERROR)))
        return AlbumResult(
            tuple(
                self.worker.settled(OpenCase(path, file_status(path), case)) for path in album.paths
            )
        )


def _under_its_name(it: One, given: Mapping[str, deque[Path]]) -> One:
    return replace(it, path=given[str(it.path)].popleft())


def _lost(error: Exception, case: Case) -> Case:
    """Return the case of a task that killed its workers; raise what is no fault of the files."""
    from distributed import KilledWorker

    if isinstance(error, CanonError):
        raise error
    if isinstance(error, ImportError):
        raise ClusterError(f"a Dask worker lacks what the work needs: {error}") from error
    if not isinstance(error, KilledWorker):
        raise error
    why = f"the Dask worker died each of {error.allowed_failures + 1} times that it was begun"
    decision = Decision(
        State.ERROR, error=why, cause=Cause.FAULT, evidence_hash=case.decision.evidence_hash
    )
    return replace(case, decision=decision)
