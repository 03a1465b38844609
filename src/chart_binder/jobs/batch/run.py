"""The loop of a batch: it hands out albums and open cases, saves outcomes and writes tags."""

import logging
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from chart_binder.audio.find import UnreadablePath
from chart_binder.domain.records import Measures, RunRecord, now_utc
from chart_binder.domain.tags import album_folder
from chart_binder.files import absolute_path
from chart_binder.jobs.batch import Album, AlbumResult, ThreadExecutor, Worker
from chart_binder.jobs.batch.items import LineRequest, NoInputYet
from chart_binder.jobs.batch.report import BatchTally
from chart_binder.jobs.batch.resume import AdjudicationCache, ResumeCheck
from chart_binder.jobs.decision import Cause, Decision, FileCase, FileOutcome, Stage, State
from chart_binder.jobs.pipeline import (
    attempt,
    decide_by_rules,
    finish,
    needs_adjudicator,
    save,
    unanswered_case,
)
from chart_binder.jobs.write import WriteReport, WriteStatus
from chart_binder.jobs.write_albums import files_of_album

if TYPE_CHECKING:
    from chart_binder.jobs.batch.dask import DaskExecutor
    from chart_binder.store import Store

Items = Iterator[Album | UnreadablePath | LineRequest | NoInputYet]
OnFinished = Callable[[FileOutcome, WriteReport | None], None]

MAX_FAILURES = 8
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.5, 60.0
_MAX_UNSAVED = 100
_MAX_UNSAVED_S = 0.5
_MAX_WRITING = 64
_MAX_HELD = 2_000
"""The number of finished files of a folder that wait for its other files."""
_TICK_S = 0.2
"""How long a request to stop, or the end of a pause, may go unnoticed."""
_IDLE_TICK_S = 0.02
"""How long the next input may go unnoticed if none had arrived."""
_MEASURES_EVERY_S = 5.0
_UNREPORTED_FAILURES = 2
"""Failures in a row that are not worth a warning."""
_MAX_WAITING_PER_SLOT = 25
"""While more open cases wait for each one that is adjudicated, no album is begun."""
_WRITABLE_STATES = (State.DECIDED, State.REVIEW)
"""Only in these states is it news that the tags of a file cannot be read."""
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class CircuitBreaker:
    """Pauses the calls to a failing service, twice as long after each failure, then ends them."""

    failures_in_a_row: int = 0
    last_error: str = ""
    clock: Callable[[], float] = time.monotonic
    ready_at: float = 0.0
    max_failures: int = MAX_FAILURES

    def record(self, failure: str | None) -> None:
        """Record the outcome of a call: the error text, or `None` for success.

        Failures during the current pause are ignored, so that one outage counts once.
        """
        if failure is None:
            self.failures_in_a_row = 0
            return
        self.last_error = failure
        if not self.allows_call:
            return
        self.failures_in_a_row += 1
        pause_s = min(_FIRST_PAUSE_S * 2 ** (self.failures_in_a_row - 1), _MAX_PAUSE_S)
        self.ready_at = self.clock() + pause_s

    @property
    def is_open(self) -> bool:
        """Whether the service is not called any more in this run."""
        return self.failures_in_a_row >= self.max_failures

    @property
    def allows_call(self) -> bool:
        """Whether the service may be called now."""
        return not self.failures_in_a_row or self.clock() >= self.ready_at


