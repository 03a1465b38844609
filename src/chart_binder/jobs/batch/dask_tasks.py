"""The functions that a process of a Dask cluster runs for a batch.

Dask finds them, and `Packed`, by their names, so these stay: a process with another version of the
program must still be able to answer `installed` and `readied`, by which versions are compared.
"""

import pickle
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Protocol, Self

from chart_binder.jobs.batch import Album, AlbumResult, FileOutcome, OpenCase, Worker

_MAX_OPEN_RUNS = 4
"""Runs that a process works for at once; beyond it, the oldest was most likely killed."""


class Setup(Protocol):
    """What a process needs to work for a run."""

    @property
    def run_id(self) -> str:
        """The run to work for."""
        ...

    def open(self) -> AbstractContextManager[Worker]:
        """Open what the work needs, or raise `CanonError`."""
        ...


@dataclass(frozen=True, slots=True)
class Packed:
    """The pickled setup of a run, sent with every task; Dask neither reads nor logs it."""

    run_id: str
    setup: bytes = field(repr=False)

    @classmethod
    def of(cls, setup: Setup) -> Self:
        """Pickle a setup."""
        return cls(setup.run_id, pickle.dumps(setup))

    def open(self) -> AbstractContextManager[Worker]:
        """Open what the work needs, or raise `CanonError`."""
        setup: Setup = pickle.loads(self.setup)  # noqa: S301 - the sender may run any code here
        return setup.open()


class UnseenError(Exception):
    """No file of an album exists for this process; the text is the name of its machine."""


class _OpenWorkers:
    """The open workers by run; a closed run's worker ends with its last task."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, _OpenWorker] = {}
        self._stopped: set[str] = set()

    def __call__(self, setup: Packed) -> "_OpenWorker":
        with self._lock:
            if setup.run_id not in self._open:
                opened = self._open[setup.run_id] = _OpenWorker(setup)
                if setup.run_id in self._stopped:
                    opened.worker.stopping.set()
                while len(self._open) > _MAX_OPEN_RUNS:
                    self._open.pop(next(iter(self._open)))
            return self._open[setup.run_id]

    def stop(self, run_id: str) -> None:
        with self._lock:
            self._stopped.add(run_id)
            if opened := self._open.get(run_id):
                opened.worker.stopping.set()

    def let_go(self, run_id: str) -> None:
        with self._lock:
            self._stopped.discard(run_id)
            self._open.pop(run_id, None)


class _OpenWorker:
    """A worker that is closed when the last task that uses it is done."""

    def __init__(self, setup: Packed) -> None:
        self._stack = ExitStack()
        self.worker = self._stack.enter_context(setup.open())

    def __del__(self) -> None:
        if hasattr(self, "_stack"):
            self._stack.close()


_open_workers = _OpenWorkers()


def gather_album(setup: Packed, paths: Sequence[str]) -> AlbumResult:
    """Look up the files of an album, and decide by rules.

    Raises `UnseenError`, and `CanonError` if this process cannot work.
    """
    album = Album(tuple(map(Path, paths)))
    opened = _open_workers(setup)  # kept open until the work is done
    if not (opened.worker.stopping.is_set() or any(path.exists() for path in album.paths)):
        raise UnseenError(socket.gethostname())
    return opened.worker.gather(album)


def look_into(setup: Packed, waiting: OpenCase) -> FileOutcome:
    """Let the adjudicator answer an open case.

    Raises `CanonError` if this process cannot work.
    """
    opened = _open_workers(setup)
    return opened.worker.adjudicate(waiting)


def readied(setup: Packed) -> str:
    """Open what the work needs, and return the version of the program. Raises `CanonError`."""
    _open_workers(setup)
    return installed()


def installed() -> str:
    """Return the version of the program; a scheduler needs it too, for Dask unpickles there."""
    return version("chart-binder")


def stop(run_id: str) -> None:
    """End each album of a run after its current file, and begin none."""
    _open_workers.stop(run_id)


def let_go(run_id: str) -> None:
    """Close the worker of a run after its current tasks."""
    _open_workers.let_go(run_id)


def dask_setup(worker: object) -> None:
    """Ignore Ctrl-C at a terminal, which is meant for the batch (Dask calls this)."""
    del worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
