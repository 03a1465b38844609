"""What a process of a Dask cluster does of a batch; Dask finds these functions by their names."""

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

from chart_binder.jobs.batch.work import Album, AlbumResult, FileOutcome, OpenCase, Worker

_MOST_OPEN = 4
"""Runs that a process works for at once; what a killed run left open goes then."""


class Setup(Protocol):
    """What a run gives to each process that works for it."""

    @property
    def run_id(self) -> str:
        """The run that the work is done for."""
        ...

    def open(self) -> AbstractContextManager[Worker]:
        """Open what the work needs, or raise `CanonError`."""
        ...


@dataclass(frozen=True, slots=True)
class Packed:
    """A run's setup as it goes with every task: Dask need not read it, and its logs show none."""

    run_id: str
    setup: bytes = field(repr=False)

    @classmethod
    def of(cls, setup: Setup) -> Self:
        """Pack what a run gives to each process."""
        return cls(setup.run_id, pickle.dumps(setup))

    def open(self) -> AbstractContextManager[Worker]:
        """Open what the work needs, or raise `CanonError`."""
        setup: Setup = pickle.loads(self.setup)  # noqa: S301 - from who may run any code here
        return setup.open()


class UnseenError(Exception):
    """None of the files is there for this process; the text is the name of its machine."""


class _Opened:
    """Open workers by their run; one that is let go is closed when its last task is done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, _InUse] = {}
        self._stopped: set[str] = set()

    def __call__(self, setup: Packed) -> "_InUse":
        with self._lock:
            if setup.run_id not in self._open:
                in_use = self._open[setup.run_id] = _InUse(setup)
                if setup.run_id in self._stopped:
                    in_use.worker.stopping.set()
                while len(self._open) > _MOST_OPEN:
                    self._open.pop(next(iter(self._open)))
            return self._open[setup.run_id]

    def stop(self, run_id: str) -> None:
        with self._lock:
            self._stopped.add(run_id)
            if in_use := self._open.get(run_id):
                in_use.worker.stopping.set()

    def let_go(self, run_id: str) -> None:
        with self._lock:
            self._stopped.discard(run_id)
            self._open.pop(run_id, None)


class _InUse:
    """An open worker, closed when nobody holds it any more."""

    def __init__(self, setup: Packed) -> None:
        self._stack = ExitStack()
        self.worker = self._stack.enter_context(setup.open())

    def __del__(self) -> None:
        if hasattr(self, "_stack"):
            self._stack.close()


_opened = _Opened()


def gather_album(setup: Packed, paths: Sequence[str]) -> AlbumResult:
    """Look up the files of an album, and decide by rules what they decide.

    Raises `UnseenError`, and `CanonError` where this process cannot work.
    """
    album = Album(tuple(map(Path, paths)))
    in_use = _opened(setup)  # held until the work is done
    if not (in_use.worker.stopping.is_set() or any(path.exists() for path in album.paths)):
        raise UnseenError(socket.gethostname())
    return in_use.worker.gather(album)


def look_into(setup: Packed, waiting: OpenCase) -> FileOutcome:
    """Let the adjudicator look into an open case.

    Raises `CanonError` where this process cannot work.
    """
    in_use = _opened(setup)
    return in_use.worker.look_into(waiting)


def readied(setup: Packed) -> str:
    """Open what the work needs, and return the version of the program. Raises `CanonError`."""
    _opened(setup)
    return installed()


def installed() -> str:
    """Return the version of the program: a scheduler has it too, for Dask reads tasks there."""
    return version("chart-binder")


def stop(run_id: str) -> None:
    """End each album of a run with the file in hand, and begin none."""
    _opened.stop(run_id)


def let_go(run_id: str) -> None:
    """Close what was open for a run, after what is being done."""
    _opened.let_go(run_id)


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C at a terminal to the process that the cluster works for (Dask calls this)."""
    del worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