@dataclass(slots=True)
class OutcomeBuffer:
    """Collects outcomes for a moment, then saves them together, if there is a store."""

    store: "Store | None"
    run: RunRecord
    _unsaved: list[FileOutcome] = field(default_factory=list)
    _first_added_at: float = 0.0

    def add(self, outcome: FileOutcome) -> None:
        """Add an outcome."""
        if not self._unsaved:
            self._first_added_at = time.monotonic()
        self._unsaved.append(outcome)

    @property
    def is_due(self) -> bool:
        """Whether the outcomes should be saved now."""
        is_old = time.monotonic() - self._first_added_at >= _MAX_UNSAVED_S
        return bool(self._unsaved) and (is_old or len(self._unsaved) >= _MAX_UNSAVED)

    def save(self) -> Sequence[FileOutcome]:
        """Save the outcomes, all or none, and return them. Raises `StoreError`."""
        started = time.monotonic()
        if store := self.store:
            self._unsaved = [*save(store, self._unsaved)]
        saved, self._unsaved = self._unsaved, []
        stored = sum(outcome.stored is not None for outcome in saved)
        share_s = (time.monotonic() - started) / max(1, stored)
        return [
            replace(outcome, seconds={**outcome.seconds, Stage.STORE: share_s})
            if outcome.stored
            else outcome
            for outcome in saved
        ]

    def begin_run(self) -> None:
        """Save that the run began. Raises `StoreError`."""
        if self.store:
            self.store.runs.begin(self.run)

    def save_run(self, measures: Measures, status: int | None = None) -> None:
        """Save the measures so far, and the exit status if the run ended. Raises `StoreError`."""
        if self.store:
            self.store.runs.measure(self.run.id, measures.states, msgspec.json.encode(measures))
            if status is not None:
                self.store.runs.end(self.run.id, now_utc(), status, measures.states)


@dataclass(slots=True)
class _HeldAlbum:
    """Finished files of a folder; `awaited` are not handed out yet, `missing` not finished."""

    awaited: set[str]
    missing: int = 0
    outcomes: list[FileOutcome] = field(default_factory=list)


FinishedFile = tuple[FileOutcome, WriteReport | None, float]
"""A finished file, the report on its tags if they were planned, and the seconds of that."""


