"""Runs as text: files of a batch, its summary, the list of earlier runs, and one of them whole."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from chart_binder.cli.output import file_object, fit, terminal_width, wrap
from chart_binder.domain.records import Measures, RunRecord, WriteState
from chart_binder.errors import counted
from chart_binder.files import path_text

if TYPE_CHECKING:
    from chart_binder.batch import BatchResult, FileResult

_LABEL_WIDTH = 13
_STATES = {
    "decided": "",
    "review": " for a person: `canon review list`",
    "indeterminate": " left open: `canon review list`",
    "error": " failed",
}
_MAX_ERRORS, _MAX_UNWRITTEN = 10, 3
_SPENT = {
    "musicbrainz_requests": ("try at MusicBrainz", "tries at MusicBrainz"),
    "model_runs": ("case for the model", "cases for the model"),
    "model_replies": ("reply of it", "replies of it"),
    "prompt_tokens": ("token read", "tokens read"),
    "completion_tokens": ("token written", "tokens written"),
}
"""What was spent, of one and of several."""
_RATE_UNITS = ((1, "s"), (60, "min"), (3600, "h"))
_TENTHS_BELOW_S = 10

_NO_END = "no end"
_ENDED = {0: "complete", 1: "some failed", 2: "bad usage", 3: "some left", 130: "interrupted"}
"""How a run ended, by its exit status."""
_COLUMNS = (20, 19, 11)
_ENDED_WIDTH = 11
_ROOMY = 80
"""Columns that a row takes with everything in it."""
_GAP = "  "
_CLOCK = len("2026-11-21T18:12:03")
_CUT_SHORT = (None, 130)
_NOT_TRIED_AGAIN = ("nothing_found", "not_looked_up")
_WRITES = {
    WriteState.DONE: "written",
    WriteState.UNDONE: "taken back",
    WriteState.FAILED: "not written",
    WriteState.INTENDED: "cut short: the next run that writes looks into it",
}


def file_result(file: "FileResult") -> dict[str, object]:
    """Return what is printed of a file of a batch as JSON: as `canon decide` has it, and more.

    `resumed` is true for a file that an earlier run decided, `pinned` where its decision is
    pinned; `tags` says what became of the tags and why, where they were looked at.
    """
    fields: dict[str, object] = dict(msgspec.to_builtins(file.decision))
    if file.resumed:
        fields["resumed"] = True
    if file.outcome.is_pinned:
        fields["pinned"] = True
    if file.tags:
        fields["tags"] = {"fate": file.tags.status.value, "why": file.tags.why}
    return file_object(file.path, fields)


def log_fields(file: "FileResult") -> dict[str, object]:
    """Return what is logged of a file when it is finished."""
    decision = file.decision
    fields = {
        "path": path_text(file.path),
        "state": decision.state.value,
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
    if result.stopped:
        yield f"stopped: {result.stopped}; {what_next}"
    yield from _measures(found)
    if any(count > 1 for count in (*found.errors.values(), *found.unwritten.values())):
        yield from _labelled("", "(`--report FILE` has every one of them)")
    if is_dry:
        yield from _labelled("run", "dry run: nothing was kept or written")
    else:
        yield from _labelled("run", f"{result.run_id} (`canon runs show` has it all)")


def _measures(found: Measures) -> Iterator[str]:
    files = f"{found.files:,} in {duration(found.seconds)}"
    if found.seconds > 1 and found.files:
        files += f", {rate_text(found.files / found.seconds)}"
    if found.resumed:
        files += f", {found.resumed:,} of them settled before"
    if found.pinned:
        files += f" ({found.pinned:,} pinned: what is pinned stands)"
    yield from _labelled("files", files)
    for state, words in _STATES.items():
        if found.states.get(state):
            by = f" ({_counts(found.decided_by)})" if state == "decided" else ""
            yield from _labelled(state, f"{found.states[state]:,}{by}{words}")
    for label, counts in (("rules", found.rules), ("tags", found.tags)):
        if counts:
            yield from _labelled(label, _counts(counts))
    yield from _reasons("not written", found, found.unwritten, _MAX_UNWRITTEN)
    spent = [
        counted(count, *_SPENT.get(name, (name, name)))
        for name, count in found.spent.items()
        if count
    ]
    if spent:
        yield from _labelled("spent", ", ".join(spent))
    if found.causes:
        causes = {name.replace("_", " "): count for name, count in found.causes.items()}
        yield from _labelled("failures", _counts(causes))
    yield from _reasons("" if found.causes else "failures", found, found.errors, _MAX_ERRORS)


def _reasons(label: str, found: Measures, counts: Mapping[str, int], most: int) -> Iterator[str]:
    for why, count in list(counts.items())[:most]:
        path = found.examples.get(why)
        where = f"{path}: " if path and path not in why else ""
        alike = f" (and {counted(count - 1, 'other')} alike)" if count > 1 else ""
        yield from _labelled(label, f"{where}{why}{alike}")
        label = ""
    if len(counts) > most:
        yield from _labelled(label, f"and {counted(len(counts) - most, 'other kind')}")


def duration(seconds: float) -> str:
    """Return a time in words: `1 h 4 min`, `12 s`, `0.3 s`."""
    if seconds < _TENTHS_BELOW_S:
        return f"{seconds:.1f} s"
    parts = []
    left = round(seconds)
    for size, unit in reversed(_RATE_UNITS):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def rate_text(per_second: float) -> str:
    """Return a rate in a unit in which it is at least one: `1.5/s`, `12/min`, `3/h`."""
    units = ((size, unit) for size, unit in _RATE_UNITS if per_second * size >= 1)
    size, unit = next(units, _RATE_UNITS[-1])
    return f"{per_second * size:,.{1 if unit == 's' else 0}f}/{unit}"


def _labelled(label: str, text: str) -> Iterator[str]:
    return wrap(text, f"{label:<{_LABEL_WIDTH}}  ")


def _counts(counts: Mapping[str, int]) -> str:
    """Return counts in words: `4 decided, 1 review`."""
    return ", ".join(f"{count:,} {name.removeprefix('CRG:')}" for name, count in counts.items())


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run, how it ended in words, and how long it took as far as that is known."""

    run: RunRecord
    measures: Measures | None
    ended: str
    seconds: float | None

    @classmethod
    def of(cls, run: RunRecord, measures: Measures | None) -> "RunSummary":
        """Return the summary of a run and, where they are known, of what it cost."""
        if run.ended_at_utc is None or run.status is None:
            return cls(run, measures, _NO_END, measures.seconds if measures else None)
        begun, ended = map(datetime.fromisoformat, (run.started_at_utc, run.ended_at_utc))
        words = _ENDED.get(run.status, f"status {run.status}")
        return cls(run, measures, words, (ended - begun).total_seconds())

    @property
    def call(self) -> str:
        """The command with its arguments, as a shell takes it."""
        return shlex.join(["canon", *self.run.command.split(), *map(path_text, self.run.arguments)])

    @property
    def has_no_end(self) -> bool:
        """Whether the run was killed, interrupted or stopped, or still goes on."""
        stopped = self.measures.stopped if self.measures else None
        return stopped is not None or self.run.status in _CUT_SHORT


