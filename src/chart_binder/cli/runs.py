"""`canon runs`: what earlier calls did and cost; and the results of a batch as text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import click
import msgspec

from chart_binder.cli import options, output
from chart_binder.cli.decision_text import decision_object
from chart_binder.cli.tag_text import WORDS
from chart_binder.domain.records import Measures, RunRecord, WriteState, local_time
from chart_binder.errors import CanonError, counted
from chart_binder.files import decode_json, path_text
from chart_binder.jobs.batch.report import metrics_json, prometheus_text
from chart_binder.jobs.decision import WAITING_STATES, State

if TYPE_CHECKING:
    from chart_binder.batch import BatchResult, FileResult
    from chart_binder.store import Store

_LABEL_WIDTH = 13
_STATES = {
    "error": "",
    "review": ", a proposal waits",
    "undecided": ", a fact is missing (`canon review` shows which)",
    "unmatched": ", no recording was found",
    "unreadable": ", no audio that can be read",
    "decided": "",
}
"""What follows the count of each state, in the order of what needs doing."""
_OUTCOMES = {state: state for state in map(str, State)} | WORDS
_DECIDED_BY = {"rules": "by rules", "llm": "by a model", "override": "by a person"}
_MAX_ERRORS, _MAX_UNWRITTEN = 10, 3
_SPENT = {
    "musicbrainz_requests": ("request to MusicBrainz", "requests to MusicBrainz"),
    "model_runs": ("case for the model", "cases for the model"),
    "model_replies": ("reply of it", "replies of it"),
    "prompt_tokens": ("token read", "tokens read"),
    "completion_tokens": ("token written", "tokens written"),
}

_ENDED = {0: "complete", 1: "some failed", 2: "bad usage", 3: "some wait", 130: "interrupted"}
_COLUMNS = (20, 16, 11, 11)
_GAP = "  "
_CUT_SHORT = (None, 130)
_CAUSES = {"file": "cannot be read"}
_UNMATCHED = ("nothing_found", "unidentified")
_SERVICES = {"lookup_failed", "model"}
_MAY_SUCCEED_LATER = (*_SERVICES, "store")
_NOT_TRIED_AGAIN = (*_UNMATCHED, "not_looked_up", "file")
_WRITES = {
    WriteState.DONE: "written",
    WriteState.UNDONE: "taken back",
    WriteState.FAILED: "not written",
    WriteState.INTENDED: "cut short: the next run that writes looks into it",
}


@options.group("runs")
def runs() -> None:
    """Look at what earlier calls did: how they ended, what they cost, how to go on."""


@runs.command("list")
@options.option("--command NAME", "Only runs of this command: batch, write.", into="named")
@options.option("--limit N", "List at most this many (20).", type=click.IntRange(1), default=20)
@options.pass_session
def list_runs(session: options.Session, named: str | None, limit: int) -> int:
    """List the runs, the newest first; times are local.

    A run without an end is still going on, or was killed.

    Exit status: 0, or 1 if the stored record of a run is damaged.
    """
    skipped = output.SkippedRecords()
    with session.open_store() as store:
        records = store.runs.newest(limit, named, skipped.record)
    # The measures are needed only for the time of a run that has no end.
    summaries = [
        RunSummary.of(run, None if run.ended_at_utc else _measures(run, skipped.record))
        for run in records
    ]
    of = f" of `canon {path_text(named)}`" if named else ""
    if not session.as_json:
        output.print_lines([LIST_HEADER if summaries else f"no runs{of} are stored"])
    for summary in summaries:
        session.show(_summary_object(summary), list_lines(summary))
    newest = output.canon_call("runs", "show", records[0].id) if records else "canon decide FOLDER"
    output.print_next(newest)
    return skipped.status


@runs.command("show")
@click.argument("run", required=False)
@options.option(
    "--metrics", "Print the metrics of a batch instead.", type=click.Choice(["prometheus", "json"])
)
@options.pass_session
def show(session: options.Session, run: str | None, metrics: str | None) -> int:
    """Show the last run, or the one whose id is or begins with RUN.

    Exit status: 0, or 1 if the stored record of its cost is damaged.
    """
    skipped = output.SkippedRecords()
    with session.open_store() as store:
        record = _run_named(store, run)
        write_counts = store.journal.counts(record.id)
        decisions = store.decisions.count_of_run(record.id)
    if metrics:
        measures = _measures(record)
        if measures is None:
            raise CanonError(f"the run {record.id} has no metrics: only `canon batch` takes them")
        as_json = metrics == "json"
        text = metrics_json(record, measures) if as_json else prometheus_text(record, measures)
        click.echo(text, nl=as_json)
        return 0
    summary = RunSummary.of(record, _measures(record, skipped.record))
    writes = {state.value: write_counts[state] for state in WriteState if state in write_counts}
    details = {"measures": summary.measures, "decisions": decisions, "writes": writes}
    session.show(_summary_object(summary) | details, run_lines(summary, decisions, write_counts))
    output.print_next(_call_after(summary))
    return skipped.status


def _run_named(store: "Store", name: str | None) -> RunRecord:
    """Return the last run, or the one whose id is or begins with a name. Raises `CanonError`."""
    if name is None:
        if last := store.runs.latest():
            return last
        raise CanonError("no runs are stored; `canon decide FOLDER` makes the first one")
    exact = store.runs.get(name)
    matches = (exact,) if exact else store.runs.beginning_with(name.lower())
    if not matches:
        raise CanonError(f"there is no run {path_text(name)!r}; see `canon runs list`")
    if len(matches) > 1:
        ids = ", ".join(run.id for run in matches)
        raise CanonError(f"several runs begin with {path_text(name)!r}; the last are {ids}")
    return matches[0]


def _measures(run: RunRecord, damaged: Callable[[str], object] | None = None) -> Measures | None:
    """Return the cost of a run; report a damaged record to `damaged`, or raise `CanonError`."""
    try:
        return decode_json(run.measures, Measures) if run.measures is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = f"what the run {run.id} cost cannot be read: {error}"
        if damaged is None:
            raise CanonError(problem) from error
        damaged(problem)
        return None


def _summary_object(summary: "RunSummary") -> dict[str, object]:
    run = summary.run
    keys = ("id", "command", "arguments", "started_at_utc", "ended_at_utc", "status")
    return {key: getattr(run, key) for key in keys} | {
        "arguments": list(map(path_text, run.arguments)),
        "ended": summary.ended,
        "seconds": summary.seconds,
        "counts": run.counts,
    }


def file_result(file: "FileResult") -> dict[str, object]:
    """Return the JSON object of a file of a batch: that of `canon decide`, and more."""
    fields: dict[str, object] = dict(decision_object(file.decision))
    if file.resumed:
        fields["resumed"] = True
    if file.tags:
        why = file.tags.why or file.tags.withheld
        fields["tags"] = {"fate": file.tags.status.value, "why": why}
    return output.file_object(file.path, fields)


def log_fields(file: "FileResult") -> dict[str, object]:
    """Return the log fields of a finished file."""
    decision = file.decision
    fields = {
        "path": path_text(file.path),
        "state": decision.state.value,
        "first_release": decision.first_release.date if decision.first_release else None,
        "rule": decision.crg_rule,
        "crg_mbid": decision.crg_mbid,
        "error": decision.error,
        "tags": file.tags.status.value if file.tags else None,
        "resumed": file.resumed or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def summary_lines(result: "BatchResult", what_next: str, *, is_dry: bool) -> Iterator[str]:
    """Yield the summary of a batch; `what_next` says how a stopped one goes on."""
    measures = result.measures
    yield headline(measures)
    if result.stopped:
        yield f"stopped: {result.stopped}; {what_next}"
    yield from measure_lines(measures)
    if any(count > 1 for count in (*measures.errors.values(), *measures.unwritten.values())):
        yield from summary_line("", "(`--report FILE` has all of them)")
    if is_dry:
        yield from summary_line("run", "dry run: nothing was stored or written")
        return
    yield from summary_line("run", f"{result.run_id} (`canon runs show` has it all)")


def headline(measures: Measures) -> str:
    """Return the result of a run in a sentence: how many tracks are older than their tags say."""
    if not measures.files:
        return "no audio file was found"
    if measures.states.get("error") == measures.files:
        return "nothing was decided"
    tracks = counted(measures.files, "track")
    if measures.earlier == 1:
        return f"1 of {tracks} is older than its tags say"
    if measures.earlier:
        return f"{measures.earlier:,} of {tracks} are older than their tags say"
    is_one = measures.files == 1
    if measures.first_releases.get("certain"):
        return f"{tracks}, {'not' if is_one else 'none of them'} older than its tags say"
    return f"{tracks}, {'without' if is_one else 'none of them with'} a certain first year"


def next_call(measures: Measures, paths: Sequence[str]) -> str:
    """Return the next command: write the tags of `paths`, or review what waits.

    If services failed for half of the files, `doctor` comes before both.
    """
    failed = sum(measures.causes.get(cause, 0) for cause in _SERVICES)
    if failed and 2 * failed >= measures.files:
        return output.canon_call("doctor")
    if measures.earlier and paths and not measures.tags:
        return output.canon_call("write", *paths)
    if (
        measures.tags.get("refused")
        or measures.years_proposed
        or any(map(measures.states.get, WAITING_STATES))
    ):
        return output.canon_call("review")
    return output.canon_call("doctor") if failed else ""


def measure_lines(measures: Measures) -> Iterator[str]:
    """Yield the result of a run: states in the order of what needs doing, failures, tags, costs."""
    for state, words in _STATES.items():
        if count := measures.states.get(state):
            note = _about_errors(measures) if state == "error" else words
            if state == "decided" and len(measures.decided_by) > 1:
                note = f" ({output.count_text(measures.decided_by, _DECIDED_BY)})"
            yield from summary_line(state, f"{count:,}{note}")
    certain = f"{measures.first_releases.get('certain', 0):,} of a certain year"
    if measures.certain_undecided:
        certain += f" ({measures.certain_undecided:,} of them undecided between release groups)"
    if count := measures.first_releases.get("uncertain"):
        certain += f", {count:,} of an uncertain one"
    if measures.years_proposed:
        certain += f"; {measures.years_proposed:,} proposed by a model, for you to accept"
    yield from summary_line("first release", certain if measures.first_releases else "")
    yield from summary_line("tags", output.count_text(measures.tags, WORDS))
    yield from _reasons("not written", measures, measures.unwritten, _MAX_UNWRITTEN)
    yield from summary_line("failures", output.count_text(_failures(measures), _CAUSES))
    yield from _reasons("reasons", measures, measures.errors, _MAX_ERRORS)
    yield from summary_line("files", _files_text(measures) if measures.files else "")
    spent = (counted(count, *_SPENT.get(name, (name, name)))
             for name, count in measures.spent.items() if count)  # fmt: skip
    yield from summary_line("spent", ", ".join(spent))


def _failures(measures: Measures) -> Mapping[str, int]:
    """Return the causes of errors, without those of unmatched and unreadable files."""
    counts = {name: count for name, count in measures.causes.items() if name not in _UNMATCHED}
    if counts.keys() == {"file"} and len(measures.errors) == 1:
        return {}  # the reason says it
    if "file" in counts:
        counts["file"] -= measures.states.get(State.UNREADABLE, 0)
    return {name.replace("_", " "): count for name, count in counts.items() if count > 0}


def _files_text(measures: Measures) -> str:
    files = f"{measures.files:,} in {output.duration(measures.seconds)}"
    if measures.seconds > 1 and measures.files:
        files += f", {output.rate_text(measures.files / measures.seconds)}"
    if measures.resumed:
        files += f", {measures.resumed:,} unchanged since an earlier run"
    if measures.unsaved:
        files += f", {measures.unsaved:,} with an earlier decision"
    return files


def _about_errors(measures: Measures) -> str:
    later = sum(measures.causes.get(cause, 0) for cause in _MAY_SUCCEED_LATER)
    folders = counted(measures.folders, "folder") if measures.folders else ""
    return (f"; {later:,} may succeed later" if later else "") + (
        f"; {folders} among them, which files do not count" if folders else ""
    )


def _reasons(label: str, measures: Measures, counts: Mapping[str, int], most: int) -> Iterator[str]:
    texts = []
    for why, count in list(counts.items())[:most]:
        path = measures.examples.get(why)
        where = "" if path is None or PurePath(path).name in why else f"{path}: "
        alike = f" (and {counted(count - 1, 'other')} alike)" if count > 1 else ""
        texts.append(f"{where}{why}{alike}")
    if len(counts) > most:
        texts.append(f"and {counted(len(counts) - most, 'other kind')}")
    yield from output.labelled_list(label, texts, _LABEL_WIDTH + 1, 0)


summary_line = partial(output.labelled, width=_LABEL_WIDTH + 1, indent=0)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run with how it ended in words, and its time in seconds if that is known."""

    run: RunRecord
    measures: Measures | None
    ended: str
    seconds: float | None

    @classmethod
    def of(cls, run: RunRecord, measures: Measures | None) -> "RunSummary":
        """Return the summary of a run and its measures, if they are known."""
        if run.ended_at_utc is None or run.status is None:
            return cls(run, measures, "no end", measures.seconds if measures else None)
        begun, ended = map(datetime.fromisoformat, (run.started_at_utc, run.ended_at_utc))
        words = _ENDED.get(run.status, f"status {run.status}")
        return cls(run, measures, words, (ended - begun).total_seconds())

    @property
    def call(self) -> str:
        """The command with its arguments, quoted for a shell."""
        return output.canon_call(*self.run.command.split(), *self.run.arguments)

    @property
    def has_no_end(self) -> bool:
        """Whether the run was killed, interrupted or stopped, or is still going on."""
        stopped = self.measures.stopped if self.measures else None
        return stopped is not None or self.run.status in _CUT_SHORT


