"""What ends before its end is told, and ends as it would have."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from chart_binder.audio.walk import UnreadablePath
from chart_binder.domain.records import KeptRun, Measures, now_utc
from chart_binder.jobs.batch.report import Tally
from chart_binder.jobs.batch.requests import BundleRequest, NoInputYet
from chart_binder.jobs.batch.resume import AnswerCache, FileAction, ResumeCheck
from chart_binder.jobs.batch.work import (
    Album,
    AlbumResult,
    FileOutcome,
    OpenCase,
    Stage,
    TaskExecutor,
    Worker,
)
from chart_binder.jobs.decide import Cause, Decision, State, case_or_error
from chart_binder.jobs.stored_decisions import has_earlier_answer
from chart_binder.jobs.write import WriteReport

if TYPE_CHECKING:
    from chart_binder.store.store import Store


MAX_FAILURES = 8
"""Failures after which a service is not asked any more in this run."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0


@dataclass(slots=True)
class CircuitBreaker:
    """How often a service has failed in a row; the pause doubles each time.

    `why` is the last failure, in a sentence.
    """

    in_a_row: int = 0
    why: str = ""
    clock: Callable[[], float] = time.monotonic
    ready_at: float = 0.0

    def met(self, failure: str | None) -> None:
        """Take note of how it went: `failure` is why not, `None` that it went well.

        What fails within a pause was asked before it, beside what failed already: it says nothing
        more, so that a service is not given up for one outage, however much was asked at once.
        """
        if failure is None:
            self.in_a_row = 0
            return
        self.why = failure
        if not self.may_go:
            return
        self.in_a_row += 1
        pause_s = min(_FIRST_PAUSE_S * 2 ** (self.in_a_row - 1), _LONGEST_PAUSE_S)
        self.ready_at = self.clock() + pause_s

    @property
    def is_over(self) -> bool:
        """Whether the service is given up for this run."""
        return self.in_a_row >= MAX_FAILURES

    @property
    def may_go(self) -> bool:
        """Whether the service may be asked now."""
        return not self.in_a_row or self.clock() >= self.ready_at


_MOST_HELD = 100
_LONGEST_HELD_S = 0.5


@dataclass(slots=True)
class OutcomeBuffer:
    """Holds what is settled for a moment, then keeps it; without a store nothing is kept."""

    store: "Store | None"
    run: KeptRun
    _held: list[FileOutcome] = field(default_factory=list)
    _since: float = 0.0

    def hold(self, settled: FileOutcome) -> None:
        """Take what is settled."""
        if not self._held:
            self._since = time.monotonic()
        self._held.append(settled)

    @property
    def is_due(self) -> bool:
        """Whether what is held should be kept now."""
        if not self._held:
            return False
        return len(self._held) >= _MOST_HELD or time.monotonic() - self._since >= _LONGEST_HELD_S

    def keep(self) -> Sequence[FileOutcome]:
        """Keep what is held, all of it or nothing, and return it. Raises `StoreError`."""
        held = self._held
        started = time.monotonic()
        to_keep = [settled.kept for settled in held if settled.kept]
        if self.store and to_keep:
            store = self.store
            self.store.decisions.put_all(
                settled.kept
                for settled in held
                if settled.kept and not has_earlier_answer(store, settled.kept[0], settled.decision)
            )
        self._held = []
        share_s = (time.monotonic() - started) / max(1, len(to_keep))
        return [_timed(settled, share_s) if settled.kept else settled for settled in held]

    def begin(self) -> None:
        """Keep that the run began. Raises `StoreError`."""
        if self.store:
            self.store.runs.begin(self.run)

    def measure(self, found: Measures) -> None:
        """Keep what the run has come to so far. Raises `StoreError`."""
        if self.store:
            self.store.runs.measure(self.run.id, found.states, msgspec.json.encode(found))

    def end(self, status: int, found: Measures) -> None:
        """Keep how the run ended. Raises `StoreError`."""
        if self.store:
            self.measure(found)
            self.store.runs.end(self.run.id, now_utc(), status, found.states)


def _timed(settled: FileOutcome, seconds: float) -> FileOutcome:
    return replace(settled, seconds={**settled.seconds, Stage.STORE: seconds})


_MOST_IN_HAND = 64
_WITH_AN_ANSWER = (State.DECIDED, State.REVIEW)


