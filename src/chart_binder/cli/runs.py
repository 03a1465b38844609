"""`canon runs`: what earlier calls did, cost and left undone; and the text of a batch's results."""

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
    "undecided": ", a fact is missing",
    "unmatched": ", no recording was found",
    "unreadable": ", no audio that can be read",
    "decided": "",
}
"""What is said of each state, in the order of what needs doing."""
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
@options.option("--limit N", "List at most so many (20).", type=click.IntRange(1), default=20)
@options.pass_session
def list_runs(session: options.Session, named: str | None, limit: int) -> int:
    """List the runs, the newest first; times are local.

    A run without an end still goes on, or was killed.

    Exit status: 0, or 1 where the store's record of a run is damaged.
    """
    skipped = output.SkippedRecords()
    with session.open_store() as store:
        found = store.runs.newest(limit, named, skipped.record)
    # The measures are needed only for the time of a run that has no end.
    summaries = [
        RunSummary.of(run, None if run.ended_at_utc else _measures(run, skipped.record))
        for run in found
    ]
    of = f" of `canon {path_text(named)}`" if named else ""
    if not session.as_json:
        output.print_lines([LIST_HEADER if summaries else f"no runs{of} are stored"])
    for summary in summaries:
        session.show(_summary_object(summary), list_lines(summary))
    newest = output.canon_call("runs", "show", found[0].id) if found else "canon decide FOLDER"
    output.print_next(newest)
    return skipped.status


@runs.command("show")
@click.argument("run", required=False)
@options.option(
    "--metrics", "Print the metrics of a batch instead.", type=click.Choice(["prometheus", "json"])
)
@options.pass_session
def show(session: options.Session, run: str | None, metrics: str | None) -> int:
    """Show the last run, or one by its id or how that begins.

    Exit status: 0, or 1 where the store's record of what it cost is damaged.
    """
    skipped = output.SkippedRecords()
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
    summary = RunSummary.of(found, _measures(found, skipped.record))
    writes = {state.value: written[state] for state in WriteState if state in written}
    more = {"measures": summary.measures, "decisions": decisions, "writes": writes}
    session.show(_summary_object(summary) | more, run_lines(summary, decisions, written))
    output.print_next(_call_after(summary))
    return skipped.status


def _run_named(store: "Store", name: str | None) -> RunRecord:
    """Return the last run, or the one whose id is or begins with a name. Raises `CanonError`."""
    if name is None:
        if last := store.runs.latest():
            return last
        raise CanonError("no runs are stored; `canon decide FOLDER` makes the first one")
    exact = store.runs.get(name)
    found = (exact,) if exact else store.runs.beginning_with(name.lower())
    if not found:
        raise CanonError(f"no run {path_text(name)!r} is kept; see `canon runs list`")
    if len(found) > 1:
        ids = ", ".join(run.id for run in found)
        raise CanonError(f"several runs begin with {path_text(name)!r}: {ids} are the last of them")
    return found[0]


def _measures(run: RunRecord, damaged: Callable[[str], object] | None = None) -> Measures | None:
    """Return what a run cost; a damaged record calls `damaged`, or raises `CanonError`."""
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
    """Return what is printed of a file of a batch as JSON: as `canon decide` has it, and more."""
    fields: dict[str, object] = dict(decision_object(file.decision))
    if file.resumed:
        fields["resumed"] = True
    if file.tags:
        why = file.tags.why or file.tags.withheld
        fields["tags"] = {"fate": file.tags.status.value, "why": why}
    return output.file_object(file.path, fields)


def log_fields(file: "FileResult") -> dict[str, object]:
    """Return what is logged of a file when it is finished."""
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
    """Yield the summary of a batch; `what_next` is added where it was stopped."""
    found = result.measures
    yield headline(found)
    if result.stopped:
        yield f"stopped: {result.stopped}; {what_next}"
    yield from measure_lines(found)
    if any(count > 1 for count in (*found.errors.values(), *found.unwritten.values())):
        yield from summary_line("", "(`--report FILE` has every one of them)")
    if is_dry:
        yield from summary_line("run", "dry run: nothing was kept or written")
        return
    yield from summary_line("run", f"{result.run_id} (`canon runs show` has it all)")


