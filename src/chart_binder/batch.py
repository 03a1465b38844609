"""The batch job, wired: a whole library decided in one call, from Python as from the terminal."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from chart_binder.config import Config
from chart_binder.config.load import load_settings
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import KeptRun, Measures, new_id, now_utc
from chart_binder.domain.tags import Policy
from chart_binder.errors import StoreError, UsageError
from chart_binder.files import absolute_path
from chart_binder.jobs.batch.dask import DaskExecutor, connect, prepare_workers, start_local_cluster
from chart_binder.jobs.batch.dask_tasks import Packed
from chart_binder.jobs.batch.report import Tally
from chart_binder.jobs.batch.resume import (
    AnswerCache,
    Refresh,
    ResumeCheck,
    Selection,
    Which,
    interrupted_refresh,
)
from chart_binder.jobs.batch.run import BatchRun, Items, OutcomeBuffer, TagWriter, on_error
from chart_binder.jobs.batch.work import (
    AlbumEvidence,
    FileOutcome,
    SourceEvidence,
    StoredEvidence,
    TaskExecutor,
    ThreadExecutor,
    Worker,
    find_albums,
)
from chart_binder.jobs.decide import Decision, State
from chart_binder.jobs.journal import WritingRun, clean_folders, repair_journal
from chart_binder.jobs.stored_decisions import RunVersions, adjudicator_version, rules_version
from chart_binder.jobs.write import Planned, Planner, WriteReport, WriteStatus, write_tags
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
    under: RunVersions
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
        evidence: AlbumEvidence = (
            StoredEvidence(store)
            if self.is_frozen
            else SourceEvidence(album_source(self.config, store, since=self.since))
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


class Executor(StrEnum):
    """Who does the work: threads of this process, or the workers of a Dask cluster."""

    THREADS = "threads"
    DASK = "dask"


@contextmanager
def open_executor(
    setup: WorkerSetup,
    worker: Worker,
    executor: Executor,
    jobs: int | None,
    scheduler: str | None,
) -> Iterator[TaskExecutor]:
    """Yield who looks up `jobs` albums at once; without a `scheduler` a cluster is started here.

    Without `jobs` it is as many as the configuration says. `worker` is what this process works
    with. Raises `PluginError` and `ClusterError`.
    """
    jobs, cases = jobs or setup.config.batch.jobs, setup.config.batch.model_jobs
    if executor == Executor.THREADS:
        yield ThreadExecutor(worker, jobs, cases)
        return
    shared = Packed.of(setup.elsewhere())
    there = connect(scheduler) if scheduler else start_local_cluster(jobs, cases)
    with there as cluster, prepare_workers(cluster, shared):
        yield DaskExecutor(cluster, shared, worker, jobs, cases, is_ours=not scheduler)


MOST_JOBS: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How a library is decided.

    `jobs` is how many albums are looked up at once, in place of `batch.jobs`. `write` writes tags
    where that is allowed, as `policy` says. `dry_run` decides, and keeps and writes nothing.
    `only` chooses files by how their last decision stands; `refresh` decides all of them anew on
    new evidence; `frozen` asks for no evidence, and goes by what is kept. `scheduler` is the
    address of a Dask scheduler; without one, a cluster is started on this machine.
    """

    jobs: int | None = None
    write: bool = False
    policy: Policy = Policy.IDS
    keep_mtime: bool = False
    dry_run: bool = False
    only: frozenset[Which] = frozenset()
    refresh: bool = False
    frozen: bool = False
    executor: Executor = Executor.THREADS
    scheduler: str | None = None

    def check(self) -> None:
        """Raise `UsageError` for what cannot be meant."""
        for problem in self._problems():
            raise UsageError(problem)

    def _problems(self) -> Iterator[str]:
        if self.refresh and self.frozen:
            yield "refresh asks for new evidence, frozen for none: choose one of them"
        if self.jobs is not None and not 1 <= self.jobs <= MOST_JOBS:
            yield f"jobs: found {self.jobs}; 1 to {MOST_JOBS} are allowed"
        for name, found, allowed in (
            ("executor", (self.executor,), Executor),
            ("policy", (self.policy,), Policy),
            ("only", self.only, Which),
        ):
            for odd in found:
                if odd not in (*allowed,):
                    yield f"{name}: found {odd!r}; {', '.join(allowed)} are allowed"
        if self.scheduler is not None and self.executor != Executor.DASK:
            yield "a scheduler is Dask's: choose the executor dask with it"
        if self.scheduler == "":
            yield "scheduler: the address is empty: is a variable of the shell not set?"

    @property
    def flags(self) -> tuple[str, ...]:
        """What of it is not as by default, as `canon batch` takes it."""
        chosen = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
        return tuple(_flag(name, value) for name, value in chosen.items())


