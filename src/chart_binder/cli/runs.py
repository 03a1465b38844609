"""`canon runs`: what earlier calls did, cost and left undone."""

from typing import TYPE_CHECKING

import click
import msgspec

from chart_binder.cli.options import Session, group, pass_session
from chart_binder.cli.output import SkippedRecords, print_lines
from chart_binder.cli.render.run import RunSummary, list_header, list_lines, run_lines
from chart_binder.domain.records import Measures, RunRecord, WriteState
from chart_binder.errors import CanonError
from chart_binder.files import path_text
from chart_binder.jobs.batch.report import metrics_json, prometheus_text
from chart_binder.typed_json import decode_json

if TYPE_CHECKING:
    from chart_binder.store.store import Store


@group("runs")
def runs() -> None:
    """Look at what earlier calls did: how they ended, what they cost, how to go on."""


@runs.command("list")
@click.option("--command", "named", metavar="NAME", help="Only runs of this command: batch, write.")
@click.option("--limit", type=click.IntRange(1), default=20, help="How many (20).")
@pass_session
def list_runs(session: Session, named: str | None, limit: int) -> int:
    """List the runs, the newest first; times are in UTC.

    A run without an end still goes on, or was killed.

    Exit status: 0, or 1 where a run cannot be read whole, for the store's record is damaged.
    """
    skipped = SkippedRecords()
    with session.open_store() as store:
        found = store.runs.newest(limit, named, skipped.record)
    # The measures are needed only for the time of a run that has no end.
    summaries = [
        RunSummary.of(run, None if run.ended_at_utc else _readable_measures(run, skipped))
        for run in found
    ]
    of = f" of `canon {path_text(named)}`" if named else ""
    none = f"no runs{of} are kept: `canon decide`, `batch`, `write` and `undo` make some"
    if not session.as_json:
        print_lines(list_header() if summaries else [none])
    for summary in summaries:
        session.show(_summary_object(summary), list_lines(summary))
    return skipped.status


@runs.command("show")
@click.argument("run", required=False)
@click.option(
    "--metrics",
    type=click.Choice(["prometheus", "json"]),
    help="Print the metrics of a batch instead.",
)
@pass_session
def show(session: Session, run: str | None, metrics: str | None) -> int:
    """Show the last run, or one by its id or how that begins.

    Exit status: 0, or 1 where what it cost cannot be read, for the store's record is damaged.
    """
    skipped = SkippedRecords()
    with session.open_store() as store:
        found = _run_named(store, run)
        written = store.journal.counts(found.id)
        decisions = store.decisions.count_of_run(found.id)
    if metrics:
        measures = _measures(found)
        if measures is None:
            raise CanonError(f"the run {found.id} has no metrics: only `canon batch` takes them")
        as_json = metrics == "json"
        text = metrics_json(found, measures) if as_json else prometheus_text(found, measures)
        click.echo(text, nl=as_json)
        return 0
    summary = RunSummary.of(found, _readable_measures(found, skipped))
    writes = {state.value: written[state] for state in WriteState if state in written}
    more = {"measures": summary.measures, "decisions": decisions, "writes": writes}
    session.show(_summary_object(summary) | more, run_lines(summary, decisions, written))
    return skipped.status


def _run_named(store: "Store", name: str | None) -> RunRecord:
    """Return the last run, or the one whose id is or begins with a name. Raises `CanonError`."""
    if name is None:
        if last := store.runs.latest():
            return last
        raise CanonError("no runs are kept so far")
    exact = store.runs.get(name)
    found = (exact,) if exact else store.runs.beginning_with(name.lower())
    if not found:
        raise CanonError(f"no run {path_text(name)!r} is kept; see `canon runs list`")
    if len(found) > 1:
        ids = ", ".join(run.id for run in found)
        raise CanonError(f"several runs begin with {path_text(name)!r}: {ids} are the last of them")
    return found[0]


def _measures(run: RunRecord) -> Measures | None:
    """Return what a run cost, where that is stored. Raises `CanonError` for a damaged record."""
    try:
        return decode_json(run.measures, Measures) if run.measures is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CanonError(f"what the run {run.id} cost cannot be read: {error}") from error


def _readable_measures(run: RunRecord, skipped: SkippedRecords) -> Measures | None:
    """Return what a run cost; report a damaged record, for the rest of the run can be shown."""
    try:
        return _measures(run)
    except CanonError as error:
        skipped.record(str(error))
        return None


def _summary_object(summary: RunSummary) -> dict[str, object]:
    run = summary.run
    keys = ("id", "command", "arguments", "started_at_utc", "ended_at_utc", "status")
    return {key: getattr(run, key) for key in keys} | {
        "arguments": list(map(path_text, run.arguments)),
        "ended": summary.ended,
        "seconds": summary.seconds,
        "counts": run.counts,
    }
