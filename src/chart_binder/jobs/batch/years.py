"""Uncertain years of a batch: the model is asked for each, once for each recording.

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
from chart_binder.llm.result import Outcome

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
        failures = 0
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        waiting = _by_recording(sorted(self.files, key=_urgency))
        running: dict[Future[Case], Sequence[FileOutcome]] = {}
        with ThreadPoolExecutor(self.jobs, "canon-years") as pool:
            while waiting or running:
                is_over = should_stop() or (deadline is not None and time.monotonic() >= deadline)
                if is_over or failures >= _MAX_FAILURES:
                    unasked = [file for files in waiting for file in files]
                    self.files_left, waiting = self.files_left + len(unasked), []
                    yield from unasked
                while waiting and len(running) < self.jobs:
                    files = waiting.pop(0)
                    case = _case_of(store, pipeline, files[0])
                    if year_question(pipeline, case):
                        running[pool.submit(_ask, pipeline, case)] = files
                    else:
                        yield from files
                done, _ = wait(running, _TICK_S, FIRST_COMPLETED)
                for future in done:
                    files, case = running.pop(future), future.result()
                    answer = case.decision.model_answer
                    is_failed = answer is not None and answer.outcome is Outcome.ERROR
                    failures = failures + 1 if is_failed else 0
                    yield from _saved(store, pipeline, files, case)


def _case_of(store: "Store", pipeline: Pipeline, file: FileOutcome) -> Case:
    """Return the case of a file, decided by its stored evidence."""

    def decide() -> Case:
        record = store.decisions.latest(path_bytes(file.path))
        bundle = stored_bundle(store, record) if record else None
        return decide_by_rules(pipeline, bundle) if bundle else Case(file.decision)

    return attempt(decide)


def _ask(pipeline: Pipeline, case: Case) -> Case:
    """Let the adjudicator look for the year of a case."""
    answered = attempt(lambda: ask_year(pipeline, case))
    return answered if answered.bundle else case


def _saved(
    store: "Store", pipeline: Pipeline, files: Sequence[FileOutcome], answered: Case
) -> Iterator[FileOutcome]:
    """Save the answer to a case for the files of its recording, and yield the files.

    A file keeps its release group unless the rules chose another one in the answered case. It is
    yielded as it was if its year is not asked about any more.
    """
    for number, file in enumerate(files):
        case, before = _case_of(store, pipeline, file), file_status(file.path)
        question, result = year_question(pipeline, case), answered.decision.model_answer
        if question is None or before is None or result is None:
            yield file
            continue
        if answered.decision.decided_by == "rules":
            crg, rr = file.decision.crg_mbid, file.decision.rr_mbid
            result = msgspec.structs.replace(result, crg_mbid=crg, rr_mbid=rr)
        case = with_year(pipeline, case, question, result)
        store.decisions.put(*stored_case(case, file.path, before, pipeline.versions))
        yield replace(file, decision=case.decision, is_resumed=False, is_answered_before=number > 0)


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