def _flag(name: str, value: object) -> str:
    if isinstance(value, frozenset | set | list | tuple):
        value = ",".join(sorted(map(str, value)))
    return f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}")


INTERRUPTED = 130
_FOLDERS_IN_MIND = 256
"""Folders that are not looked through again for what killed saves left there."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a run came to: its `status` is what `canon batch` exits with.

    `stopped` says why it ended before its time; the same call goes on from there.
    """

    run_id: str
    measures: Measures
    status: int
    stopped: str | None = None


@dataclass(frozen=True, slots=True)
class FileResult:
    """One file when nothing more happens with it: what was decided, and what became of its tags.

    `tags` is there where tags may be written. `so_far` is what the run `run_id` has come to; it
    goes on counting: `files`, `resumed`, `states`, `seconds`, and `rate` (files a second).
    """

    outcome: FileOutcome
    tags: WriteReport | None
    so_far: Tally
    run_id: str

    @property
    def path(self) -> Path:
        """The file, under the name by which it was found."""
        return self.outcome.path

    @property
    def decision(self) -> Decision:
        """What was decided, or why nothing was."""
        return self.outcome.decision

    @property
    def resumed(self) -> bool:
        """Whether an earlier run settled it."""
        return self.outcome.is_resumed


def run_batch(
    paths: str | Path | Iterable[str | Path],
    config: Config | None = None,
    options: BatchOptions | None = None,
    *,
    on_file: Callable[[FileResult], None] = lambda _: None,
    to_stop: Callable[[], bool] = lambda: False,
    said: Callable[[str], None] = lambda _: None,
) -> BatchResult:
    """Decide every audio file that files and folders stand for.

    `config` is by default what `canon config show` shows. `on_file` is told of each file in the
    caller's thread, in the order in which they are finished. `to_stop` is asked several times a
    second; as soon as it says so nothing new is begun. `said` is told what a person should know.
    Starting again goes on.

    Raises `ConfigError`, `PluginError`, `UsageError`, `StoreError` where the store fails, and
    `ClusterError` where the workers of a Dask cluster do.
    """
    # Not the letters of a name: one of them is often `/`.
    paths = [paths] if isinstance(paths, str | Path) else [*paths]
    if "" in paths:
        raise UsageError("a path is empty: this folder is called `.`")
    options = options or BatchOptions()
    return run_items(
        find_albums(Path(path) for path in paths),
        config or load_settings(None, os.environ, {}).config,
        options,
        arguments=(*options.flags, *map(absolute_path, paths)),
        on_file=on_file,
        to_stop=to_stop,
        said=said,
    )


def run_items(
    items: Items,
    config: Config,
    options: BatchOptions,
    *,
    arguments: tuple[str, ...],
    on_file: Callable[[FileResult], None],
    to_stop: Callable[[], bool],
    said: Callable[[str], None],
) -> BatchResult:
    """Do what `run_batch` does, for albums and bundles as they come.

    `arguments` are kept as how the run was called, as `canon batch` takes them.
    """
    options.check()
    run = KeptRun(id=new_id(), command="batch", arguments=arguments, started_at_utc=now_utc())
    with open_store(store_url(config)) as store:
        under = _under(config, run.id)
        refresh = _refresh(store, run, options, said)
        setup = WorkerSetup(
            config, under, refresh.since, is_frozen=options.frozen, is_dry=options.dry_run
        )
        worker = setup.worker(store)
        tagging = _tagging(config, store, options, _writing(store, run, options, said), said)
        keeping = OutcomeBuffer(None if options.dry_run else store, run)
        with open_executor(
            setup, worker, options.executor, options.jobs, options.scheduler
        ) as hands:
            tally = Tally()  # a cluster has come up: what starting took is no file's
            batch = BatchRun(
                hands=hands,
                worker=worker,
                resuming=_resuming(store, worker, options, refresh),
                answered=AnswerCache(store, under.adjudicator, refresh.runs),
                keeping=keeping,
                tagging=tagging,
                tally=tally,
                finished=lambda settled, told: on_file(FileResult(settled, told, tally, run.id)),
                to_stop=to_stop,
            )
            keeping.begin()
            with on_error(partial(_broken_off, keeping, tally)):
                batch.go(items)
        result = _result(run.id, batch, is_stopped=to_stop())
        keeping.end(result.status, result.measures)
        return result


