"""The loop of a batch: what is asked how often, saved and given up; the circuit breaker."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, read_bundle
from chart_binder.domain.records import RunRecord, new_id, now_utc
from chart_binder.domain.verdict import Verdict
from chart_binder.errors import LookupFailedError
from chart_binder.jobs.batch import Album, ThreadExecutor, Worker
from chart_binder.jobs.batch.report import BatchTally
from chart_binder.jobs.batch.resume import AdjudicationCache, ResumeCheck
from chart_binder.jobs.batch.run import (
    MAX_FAILURES,
    BatchRun,
    CircuitBreaker,
    OutcomeBuffer,
    TagWriter,
)
from chart_binder.jobs.decision import Cause, FileOutcome, State
from chart_binder.jobs.gather import EvidenceLookup
from chart_binder.jobs.pipeline import Pipeline
from chart_binder.jobs.stored_decisions import RunVersions, rules_version, stored_bundle
from chart_binder.jobs.write import WriteReport, WriteStatus
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.store import Store
from golden.bundles import year_only_single

KNOBS = RulesConfig()


class Counting:
    """How many are at it at once, and how many were at most."""

    def __init__(self) -> None:
        self.now = self.most = self.all = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.all += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


class Open:
    """Evidence that leaves every file open, no two alike, after a moment."""

    requests = 0

    def __init__(self) -> None:
        self.counting = Counting()

    def of(self, paths: Sequence[Path]) -> EvidenceLookup:
        with self.counting:
            time.sleep(0.001 * len(paths))
        return self._facts

    def _facts(self, path: Path) -> EvidenceBundle:
        bundle = year_only_single()
        bundle["recording_candidates"][0]["length_ms"] = 300_000 + int(path.stem)
        return read_bundle(bundle)


class Down(Open):
    """A service that is down."""

    def _facts(self, path: Path) -> EvidenceBundle:
        raise LookupFailedError(f"no answer about {path}")


class Model:
    """An adjudicator that cannot tell, after a moment: faulty at first, or down after replies."""

    def __init__(self, *, faults: int = 0, is_down: bool = False, replies: int = 0) -> None:
        self.counting = Counting()
        self._faults, self._is_down, self._replies = faults, is_down, replies

    def adjudicate(self, evidence: EvidenceBundle, _: Verdict | None = None) -> AdjudicationResult:
        known = evidence_hash(evidence)
        with self.counting:
            time.sleep(0.002)
            if self.counting.all <= self._faults:
                raise RuntimeError("a defect of a plug-in")
        if self._is_down:
            return AdjudicationResult(
                Outcome.ERROR, problem="it is down", evidence_hash=known, iterations=self._replies
            )
        return AdjudicationResult(Outcome.REJECTED, confidence=0.1, evidence_hash=known)


def library(folder: Path, albums: int, each: int) -> Iterator[Album]:
    """Make albums as they are asked for."""
    for number in range(albums):
        paths = [folder / f"{number * each + place}.flac" for place in range(each)]
        for path in paths:
            path.write_bytes(b"tiny")
        yield Album(tuple(paths))


def batch_of(
    store: Store,
    evidence: Open,
    adjudicator: Model,
    albums: int = 2,
    cases: int = 3,
    asked: str = "adjudicator",
) -> tuple[BatchRun, list[FileOutcome]]:
    versions = RunVersions(new_id(), rules_version(KNOBS), asked)
    worker = Worker(Pipeline(KNOBS, adjudicator, evidence=evidence, versions=versions))
    run = RunRecord(id=versions.run_id, command="batch", started_at_utc=now_utc())
    outcomes: list[FileOutcome] = []
    batch = BatchRun(
        executor=ThreadExecutor(worker, albums, cases),
        worker=worker,
        resume=ResumeCheck(store, versions, dict),
        answers=AdjudicationCache(store, versions.adjudicator),
        buffer=OutcomeBuffer(store, run),
        tag_writer=TagWriter(None),
        tally=BatchTally(),
        on_finished=lambda one, _: outcomes.append(one),
        should_stop=lambda: False,
    )
    return batch, outcomes


def test_each_service_is_asked_as_much_at_once_as_was_said(store: Store, tmp_path: Path) -> None:
    evidence, adjudicator = Open(), Model()
    batch, outcomes = batch_of(store, evidence, adjudicator)
    begun = []

    def albums() -> Iterator[Album]:
        for album in library(tmp_path, 40, 5):
            begun.append(album)
            # What is begun, and not yet outcomes, is bounded whatever comes after it.
            assert len(begun) * 5 - len(outcomes) <= 2 * 5 + 25 * 3 + 100 + 5
            yield album

    batch.run(albums())
    assert (len(outcomes), evidence.counting.most, adjudicator.counting.most) == (200, 2, 3)
    assert len(list(store.decisions.iterate())) == 200


def test_a_run_that_is_stopped_while_it_writes_says_so(store: Store, tmp_path: Path) -> None:
    batch, outcomes = batch_of(store, Open(), Model())
    stopped: list[bool] = []

    def write(files: Sequence[FileOutcome]) -> Iterator[tuple[FileOutcome, WriteReport]]:
        for one in files:
            yield one, WriteReport(one.path, WriteStatus.WRITTEN)
            stopped.append(True)
            time.sleep(0.5)

    batch.tag_writer, batch.should_stop = TagWriter(write), lambda: bool(stopped)
    batch.run(library(tmp_path, 1, 20))
    assert len(outcomes) == 20
    assert batch.tally.tags[WriteStatus.WRITTEN] < 20
    assert batch.is_cut_short


def test_a_fault_of_an_adjudicator_keeps_the_evidence(store: Store, tmp_path: Path) -> None:
    batch, outcomes = batch_of(store, Open(), Model(faults=2), cases=1)
    batch.run(library(tmp_path, 2, 3))
    assert Counter(one.decision.state for one in outcomes) == {
        State.ERROR: 2,
        State.UNDECIDED: 4,
    }
    failed = [one for one in outcomes if one.decision.state is State.ERROR]
    assert {one.decision.cause for one in failed} == {Cause.FAULT}
    assert all(one.stored and stored_bundle(store, one.stored[0]) for one in failed)


def test_a_service_that_is_down_ends_the_run(store: Store, tmp_path: Path) -> None:
    batch, outcomes = batch_of(store, Down(), Model(), albums=1)
    moments = count(step=100)
    batch.lookups = CircuitBreaker(clock=lambda: float(next(moments)))  # every pause goes by
    batch.run(library(tmp_path, 60, 5))
    assert batch.is_cut_short
    assert len(outcomes) < 60 * 5
    told = Counter((one.decision.error or "").split(" ")[0] for one in outcomes)
    assert told == {"no": 3 * len(outcomes) // 5, "not": 2 * len(outcomes) // 5}
    assert {one.decision.cause for one in outcomes} == {Cause.LOOKUP_FAILED}


def test_a_model_that_fails_is_given_up(store: Store, tmp_path: Path) -> None:
    adjudicator = Model(is_down=True)
    batch, outcomes = batch_of(store, Open(), adjudicator, cases=1)
    moments = count(step=100)
    batch.model = CircuitBreaker(clock=lambda: float(next(moments)))  # in which every pause goes by
    batch.run(library(tmp_path, 4, 5))
    assert not batch.is_cut_short
    assert adjudicator.counting.all == MAX_FAILURES
    told = Counter(one.decision.error for one in outcomes)
    assert told == {
        "it is down": MAX_FAILURES,
        f"the model was not asked, because it failed {MAX_FAILURES} times: it is down": 12,
    }
    assert {one.decision.cause for one in outcomes} == {Cause.MODEL}
    assert all(one.stored and stored_bundle(store, one.stored[0]) for one in outcomes)


def test_a_model_that_replies_is_there_whatever_it_says(store: Store, tmp_path: Path) -> None:
    adjudicator = Model(is_down=True, replies=3)
    batch, outcomes = batch_of(store, Open(), adjudicator, cases=1)
    batch.model = CircuitBreaker(clock=lambda: 0.0)  # in which no pause would end
    batch.run(library(tmp_path, 4, 5))
    assert adjudicator.counting.all == len(outcomes) == 20
    assert {one.decision.cause for one in outcomes} == {Cause.MODEL}


def test_a_model_that_fails_takes_no_earlier_answer_away(store: Store, tmp_path: Path) -> None:
    batch, answered = batch_of(store, Open(), Model())
    batch.run(library(tmp_path, 1, 2))
    adjudicator = Model(is_down=True)
    for _ in range(2):
        batch, failed = batch_of(store, Open(), adjudicator, asked="another")
        batch.run(library(tmp_path, 1, 3))
        assert [one.decision.cause for one in failed] == [Cause.MODEL] * 3
    assert adjudicator.counting.all == 6, "it is asked again each time"
    for one in answered:
        assert one.stored
        assert store.decisions.history(one.stored[0].path) == (one.stored[0],)
    assert [each.state for each in store.decisions.iterate(["error"])] == ["error"]


def test_pauses_double_and_what_was_asked_before_one_counts_once() -> None:
    now = [0.0]
    breaker = CircuitBreaker(clock=lambda: now[0])
    for _ in range(2 * MAX_FAILURES):
        breaker.record("no answer")
    breaker.record("no answer at all")
    state = (breaker.failures_in_a_row, breaker.last_error, breaker.ready_at)
    assert state == (1, "no answer at all", 0.5)
    outage_s = 0.0
    while not breaker.is_open:
        outage_s = now[0] = breaker.ready_at
        breaker.record("no answer")
        breaker.record("no answer")
    assert outage_s == 63.5
    breaker.record(None)
    assert (breaker.is_open, breaker.allows_call) == (False, True)
