"""What a batch has come to so far: counts, costs, and what took longest."""

import heapq
import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from chart_binder.domain.measures import Measures, SlowFile, StageCost
from chart_binder.jobs.batch.kinds import Kinds, readable
from chart_binder.jobs.batch.work import Gathered, Settled, Stage
from chart_binder.jobs.decision import Cause, State
from chart_binder.jobs.write import Fate, Told
from chart_binder.llm.result import AdjudicationResult

_SLOWEST = 10
_NO_REASON = "no reason given"
_NOT_WRITTEN = (Fate.REFUSED, Fate.FAILED)


@dataclass(slots=True)
class Tally:
    """Counts files as they are finished; it takes no more room for more of them.

    `states` are of all files, and of `folders` that could not be read or had nothing in them;
    `resumed` is how many files an earlier run settled, `pinned` how many of these are pinned,
    `worked` how many there was something to do for: a resumed one is none of them, unless its tags
    are looked at.
    """

    started: float = field(default_factory=time.monotonic)
    files: int = 0
    folders: int = 0
    resumed: int = 0
    pinned: int = 0
    worked: int = 0
    states: Counter[str] = field(default_factory=Counter)
    decided_by: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    errors: Kinds = field(default_factory=Kinds)
    unwritten: Kinds = field(default_factory=Kinds)
    spent: Counter[str] = field(default_factory=Counter)
    _times: Counter[Stage] = field(default_factory=Counter)
    _seconds: dict[Stage, float] = field(default_factory=dict)
    _requests: dict[str, int] = field(default_factory=dict)
    _slowest: list[tuple[float, str]] = field(default_factory=list)

    def gathered(self, album: Gathered) -> None:
        """Take note of what an album cost; a process counts from its beginning."""
        if album.worker:
            known = self._requests.get(album.worker, 0)
            self._requests[album.worker] = max(known, album.requests)
            self.spent["musicbrainz_requests"] = sum(self._requests.values())

    def finished(self, settled: Settled, told: Told | None, write_s: float = 0.0) -> None:
        """Count one file, and what became of its tags."""
        self._count(settled)
        if told:
            self._tag(told)
        seconds = {**settled.seconds, **({Stage.WRITE: write_s} if told else {})}
        if settled.is_resumed:
            self.resumed += 1
            self.pinned += settled.is_pinned
            if not told:
                return
        self.worked += 1
        if not (settled.is_resumed or settled.is_answered_before):
            self._spend(settled.decision.adjudication)
        for stage, taken in seconds.items():
            self._times[stage] += 1
            self._seconds[stage] = self._seconds.get(stage, 0.0) + taken
        if seconds:
            self._rank(sum(seconds.values()), readable(settled.path))

    @property
    def seconds(self) -> float:
        """How long the run has been going on."""
        return time.monotonic() - self.started

    @property
    def rate(self) -> float:
        """How many files a second were worked on."""
        return self.worked / max(self.seconds, 0.001)

    def measures(self) -> Measures:
        """Return all of it as it stands."""
        return Measures(
            files=self.files,
            folders=self.folders,
            resumed=self.resumed,
            pinned=self.pinned,
            seconds=round(self.seconds, 3),
            states=_by_count(self.states),
            decided_by=_by_count(self.decided_by),
            rules=_by_count(self.rules),
            tags=_by_count(self.tags),
            causes=_by_count(self.causes),
            errors=self.errors.counts(),
            unwritten=self.unwritten.counts(),
            examples=self.errors.files() | self.unwritten.files(),
            stages={
                stage.value: StageCost(self._times[stage], round(self._seconds[stage], 3))
                for stage in Stage
                if self._times[stage]
            },
            spent=dict(self.spent),
            slowest=tuple(
                SlowFile(path, round(seconds, 3))
                for seconds, path in sorted(self._slowest, reverse=True)
            ),
        )

    def _count(self, settled: Settled) -> None:
        decision = settled.decision
        if _is_folder(settled):
            self.folders += 1
        else:
            self.files += 1
        self.states[decision.state] += 1
        if decision.decided_by:
            self.decided_by[decision.decided_by] += 1
        if decision.crg_rule:
            self.rules[decision.crg_rule] += 1
        if decision.cause:
            self.causes[decision.cause] += 1
        if decision.state is State.ERROR:
            self.errors.add(decision.error or _NO_REASON, settled.path)

    def _tag(self, told: Told) -> None:
        self.tags[told.fate] += 1
        if told.fate in _NOT_WRITTEN:
            self.unwritten.add(told.why or _NO_REASON, told.path)

    def _spend(self, result: AdjudicationResult | None) -> None:
        if result is None:
            return
        self.spent["model_runs"] += 1
        self.spent["model_replies"] += result.iterations
        if result.usage:
            self.spent["prompt_tokens"] += result.usage.prompt_tokens or 0
            self.spent["completion_tokens"] += result.usage.completion_tokens or 0

    def _rank(self, seconds: float, path: str) -> None:
        entry = (seconds, path)
        if len(self._slowest) < _SLOWEST:
            heapq.heappush(self._slowest, entry)
        else:
            heapq.heappushpop(self._slowest, entry)


def _by_count(counter: Mapping[str, int]) -> dict[str, int]:
    """Return counts under plain names, the most frequent first."""
    return {str(name): count for name, count in Counter(counter).most_common()}


def _is_folder(settled: Settled) -> bool:
    """Say whether this is what could not be found in a folder, and no file."""
    return (
        settled.decision.cause is Cause.FILE
        and settled.kept is None
        and os.path.isdir(settled.path)  # noqa: PTH112 - a path of any bytes
    )
