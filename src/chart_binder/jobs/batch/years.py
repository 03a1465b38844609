"""Uncertain years of a batch: the model is asked for each, once for each performance.

This follows all other decisions, so that the most important years come first: compilations, then
the largest gaps between the year in the tags and the earliest year in the evidence.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from chart_binder.jobs.batch.items import EstimatedYears
from chart_binder.jobs.decision import Case, Decision, FileOutcome, State
from chart_binder.jobs.pipeline import (
    Pipeline,
    ask_year,
    attempt,
    decide_by_rules,
    with_year,
    year_question,
)
from chart_binder.jobs.stored_decisions import (
    file_status,
    path_bytes,
    stored_bundle,
    stored_case,
)
from chart_binder.llm.result import AdjudicationResult, Outcome

if TYPE_CHECKING:
    from chart_binder.store import Store

_MAX_FAILURES = 3
"""After so many failed runs in a row, the model is not asked any more."""
_TICK_S = 0.2
SECONDS_A_RUN = 30.0
"""The assumed seconds of a run of the model, if none was measured."""


@dataclass(slots=True)
class YearQueue:
    """The decided files whose year the model is to be asked for.

    The model is asked for at most `seconds`, if that is not None, about `jobs` cases at once.
    """

    jobs: int = 1
    seconds: float | None = None
    files: list[FileOutcome] = field(default_factory=list)
    files_left: int = 0
    """The number of files that were not asked about, because time ran out or the model failed."""
    _run_seconds: list[float] = field(default_factory=list)

    def takes(self, outcome: FileOutcome) -> bool:
        """Queue a file, without its evidence, if the model is to be asked; return whether it is."""
        if answer := outcome.decision.model_answer:
            self._run_seconds.append(answer.usage.model_seconds + answer.usage.tool_seconds)
        if outcome.is_given or not is_asked_about(outcome.decision):
            return False
        self.files.append(replace(outcome, stored=None))
        return True

    def estimate(self) -> EstimatedYears:
        """Return the number of files and runs, and the median seconds of the runs so far."""
        durations = sorted(filter(None, self._run_seconds))
        seconds = durations[len(durations) // 2] if durations else SECONDS_A_RUN
        runs = len({*map(_recording, self.files)})
        return EstimatedYears(len(self.files), runs, round(seconds, 1))

    def ask(
        self, store: "Store", pipeline: Pipeline, should_stop: Callable[[], bool]
    ) -> Iterator[FileOutcome]:
        """Yield every file, with its year once that is saved. Raises `StoreError`."""
        asker = _YearAsker(store, pipeline)
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        waiting = _by_recording(sorted(self.files, key=_urgency))
        running: dict[Future[Case], Sequence[FileOutcome]] = {}
        with ThreadPoolExecutor(self.jobs, "canon-years") as pool:
            while waiting or running:
                is_over = should_stop() or (deadline is not None and time.monotonic() >= deadline)
                if is_over or asker.failures >= _MAX_FAILURES:
                    unasked = [file for files in waiting for file in files]
                    self.files_left, waiting = self.files_left + len(unasked), []
                    yield from unasked
                while waiting and len(running) < self.jobs:
                    files = waiting.pop(0)
                    case = asker.case_of(files[0])
                    if asker.answered_case(case) or not year_question(pipeline, case):
                        yield from asker.save_answer(files, case)
                    else:
                        running[pool.submit(asker.ask, case)] = files
                done, _ = wait(running, _TICK_S, FIRST_COMPLETED)
                for future in done:
                    yield from asker.save_answer(running.pop(future), future.result())


@dataclass(slots=True)
class _YearAsker:
    """Asks about cases, and saves each answer for all files of the performance."""

    store: "Store"
    pipeline: Pipeline
    failures: int = 0
    _answers: dict[str, Case] = field(default_factory=dict)
    """The cases that this run has an answer for, by the ids of their recordings."""

    def case_of(self, outcome: FileOutcome) -> Case:
        """Return the case of a file, decided by its stored evidence."""

        def decide() -> Case:
            record = self.store.decisions.latest(path_bytes(outcome.path))
            bundle = stored_bundle(self.store, record) if record else None
            if bundle is None:
                return Case(outcome.decision)
            return decide_by_rules(self.pipeline, bundle)

        return attempt(decide)

    def ask(self, case: Case) -> Case:
        """Let the adjudicator look for the year of a case."""
        answered = attempt(lambda: ask_year(self.pipeline, case))
        return answered if answered.bundle else case

    def answered_case(self, case: Case) -> Case | None:
        """Return an answered case of the same performance, if this run has one."""
        recordings = case.bundle.recording_candidates if case.bundle else ()
        answers = (self._answers.get(recording.mb_recording_id) for recording in recordings)
        return next(filter(None, answers), None)

    def save_answer(self, files: Sequence[FileOutcome], case: Case) -> Iterator[FileOutcome]:
        """Save the answer to a case for the files of its performance, and yield the files."""
        earlier = self.answered_case(case)
        source = earlier or case
        result = source.decision.model_answer
        if result and not earlier:
            self.failures = self.failures + 1 if result.outcome is Outcome.ERROR else 0
            if result.outcome is not Outcome.ERROR and case.bundle:
                recordings = case.bundle.recording_candidates
                self._answers |= {recording.mb_recording_id: case for recording in recordings}
        for number, file in enumerate(files):
            changed = self._with_answer(file, source, result) if result else None
            is_answered_before = number > 0 or earlier is not None
            yield replace(changed, is_answered_before=is_answered_before) if changed else file

    def _with_answer(
        self, file: FileOutcome, source: Case, result: AdjudicationResult
    ) -> FileOutcome | None:
        """Save the answer for a file and return the file; None if its year is not asked about.

        The file keeps its release group unless the rules chose another one in the `source` case.
        """
        case, before = self.case_of(file), file_status(file.path)
        question = year_question(self.pipeline, case)
        if question is None or before is None:
            return None
        if source.decision.decided_by == "rules":
            crg, rr = file.decision.crg_mbid, file.decision.rr_mbid
            result = msgspec.structs.replace(result, crg_mbid=crg, rr_mbid=rr)
        case = with_year(self.pipeline, case, question, result)
        self.store.decisions.put(*stored_case(case, file.path, before, self.pipeline.versions))
        return replace(file, decision=case.decision, is_resumed=False)


def is_asked_about(decision: Decision) -> bool:
    """Return whether rules decided, the year is uncertain, and no model answered about it."""
    first, answer = decision.first_release, decision.year_answer
    return (
        decision.state is State.DECIDED
        and decision.decided_by == "rules"
        and not (first and first.year_certain)
        and (not answer or answer.outcome is Outcome.ERROR)
    )


def _urgency(file: FileOutcome) -> tuple[bool, int]:
    """Sort compilations first, then by the years between the first release and the tags."""
    first = file.decision.first_release
    gap = file.tagged_year - first.year if first and file.tagged_year else 0
    return "Compilation" not in (file.decision.crg_type or ""), -abs(gap)


def _recording(file: FileOutcome) -> str:
    return file.decision.recording_mbid or file.decision.evidence_hash or str(file.path)


def _by_recording(files: Iterable[FileOutcome]) -> list[Sequence[FileOutcome]]:
    by_recording: dict[str, list[FileOutcome]] = {}
    for file in files:
        by_recording.setdefault(_recording(file), []).append(file)
    return [*by_recording.values()]