class TagWriter:
    """Writes the tags of settled files, a few at once; without `write` nothing is written.

    `write` tells what became of a file's tags.
    """

    def __init__(
        self, write: Callable[[FileOutcome], WriteReport] | None, at_once: int = 1
    ) -> None:
        self._write = write
        self._pool = ThreadPoolExecutor(at_once, "canon-write") if write else None
        self._in_hand = 0

    @property
    def has_room(self) -> bool:
        """Whether more may be settled before what is in hand is written."""
        return self._in_hand < _MOST_IN_HAND

    def begin(self, settled: FileOutcome) -> "Future[tuple[WriteReport, float]] | None":
        """Begin to write, where there is an answer that may be written."""
        is_file = settled.kept is not None or settled.is_resumed
        if self._pool is None or not is_file or settled.decision.state not in _WITH_AN_ANSWER:
            return None
        self._in_hand += 1
        return self._pool.submit(self._written, settled)

    def is_done(self) -> None:
        """Take note that one is written."""
        self._in_hand -= 1

    def close(self) -> None:
        """End the threads, each after the file that it is at."""
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _written(self, settled: FileOutcome) -> tuple[WriteReport, float]:
        assert self._write is not None
        started = time.monotonic()
        return self._write(settled), time.monotonic() - started


_TICK_S = 0.2
"""How long a wish to stop, or a pause that is over, may go unnoticed."""
_MEASURED_EVERY_S = 5.0
_IDLE_TICK_S = 0.02
"""How long what comes next may go unnoticed, where nothing had come."""
_A_BLIP = 2
"""Failures in a row that nobody needs to be told of."""
_WAITING_PER_ASKER = 25
"""Open cases that may wait for each that a model looks into: then no more albums are begun."""

_log = logging.getLogger(__name__)

Items = Iterator[Album | UnreadablePath | BundleRequest | NoInputYet]
"""What a batch is made of, as it comes."""

Finished = Callable[[FileOutcome, WriteReport | None], None]
"""Is told of each file when nothing more happens with it."""