def headline(found: Measures) -> str:
    """Return what a run came to in a sentence: how many tracks are older than their tags say."""
    if not found.files:
        return "no audio file was found"
    if found.states.get("error") == found.files:
        return "nothing was decided"
    tracks = counted(found.files, "track")
    if found.earlier == 1:
        return f"1 of {tracks} is older than its tags say"
    if found.earlier:
        return f"{found.earlier:,} of {tracks} are older than their tags say"
    is_one = found.files == 1
    if found.first_releases.get("certain"):
        return f"{tracks}, {'not' if is_one else 'none of them'} older than its tags say"
    return f"{tracks}, {'without' if is_one else 'none of them with'} a certain first year"


def next_call(found: Measures, paths: Sequence[str]) -> str:
    """Return the next command: to write the tags of `paths`, else to review what waits."""
    if found.earlier and paths and not found.tags:
        return output.canon_call("write", *paths)
    if (
        found.tags.get("refused")
        or found.years_proposed
        or any(map(found.states.get, WAITING_STATES))
    ):
        return output.canon_call("review")
    return output.canon_call("doctor") if found.causes.keys() & _SERVICES else ""


def measure_lines(found: Measures) -> Iterator[str]:
    """Yield what a run came to: states in the order of what needs doing, failures, tags, costs."""
    for state, words in _STATES.items():
        if count := found.states.get(state):
            more = _about_errors(found) if state == "error" else words
            if state == "decided" and found.decided_by:
                more = f" ({output.count_text(found.decided_by, _DECIDED_BY)})"
            yield from summary_line(state, f"{count:,}{more}")
    certain = f"{found.first_releases.get('certain', 0):,} of a certain year"
    if found.certain_undecided:
        certain += f" ({found.certain_undecided:,} of them undecided between release groups)"
    if count := found.first_releases.get("uncertain"):
        certain += f", {count:,} of an uncertain one"
    if found.years_proposed:
        certain += f"; {found.years_proposed:,} proposed by a model, for you to accept"
    yield from summary_line("first release", certain if found.first_releases else "")
    yield from summary_line("tags", output.count_text(found.tags, WORDS))
    yield from _reasons("not written", found, found.unwritten, _MAX_UNWRITTEN)
    yield from summary_line("failures", output.count_text(_failures(found), _CAUSES))
    yield from _reasons("reasons", found, found.errors, _MAX_ERRORS)
    yield from summary_line("files", _files_text(found) if found.files else "")
    spent = (counted(count, *_SPENT.get(name, (name, name)))
             for name, count in found.spent.items() if count)  # fmt: skip
    yield from summary_line("spent", ", ".join(spent))


def _failures(found: Measures) -> Mapping[str, int]:
    """Return the causes of errors; those of unmatched and unreadable files are no failures."""
    counts = {name: count for name, count in found.causes.items() if name not in _UNMATCHED}
    if "file" in counts:
        counts["file"] -= found.states.get(State.UNREADABLE, 0)
    return {name.replace("_", " "): count for name, count in counts.items() if count > 0}


def _files_text(found: Measures) -> str:
    files = f"{found.files:,} in {output.duration(found.seconds)}"
    if found.seconds > 1 and found.files:
        files += f", {output.rate_text(found.files / found.seconds)}"
    if found.resumed:
        files += f", {found.resumed:,} decided before"
    if found.unsaved:
        files += f", {found.unsaved:,} with an earlier decision, which is kept"
    return files


def _about_errors(found: Measures) -> str:
    later = sum(found.causes.get(cause, 0) for cause in _MAY_SUCCEED_LATER)
    folders = counted(found.folders, "folder") if found.folders else ""
    return (f"; {later:,} may succeed later" if later else "") + (
        f"; {folders} among them, which files do not count" if folders else ""
    )


def _reasons(label: str, found: Measures, counts: Mapping[str, int], most: int) -> Iterator[str]:
    texts = []
    for why, count in list(counts.items())[:most]:
        path = found.examples.get(why)
        where = "" if path is None or PurePath(path).name in why else f"{path}: "
        alike = f" (and {counted(count - 1, 'other')} alike)" if count > 1 else ""
        texts.append(f"{where}{why}{alike}")
    if len(counts) > most:
        texts.append(f"and {counted(len(counts) - most, 'other kind')}")
    yield from output.labelled_list(label, texts, _LABEL_WIDTH + 1, 0)


