"""What a batch has come to so far: counts, costs, and what took longest."""

import heapq
import os
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chart_binder.domain.measures import Measures, SlowFile, StageCost
from chart_binder.jobs.batch.work import Gathered, Settled, Stage
from chart_binder.jobs.decision import Decision, State
from chart_binder.jobs.write import Told
from chart_binder.llm.result import AdjudicationResult

_SLOWEST = 10
_MOST_KINDS = 200
_OTHER = "other errors"
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|/\S+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\d+(?:\.\d+)?")
"""What differs from file to file in sentences that say the same."""


@dataclass(slots=True)
class Tally:
    """Counts files as they are finished; it takes no more room for more of them.

    `states` are of all files, `resumed` how many of them an earlier run settled, `worked` how many
    there was something to do for: a resumed one is none of them, unless its tags are looked at.
    """

    started: float = field(default_factory=time.monotonic)
    files: int = 0
    resumed: int = 0
    worked: int = 0
    states: Counter[str] = field(default_factory=Counter)
    decided_by: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    _only_of_kind: dict[str, str] = field(default_factory=dict)
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
        decision = settled.decision
        self.files += 1
        self.states[decision.state] += 1
        if decision.decided_by:
            self.decided_by[decision.decided_by] += 1
        if decision.crg_rule:
            self.rules[decision.crg_rule] += 1
        if decision.state is State.ERROR:
            self._fail(decision)
        if told:
            self.tags[told.fate] += 1
        seconds = {**settled.seconds, **({Stage.WRITE: write_s} if told else {})}
        if settled.is_resumed:
            self.resumed += 1
            if not told:
                return
        self.worked += 1
        if decision.adjudication and not (settled.is_resumed or settled.is_answered_before):
            self._spend(decision.adjudication)
        for stage, taken in seconds.items():
            self._times[stage] += 1
            self._seconds[stage] = self._seconds.get(stage, 0.0) + taken
        if seconds:
            self._rank(sum(seconds.values()), _readable(settled.path))

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
            resumed=self.resumed,
            seconds=round(self.seconds, 3),
            states=_by_count(self.states),
            decided_by=_by_count(self.decided_by),
            rules=_by_count(self.rules),
            tags=_by_count(self.tags),
            causes=_by_count(self.causes),
            errors={
                self._only_of_kind[kind] if count == 1 else kind: count
                for kind, count in self.errors.most_common()
            },
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

    def _fail(self, decision: Decision) -> None:
        if decision.cause:
            self.causes[decision.cause] += 1
        why = decision.error or "no reason given"
        kind = _PARTICULAR.sub("…", why)
        if kind not in self.errors and len(self.errors) >= _MOST_KINDS:
            kind = why = _OTHER
        self.errors[kind] += 1
        self._only_of_kind.setdefault(kind, why)

    def _spend(self, result: AdjudicationResult) -> None:
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


def _readable(path: Path) -> str:
    """Return a path as text that JSON can hold."""
    return os.fsencode(path).decode("utf-8", errors="replace")
