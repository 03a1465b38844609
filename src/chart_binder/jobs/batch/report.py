"""Count the results of a batch, and render them as metrics: Prometheus text (0.0.4) or JSON."""

import heapq
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from chart_binder.domain.records import Measures, RunRecord, SlowFile, StageCost
from chart_binder.files import path_text
from chart_binder.jobs.batch import AlbumResult
from chart_binder.jobs.decision import Cause, FileOutcome, Stage, State
from chart_binder.jobs.write import WriteReport, WriteStatus
from chart_binder.llm.result import AdjudicationResult, Outcome

_MAX_KINDS = 200
_OTHER = "others"
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|/\S+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\d+(?:\.\d+)?")
"""The parts of a message that differ from file to file."""
_SLOWEST = 10
_NO_REASON = "no reason given"
_NOT_WRITTEN = (WriteStatus.REFUSED, WriteStatus.FAILED)
_PREFIX = "canon_batch"
_COUNTS = (
    "files", "folders", "resumed", "unsaved", "states", "decided_by", "rules", "tags",
    "first_releases", "earlier", "certain_undecided", "years_proposed",
    "causes",
)  # fmt: skip
"""The counts of a `BatchTally` that are measures under the same name."""
_DECIDED_BY = ("rules", "llm", "override")
_Metric: TypeAlias = tuple[str, str, str, Mapping[str, float], str]
"""Name, kind, help, samples by the value of the label, and the label; both are '' without one."""
_SPENT = {
    "musicbrainz_requests": "Requests to MusicBrainz, including failed attempts.",
    "model_runs": "Open cases that a model was asked about.",
    "model_replies": "Replies of the model.",
    "prompt_tokens": "Tokens that the model read.",
    "completion_tokens": "Tokens that the model wrote.",
}


@dataclass(slots=True)
class MessageCounts:
    """Counts messages that differ only in names, paths, ids and numbers as one kind.

    After `_MAX_KINDS` kinds, all further ones count as `others`.
    """

    _counts: Counter[str] = field(default_factory=Counter)
    _first: dict[str, tuple[str, Path | None]] = field(default_factory=dict)

    def add(self, message: str, path: Path) -> None:
        """Count a message about a file."""
        kind = _PARTICULAR.sub("…", message)
        is_other = kind not in self._counts and len(self._counts) >= _MAX_KINDS
        if is_other:
            kind = _OTHER
        self._counts[kind] += 1
        self._first.setdefault(kind, (_OTHER, None) if is_other else (message, path))

    def counts(self) -> dict[str, int]:
        """Return the first message of each kind with its count, the most frequent first."""
        return {self._first[kind][0]: count for kind, count in self._counts.most_common()}

    def files(self) -> dict[str, str]:
        """Return the file that the first message of each kind was about."""
        return {message: path_text(path) for message, path in self._first.values() if path}