summary_line = partial(output.labelled, width=_LABEL_WIDTH + 1, indent=0)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run, how it ended in words, and how long it took in seconds, if that is known."""

    run: RunRecord
    measures: Measures | None
    ended: str
    seconds: float | None

    @classmethod
    def of(cls, run: RunRecord, measures: Measures | None) -> "RunSummary":
        """Return the summary of a run and, where they are known, of what it cost."""
        if run.ended_at_utc is None or run.status is None:
            return cls(run, measures, "no end", measures.seconds if measures else None)
        begun, ended = map(datetime.fromisoformat, (run.started_at_utc, run.ended_at_utc))
        words = _ENDED.get(run.status, f"status {run.status}")
        return cls(run, measures, words, (ended - begun).total_seconds())

    @property
    def call(self) -> str:
        """The command with its arguments, as a shell takes it."""
        return output.canon_call(*self.run.command.split(), *self.run.arguments)

    @property
    def has_no_end(self) -> bool:
        """Whether the run was killed, interrupted or stopped, or still goes on."""
        stopped = self.measures.stopped if self.measures else None
        return stopped is not None or self.run.status in _CUT_SHORT


LIST_HEADER = _GAP.join(map(output.fit, ("RUN", "STARTED", "TOOK", "ENDED"), _COLUMNS)).rstrip()


def list_lines(summary: RunSummary) -> Iterator[str]:
    """Yield a row of columns, then files and command of the run, cut at a terminal's edge."""
    run = summary.run
    took = "" if summary.seconds is None else output.duration(summary.seconds)
    cells = map(output.fit, (run.id, local_time(run.started_at_utc), took, summary.ended), _COLUMNS)
    yield _GAP.join(cells).rstrip()
    files = output.count_text(run.counts, _OUTCOMES)
    text = ": ".join(filter(None, (files, summary.call)))
    yield output.shortened(f"{_GAP}{text}", output.line_width())


def run_lines(
    summary: RunSummary, decisions: int, written: Mapping[WriteState, int]
) -> Iterator[str]:
    """Yield all that is known of a run, which kept `decisions`, and has `written` by state."""
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
    yield from summary_line("journal", output.count_text(written, _WRITES))
    yield from summary_line("undo", f"canon undo {run.id}" if written.get(WriteState.DONE) else "")


def _end(summary: RunSummary) -> str:
    run, took = summary.run, output.duration(summary.seconds or 0)
    if run.ended_at_utc is None:
        last = f"; it was last seen {took} after its start" if summary.seconds else ""
        return f"it still goes on, or was killed{last}"
    after = f", after {took}" if summary.seconds is not None else ""
    return f"{local_time(run.ended_at_utc)}{after}: {summary.ended} (exit status {run.status})"


def _costs(found: Measures) -> Iterator[str]:
    rows = []
    for name, cost in found.stages.items():
        mean = f"{cost.seconds / cost.files * 1000:,.1f} ms each" if cost.files else ""
        rows.append((name, counted(cost.files, "file ", "files"), f"{cost.seconds:,.1f} s", mean))
    stages = output.table(rows, has_head=False)
    yield from output.labelled_list("stages", stages, _LABEL_WIDTH + 1, 0)
    label = "slowest"
    for file in found.slowest:
        yield f"{label:<{_LABEL_WIDTH}}  {file.seconds:>7,.1f} s  {path_text(file.path)}"
        label = ""


def _call_after(summary: RunSummary) -> str:
    """Return the next step after a batch: the same call where files are left, else what it says."""
    run, found = summary.run, summary.measures
    paths = [argument for argument in run.arguments if not argument.startswith("-")]
    if run.command != "batch" or not paths:
        return ""
    has_failures = found and any(cause not in _NOT_TRIED_AGAIN for cause in found.causes)
    if summary.has_no_end or has_failures:
        return summary.call
    return next_call(found, paths) if found else ""
