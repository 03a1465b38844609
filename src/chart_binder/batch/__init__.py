"""The batch job, wired: a whole library decided in one call, from Python as from the terminal."""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.batch.hands import hands_for
from chart_binder.batch.options import BatchOptions as BatchOptions
from chart_binder.batch.worker import WorkerSetup
from chart_binder.config import Config
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.kept import KeptRun, new_id, now_utc
from chart_binder.domain.measures import Measures
from chart_binder.errors import StoreError, UsageError
from chart_binder.files import in_any_folder
from chart_binder.jobs.adjudicator_version import adjudicator_version
from chart_binder.jobs.batch.albums import albums
from chart_binder.jobs.batch.answered import Answered
from chart_binder.jobs.batch.keeping import Keeping
from chart_binder.jobs.batch.refreshing import Refresh, goes_on_with
from chart_binder.jobs.batch.resuming import Choice, Resuming
from chart_binder.jobs.batch.running import Batch, Items
from chart_binder.jobs.batch.tagging import Tagging
from chart_binder.jobs.batch.tally import Tally
from chart_binder.jobs.batch.work import Settled
from chart_binder.jobs.batch.worker import Worker
from chart_binder.jobs.breaking_off import breaking_off
from chart_binder.jobs.decision import Decision, State
from chart_binder.jobs.journalled import WritingRun
from chart_binder.jobs.kept_case import Under, rules_version
from chart_binder.jobs.repair import repaired, swept
from chart_binder.jobs.tag_plan import Planned, Planner
from chart_binder.jobs.write import Fate, Told, told_of
from chart_binder.settings import load_settings
from chart_binder.store import open_store
from chart_binder.wiring import decider, overrides, store_url

if TYPE_CHECKING:
    from chart_binder.store.store import Store

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

    settled: Settled
    tags: Told | None
    so_far: Tally
    run_id: str

    @property
    def path(self) -> Path:
        """The file, under the name by which it was found."""
        return self.settled.path

    @property
    def decision(self) -> Decision:
        """What was decided, or why nothing was."""
        return self.settled.decision

    @property
    def resumed(self) -> bool:
        """Whether an earlier run settled it."""
        return self.settled.is_resumed


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
        albums(Path(path) for path in paths),
        config or load_settings(None, os.environ, {}).config,
        options,
        arguments=(*options.flags, *map(in_any_folder, paths)),
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
        keeping = Keeping(None if options.dry_run else store, run)
        with hands_for(setup, worker, options.executor, options.jobs, options.scheduler) as hands:
            tally = Tally()  # a cluster has come up: what starting took is no file's
            batch = Batch(
                hands=hands,
                worker=worker,
                resuming=_resuming(store, worker, options, refresh),
                answered=Answered(store, under.adjudicator, refresh.runs),
                keeping=keeping,
                tagging=tagging,
                tally=tally,
                finished=lambda settled, told: on_file(FileResult(settled, told, tally, run.id)),
                to_stop=to_stop,
            )
            keeping.begin()
            with breaking_off(partial(_broken_off, keeping, tally)):
                batch.go(items)
        result = _result(run.id, batch, is_stopped=to_stop())
        keeping.end(result.status, result.measures)
        return result


def _broken_off(keeping: Keeping, tally: Tally, error: BaseException) -> None:
    """Keep how a run ended that did not come to its end."""
    status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    why = str(error) or "interrupted"
    with suppress(StoreError):  # why it ends is more than that it cannot be kept
        keeping.end(status, msgspec.structs.replace(tally.measures(), stopped=why))


def _resuming(store: "Store", worker: Worker, options: BatchOptions, refresh: Refresh) -> Resuming:
    choice = Choice(options.only, options.refresh, refresh.runs)
    return Resuming(store, choice, worker.under, worker.decider.overrides)


def _writing(
    store: "Store", run: KeptRun, options: BatchOptions, said: Callable[[str], None]
) -> WritingRun | None:
    """Return what tags are written in, once what an earlier run left there is settled."""
    if options.dry_run or not options.write:
        return None
    for line in repaired(store):
        said(line)
    return WritingRun(store, run, options.keep_mtime)


def _refresh(
    store: "Store", run: KeptRun, options: BatchOptions, said: Callable[[str], None]
) -> Refresh:
    """Return from when on what was found counts; a refresh that was cut short goes on."""
    if not options.refresh:
        return Refresh()
    before = None if options.dry_run else goes_on_with(store, run)
    if before is None:
        return Refresh(time.time(), frozenset({run.id}))
    said(f"goes on with the refresh that began {before.begun} UTC, and was cut short")
    return before


def _under(config: Config, run_id: str) -> Under:
    asks = decider(config, record=None).adjudicator is not None
    asked = adjudicator_version(config.llm, config.rules) if asks else ""
    return Under(run_id, rules_version(config.rules), asked)


def _tagging(
    config: Config,
    store: "Store",
    options: BatchOptions,
    writing: WritingRun | None,
    said: Callable[[str], None],
) -> Tagging:
    if not options.write:
        return Tagging(None)
    planner = Planner(store, config.llm.acceptance, overrides(config)(), options.policy)

    @lru_cache(_FOLDERS_IN_MIND)
    def tidy(folder: Path) -> None:
        for line in swept([folder]):
            said(line)

    def write(settled: Settled) -> Told:
        if writing:
            tidy(settled.path.resolve().parent)
        unkept = partial(_plan_unkept, planner, settled) if options.dry_run else None
        return told_of(planner, settled.path, writing, unkept if settled.kept else None)

    return Tagging(write, config.batch.write_jobs)


def _plan_unkept(planner: Planner, settled: Settled) -> Planned:
    """Plan by a decision that is not in the store, for this is a dry run."""
    assert settled.kept
    kept, evidence, _ = settled.kept
    return planner.plan_by(
        settled.path, kept, lambda: read_bundle(evidence.document) if evidence else None
    )


def _result(run_id: str, batch: Batch, *, is_stopped: bool) -> BatchResult:
    stopped = None
    if batch.lookups.is_over:
        stopped = f"MusicBrainz failed {batch.lookups.in_a_row} times in a row: {batch.lookups.why}"
    elif batch.is_cut_short:
        stopped = "interrupted"
    measures = msgspec.structs.replace(batch.tally.measures(), stopped=stopped)
    return BatchResult(run_id, measures, _status(batch, is_stopped=is_stopped), stopped)


def _status(batch: Batch, *, is_stopped: bool) -> int:
    """Return what stands worst: interrupted, failed, left to a person, all decided."""
    states, tags = batch.tally.states, batch.tally.tags
    if is_stopped and batch.is_cut_short:
        return INTERRUPTED
    if states[State.ERROR] or tags[Fate.FAILED] or batch.is_cut_short:
        return 1
    if states[State.REVIEW] or states[State.INDETERMINATE] or tags[Fate.REFUSED]:
        return 3
    return 0