def list_header() -> Iterator[str]:
    """Yield the names of the columns of a list."""
    return _in_columns(("RUN", "STARTED (UTC)", "TOOK"), "ENDED", "FILES")


def list_lines(summary: RunSummary) -> Iterator[str]:
    """Yield a run of a list: a row of columns, then its command, cut at the terminal's edge."""
    run = summary.run
    took = "" if summary.seconds is None else duration(summary.seconds)
    cells = (run.id, _clock(run.started_at_utc), took)
    yield from _in_columns(cells, summary.ended, _counts(run.counts))
    yield fit(f"{_GAP}{summary.call}", terminal_width()).rstrip()


def _in_columns(cells: tuple[str, ...], ended: str, files: str) -> Iterator[str]:
    """Yield a row; in a narrow terminal the last two columns stand on a line of their own."""
    first = [fit(cell, width) for cell, width in zip(cells, _COLUMNS, strict=True)]
    last = [fit(ended, _ENDED_WIDTH), files]
    rows = [[*first, *last]] if terminal_width() >= _ROOMY else [first, ["", *last]]
    for row in rows:
        yield fit(_GAP.join(row), terminal_width()).rstrip()


def run_lines(
    summary: RunSummary, decisions: int, written: Mapping[WriteState, int]
) -> Iterator[str]:
    """Yield all that is known of a run.

    `decisions` is how many it kept, `written` counts its writes by their state in the journal.
    """
    run = summary.run
    yield from _labelled("run", run.id)
    yield f"{'command':<{_LABEL_WIDTH}}  {summary.call}"  # to be copied as a whole
    yield from _labelled("started", f"{_clock(run.started_at_utc)} UTC")
    yield from _labelled("ended", _end(summary))
    if summary.measures:
        if summary.measures.stopped:
            yield from _labelled("stopped", summary.measures.stopped)
        yield from _measures(summary.measures)
        yield from _costs(summary.measures)
    elif run.counts:
        yield from _labelled("files", _counts(run.counts))
    if decisions:
        yield from _labelled("kept", counted(decisions, "decision"))
    if written:
        writes = (f"{count:,} {_WRITES[state]}" for state, count in written.items())
        yield from _labelled("journal", ", ".join(writes))
    if written.get(WriteState.DONE):
        yield from _labelled("undo", f"canon undo {run.id}")
    if label := _how_to_continue(summary):
        yield f"{label:<{_LABEL_WIDTH}}  {summary.call}"


def _end(summary: RunSummary) -> str:
    run, took = summary.run, duration(summary.seconds or 0)
    if run.ended_at_utc is None:
        last = f"; it was heard of last {took} after its start" if summary.seconds else ""
        return f"it still goes on, or was killed{last}"
    after = f", after {took}" if summary.seconds is not None else ""
    return f"{_clock(run.ended_at_utc)} UTC{after}: {summary.ended} (exit status {run.status})"


def _costs(found: Measures) -> Iterator[str]:
    rows = []
    for name, cost in found.stages.items():
        mean = f"{cost.seconds / cost.files * 1000:,.1f} ms each" if cost.files else ""
        rows.append((name, counted(cost.files, "file ", "files"), f"{cost.seconds:,.1f} s", mean))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    label = "stages"
    for name, *cells in rows:
        aligned = [f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True)]
        yield from _labelled(label, _GAP.join((f"{name:<{widths[0]}}", *aligned)).rstrip())
        label = ""
    label = "slowest"
    for file in found.slowest:
        yield f"{label:<{_LABEL_WIDTH}}  {file.seconds:>7,.1f} s  {path_text(file.path)}"
        label = ""


def _how_to_continue(summary: RunSummary) -> str:
    """Return whether the same call of a batch goes on or begins anew; empty if nothing is left."""
    run = summary.run
    has_paths = any(not argument.startswith("-") for argument in run.arguments)
    causes = summary.measures.causes if summary.measures else {}
    has_failures = any(cause not in _NOT_TRIED_AGAIN for cause in causes)
    if run.command != "batch" or not has_paths or not (summary.has_no_end or has_failures):
        return ""
    return "begin anew" if "--refresh" in run.arguments and not summary.has_no_end else "go on"


def _clock(moment: str) -> str:
    return moment[:_CLOCK].replace("T", " ")
