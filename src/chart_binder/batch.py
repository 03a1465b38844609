"""Decide a whole library in one call: `run_batch` for Python, `run_items` for `canon batch`."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import lru_cache, partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from chart_binder.audio.find import UnreadablePath
from chart_binder.config import Config
from chart_binder.config.load import load_settings
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import Measures, RunRecord
from chart_binder.domain.tag_policies import Policy, WriteOptions
from chart_binder.errors import INTERRUPTED, StoreError, UsageError, counted, end_status
from chart_binder.files import absolute_path
from chart_binder.jobs import write_albums
from chart_binder.jobs.batch import ThreadExecutor, Worker, find_albums
from chart_binder.jobs.batch.dask import (
    DaskExecutor,
    PackedRun,
    connect,
    prepare_workers,
    start_local_cluster,
)
from chart_binder.jobs.batch.items import Estimate, Estimator, Order, library_items
from chart_binder.jobs.batch.report import BatchTally
from chart_binder.jobs.batch.resume import (
    AdjudicationCache,
    FileSelection,
    Refresh,
    ResumeCheck,
    interrupted_refresh,
)
from chart_binder.jobs.batch.run import BatchRun, Items, OutcomeBuffer, TagWriter
from chart_binder.jobs.batch.years import YearQueue
from chart_binder.jobs.decision import WAITING_STATES, Decision, FileOutcome, State
from chart_binder.jobs.drift import DriftCheck
from chart_binder.jobs.gather import EvidenceSource, StoredEvidence, TagReader, tags_or_error
from chart_binder.jobs.journal import WritingRun, clean_folder, repair_journal
from chart_binder.jobs.stored_decisions import (
    RunVersions,
    StoredDecision,
    current_decisions,
    new_run,
    path_bytes,
)
from chart_binder.jobs.write import TagPlanner, WriteReport, WriteStatus
from chart_binder.store import file_number, open_store
from chart_binder.wiring import (
    musicbrainz_evidence,
    overrides,
    reads_prose,
    release_lookup,
    rules_and_model,
    run_versions,
    store_url,
    transcripts_folder,
    with_store,
)

if TYPE_CHECKING:
    from chart_binder.store import Store

MAX_JOBS: Final = 256
_TAG_OPTIONS = (
    "policy", "whole_albums", "also_date", "in_parts", "best_known", "keep_mtime", "copy_links",
)  # fmt: skip
_MAX_CLEAN_FOLDERS = 256
"""The number of folders to remember as cleaned of the copies of killed saves."""
_MAX_STOPPING_S = 1.0
"""How long threads may go on after a request to stop; a cluster always finishes its tasks."""
_SQLITE = "sqlite:///"


class Executor(StrEnum):
    """Where the work is done: in threads of this process, or on a Dask cluster."""

    THREADS = "threads"
    DASK = "dask"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How a library is decided, as by the options of `canon batch`.

    `jobs` is by default `batch.jobs`, `policy` is `tags.policy`; `whole_albums`, `also_date`,
    `in_parts` and `best_known` belong to the policy `dates`. With `ask_years`, the model is asked
    for uncertain years after all decisions, for at most `ask_seconds` seconds if that is set.
    `scheduler` is the address of a Dask scheduler; without one, a cluster is started on this
    machine.
    """

    jobs: int | None = None
    write: bool = False
    policy: Policy | None = None
    whole_albums: bool = False
    also_date: bool = False
    in_parts: bool = False
    best_known: bool = False
    keep_mtime: bool = False
    copy_links: bool = False
    dry_run: bool = False
    only: frozenset[FileSelection] = frozenset()
    order: Order = Order.COMPILATIONS
    refresh: bool = False
    frozen: bool = False
    executor: Executor = Executor.THREADS
    scheduler: str | None = None
    ask_years: bool = False
    ask_seconds: float | None = None

    def check(self) -> None:
        """Raise `UsageError` for options that cannot be combined or are out of range."""
        for problem in self._problems():
            raise UsageError(problem)

    def _problems(self) -> Iterator[str]:
        if self.refresh and self.frozen:
            yield "refresh asks for new evidence, frozen for none: choose one of them"
        if self.jobs is not None and not 1 <= self.jobs <= MAX_JOBS:
            yield f"jobs: found {self.jobs}; 1 to {MAX_JOBS} are allowed"
        for name, values, allowed in (
            ("executor", (self.executor,), Executor),
            ("only", self.only, FileSelection),
            ("order", (self.order,), Order),
        ):
            for value in values:
                if value not in (*allowed,):
                    yield f"{name}: found {value!r}; {', '.join(allowed)} are allowed"
        yield from self._year_problems()
        yield from map("".join, self.tags.problems)
        for name in _TAG_OPTIONS:
            if getattr(self, name) and not self.write:
                option = name.replace("_", "-")
                yield f"--{option} needs --write, because it says how tags are written"
        if self.scheduler is not None and self.executor != Executor.DASK:
            yield "a scheduler is only used with the executor dask: choose that, too"
        if self.scheduler == "":
            yield "scheduler: the address is empty; perhaps a variable of the shell is not set"

    def _year_problems(self) -> Iterator[str]:
        if self.ask_years and (self.write or self.dry_run):
            yield "--ask-years stores years and writes no tags: `canon write` writes them later"
        if self.ask_seconds is not None and not (self.ask_years and self.ask_seconds > 0):
            yield "--for says how long --ask-years may ask: a time above 0, such as 8h"

    @property
    def tags(self) -> WriteOptions:
        """The options of writing tags; the policy is `Policy.DATES` by default."""
        policy = Policy.DATES if self.policy is None else self.policy
        return WriteOptions(
            policy, self.whole_albums, self.also_date, self.in_parts, best_known=self.best_known
        )

    @property
    def flags(self) -> tuple[str, ...]:
        """The options that differ from the defaults, as arguments of `canon batch`."""
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


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a run: `status` is its exit status, `stopped` says why it ended early."""

    run_id: str
    measures: Measures
    status: int
    stopped: str | None = None


@dataclass(frozen=True, slots=True)
class FileResult:
    """A finished file: its decision, and the report on its tags if they are to be written.

    `so_far` counts the files of the run `run_id` up to now, and goes on counting.
    """

    outcome: FileOutcome
    tags: WriteReport | None
    so_far: BatchTally
    run_id: str

    @property
    def path(self) -> Path:
        """The path by which the file was found."""
        return self.outcome.path

    @property
    def decision(self) -> Decision:
        """The decision, or the error."""
        return self.outcome.decision

    @property
    def resumed(self) -> bool:
        """Whether an earlier run decided it."""
        return self.outcome.is_resumed


def run_batch(
    paths: str | Path | Iterable[str | Path],
    config: Config | None = None,
    options: BatchOptions | None = None,
    *,
    on_file: Callable[[FileResult], None] = lambda _: None,
    to_stop: Callable[[], bool] = lambda: False,
    on_message: Callable[[str], None] = lambda _: None,
) -> BatchResult:
    """Decide every audio file in files and folders; calling it again continues.

    `config` is by default what `canon config show` shows. `on_file` is called for each finished
    file, in the caller's thread. `to_stop` is called several times a second; once it returns true,
    nothing new is begun, and what threads have not finished a second later is left for another run
    (a cluster finishes what it has begun). `on_message` is called with messages for a person.

    Raises `ConfigError`, `PluginError`, `UsageError`, `StoreError` if the store fails, and
    `ClusterError` if the workers of a Dask cluster do.
    """
    # A single text is one path, not a sequence of letters.
    paths = [paths] if isinstance(paths, str | Path) else [*paths]
    if "" in paths:
        raise UsageError("a path is empty: this folder is called `.`")
    config = config or load_settings(None, os.environ, {}).config
    options = options or BatchOptions()
    return run_items(
        partial(library, [Path(path) for path in paths], options),
        config,
        options,
        run=new_run("batch", (*options.flags, *map(absolute_path, paths))),
        on_file=on_file,
        to_stop=to_stop,
        on_message=on_message,
    )


def library(named_paths: Sequence[Path], options: BatchOptions, store: "Store") -> Items:
    """Return the albums of files and folders, in the order and selection of the options."""
    states = options.only - {FileSelection.COMPILATIONS}
    order = Order.PATH if states or options.refresh else options.order

    def has_decisions(paths: Sequence[Path]) -> bool:
        return all(current_decisions(store, [*map(path_bytes, paths)]))

    only_collections = FileSelection.COMPILATIONS in options.only
    return library_items(
        named_paths, order, only_collections=only_collections, has_decisions=has_decisions
    )


def estimate_batch(
    paths: Sequence[Path],
    config: Config,
    options: BatchOptions,
    on_album: Callable[[int], None] = lambda _: None,
    on_unreadable: Callable[[UnreadablePath], None] = lambda _: None,
) -> Estimate:
    """Return an estimate of the time that `run_batch` would take, by the files' tags.

    `on_album` is called with the number of files so far, `on_unreadable` with each path that cannot
    be read.
    """
    options.check()
    with open_store(store_url(config)) as store:
        resume = _resume_check(store, config, options, run_versions(config, ""))
        estimator, years = Estimator(config.musicbrainz), YearQueue()
        for item in find_albums(paths):
            if isinstance(item, UnreadablePath):
                on_unreadable(item)
                continue
            checked = list(resume.check(item.paths))
            due = [path for path, is_due, _ in checked if is_due]
            resumed = [outcome for _, _, outcome in checked if outcome]
            estimator.add(due, resumed=len(resumed))
            for outcome in resumed:
                years.takes(outcome)
            on_album(estimator.files)
        return estimator.estimate(years.estimate() if options.ask_years else None)


def run_items(
    items: Callable[["Store"], Items],
    config: Config,
    options: BatchOptions,
    *,
    run: RunRecord,
    on_file: Callable[[FileResult], None],
    to_stop: Callable[[], bool],
    on_message: Callable[[str], None],
    read_tags: TagReader | None = None,
) -> BatchResult:
    """Do what `run_batch` does for any `items`, under a new `run`.

    `read_tags` returns the tags by which files are looked up if these are not those in the files.
    """
    options = _checked(options, config)
    with open_store(store_url(config)) as store:
        versions = run_versions(config, run.id)
        refresh = _refresh(store, run, options, on_message)
        can_read = reads_prose(config.llm)
        setup = WorkerSetup(
            config, versions, options, refresh.since, can_read=can_read, read_tags=read_tags
        )
        worker = _worker(setup, store, options)
        resume = _resume_check(store, config, options, versions, refresh.runs, read_tags)
        years = YearQueue(config.batch.model_jobs, options.ask_seconds)
        with open_executor(setup, worker) as executor:
            tally = BatchTally()  # after the start of a cluster, which does not count
            batch = BatchRun(
                executor=executor,
                worker=worker,
                resume=resume,
                answers=AdjudicationCache(store, versions.adjudicator, refresh.runs),
                buffer=OutcomeBuffer(None if options.dry_run else store, run),
                tag_writer=_tag_writer(config, store, run, options, on_message),
                tally=tally,
                on_finished=lambda file, tags: on_file(FileResult(file, tags, tally, run.id)),
                should_stop=to_stop,
                max_stopping_s=_MAX_STOPPING_S if options.executor == Executor.THREADS else inf,
                holds=years.takes if options.ask_years else lambda _: False,
            )
            _decide_items(items, batch, years, store, to_stop, on_message)
        return _saved_result(run.id, batch, is_stopped=to_stop())


def _decide_items(
    items: Callable[["Store"], Items],
    batch: BatchRun,
    years: YearQueue,
    store: "Store",
    to_stop: Callable[[], bool],
    on_message: Callable[[str], None],
) -> None:
    """Decide the items, then ask about the uncertain years; store the end of a run that fails."""
    batch.buffer.begin_run()
    try:
        batch.run(items(store))
        batch.finish(years.ask(store, batch.worker.pipeline, to_stop))
    except BaseException as error:
        _save_failed_end(batch.buffer, batch.tally, error)
        raise
    batch.is_cut_short |= bool(years.files_left) and to_stop()
    if years.files_left:
        years_left = counted(years.files_left, "uncertain year")
        on_message(f"{years_left} left: the same command continues")


def _checked(options: BatchOptions, config: Config) -> BatchOptions:
    """Return the options with the configured policy if tags are written. Raises `UsageError`."""
    if options.write:
        options = replace(options, policy=options.policy or Policy(config.tags.policy))
    options.check()
    return options


def _worker(setup: "WorkerSetup", store: "Store", options: BatchOptions) -> Worker:
    """Return a worker of this process. Raises `UsageError` if a model is needed and off."""
    worker = setup.worker(store)
    if options.ask_years and worker.pipeline.adjudicator is None:
        raise UsageError(f"--ask-years needs a model: {worker.pipeline.why_not_asked}")
    return worker


def _resume_check(
    store: "Store",
    config: Config,
    options: BatchOptions,
    versions: RunVersions,
    runs: frozenset[str] = frozenset(),
    read_tags: TagReader | None = None,
) -> ResumeCheck:
    only = options.only - {FileSelection.COMPILATIONS}
    overruled = overrides(config)
    return ResumeCheck(
        store, versions, overruled, only, options.refresh, runs, options.frozen, read_tags
    )


def drift_check(store: "Store", config: Config) -> DriftCheck:
    """Return a comparison of decisions with those of a frozen, dry batch. Raises `CanonError`."""
    versions = run_versions(config, "")
    options = BatchOptions(frozen=True, dry_run=True)
    worker = WorkerSetup(config, versions, options, can_read=reads_prose(config.llm)).worker(store)
    resume = _resume_check(store, config, options, versions)
    return DriftCheck(store, worker, resume, AdjudicationCache(store, versions.adjudicator))


def _refresh(
    store: "Store", run: RunRecord, options: BatchOptions, on_message: Callable[[str], None]
) -> Refresh:
    """Return the refresh that this run begins, or continues if it was cut short."""
    if not options.refresh:
        return Refresh()
    before = None if options.dry_run else interrupted_refresh(store, run)
    if before is None:
        return Refresh(time.time(), frozenset({run.id}))
    begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(before.since))
    on_message(f"goes on with the refresh that began {begun} and was cut short")
    return before


def _tag_writer(
    config: Config,
    store: "Store",
    run: RunRecord,
    options: BatchOptions,
    on_message: Callable[[str], None],
) -> TagWriter:
    """Return the writer of tags, after repairing the journal of a run that was killed."""
    if not options.write:
        return TagWriter(None)
    keeps, copies = options.keep_mtime, options.copy_links
    writing = None
    if not options.dry_run:
        writing = WritingRun(store, run, keep_mtime=keeps, copy_links=copies)
        for line in repair_journal(store):
            on_message(line)
    lookup = release_lookup(config, store)
    tags = replace(options.tags, navidrome_before_055=config.tags.navidrome_before_055)
    planner = TagPlanner(store, overrides(config)(), tags, lookup, copies)
    write = _album_writer(planner, writing, on_message)
    return TagWriter(write, config.batch.write_jobs, is_dry=options.dry_run)


def _album_writer(
    planner: TagPlanner, run: WritingRun | None, on_message: Callable[[str], None]
) -> Callable[[Sequence[FileOutcome]], Iterator[tuple[FileOutcome, WriteReport]]]:
    """Return a function that writes the tags of finished files; without a `run`, it only plans."""

    @lru_cache(_MAX_CLEAN_FOLDERS)
    def clean(folder: Path) -> None:
        for line in clean_folder(folder):
            on_message(line)

    def write(outcomes: Sequence[FileOutcome]) -> Iterator[tuple[FileOutcome, WriteReport]]:
        by_path = {outcome.path: outcome for outcome in outcomes}
        unsaved = None
        if run is None:
            unsaved = {
                path: _unsaved(outcome) for path, outcome in by_path.items() if outcome.stored
            }
        else:
            for folder in {path.resolve().parent for path in by_path}:
                clean(folder)
        for album in write_albums.albums_in([*by_path]):
            planned = write_albums.plan_album(planner, album, unsaved)
            for line in write_albums.regrouping_lines(write_albums.album_moves(planned)):
                on_message(line)
            reports: list[WriteReport] = []
            for report in write_albums.write_album(planned, run):
                reports.append(report)
                yield by_path[report.path], report
            if run:
                write_albums.record_unwritten(planner.store, reports)

    return write


def _unsaved(outcome: FileOutcome) -> StoredDecision:
    """Return a decision that a dry run does not save."""
    assert outcome.stored
    record, evidence, _ = outcome.stored
    return StoredDecision(record, lambda: read_bundle(evidence.document) if evidence else None)


def _save_failed_end(buffer: OutcomeBuffer, tally: BatchTally, error: BaseException) -> None:
    """Save the end of a run that an error or Ctrl-C stopped."""
    status = end_status(error)
    why = "interrupted" if status == INTERRUPTED else str(error)
    with suppress(StoreError):  # the first error is the one to report
        buffer.save_run(msgspec.structs.replace(tally.measures(), stopped=why), status)


def _saved_result(run_id: str, batch: BatchRun, *, is_stopped: bool) -> BatchResult:
    """Return the result of a run, and store its measures."""
    stopped = None
    if batch.lookups.is_open:
        failures = batch.lookups.failures_in_a_row
        stopped = f"MusicBrainz failed {failures} times in a row: {batch.lookups.last_error}"
    elif batch.is_cut_short:
        stopped = "interrupted"
    measures = msgspec.structs.replace(batch.tally.measures(), stopped=stopped)
    states, tags = batch.tally.states, batch.tally.tags
    status = 0
    if is_stopped and batch.is_cut_short:
        status = INTERRUPTED
    elif states[State.ERROR] or tags[WriteStatus.FAILED] or batch.is_cut_short:
        status = 1
    elif any(states[state] for state in WAITING_STATES) or tags[WriteStatus.REFUSED]:
        status = 3
    batch.buffer.save_run(measures, status)
    return BatchResult(run_id, measures, status, stopped)


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """What a process needs to work for a run; it is also sent to other machines.

    Cached answers from before `since`, in seconds since the epoch, are not used. `file` is the
    device and inode of the store's file, `can_read` is `wiring.reads_prose` on the machine that
    began the run. `read_tags` returns the tags of files if these are not in the files.
    """

    config: Config = field(repr=False)  # it may hold a password, and Dask logs its calls
    versions: RunVersions
    options: BatchOptions = field(default_factory=BatchOptions)
    since: float = 0.0
    file: tuple[int, int] | None = None
    can_read: bool = True
    read_tags: TagReader | None = None

    def worker(self, store: "Store") -> Worker:
        """Return a worker with an open store. Raises `PluginError` and `ConfigError`."""
        config = self.config
        record = None if self.options.dry_run else transcripts_folder()
        evidence: EvidenceSource = (
            StoredEvidence(store)
            if self.options.frozen
            else musicbrainz_evidence(config, store, self.since, self.read_tags or tags_or_error)
        )
        model = rules_and_model(config, record=record, can_read=self.can_read)
        return Worker(with_store(model, config, store, self.versions, evidence))

    def for_other_processes(self) -> "WorkerSetup":
        """Return the setup for processes in another working folder, of another user or machine."""
        url = store_url(self.config)
        file = None
        if path := _store_file(url):
            url = f"{_SQLITE}{path.absolute()}" + url[len(_SQLITE) + len(str(path)) :]
            file = file_number(path)
        store = self.config.store.model_copy(update={"url": url})
        config = self.config.model_copy(update={"store": store})
        return replace(self, config=config, file=file)

    @contextmanager
    def open(self) -> Iterator[Worker]:
        """Open the store and yield a worker. Raises `CanonError`, also for another file."""
        url = store_url(self.config)
        path = _store_file(url)
        if path and file_number(path) != self.file:
            raise StoreError(
                f"the store {path} is a file of the machine that the run was started on:"
                " workers on other machines need a store on PostgreSQL (store.url)"
            )
        with open_store(url) as store:
            yield self.worker(store)


def _store_file(url: str) -> Path | None:
    return Path(url.removeprefix(_SQLITE).partition("?")[0]) if url.startswith(_SQLITE) else None


@contextmanager
def open_executor(setup: WorkerSetup, worker: Worker) -> Iterator[ThreadExecutor | DaskExecutor]:
    """Yield the executor of tasks. Raises `PluginError` and `ClusterError`."""
    jobs, model_jobs = setup.options.jobs or setup.config.batch.jobs, setup.config.batch.model_jobs
    scheduler = setup.options.scheduler
    if setup.options.executor == Executor.THREADS:
        yield ThreadExecutor(worker, jobs, model_jobs)
        return
    packed = PackedRun.of(setup.versions.run_id, setup.for_other_processes().open)
    connecting = connect(scheduler) if scheduler else start_local_cluster(jobs, model_jobs)
    with connecting as cluster, prepare_workers(cluster, packed):
        yield DaskExecutor(cluster, packed, worker, jobs, model_jobs, is_local=not scheduler)