@dataclass(slots=True)
class BatchTally:
    """Counts finished files in bounded memory; most names are those of `Measures`.

    `worked` counts the files that needed work: a resumed one only if its tags are read.
    """

    started: float = field(default_factory=time.monotonic)
    files: int = 0
    folders: int = 0
    resumed: int = 0
    unsaved: int = 0
    worked: int = 0
    states: Counter[str] = field(default_factory=Counter)
    decided_by: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    first_releases: Counter[str] = field(default_factory=Counter)
    earlier: int = 0
    certain_undecided: int = 0
    years_proposed: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    errors: MessageCounts = field(default_factory=MessageCounts)
    unwritten: MessageCounts = field(default_factory=MessageCounts)
    spent: Counter[str] = field(default_factory=Counter)
    _stage_files: Counter[Stage] = field(default_factory=Counter)
    _stage_seconds: dict[Stage, float] = field(default_factory=lambda: dict.fromkeys(Stage, 0.0))
    _requests: dict[str, int] = field(default_factory=dict)
    _slowest: list[tuple[float, str]] = field(default_factory=list)

    def add_album(self, album: AlbumResult) -> None:
        """Count the requests for an album; each process reports its total since its start."""
        if album.worker:
            earlier = self._requests.get(album.worker, 0)
            self._requests[album.worker] = max(earlier, album.requests)
            self.spent["musicbrainz_requests"] = sum(self._requests.values())

    def add_file(
        self, outcome: FileOutcome, report: WriteReport | None, write_s: float = 0.0
    ) -> None:
        """Count a finished file, with the report on its tags if they were read."""
        self._count(outcome)
        self.unsaved += outcome.is_unsaved
        if report:
            self.tags[report.status] += 1
            if not report.in_review and (report.status in _NOT_WRITTEN or report.withheld):
                self.unwritten.add(report.why or report.withheld or _NO_REASON, report.path)
        if outcome.is_resumed:
            self.resumed += 1
            if not report:
                return
        self.worked += 1
        if not (outcome.is_resumed or outcome.is_answered_before):
            self._spend(outcome.decision.model_answer)
        seconds = {**outcome.seconds, **({Stage.WRITE: write_s} if report else {})}
        self._stage_files.update(seconds.keys())
        for stage, duration in seconds.items():
            self._stage_seconds[stage] += duration
        if seconds:
            heapq.heappush(self._slowest, (sum(seconds.values()), path_text(outcome.path)))
            if len(self._slowest) > _SLOWEST:
                heapq.heappop(self._slowest)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started

    @property
    def rate(self) -> float:
        """The number of files a second that needed work."""
        return self.worked / max(self.seconds, 0.001)

    def measures(self) -> Measures:
        """Return the present counts."""
        counts: dict[str, Any] = {name: getattr(self, name) for name in _COUNTS}
        for name, counter in counts.items():
            if isinstance(counter, Counter):
                counts[name] = {str(key): count for key, count in counter.most_common()}
        return Measures(
            **counts,
            seconds=round(self.seconds, 3),
            errors=self.errors.counts(),
            unwritten=self.unwritten.counts(),
            examples=self.errors.files() | self.unwritten.files(),
            spent=dict(self.spent),
            stages={
                stage.value: StageCost(files, round(self._stage_seconds[stage], 3))
                for stage in Stage
                if (files := self._stage_files[stage])
            },
            slowest=tuple(
                SlowFile(path, round(duration, 3))
                for duration, path in sorted(self._slowest, reverse=True)
            ),
        )

    def _count(self, outcome: FileOutcome) -> None:
        decision = outcome.decision
        is_unreadable = decision.cause is Cause.FILE and outcome.stored is None
        is_folder = is_unreadable and os.path.isdir(outcome.path)  # noqa: PTH112 - of any bytes
        self.folders += is_folder
        self.files += not is_folder
        self.states[decision.state] += 1
        if decision.decided_by and decision.state is State.DECIDED:
            self.decided_by[decision.decided_by] += 1
        if decision.crg_rule:
            self.rules[decision.crg_rule] += 1
        if first := decision.first_release:
            self.first_releases["certain" if first.year_certain else "uncertain"] += 1
            is_open = decision.state in (State.UNDECIDED, State.REVIEW)
            self.certain_undecided += first.year_certain and is_open
            tagged = outcome.tagged_year
            self.earlier += first.year_certain and tagged is not None and first.year < tagged
        answer = decision.year_answer
        if answer and answer.outcome is Outcome.REVIEW and not outcome.is_resumed:
            self.years_proposed += any(fact.verified for fact in answer.facts)
        if decision.cause:
            self.causes[decision.cause] += 1
        if decision.failure and not outcome.is_resumed:  # the earlier run reported it
            self.errors.add(decision.failure, outcome.path)

    def _spend(self, result: AdjudicationResult | None) -> None:
        if result is None:
            return
        self.spent["model_runs"] += 1
        self.spent["model_replies"] += result.iterations
        if result.usage:
            self.spent["prompt_tokens"] += result.usage.prompt_tokens or 0
            self.spent["completion_tokens"] += result.usage.completion_tokens or 0


