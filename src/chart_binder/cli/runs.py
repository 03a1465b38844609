"""`canon runs` and `canon report`: what earlier calls did and cost, and what the library holds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import click
import msgspec

from chart_binder.cli import options, output
from chart_binder.cli.batch_text import (
    LABEL_WIDTH,
    UNMATCHED,
    headline,
    measure_lines,
    next_call,
    summary_line,
)
from chart_binder.cli.tag_text import WORDS
from chart_binder.domain.records import Measures, RunRecord, WriteState, local_time
from chart_binder.errors import CanonError, counted
from chart_binder.files import decode_json, path_text
from chart_binder.jobs.batch.report import metrics_json, prometheus_text
from chart_binder.jobs.decision import State

if TYPE_CHECKING:
    from chart_binder.store import Store


from chart_binder.cli.listing import QueryCommand, query_argument
from chart_binder.domain.records import now_utc
from chart_binder.errors import UsageError
from chart_binder.jobs.library import library_figures
from chart_binder.jobs.listing import listing, read_query

_OUTCOMES = {state: state for state in map(str, State)} | WORDS
_ENDED = {0: "complete", 1: "some failed", 2: "bad usage", 3: "some need you", 130: "interrupted"}
_COLUMNS = (20, 16, 11, 13)
_GAP = "  "
_CUT_SHORT = (None, 130)
_NOT_TRIED_AGAIN = (*UNMATCHED, "not_looked_up", "file")
_WRITES = {
    WriteState.DONE: "written",
    WriteState.UNDONE: "taken back",
    WriteState.FAILED: "not written",
    WriteState.INTENDED: "interrupted: the next run that writes checks the file",
}
_OF_UNDO = _WRITES | {
    WriteState.DONE: "put back",
    WriteState.UNDONE: "written again",
    WriteState.FAILED: "not put back",
}


@options.group("runs")
def runs() -> None:
    """See what earlier calls did: how they ended, what they cost, and how to continue them."""


@runs.command("list")
@options.option("--command NAME", "Only runs of this command: batch, write.")
@options.option("--limit N", "List at most this many (20).", type=click.IntRange(1), default=20)
@options.pass_session
def list_runs(session: options.Session, command: str | None, limit: int) -> int:
    """List the runs, the newest first; times are local.

    A run without an end is still going on, or was killed.

    Exit status: 0 success, or 1 if the stored record of a run is damaged.
    """
    skipped = output.SkippedRecords()
    with session.open_store() as store:
        records = store.runs.newest(limit, command, skipped.record)
    # The measures are needed only for the time of a run that has no end.
    summaries = [
        RunSummary.of(run, None if run.ended_at_utc else _measures(run, skipped)) for run in records
    ]
    of_command = f" of `canon {path_text(command)}`" if command else ""
    if not session.as_json:
        output.print_lines([LIST_HEADER if summaries else f"no runs{of_command} are stored"])
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

    Exit status: 0 success, or 1 if the stored record of its cost is damaged.
    """
    skipped = output.SkippedRecords()
    with session.open_store() as store:
        record = _run_named(store, run)
        write_counts = store.journal.counts(record.id)
        decisions = store.decisions.count_of_run(record.id)
    measures = _measures(record, skipped)
    if metrics:
        if measures is None:
            raise CanonError(f"the run {record.id} has no metrics: only `canon batch` takes them")
        as_json = metrics == "json"
        text = metrics_json(record, measures) if as_json else prometheus_text(record, measures)
        click.echo(text, nl=as_json)
        return 0
    summary = RunSummary.of(record, measures)
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


def _measures(run: RunRecord, skipped: output.SkippedRecords) -> Measures | None:
    """Return the cost of a run, if it is known; report it if it is damaged."""
    try:
        return decode_json(run.measures, Measures) if run.measures is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        skipped.record(f"what the run {run.id} cost cannot be read: {error}")
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
        words = self.run.command.split()
        program = () if words[0] == "beet" else ("canon",)
        return output.shell_call(*program, *words, *self.run.arguments)

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
    yield f"{'command':<{LABEL_WIDTH}}  {summary.call}"  # to be copied as a whole
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
    yield from summary_line("stored", counted(decisions, "decision") if decisions else "")
    is_undo = run.command == "undo"
    yield from summary_line("tags now", output.count_text(writes, _OF_UNDO if is_undo else _WRITES))
    call = f"canon undo {run.id}" if writes.get(WriteState.DONE) else ""
    yield from summary_line("write again" if is_undo else "undo", call)


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
    stages = output.table(rows)
    yield from output.labelled_list("stages", stages, LABEL_WIDTH + 1, 0)
    label = "slowest"
    for file in measures.slowest:
        yield f"{label:<{LABEL_WIDTH}}  {file.seconds:>7,.1f} s  {path_text(file.path)}"
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


_FILES_OF_A_FIGURE = 50


@click.command("report", cls=QueryCommand)
@query_argument
@options.option("--html FILE", "The page; - is standard output.", type=options.PATH)
@options.pass_session
def report(session: options.Session, query: tuple[str, ...], html: str | None) -> int:
    """Write a page of plots about the decisions that match a QUERY (see `canon ls`), or about all.

    It shows how many tracks are older than their album, by decade of the first release and by
    how many years, what decided, and what is open and why. The page is one file and needs no
    server. Each number leads to at most 50 of its files, and to the command that lists all. --json
    prints the numbers, each with the query that lists its files; then --html is not needed.

    Exit status: 0 success, 1 a record of the store is damaged or FILE cannot be written, 2 bad
    usage.
    """
    if html is None and not session.as_json:
        raise UsageError("name the page with --html FILE, or print the numbers with --json")
    if html == "-" and session.as_json:
        raise UsageError("--html - and --json both print on standard output: leave out one of them")
    if html is not None:
        options.refuse_audio_file("--html", html)
    parsed_query, skipped = read_query(query), output.SkippedRecords()
    with session.open_store() as store:
        rows = listing(store, parsed_query, skipped.decision)
        figures, lists = library_figures(rows, parsed_query, _FILES_OF_A_FIGURE if html else 0)
    if html is not None:
        from chart_binder.pages.figures import report_page

        page = report_page(figures, lists, local_time(now_utc())).encode("utf-8", "replace")
        output.write_file(None if html == "-" else html, page)
        count = counted(figures.files.count, "file")
        output.print_notes([f"{path_text(html)}: a page about {count}"] if html != "-" else [])
    if session.as_json:
        output.print_json(figures)
    return skipped.status
