"""What one process of a batch works with, wired: in the process of the call, or in another."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.config import Config
from chart_binder.errors import StoreError
from chart_binder.jobs.batch.evidence import AsKept, LookedUp
from chart_binder.jobs.batch.worker import EvidenceOfAlbums, Worker
from chart_binder.jobs.kept_case import Under
from chart_binder.store import open_store
from chart_binder.wiring import album_source, decider, overrides, store_url, transcripts_folder

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_FILE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """How every process of a run works; it is sent to processes of other machines too.

    `since` is the moment from which answers count, in seconds since the epoch (0: any moment);
    `is_frozen` that kept evidence alone does, `is_dry` that runs of a model are not recorded.
    `file` tells the store's file from others, where it is one: its device and its number there.
    """

    config: Config = field(repr=False)  # a password may stand in it, and Dask logs what it calls
    under: Under
    since: float = 0.0
    is_frozen: bool = False
    is_dry: bool = False
    file: tuple[int, int] | None = None

    @property
    def run_id(self) -> str:
        """The run that the work is done for."""
        return self.under.run_id

    def worker(self, store: "Store") -> Worker:
        """Return what works with an open store. Raises `PluginError` and `ConfigError`."""
        evidence: EvidenceOfAlbums = (
            AsKept(store)
            if self.is_frozen
            else LookedUp(album_source(self.config, store, since=self.since))
        )
        record = None if self.is_dry else transcripts_folder()
        pipeline = decider(self.config, record=record, overruled=overrides(self.config))
        return Worker(evidence, pipeline, self.under)

    def elsewhere(self) -> "WorkerSetup":
        """Return what means the same in a process of another folder, user or machine."""
        url = store_url(self.config)
        file = None
        if path := _file(url):
            url = f"{_FILE}{path.absolute()}" + url[len(_FILE) + len(str(path)) :]
            file = _known_as(path)
        store = self.config.store.model_copy(update={"url": url})
        config = self.config.model_copy(update={"store": store})
        return replace(self, config=config, file=file)

    @contextmanager
    def open(self) -> Iterator[Worker]:
        """Open the store in another process. Raises `CanonError`, also if it sees another store."""
        url = store_url(self.config)
        path = _file(url)
        if path and _known_as(path) != self.file:
            raise StoreError(
                f"the store {path} is a file of the machine that the run was started on:"
                " for workers on others put it on PostgreSQL (store.url)"
            )
        with open_store(url) as store:
            yield self.worker(store)


def _file(url: str) -> Path | None:
    """Return the file that a store's address names, if it is one."""
    return Path(url.removeprefix(_FILE).partition("?")[0]) if url.startswith(_FILE) else None


def _known_as(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