LIST_HEADER = _GAP.join(map(output.fit, ("RUN", "STARTED", "TOOK", "ENDED"), _COLUMNS)).rstrip()


def list_lines(summary: RunSummary) -> Iterator[str]:
    """Yield a row of columns, then the files and the command, cut at the terminal's edge."""
    run = summary.run
    took = "" if summary.seconds is None else output.duration(summary.seconds)
    cells = map(output.fit, (run.id, local_time(run.started_at_utc), took, summary.ended), _COLUMNS)
    yield _GAP.join(cells).rstrip()
    files = output.count_text(run.counts, _OUTCOMES)
    text = ": ".join(filter(None, (files, summary.call)))
    yield output.shortened(f"{_GAP}{text}", output.line_width())


def run_lines(
    summary: RunSummary, decisions: int, writes: Mapping[WriteState, int]
) -> Iterator[str]:
    """Yield a run in full, with the number of its decisions and its writes by state."""
    run = summary.run
    yield from summary_line("run", run.id)
    yield f"{'command':<{_LABEL_WIDTH}}  {summary.call}"  # to be copied as a whole
    yield from summary_line("started", local_time(run.started_at_utc))
    yield from summary_line("ended", _end(summary))
    if summary.measures:
        yield from summary_line("stopped", summary.measures.stopped or "")
        yield from summary_line("result", headline(summary.measures))
        yield from measure_lines(summary.measures)
        rules = {name.removeprefix("CRG:"): count for name, count in summary.measures.rules.items()}
        yield from summary_line("rules", output.count_text(rules, {}))
        yield from _costs(summary.measures)
    else:
        yield from summary_line("files", output.count_text(run.counts, _OUTCOMES))
    yield from summary_line("kept", counted(decisions, "decision") if decisions else "")
    yield from summary_line("journal", output.count_text(writes, _WRITES))
    yield from summary_line("undo", f"canon undo {run.id}" if writes.get(WriteState.DONE) else "")


