"""The years of a batch: the model is asked for those that are not certain, once a performance.

That comes after everything is decided, so that the years that matter most are the first:
compilations, then the largest gaps between the year in the tags and the earliest one known.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from chart_binder.domain.verdict import Open
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
    current_decision,
    file_status,
    stored_bundle,
    stored_case,
)
from chart_binder.llm.result import AdjudicationResult, Outcome

if TYPE_CHECKING:
    from chart_binder.store import Store

_MAX_FAILURES = 3
"""Failed runs in a row after which the model is not asked any more."""
_TICK_S = 0.2
SECONDS_A_RUN = 30.0
"""What a run is taken to need as long as no model has run."""


@dataclass(slots=True)
class YearQueue:
    """The decided files whose year is to be asked for.

    `seconds` is how long the model may be asked, without end by default; `jobs` are asked at once.
    """

    jobs: int = 1
    seconds: float | None = None
    files: list[FileOutcome] = field(default_factory=list)
    left: int = 0
    """The files for which the time, or the model, did not suffice."""
    _run_seconds: list[float] = field(default_factory=list)

    def takes(self, outcome: FileOutcome) -> bool:
        """Return whether a file is to be asked about; it is kept then, without its evidence."""
        if answer := outcome.decision.model_answer:
            self._run_seconds.append(answer.usage.model_seconds + answer.usage.tool_seconds)
        if outcome.is_given or not is_asked_about(outcome.decision):
            return False
        self.files.append(replace(outcome, stored=None))
        return True

    def estimate(self) -> EstimatedYears:
        """Return what the files take, by what earlier runs of the model took."""
        known = sorted(filter(None, self._run_seconds))
        each = known[len(known) // 2] if known else SECONDS_A_RUN
        return EstimatedYears(len(self.files), len({*map(_recording, self.files)}), round(each, 1))

    def ask(
        self, store: "Store", pipeline: Pipeline, should_stop: Callable[[], bool]
    ) -> Iterator[FileOutcome]:
        """Yield every file with what came of its year, saved. Raises `StoreError`."""
        asked = _YearAsker(store, pipeline)
        ends = None if self.seconds is None else time.monotonic() + self.seconds
        waiting = _by_recording(sorted(self.files, key=_urgency))
        running: dict[Future[Case], Sequence[FileOutcome]] = {}
        with ThreadPoolExecutor(self.jobs, "canon-years") as pool:
            while waiting or running:
                is_over = should_stop() or (ends is not None and time.monotonic() >= ends)
                if is_over or asked.failures >= _MAX_FAILURES:
                    left = [one for files in waiting for one in files]
                    self.left, waiting = self.left + len(left), []
                    yield from left
                while waiting and len(running) < self.jobs:
                    files = waiting.pop(0)
                    case = asked.case_of(files[0])
                    if case.bundle is None or asked.known(case) or not asked.question(case):
                        yield from asked.answered(files, case)
                    else:
                        running[pool.submit(asked.ask, case)] = files
                done, _ = wait(running, _TICK_S, FIRST_COMPLETED)
                for future in done:
                    yield from asked.answered(running.pop(future), future.result())


@dataclass(slots=True)
class _YearAsker:
    """Asks about cases, and saves what comes of all files of a performance."""

    store: "Store"
    pipeline: Pipeline
    failures: int = 0
    _answers: dict[str, Case] = field(default_factory=dict)
    """The cases that were asked about, with what came of them, by their recordings."""

    def case_of(self, outcome: FileOutcome) -> Case:
        """Return the case of a file by its stored evidence."""

        def make() -> Case:
            kept = current_decision(self.store, outcome.path)
            bundle = stored_bundle(self.store, kept) if kept else None
            if bundle is None:
                return Case(outcome.decision)
            return decide_by_rules(self.pipeline, bundle)

        return attempt(make)

    def question(self, case: Case) -> Open | None:
        """Return the question of the year, if there is one."""
        return year_question(self.pipeline, case)

    def ask(self, case: Case) -> Case:
        """Let the adjudicator look for the year of a case."""
        asked = attempt(lambda: ask_year(self.pipeline, case))
        return asked if asked.bundle else case

    def known(self, case: Case) -> Case | None:
        """Return the case of the same performance that was asked about in this run."""
        recordings = case.bundle.recording_candidates if case.bundle else ()
        ids = (one.mb_recording_id for one in recordings)
        return next((self._answers[one] for one in ids if one in self._answers), None)

    def answered(self, files: Sequence[FileOutcome], case: Case) -> Iterator[FileOutcome]:
        """Yield the files of a performance with the answer to its case, once they are saved."""
        known = self.known(case)
        asked = known or case
        result = asked.decision.model_answer
        if result and not known:
            self.failures = self.failures + 1 if result.outcome is Outcome.ERROR else 0
            if result.outcome is not Outcome.ERROR and case.bundle:
                ids = (one.mb_recording_id for one in case.bundle.recording_candidates)
                self._answers |= dict.fromkeys(ids, case)
        for number, one in enumerate(files):
            found = self._with_answer(one, asked, result) if result else None
            is_before = number > 0 or known is not None
            yield replace(found, is_answered_before=is_before) if found else one

    def _with_answer(
        self, one: FileOutcome, asked: Case, result: AdjudicationResult
    ) -> FileOutcome | None:
        """Return a file with an answer, which is saved; None if there is nothing to ask about it.

        It keeps its group unless the rules gave another one in the case that was asked about.
        """
        case, before = self.case_of(one), file_status(one.path)
        question = self.question(case)
        if question is None or before is None:
            return None
        if asked.decision.decided_by == "rules":
            own = one.decision
            result = msgspec.structs.replace(result, crg_mbid=own.crg_mbid, rr_mbid=own.rr_mbid)
        case = with_year(self.pipeline, case, question, result)
        self.store.decisions.put(*stored_case(case, one.path, before, self.pipeline.versions))
        return replace(one, decision=case.decision, is_resumed=False)


def is_asked_about(decision: Decision) -> bool:
    """Return whether rules decided, the year is not certain, and no model answered about it."""
    first, answer = decision.first_release, decision.year_answer
    return (
        decision.state is State.DECIDED
        and decision.decided_by == "rules"
        and not (first and first.year_certain)
        and (not answer or answer.outcome is Outcome.ERROR)
    )


def _urgency(one: FileOutcome) -> tuple[bool, int]:
    """Sort compilations first, then by how much later the tags are than the earliest known year."""
    first = one.decision.first_release
    gap = one.tagged_year - first.year if first and one.tagged_year else 0
    return "Compilation" not in (one.decision.crg_type or ""), -abs(gap)


def _recording(one: FileOutcome) -> str:
    return one.decision.recording_mbid or one.decision.evidence_hash or str(one.path)


def _by_recording(files: Iterable[FileOutcome]) -> list[Sequence[FileOutcome]]:
    found: dict[str, list[FileOutcome]] = {}
    for one in files:
        found.setdefault(_recording(one), []).append(one)
    return [*found.values()]
