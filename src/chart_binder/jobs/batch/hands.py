"""Who does the work of a batch: threads of this process, unless a cluster does."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from chart_binder.jobs.batch.albums import Album
from chart_binder.jobs.batch.work import Gathered, Settled, Waiting
from chart_binder.jobs.batch.worker import Worker


class Hands(Protocol):
    """Takes work and gives what came of it; `albums` and `cases` are how many it takes at once."""

    @property
    def albums(self) -> int:
        """Albums that are looked up at once."""
        ...

    @property
    def cases(self) -> int:
        """Open cases that a model looks into at once."""
        ...

    def gather(self, album: Album) -> "Future[Gathered]":
        """Look up an album and decide by rules."""
        ...

    def look_into(self, waiting: Waiting) -> "Future[Settled]":
        """Let the adjudicator look into an open case."""
        ...

    def recall(self) -> None:
        """Have what is in hand end with the file that each is at; albums not begun come empty."""
        ...

    def close(self) -> None:
        """Let go of what works; work that has not begun is not begun."""
        ...


class Threads:
    """Threads of this process, some for albums and others for the model."""

    def __init__(self, worker: Worker, albums: int, cases: int) -> None:
        self.albums = albums
        self.cases = cases
        self._worker = worker
        self._gatherers = ThreadPoolExecutor(albums, "canon-album")
        self._askers = ThreadPoolExecutor(cases, "canon-model")

    def gather(self, album: Album) -> "Future[Gathered]":
        """Look up an album and decide by rules."""
        return self._gatherers.submit(self._worker.gather, album)

    def look_into(self, waiting: Waiting) -> "Future[Settled]":
        """Let the adjudicator look into an open case."""
        return self._askers.submit(self._worker.look_into, waiting)

    def recall(self) -> None:
        """Have albums end with the file in hand."""
        self._worker.stopping.set()

    def close(self) -> None:
        """End the threads, each after what it is at."""
        for pool in (self._gatherers, self._askers):
            pool.shutdown(wait=False, cancel_futures=True)
