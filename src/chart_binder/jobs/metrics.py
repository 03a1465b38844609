"""What a batch came to, for monitoring: as Prometheus text, or as JSON.

The text is the exposition format 0.0.4:
https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from chart_binder.domain.kept import KeptRun
from chart_binder.domain.measures import Measures
from chart_binder.jobs.batch.work import Stage
from chart_binder.jobs.decision import Cause, State

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