def prometheus_text(run: RunRecord, measures: Measures) -> str:
    """Return the metrics of a batch; its end and exit status are absent until it has ended."""
    lines = []
    for name, kind, text, samples, label in _metrics(run, measures):
        lines += [f"# HELP {_PREFIX}_{name} {_escaped(text)}", f"# TYPE {_PREFIX}_{name} {kind}"]
        for value, number in samples.items():
            labels = f'{{{label}="{_escaped(value, quotes=True)}"}}' if label else ""
            lines.append(f"{_PREFIX}_{name}{labels} {number!r}")
    return "".join(f"{line}\n" for line in lines)


def metrics_json(run: RunRecord, measures: Measures) -> bytes:
    """Return the metrics as a JSON object: times, exit status, and the fields of `Measures`."""
    fields = {
        "run": run.id,
        "started_at_utc": run.started_at_utc,
        "ended_at_utc": run.ended_at_utc,
        "status": run.status,
    }
    return msgspec.json.encode(fields | msgspec.structs.asdict(measures))


def _metrics(run: RunRecord, measures: Measures) -> Iterator[_Metric]:
    """Yield every metric; a label with a fixed set of values has a sample for each of them."""
    yield "info", "gauge", "Which run this is.", {run.id: 1}, "run"
    yield from _run_metrics(run, measures)
    states = dict.fromkeys(map(str, State), 0) | dict(measures.states)
    decided_by = dict.fromkeys(_DECIDED_BY, 0) | dict(measures.decided_by)
    causes = dict.fromkeys(map(str, Cause), 0) | dict(measures.causes)
    costs = {str(stage): measures.stages.get(stage, StageCost(0, 0.0)) for stage in Stage}
    files = {name: cost.files for name, cost in costs.items()}
    seconds = {name: cost.seconds for name, cost in costs.items()}
    years = dict.fromkeys(("certain", "uncertain"), 0) | dict(measures.first_releases)
    earlier = {"": measures.earlier}
    took = "Seconds that files took in a stage, all threads together."
    counters: tuple[tuple[str, str, Mapping[str, float], str], ...] = (
        ("files", "Files, by how they ended; an error may be a folder's.", states, "state"),
        ("files_resumed", "Files resumed from an earlier run.", {"": measures.resumed}, ""),
        ("decisions", "Decisions, by who made them.", decided_by, "by"),
        ("rules", "Decisions, by rule.", measures.rules, "rule"),
        ("first_releases", "Files, by whether their first year is certain.", years, "year"),
        (
            "earlier",
            "Files whose first year is certain and before the year in their tags.",
            earlier,
            "",
        ),
        ("tags", "Files, by what became of their tags.", measures.tags, "fate"),
        ("errors", "Files that failed, by cause.", causes, "cause"),
        ("stage_files", "Files that went through a stage.", files, "stage"),
        ("stage_seconds", took, seconds, "stage"),
        *((name, text, {"": measures.spent.get(name, 0)}, "") for name, text in _SPENT.items()),
    )
    for name, text, samples, label in counters:
        yield f"{name}_total", "counter", text, samples, label


def _run_metrics(run: RunRecord, measures: Measures) -> Iterator[_Metric]:
    moments = (("start", "began", run.started_at_utc), ("end", "ended", run.ended_at_utc))
    for name, verb, moment in moments:
        if moment:
            since = datetime.fromisoformat(moment).timestamp()
            text = f"When the run {verb}, in Unix time."
            yield f"{name}_time_seconds", "gauge", text, {"": since}, ""
    yield "duration_seconds", "gauge", "How long the run has taken.", {"": measures.seconds}, ""
    if run.status is not None:
        text = "Exit status: 0 all decided, 3 some left open, 1 some failed, 130 interrupted."
        yield "exit_status", "gauge", text, {"": run.status}, ""


def _escaped(text: str, *, quotes: bool = False) -> str:
    escaped = text.replace("\\", r"\\").replace("\n", r"\n")
    return escaped.replace('"', r"\"") if quotes else escaped
