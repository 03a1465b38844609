"""The workers of a Dask cluster do the work of a batch; what comes of it is kept here alone."""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from chart_binder.errors import CanonError, ClusterError
from chart_binder.jobs.batch.albums import Album
from chart_binder.jobs.batch.dask_cluster import MODEL, MUSICBRAINZ, Cluster
from chart_binder.jobs.batch.dask_tasks import (
    Packed,
    UnseenError,
    gather_album,
    look_into,
)
from chart_binder.jobs.batch.work import Gathered, Settled, Waiting
from chart_binder.jobs.batch.worker import Worker
from chart_binder.jobs.decide import Case
from chart_binder.jobs.decision import Cause, Decision, State
from chart_binder.jobs.kept_case import file_status

if TYPE_CHECKING:
    from chart_binder.jobs.batch.dask_stopping import StopRun

One = TypeVar("One", Settled, Waiting)
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
class DaskHands:
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

    def gather(self, album: Album) -> "Future[Gathered]":
        """Look up an album and decide by rules."""
        there = [str(path.absolute()) for path in album.paths]

        def found(gathered: Gathered) -> Gathered:
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

    def look_into(self, waiting: Waiting) -> "Future[Settled]":
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
            from chart_binder.jobs.batch.dask_stopping import (  # noqa: PLC0415 - loads the extra
                StopRun,
            )

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

    def _not_gathered(self, album: Album, error: Exception) -> Gathered:
        if isinstance(error, UnseenError):
            seen = next((path for path in album.paths if path.exists()), None)
            if seen:
                raise ClusterError(
                    f"{seen} is not there on the machine {str(error)!r} of a Dask worker:"
                    " all machines must see the library under the same path"
                )
            return self.worker.gather(album)  # gone everywhere, as each file's error says
        case = _lost(error, Case(Decision(State.ERROR)))
        return Gathered(
            tuple(
                self.worker.settled(Waiting(path, file_status(path), case)) for path in album.paths
            )
        )


def _under_its_name(it: One, given: Mapping[str, deque[Path]]) -> One:
    return replace(it, path=given[str(it.path)].popleft())


def _lost(error: Exception, case: Case) -> Case:
    """Return the case of a task that killed its workers; raise what is no fault of the files."""
    from distributed import KilledWorker  # noqa: PLC0415 - loaded, where there are hands

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
