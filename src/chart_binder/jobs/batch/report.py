"""What a batch came to, for monitoring: as Prometheus text, or as JSON.

The text is the exposition format 0.0.4:
https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format.
"""

import heapq
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec

from chart_binder.domain.records import KeptRun, Measures, SlowFile, StageCost
from chart_binder.jobs.batch.work import AlbumResult, FileOutcome, Stage
from chart_binder.jobs.decide import Cause, State
from chart_binder.jobs.write import WriteReport, WriteStatus
from chart_binder.llm.result import AdjudicationResult

_MOST_KINDS = 200
_OTHER = "others"
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|/\S+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\d+(?:\.\d+)?")
"""What differs from file to file in sentences that say the same."""


@dataclass(slots=True)
class MessageCounts:
    """Counts sentences by what they have in common; more of them take no more room."""

    _counts: Counter[str] = field(default_factory=Counter)
    _first: dict[str, tuple[str, Path | None]] = field(default_factory=dict)

    def add(self, why: str, path: Path) -> None:
        """Count what was said of a file."""
        kind = _PARTICULAR.sub("…", why)
        is_other = kind not in self._counts and len(self._counts) >= _MOST_KINDS
        if is_other:
            kind = _OTHER
        self._counts[kind] += 1
        self._first.setdefault(kind, (_OTHER, None) if is_other else (why, path))

    def counts(self) -> dict[str, int]:
        """Return the first sentence of each kind with how many there are, the most frequent first.

        Beyond a bound, kinds are counted together as `others`.
        """
        return {self._first[kind][0]: count for kind, count in self._counts.most_common()}

    def files(self) -> dict[str, str]:
        """Return the file that each of those sentences was said of."""
        return {why: path_text(path) for why, path in self._first.values() if path}


def path_text(path: Path) -> str:
    """Return a path as text that JSON can hold."""
    return os.fsencode(path).decode("utf-8", errors="replace")


_SLOWEST = 10
_NO_REASON = "no reason given"
_NOT_WRITTEN = (WriteStatus.REFUSED, WriteStatus.FAILED)


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
    errors: MessageCounts = field(default_factory=MessageCounts)
    unwritten: MessageCounts = field(default_factory=MessageCounts)
    spent: Counter[str] = field(default_factory=Counter)
    _times: Counter[Stage] = field(default_factory=Counter)
    _seconds: dict[Stage, float] = field(default_factory=dict)
    _requests: dict[str, int] = field(default_factory=dict)
    _slowest: list[tuple[float, str]] = field(default_factory=list)

    def gathered(self, album: AlbumResult) -> None:
        """Take note of what an album cost; a process counts from its beginning."""
        if album.worker:
            known = self._requests.get(album.worker, 0)
            self._requests[album.worker] = max(known, album.requests)
            self.spent["musicbrainz_requests"] = sum(self._requests.values())

    def finished(
        self, settled: FileOutcome, told: WriteReport | None, write_s: float = 0.0
    ) -> None:
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
            self._rank(sum(seconds.values()), path_text(settled.path))

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

    def _count(self, settled: FileOutcome) -> None:
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

    def _tag(self, told: WriteReport) -> None:
        self.tags[told.status] += 1
        if told.status in _NOT_WRITTEN:
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


def _is_folder(settled: FileOutcome) -> bool:
    """Say whether this is what could not be found in a folder, and no file."""
    return (
        settled.decision.cause is Cause.FILE
        and settled.kept is None
        and os.path.isdir(settled.path)  # noqa: PTH112 - a path of any bytes
    )


