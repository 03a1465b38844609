"""`canon runs`: what earlier calls did, cost and left undone."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from chart_binder.cli.left_out import LeftOut
from chart_binder.cli.options import Group, Session, common_options, pass_session
from chart_binder.cli.output import readable
from chart_binder.cli.render.run import RunShown, header, list_lines, run_lines, shown_run
from chart_binder.cli.terminal import harmless
from chart_binder.domain.records import KeptRun, Measures, WriteState
from chart_binder.errors import CanonError
from chart_binder.jobs.batch.report import metrics_json, prometheus_text
from chart_binder.store import open_store
from chart_binder.typed import decoded
from chart_binder.wiring import store_url

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_SHORT_LIST = 20


@click.group("runs", cls=Group)
@common_options
def command() -> None:
    """Look at what earlier calls did: how they ended, what they cost, how to go on."""


@command.command("list")
@click.option("--command", "named", metavar="NAME", help="Only runs of this command: batch, write.")
@click.option("--limit", type=click.IntRange(1), default=_SHORT_LIST, help="How many (20).")
@common_options
@pass_session
def list_runs(session: Session, named: str | None, limit: int) -> int:
    """List the runs, the newest first; times are in UTC.

    A run without an end still goes on, or was killed.

    Exit status: 0, or 1 where a run cannot be read whole, for the store's record is damaged.
    """
    unread = LeftOut()
    with open_store(store_url(session.config)) as store:
        found = store.runs.newest(limit, named, unread.record)
    # How long a run took that has an end is known without what it cost.
    shown = [shown_run(run, None if run.ended_at_utc else _read(run, unread)) for run in found]
    _list(session, shown, named)
    return unread.status


def _list(session: Session, shown: Sequence[RunShown], named: str | None) -> None:
    if session.as_json:
        for each in shown:
            click.echo(msgspec.json.encode(_as_json(each)))
        return
    if not shown:
        of = f" of `canon {harmless(readable(named))}`" if named else ""
        click.echo(f"no runs{of} are kept: `canon decide`, `batch`, `write` and `undo` make some")
        return
    for line in header():
        click.echo(line)
    for each in shown:
        for line in list_lines(each):
            click.echo(harmless(line))


@command.command("show")
@click.argument("run", required=False)
@click.option(
    "--metrics",
    type=click.Choice(["prometheus", "json"]),
    help="Print the metrics of a batch instead.",
)
@common_options
@pass_session
def show(session: Session, run: str | None, metrics: str | None) -> int:
    """Show the last run, or one by its id or how that begins.

    Exit status: 0, or 1 where what it cost cannot be read, for the store's record is damaged.
    """
    unread = LeftOut()
    with open_store(store_url(session.config)) as store:
        found = _meant(store, run)
        written = store.journal.counts(found.id)
        decisions = store.decisions.count_of_run(found.id)
    if metrics:
        measures = _measures(found)
        if measures is None:
            raise CanonError(f"the run {found.id} has no metrics: only `canon batch` takes them")
        click.echo(_METRICS[metrics](found, measures), nl=False)
        return 0
    shown = shown_run(found, _read(found, unread))
    if session.as_json:
        kept = {"decisions": decisions, "writes": _by_name(written)}
        click.echo(msgspec.json.encode(_as_json(shown) | {"measures": shown.measures} | kept))
        return unread.status
    for line in run_lines(shown, decisions, written):
        click.echo(harmless(line))
    return unread.status


def _meant(store: "Store", name: str | None) -> KeptRun:
    if name is None:
        last = store.runs.latest()
        if last is None:
            raise CanonError("no runs are kept so far")
        return last
    found = store.runs.get(name) or _only(store.runs.beginning_with(name.lower()), name)
    if found is None:
        raise CanonError(f"no run {readable(name)!r} is kept; see `canon runs list`")
    return found


def _only(found: tuple[KeptRun, ...], name: str) -> KeptRun | None:
    if len(found) > 1:
        ids = ", ".join(run.id for run in found)
        raise CanonError(f"several runs begin with {readable(name)!r}: {ids} are the last of them")
    return found[0] if found else None


def _measures(run: KeptRun) -> Measures | None:
    if run.measures is None:
        return None
    try:
        return decoded(run.measures, Measures)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CanonError(f"what the run {run.id} cost cannot be read: {error}") from error


def _read(run: KeptRun, unread: LeftOut) -> Measures | None:
    """Return what a run cost as far as it can be read: the rest of it is shown all the same."""
    try:
        return _measures(run)
    except CanonError as error:
        unread.record(str(error))
        return None


def _as_json(shown: RunShown) -> dict[str, object]:
    run = shown.run
    return {
        "id": run.id,
        "command": run.command,
        "arguments": list(map(readable, run.arguments)),
        "started_at_utc": run.started_at_utc,
        "ended_at_utc": run.ended_at_utc,
        "status": run.status,
        "ended": shown.ended,
        "seconds": shown.seconds,
        "counts": run.counts,
    }


def _by_name(written: Mapping[WriteState, int]) -> dict[str, int]:
    return {state.value: written[state] for state in WriteState if state in written}


def _json_line(run: KeptRun, found: Measures) -> bytes:
    return metrics_json(run, found) + b"\n"


_METRICS: dict[str, Callable[[KeptRun, Measures], str | bytes]] = {
    "prometheus": prometheus_text,
    "json": _json_line,
}