@dataclass(slots=True)
class BatchRun:
    """One run over a library; `go` works until all is done, or `to_stop` says otherwise.

    Each service is asked as much at once as `hands` says, and what waits between stages is
    bounded, so that a library of any size takes the same room.
    """

    hands: TaskExecutor
    worker: Worker
    resuming: ResumeCheck
    answered: AnswerCache
    keeping: OutcomeBuffer
    tagging: TagWriter
    tally: Tally
    finished: Finished
    to_stop: Callable[[], bool]
    lookups: CircuitBreaker = field(default_factory=CircuitBreaker)
    model: CircuitBreaker = field(default_factory=CircuitBreaker)
    is_cut_short: bool = False
    _futures: dict["Future[Any]", Callable[[Any], None]] = field(default_factory=dict)
    _waiting: deque[OpenCase] = field(default_factory=deque)
    _asked: dict[str, list[OpenCase]] = field(default_factory=dict)
    _gathering: int = 0
    _has_more: bool = True
    _is_idle: bool = False
    _measured_at: float = field(default_factory=time.monotonic)

    def go(self, items: Items) -> None:
        """Settle every file of a library.

        Raises `StoreError` where the store fails: what it has stands, and the same call goes on.
        """
        try:
            while self._hand_out(items) or self._futures or self._waiting:
                self._take_in()
                if self.keeping.is_due or self._is_idle:
                    self._keep()
                    self._measure()
            self._keep()
            while self._futures:  # tags that are being written
                self._take_in()
        finally:
            self.hands.close()
            self.tagging.close()

    def _hand_out(self, items: Items) -> bool:
        """Give out what there is room for, and say whether there may be more albums."""
        if self.to_stop():
            self.is_cut_short |= self._has_more or bool(self._waiting)
            self.hands.recall()
            self._waiting.clear()  # they are as open as before, and the next run finds them so
            return False
        self._ask()
        self._is_idle = False
        while self._has_more and self._has_room:
            if self.lookups.is_over:
                self.is_cut_short, self._has_more = True, False
            elif (item := next(items, None)) is None:
                self._has_more = False
            elif isinstance(item, UnreadablePath):
                error = Decision(State.ERROR, error=str(item.problem), cause=Cause.FILE)
                self.keeping.hold(FileOutcome(item.path, error))
            elif isinstance(item, BundleRequest):
                self._decide(item)
            elif isinstance(item, NoInputYet):
                self._is_idle = True
                break
            else:
                self._begin(item)
            if self.keeping.is_due or self.to_stop():
                break
        return self._has_more

    @property
    def _has_room(self) -> bool:
        waiting = len(self._waiting) + sum(map(len, self._asked.values()))
        return (
            self._gathering < self.hands.albums
            and waiting < _WAITING_PER_ASKER * self.hands.cases
            and self.tagging.has_room
            and (self.lookups.may_go or self.lookups.is_over)
        )

    def _begin(self, album: Album) -> None:
        """Hand out the files of an album that have work left."""
        to_do: list[Path] = []
        for path, fate, settled in self.resuming.fates(album.paths):
            if fate is FileAction.DECIDE:
                to_do.append(path)
            elif settled:
                self.keeping.hold(settled)
        if to_do:
            self._gathering += 1
            gathering = self.hands.gather(Album(tuple(to_do)))
            self._futures[gathering] = partial(self._gathered, len(to_do))

    def _decide(self, given: BundleRequest) -> None:
        """Decide a bundle by rules, here and now; it is no file, and not kept."""
        case = case_or_error(lambda: self.worker.decider.decide_by_rules(given.bundle()))
        one = OpenCase(Path(given.name), None, case, is_given=True)
        if self.worker.decider.needs_adjudicator(case):
            self._waiting.append(one)
        else:
            self.keeping.hold(self.worker.settled(one))

    def _ask(self) -> None:
        """Hand out open cases; of the same evidence one is looked into, and the others wait."""
        while self._waiting and self.model.is_over:
            self.keeping.hold(self._not_asked(self._waiting.popleft()))
        while self._waiting and len(self._asked) < self.hands.cases and self.model.may_go:
            one = self._waiting.popleft()
            if known := self.answered.known(one.known_as):
                self.keeping.hold(self.worker.answered(one, known))
            elif one.known_as in self._asked:
                self._asked[one.known_as].append(one)
            else:
                self._asked[one.known_as] = []
                self._futures[self.hands.look_into(one)] = partial(self._looked_into, one.known_as)

    def _take_in(self) -> None:
        """Wait a moment for what was handed out, and take what is done."""
        if not self._futures:
            if not self.keeping.is_due:
                is_at_rest = self._waiting or not self.lookups.may_go
                time.sleep(_IDLE_TICK_S if self._is_idle else _TICK_S if is_at_rest else 0)
            return
        tick_s = _IDLE_TICK_S if self._is_idle else _TICK_S
        done, _ = wait(self._futures, tick_s, FIRST_COMPLETED)
        for future in done:
            self._futures.pop(future)(future.result())

    def _gathered(self, files: int, album: AlbumResult) -> None:
        self._gathering -= 1
        self.is_cut_short |= len(album.settled) + len(album.waiting) < files
        self.tally.gathered(album)
        self._waiting.extend(album.waiting)
        for settled in album.settled:
            self.keeping.hold(settled)
        decisions = [one.decision for one in album.settled]
        decisions += [one.case.decision for one in album.waiting]
        self._hear(self.lookups, decisions, Cause.LOOKUP_FAILED)

    def _looked_into(self, known_as: str, settled: FileOutcome) -> None:
        result = settled.decision.adjudication
        if result and result.iterations:
            self.model.met(None)  # it replied, so it is there, whatever it said
        else:
            self._hear(self.model, [settled.decision], Cause.MODEL)
        self.answered.learn(known_as, settled.decision.adjudication)
        self._waiting.extendleft(self._asked.pop(known_as, ()))
        self.keeping.hold(settled)

    def _hear(self, service: CircuitBreaker, decisions: Sequence[Decision], cause: Cause) -> None:
        """Take note of how a service did: whoever answered once of several times is there.

        What failed before it came to the service says nothing of it.
        """
        failed = next((one for one in decisions if one.cause is cause), None)
        before = service.in_a_row
        if any(one.cause in (UNSET, Cause.NOTHING_FOUND) for one in decisions):
            service.met(None)
        elif failed:
            service.met(failed.error or "no reason given")
        if service.in_a_row > max(before, _A_BLIP):
            words = "is given up for this run" if service.is_over else "is asked less"
            name = "MusicBrainz" if service is self.lookups else "the model"
            told = (name, words, service.in_a_row, service.why)
            _log.warning("%s %s: it failed %d times in a row: %s", *told)

    def _not_asked(self, one: OpenCase) -> FileOutcome:
        why = (
            f"the model was not asked, for it failed {self.model.in_a_row} times: {self.model.why}"
        )
        decision = msgspec.structs.replace(
            one.case.decision, state=State.ERROR, error=why, cause=Cause.MODEL
        )
        return self.worker.settled(replace(one, case=replace(one.case, decision=decision)))

    def _keep(self) -> None:
        """Keep what is settled; then tags may be written, for what was decided cannot be lost."""
        for settled in self.keeping.keep():
            writing = self.tagging.begin(settled)
            if writing is None:
                self._finish(settled, None, 0.0)
            else:
                self._futures[writing] = partial(self._tagged, settled)

    def _measure(self) -> None:
        """Keep now and then what the run has come to: a killed one has that left to show."""
        if time.monotonic() - self._measured_at >= _MEASURED_EVERY_S:
            self._measured_at = time.monotonic()
            self.keeping.measure(self.tally.measures())

    def _tagged(self, settled: FileOutcome, done: tuple[WriteReport, float]) -> None:
        self.tagging.is_done()
        self._finish(settled, *done)

    def _finish(self, settled: FileOutcome, told: WriteReport | None, write_s: float) -> None:
        self.tally.finished(settled, told, write_s)
        self.finished(settled, told)


def on_error(tell: Callable[[BaseException], None]) -> ExitStack:
    """Return a context that tells what error or interruption it ends with, if any; it goes on."""

    def ended(
        _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is not None:
            tell(error)

    stack = ExitStack()
    stack.push(ended)
    return stack