def _broken_off(keeping: OutcomeBuffer, tally: Tally, error: BaseException) -> None:
    """Keep how a run ended that did not come to its end."""
    status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    why = str(error) or "interrupted"
    with suppress(StoreError):  # why it ends is more than that it cannot be kept
        keeping.end(status, msgspec.structs.replace(tally.measures(), stopped=why))


def _resuming(
    store: "Store", worker: Worker, options: BatchOptions, refresh: Refresh
) -> ResumeCheck:
    choice = Selection(options.only, options.refresh, refresh.runs)
    return ResumeCheck(store, choice, worker.under, worker.decider.overrides)


def _writing(
    store: "Store", run: KeptRun, options: BatchOptions, said: Callable[[str], None]
) -> WritingRun | None:
    """Return what tags are written in, once what an earlier run left there is settled."""
    if options.dry_run or not options.write:
        return None
    for line in repair_journal(store):
        said(line)
    return WritingRun(store, run, options.keep_mtime)


def _refresh(
    store: "Store", run: KeptRun, options: BatchOptions, said: Callable[[str], None]
) -> Refresh:
    """Return from when on what was found counts; a refresh that was cut short goes on."""
    if not options.refresh:
        return Refresh()
    before = None if options.dry_run else interrupted_refresh(store, run)
    if before is None:
        return Refresh(time.time(), frozenset({run.id}))
    said(f"goes on with the refresh that began {before.begun} UTC, and was cut short")
    return before


def _under(config: Config, run_id: str) -> RunVersions:
    asks = decider(config, record=None).adjudicator is not None
    asked = adjudicator_version(config.llm, config.rules) if asks else ""
    return RunVersions(run_id, rules_version(config.rules), asked)


def _tagging(
    config: Config,
    store: "Store",
    options: BatchOptions,
    writing: WritingRun | None,
    said: Callable[[str], None],
) -> TagWriter:
    if not options.write:
        return TagWriter(None)
    planner = Planner(store, config.llm.acceptance, overrides(config)(), options.policy)

    @lru_cache(_FOLDERS_IN_MIND)
    def tidy(folder: Path) -> None:
        for line in clean_folders([folder]):
            said(line)

    def write(settled: FileOutcome) -> WriteReport:
        if writing:
            tidy(settled.path.resolve().parent)
        unkept = partial(_plan_unkept, planner, settled) if options.dry_run else None
        return write_tags(planner, settled.path, writing, unkept if settled.kept else None)

    return TagWriter(write, config.batch.write_jobs)


def _plan_unkept(planner: Planner, settled: FileOutcome) -> Planned:
    """Plan by a decision that is not in the store, for this is a dry run."""
    assert settled.kept
    kept, evidence, _ = settled.kept
    return planner.plan_by(
        settled.path, kept, lambda: read_bundle(evidence.document) if evidence else None
    )


def _result(run_id: str, batch: BatchRun, *, is_stopped: bool) -> BatchResult:
    stopped = None
    if batch.lookups.is_over:
        stopped = f"MusicBrainz failed {batch.lookups.in_a_row} times in a row: {batch.lookups.why}"
    elif batch.is_cut_short:
        stopped = "interrupted"
    measures = msgspec.structs.replace(batch.tally.measures(), stopped=stopped)
    return BatchResult(run_id, measures, _status(batch, is_stopped=is_stopped), stopped)


def _status(batch: BatchRun, *, is_stopped: bool) -> int:
    """Return what stands worst: interrupted, failed, left to a person, all decided."""
    states, tags = batch.tally.states, batch.tally.tags
    if is_stopped and batch.is_cut_short:
        return INTERRUPTED
    if states[State.ERROR] or tags[WriteStatus.FAILED] or batch.is_cut_short:
        return 1
    if states[State.REVIEW] or states[State.INDETERMINATE] or tags[WriteStatus.REFUSED]:
        return 3
    return 0