class TagWriter:
    """Writes the tags of whole albums in a few threads; without `write`, it writes nothing.

    Decisions are saved before their tags are written, unless it `is_dry`.
    """

    def __init__(
        self,
        write: Callable[[Sequence[FileOutcome]], Iterator[tuple[FileOutcome, WriteReport]]] | None,
        threads: int = 1,
        *,
        is_dry: bool = False,
    ) -> None:
        self._write = write
        self._is_dry = is_dry
        self._pool = ThreadPoolExecutor(threads, "canon-write")
        self._writing: set[Future[Sequence[FinishedFile]]] = set()
        self._folder_of: dict[Path, Path] = {}
        self._open: dict[Path, _HeldAlbum] = {}
        self.ready: list[Sequence[FileOutcome]] = []
        """Finished files that need not wait for others any more, by album."""
        self._is_stopped = False
        self.has_unwritten = False
        """Whether files were not written because the run was stopped."""

    @property
    def has_room(self) -> bool:
        """Whether more files may be decided while the current ones are written."""
        return len(self._writing) < _MAX_WRITING

    def expect(self, album: Album, pending: Container[Path]) -> None:
        """Note that an album's files are handed out; those in `pending` will be added."""
        if not self._write or album.is_urgent:
            return
        folders = {path: album_folder(Path(absolute_path(path))) for path in album.paths}
        for path, folder in folders.items():
            held = self._open_album(folder)
            held.awaited.discard(absolute_path(path))
            if path in pending:
                held.missing += 1
                self._folder_of[path] = folder
        self._release(set(folders.values()))

    def add(self, outcome: FileOutcome) -> None:
        """Add a finished file; a file without an album is ready at once."""
        folder = self._folder_of.pop(outcome.path, None)
        if folder is None:
            self.ready.append([outcome])
            return
        held = self._open[folder]
        held.outcomes.append(outcome if self._is_dry else _without_evidence(outcome))
        held.missing -= 1
        self._release([folder])

    def expect_no_more(self) -> None:
        """Wait for no file that was not handed out."""
        for held in self._open.values():
            held.awaited.clear()
        self._release([*self._open])

    def _open_album(self, folder: Path) -> _HeldAlbum:
        held = self._open.get(folder)
        if held is None:
            files = {str(path) for path in files_of_album(folder) if not path.is_symlink()}
            held = self._open[folder] = _HeldAlbum(files)
        return held

    def _release(self, folders: Iterable[Path]) -> None:
        """Make the files of complete folders ready, and those of folders with very many files."""
        for folder in folders:
            held = self._open[folder]
            is_complete = not (held.missing or held.awaited)
            if is_complete:
                del self._open[folder]
            if held.outcomes and (is_complete or len(held.outcomes) >= _MAX_HELD):
                self.ready.append(held.outcomes)
                held.outcomes = []

    def begin(self, outcomes: Sequence[FileOutcome]) -> "Future[Sequence[FinishedFile]] | None":
        """Begin to write the tags of files; return None if no file can have tags to write."""
        write = self._write
        files = [
            outcome for outcome in outcomes if outcome.stored is not None or outcome.is_resumed
        ]
        if write is None or not files:
            return None
        writing = self._pool.submit(lambda: self._timed(write(files), outcomes, len(files)))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return writing

    def _timed(
        self,
        reports: Iterator[tuple[FileOutcome, WriteReport]],
        outcomes: Sequence[FileOutcome],
        count: int,
    ) -> Sequence[FinishedFile]:
        done: list[FinishedFile] = []
        started = time.monotonic()
        while not self._is_stopped and (pair := next(reports, None)):
            outcome, report = pair
            is_writable = outcome.decision.state in _WRITABLE_STATES or report.plan is not None
            is_shown = report.status is not WriteStatus.FAILED or is_writable
            done.append((outcome, report if is_shown else None, time.monotonic() - started))
            started = time.monotonic()
        self.has_unwritten |= self._is_stopped and len(done) < count
        looked_at = {id(outcome) for outcome, _, _ in done}
        return [
            *done,
            *((outcome, None, 0.0) for outcome in outcomes if id(outcome) not in looked_at),
        ]

    def unfinished(self) -> Sequence[FileOutcome]:
        """Return and forget the finished files of unfinished albums."""
        unwritten = [outcome for held in self._open.values() for outcome in held.outcomes]
        self._folder_of.clear()
        self._open.clear()
        self.has_unwritten |= bool(unwritten)
        return unwritten

    def stop(self) -> None:
        """Begin to write no more files."""
        self._is_stopped = True

    def close(self) -> None:
        """End the threads, each after its current file."""
        self.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _without_evidence(outcome: FileOutcome) -> FileOutcome:
    """Return an outcome without the evidence, which is in the store, to save memory."""
    if outcome.stored is None:
        return outcome
    return replace(outcome, stored=(outcome.stored[0], None, None))