def _end(summary: RunSummary) -> str:
    run, took = summary.run, output.duration(summary.seconds or 0)
    if run.ended_at_utc is None:
        last = f"; it was last seen {took} after its start" if summary.seconds else ""
        return f"it is still going on, or was killed{last}"
    after = f", after {took}" if summary.seconds is not None else ""
    return f"{local_time(run.ended_at_utc)}{after}: {summary.ended} (exit status {run.status})"


def _costs(measures: Measures) -> Iterator[str]:
    rows = []
    for name, cost in measures.stages.items():
        mean = f"{cost.seconds / cost.files * 1000:,.1f} ms each" if cost.files else ""
        rows.append((name, counted(cost.files, "file ", "files"), f"{cost.seconds:,.1f} s", mean))
    stages = output.table(rows, has_head=False)
    yield from output.labelled_list("stages", stages, _LABEL_WIDTH + 1, 0)
    label = "slowest"
    for file in measures.slowest:
        yield f"{label:<{_LABEL_WIDTH}}  {file.seconds:>7,.1f} s  {path_text(file.path)}"
        label = ""


def _call_after(summary: RunSummary) -> str:
    """Return the next step after a batch: the same call if files are left."""
    run, measures = summary.run, summary.measures
    paths = [argument for argument in run.arguments if not argument.startswith("-")]
    if run.command != "batch" or not paths:
        return ""
    has_failures = measures and any(cause not in _NOT_TRIED_AGAIN for cause in measures.causes)
    if summary.has_no_end or has_failures:
        return summary.call
    return next_call(measures, paths) if measures else ""
