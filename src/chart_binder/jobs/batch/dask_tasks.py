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

    def open(self) -> AbstractContextManager[Worker]:
        """Open what the work needs, or raise `CanonError`."""


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


class _OpenWorker:
    """A worker that is closed when the last task that uses it is done."""

    def __init__(self, setup: Packed) -> None:
        self._stack = ExitStack()
        self.worker = self._stack.enter_context(setup.open())

    def __del__(self) -> None:
        if hasattr(self, "_stack"):
            self._stack.close()


_lock = threading.Lock()
_open_workers: dict[str, _OpenWorker] = {}
"""The open workers by run."""
_stopped: set[str] = set()


def _open(setup: Packed) -> _OpenWorker:
    """Return the worker of a run; the caller holds it until its task is done."""
    with _lock:
        if setup.run_id not in _open_workers:
            opened = _open_workers[setup.run_id] = _OpenWorker(setup)
            if setup.run_id in _stopped:
                opened.worker.stopping.set()
            while len(_open_workers) > _MAX_OPEN_RUNS:
                _open_workers.pop(next(iter(_open_workers)))
        return _open_workers[setup.run_id]


def gather_album(setup: Packed, paths: Sequence[str]) -> AlbumResult:
    """Look up the files of an album, and decide by rules.

    Raises `UnseenError`, and `CanonError` if this process cannot work.
    """
    album = Album(tuple(map(Path, paths)))
    opened = _open(setup)
    if not (opened.worker.stopping.is_set() or any(path.exists() for path in album.paths)):
        raise UnseenError(socket.gethostname())
    return opened.worker.gather(album)


def look_into(setup: Packed, waiting: OpenCase) -> FileOutcome:
    """Let the adjudicator answer an open case.

    Raises `CanonError` if this process cannot work.
    """
    opened = _open(setup)
    return opened.worker.adjudicate(waiting)


def readied(setup: Packed) -> str:
    """Open what the work needs, and return the version of the program. Raises `CanonError`."""
    _open(setup)
    return installed()


def installed() -> str:
    """Return the version of the program; a scheduler needs it too, for Dask unpickles there."""
    return version("chart-binder")


def stop(run_id: str) -> None:
    """End each album of a run after its current file, and begin none."""
    with _lock:
        _stopped.add(run_id)
        if opened := _open_workers.get(run_id):
            opened.worker.stopping.set()


def let_go(run_id: str) -> None:
    """Close the worker of a run after its current tasks."""
    with _lock:
        _stopped.discard(run_id)
        _open_workers.pop(run_id, None)


def dask_setup(worker: object) -> None:
    """Ignore Ctrl-C at a terminal, which is meant for the batch (Dask calls this)."""
    del worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