@dataclass(slots=True)
class BatchRun:
    """One run over a library.

    The numbers of tasks and of waiting files are bounded, so a library of any size needs the same
    memory. Tasks that are not done `max_stopping_s` after a request to stop are abandoned.
    """

    executor: "ThreadExecutor | DaskExecutor"
    worker: Worker
    resume: ResumeCheck
    answers: AdjudicationCache
    buffer: OutcomeBuffer
    tag_writer: TagWriter
    tally: BatchTally
    on_finished: OnFinished
    should_stop: Callable[[], bool]
    lookups: CircuitBreaker = field(default_factory=CircuitBreaker)
    model: CircuitBreaker = field(default_factory=CircuitBreaker)
    max_stopping_s: float = inf
    holds: Callable[[FileOutcome], bool] = lambda _: False
    """Returns whether a file is to be finished later, because the model is asked for its year."""
    is_cut_short: bool = False
    _futures: dict["Future[Any]", Callable[[Any], None]] = field(default_factory=dict)
    _waiting: deque[FileCase] = field(default_factory=deque)
    _adjudicated: dict[str, list[FileCase]] = field(default_factory=dict)
    _albums_out: int = 0
    _has_more: bool = True
    _is_idle: bool = False
    _stops_at: float = inf
    _measured_at: float = field(default_factory=time.monotonic)

    def run(self, items: Items) -> None:
        """Decide every item. Raises `StoreError`; what is saved by then stays saved."""
        try:
            while (self._hand_out(items) or self._futures or self._waiting) and self._has_time:
                self._take_results()
                if self.buffer.is_due or self._is_idle or self.tag_writer.ready:
                    self._save()
                    self._save_measures()
            self._save()
            self._written([(outcome, None, 0.0) for outcome in self.tag_writer.unfinished()])
            while self._futures and self._has_time:  # tags that are being written
                self._hand_out(items)  # it hands out nothing, but notices a request to stop
                self._take_results()
            self.is_cut_short |= bool(self._futures) or self.tag_writer.has_unwritten
        finally:
            self.executor.close()
            self.tag_writer.close()

    @property
    def _has_time(self) -> bool:
        """Whether unfinished tasks may go on, in spite of a request to stop."""
        return time.monotonic() < self._stops_at

    def _hand_out(self, items: Items) -> bool:
        """Hand out what there is room for, and return whether there may be more items."""
        if self.should_stop():
            self._stops_at = min(self._stops_at, time.monotonic() + self.max_stopping_s)
            self.is_cut_short |= self._has_more or bool(self._waiting)
            self.executor.finish_early()
            self._waiting.clear()  # they stay open
            self.tag_writer.stop()
            return False
        self._hand_out_cases()
        self._is_idle = False
        while self._has_more and self._has_room:
            if self.lookups.is_open:
                self.is_cut_short, self._has_more = True, False
            elif (item := next(items, None)) is None:
                self._has_more = False
                self.tag_writer.expect_no_more()
            elif isinstance(item, UnreadablePath):
                error = Decision(State.ERROR, error=str(item.problem), cause=Cause.FILE)
                self.buffer.add(FileOutcome(item.path, error))
            elif isinstance(item, LineRequest):
                self._decide(item)
            elif isinstance(item, NoInputYet):
                self._is_idle = True
                break
            else:
                self._hand_out_album(item)
            if self.buffer.is_due or self.should_stop():
                break
        return self._has_more

    @property
    def _has_room(self) -> bool:
        waiting = len(self._waiting) + sum(map(len, self._adjudicated.values()))
        return (
            self._albums_out < self.executor.max_albums
            and waiting < _MAX_WAITING_PER_SLOT * self.executor.max_cases
            and self.tag_writer.has_room
            and (self.lookups.allows_call or self.lookups.is_open)
        )

    def _hand_out_album(self, album: Album) -> None:
        checked = list(self.resume.check(album.paths))
        to_do = [path for path, is_due, _ in checked if is_due]
        resumed = [outcome for _, is_due, outcome in checked if outcome and not is_due]
        self.tag_writer.expect(album, {*to_do, *(outcome.path for outcome in resumed)})
        for outcome in resumed:
            self.buffer.add(outcome)
        if to_do:
            self._albums_out += 1
            future = self.executor.gather(Album(tuple(to_do)))
            self._futures[future] = partial(self._gathered, len(to_do))

    def _decide(self, request: LineRequest) -> None:
        """Decide a bundle by rules in this thread; it is not saved, because it is not a file."""
        pipeline = self.worker.pipeline
        case = attempt(lambda: decide_by_rules(pipeline, request.bundle()))
        file = FileCase(request.path, None, case, is_given=True)
        if needs_adjudicator(pipeline, case):
            self._waiting.append(file)
        else:
            self.buffer.add(finish(pipeline, file))

    def _hand_out_cases(self) -> None:
        """Hand out open cases; of several with the same evidence, one; the others wait."""
        while self._waiting and self.model.is_open:
            self.buffer.add(self._given_up(self._waiting.popleft()))
        while (
            self._waiting
            and len(self._adjudicated) < self.executor.max_cases
            and self.model.allows_call
        ):
            file = self._waiting.popleft()
            if answer := self.answers.get(file.evidence_hash):
                self.buffer.add(self.worker.apply_answer(file, answer))
            elif file.evidence_hash in self._adjudicated:
                self._adjudicated[file.evidence_hash].append(file)
            else:
                self._adjudicated[file.evidence_hash] = []
                future = self.executor.adjudicate(file)
                self._futures[future] = partial(self._answered, file.evidence_hash)

    def _take_results(self) -> None:
        """Wait a moment for tasks, and take the results of those that are done."""
        tick_s = _IDLE_TICK_S if self._is_idle else _TICK_S
        if not self._futures:
            if not self.buffer.is_due:
                is_waiting = self._is_idle or self._waiting or not self.lookups.allows_call
                time.sleep(tick_s if is_waiting else 0)
            return
        done, _ = wait(self._futures, tick_s, FIRST_COMPLETED)
        for future in done:
            self._futures.pop(future)(future.result())

    def _gathered(self, files: int, album: AlbumResult) -> None:
        self._albums_out -= 1
        self.is_cut_short |= len(album.outcomes) + len(album.open_cases) < files
        self.tally.add_album(album)
        self._waiting.extend(album.open_cases)
        for outcome in album.outcomes:
            self.buffer.add(outcome)
        decisions = [outcome.decision for outcome in album.outcomes]
        decisions += [outcome.case.decision for outcome in album.open_cases]
        self._record("MusicBrainz", self.lookups, decisions, Cause.LOOKUP_FAILED)

    def _answered(self, evidence_hash: str, outcome: FileOutcome) -> None:
        result = outcome.decision.adjudication
        if result and (result.iterations or result.is_unreachable):
            self.model.record(None)  # it replied, or the adjudicator has given up asking
        else:
            self._record("the model", self.model, [outcome.decision], Cause.MODEL)
        self.answers.add(evidence_hash, result)
        self._waiting.extendleft(self._adjudicated.pop(evidence_hash, ()))
        self.buffer.add(outcome)

    def _record(
        self, name: str, service: CircuitBreaker, decisions: Sequence[Decision], cause: Cause
    ) -> None:
        """Record whether a service failed, if it was called; one success outweighs failures."""
        failed = next((decision for decision in decisions if decision.cause is cause), None)
        before = service.failures_in_a_row
        if any(decision.cause in (UNSET, Cause.NOTHING_FOUND) for decision in decisions):
            service.record(None)
        elif failed:
            service.record(failed.error or "no reason given")
        if service.failures_in_a_row > max(before, _UNREPORTED_FAILURES):
            words = (
                "is not asked any more in this run" if service.is_open else "is asked less often"
            )
            args = (name, words, service.failures_in_a_row, service.last_error)
            _log.warning("%s %s: it failed %d times in a row: %s", *args)

    def _given_up(self, file: FileCase) -> FileOutcome:
        """Return the outcome of a case for which the failing model is not asked."""
        failures = f"{self.model.failures_in_a_row} times: {self.model.last_error}"
        why = f"the model was not asked, because it failed {failures}"
        case = unanswered_case(file.case, why)
        return finish(self.worker.pipeline, replace(file, case=case))

    def _save(self) -> None:
        """Save outcomes, then write their tags, so that every written tag has a saved decision."""
        for outcome in self.buffer.save():
            self.tag_writer.add(outcome)
        ready, self.tag_writer.ready = self.tag_writer.ready, []
        for outcomes in ready:
            if writing := self.tag_writer.begin(outcomes):
                self._futures[writing] = self._written
            else:
                self._written([(outcome, None, 0.0) for outcome in outcomes])

    def _save_measures(self) -> None:
        """Save the measures now and then, in case the run is killed."""
        if time.monotonic() - self._measured_at >= _MEASURES_EVERY_S:
            self._measured_at = time.monotonic()
            self.buffer.save_run(self.tally.measures())

    def _written(self, done: Sequence[FinishedFile]) -> None:
        for outcome, report, write_s in done:
            if not self.holds(outcome):
                self.tally.add_file(outcome, report, write_s)
                self.on_finished(outcome, report)

    def finish(self, outcomes: Iterable[FileOutcome]) -> None:
        """Count and report files that `holds` held back."""
        for outcome in outcomes:
            self.tally.add_file(outcome, None)
            self.on_finished(outcome, None)