_PREFIX = "canon_batch"
_MAKERS = ("rules", "llm", "override")
_SPENT = {
    "musicbrainz_requests": "Requests to MusicBrainz, tries that came to nothing among them.",
    "model_runs": "Open cases that a model looked into.",
    "model_replies": "Replies of the model.",
    "prompt_tokens": "Tokens that the model read.",
    "completion_tokens": "Tokens that the model wrote.",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with its samples; where there is no label, `samples` has one of the name ''."""

    name: str
    kind: str
    about: str
    samples: Mapping[str, float]
    label: str = ""

    def lines(self) -> Iterator[str]:
        """Yield its lines of Prometheus text."""
        name = f"{_PREFIX}_{self.name}"
        yield f"# HELP {name} {_escaped(self.about)}"
        yield f"# TYPE {name} {self.kind}"
        for value, number in self.samples.items():
            labels = f'{{{self.label}="{_escaped(value, quotes=True)}"}}' if self.label else ""
            yield f"{name}{labels} {number!r}"


def prometheus_text(run: KeptRun, found: Measures) -> str:
    """Return the metrics of a batch; counters begin at 0 with each run.

    `canon_batch_end_time_seconds` and `canon_batch_exit_status` are there once it has ended.
    """
    return "".join(f"{line}\n" for metric in metrics(run, found) for line in metric.lines())


def metrics_json(run: KeptRun, found: Measures) -> bytes:
    """Return the same as one JSON object: times, status, and the fields of `Measures`."""
    about = {
        "run": run.id,
        "started_at_utc": run.started_at_utc,
        "ended_at_utc": run.ended_at_utc,
        "status": run.status,
    }
    return msgspec.json.encode(about | msgspec.structs.asdict(found))


def metrics(run: KeptRun, found: Measures) -> Iterator[Metric]:
    """Yield every metric; one that is counted by a fixed set of names has all of them."""
    yield Metric("info", "gauge", "Which run this is.", {run.id: 1}, "run")
    yield from _times(run, found)
    states = dict.fromkeys(map(str, State), 0) | dict(found.states)
    yield Metric(
        "files_total",
        "counter",
        "Files, by how they ended; an error may be a folder's.",
        states,
        "state",
    )
    yield _one("files_resumed_total", "Files that an earlier run had settled.", found.resumed)
    makers = dict.fromkeys(_MAKERS, 0) | dict(found.decided_by)
    yield _counter("decisions_total", "Decisions, by who made them.", makers, "by")
    yield _counter("rules_total", "Decisions, by rule.", found.rules, "rule")
    yield _counter("tags_total", "Files, by what became of their tags.", found.tags, "fate")
    causes = dict.fromkeys(map(str, Cause), 0) | dict(found.causes)
    yield _counter("errors_total", "Files that failed, by cause.", causes, "cause")
    stages = {str(stage): found.stages.get(stage) for stage in Stage}
    counts = {name: cost.files if cost else 0 for name, cost in stages.items()}
    yield _counter("stage_files_total", "Files that went through a stage.", counts, "stage")
    taken = {name: cost.seconds if cost else 0.0 for name, cost in stages.items()}
    about = "Seconds that files took in a stage, all threads together."
    yield _counter("stage_seconds_total", about, taken, "stage")
    for name, about in _SPENT.items():
        yield _one(f"{name}_total", about, found.spent.get(name, 0))


def _times(run: KeptRun, found: Measures) -> Iterator[Metric]:
    times = {"start": run.started_at_utc, "end": run.ended_at_utc}
    for name, moment in times.items():
        if moment:
            about = f"When the run {'began' if name == 'start' else 'ended'}, in Unix time."
            since = datetime.fromisoformat(moment).timestamp()
            yield Metric(f"{name}_time_seconds", "gauge", about, {"": since})
    yield Metric("duration_seconds", "gauge", "How long it went on.", {"": found.seconds})
    if run.status is not None:
        about = "Exit status: 0 all decided, 3 some left open, 1 some failed, 130 interrupted."
        yield Metric("exit_status", "gauge", about, {"": run.status})


def _one(name: str, about: str, count: float) -> Metric:
    return Metric(name, "counter", about, {"": count})


def _counter(name: str, about: str, samples: Mapping[str, float], label: str) -> Metric:
    return Metric(name, "counter", about, samples, label)


def _escaped(text: str, *, quotes: bool = False) -> str:
    escaped = text.replace("\\", r"\\").replace("\n", r"\n")
    return escaped.replace('"', r"\"") if quotes else escaped
