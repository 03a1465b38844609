"""A run as lines for a person: one of a list, or all that is known of it."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from chart_binder.cli.batch_report import counts_text, label_row, measures_lines, span
from chart_binder.cli.columns import fitted, terminal_width
from chart_binder.cli.results import readable
from chart_binder.domain.kept import KeptRun, WriteState
from chart_binder.domain.measures import Measures
from chart_binder.llm.result import counted

_NO_END = "no end"
_ENDED = {
    0: "complete",
    1: "some failed",
    2: "bad usage",
    3: "some left",
    130: "interrupted",
}
_WIDTHS = (20, 19, 11)
_ENDED_WIDTH = 11
_ROOMY = 80
"""Columns that a row takes with all there is in it."""
_GAP = "  "
_CLOCK = len("2026-11-21T18:12:03")
_CUT_SHORT = (None, 130)
_NO_FAILURES = ("nothing_found", "not_looked_up")
_BEGINS_ANEW = "--refresh"
_WORDS = {
    WriteState.DONE: "written",
    WriteState.UNDONE: "taken back",
    WriteState.FAILED: "not written",
    WriteState.INTENDED: "cut short: the next run that writes looks into it",
}


def header() -> Iterator[str]:
    """Yield the names of the columns of a list."""
    yield from _in_columns(("RUN", "STARTED (UTC)", "TOOK"), "ENDED", "FILES")


@dataclass(frozen=True, slots=True)
class RunShown:
    """A run, how it ended in words, and its seconds by the clock as far as they are known."""

    run: KeptRun
    measures: Measures | None
    ended: str
    seconds: float | None

    @property
    def call(self) -> str:
        """The command with its arguments, as a shell takes it."""
        words = ["canon", *self.run.command.split(), *map(readable, self.run.arguments)]
        return shlex.join(words)


def shown_run(run: KeptRun, measures: Measures | None) -> RunShown:
    """Return a run with what is to be said of it."""
    if run.ended_at_utc is None or run.status is None:
        return RunShown(run, measures, _NO_END, measures.seconds if measures else None)
    begun, ended = map(datetime.fromisoformat, (run.started_at_utc, run.ended_at_utc))
    words = _ENDED.get(run.status, f"status {run.status}")
    return RunShown(run, measures, words, (ended - begun).total_seconds())


def list_lines(shown: RunShown) -> Iterator[str]:
    """Yield a run of a list: a row of columns, then its command, cut at the terminal's edge.

    Where there is little room, how it ended and its files are a line of their own.
    """
    run = shown.run
    took = "" if shown.seconds is None else span(shown.seconds)
    yield from _in_columns(
        (run.id, _clock(run.started_at_utc), took), shown.ended, counts_text(run.counts)
    )
    yield fitted(f"{_GAP}{shown.call}", terminal_width()).rstrip()


def _in_columns(cells: tuple[str, ...], ended: str, files: str) -> Iterator[str]:
    row = [fitted(cell, width) for cell, width in zip(cells, _WIDTHS, strict=True)]
    last = [fitted(ended, _ENDED_WIDTH), files]
    rows = [[*row, *last]] if terminal_width() >= _ROOMY else [row, ["", *last]]
    for each in rows:
        yield fitted(_GAP.join(each), terminal_width()).rstrip()


def run_lines(shown: RunShown, decisions: int, written: Mapping[WriteState, int]) -> Iterator[str]:
    """Yield all that is known of a run.

    `decisions` is how many it kept, `written` how its writes stand in the journal.
    """
    run = shown.run
    yield from label_row("run", run.id)
    yield from label_row("command", shown.call, is_wrapped=False)
    yield from label_row("started", f"{_clock(run.started_at_utc)} UTC")
    yield from label_row("ended", _end(shown))
    if shown.measures:
        if shown.measures.stopped:
            yield from label_row("stopped", shown.measures.stopped)
        yield from measures_lines(shown.measures)
        yield from _costs(shown.measures)
    elif run.counts:
        yield from label_row("files", counts_text(run.counts))
    if decisions:
        yield from label_row("kept", counted(decisions, "decision"))
    if written:
        told = (f"{count:,} {_WORDS[state]}" for state, count in written.items())
        yield from label_row("journal", ", ".join(told))
    if written.get(WriteState.DONE):
        yield from label_row("undo", f"canon undo {run.id}")
    if how := _how_to_go_on(shown):
        yield from label_row(how, shown.call, is_wrapped=False)


def _end(shown: RunShown) -> str:
    run = shown.run
    if run.ended_at_utc is None:
        heard = shown.seconds
        last = f"; it was heard of last {span(heard)} after its start" if heard else ""
        return f"it still goes on, or was killed{last}"
    taken = f", after {span(shown.seconds)}" if shown.seconds is not None else ""
    return f"{_clock(run.ended_at_utc)} UTC{taken}: {shown.ended} (exit status {run.status})"


def _costs(found: Measures) -> Iterator[str]:
    label = "stages"
    for text in _table([*_stages(found)]):
        yield from label_row(label, text)
        label = ""
    label = "slowest"
    for file in found.slowest:
        text = f"{file.seconds:>7,.1f} s  {readable(file.path)}"
        yield from label_row(label, text, is_wrapped=False)
        label = ""


def _stages(found: Measures) -> Iterator[tuple[str, ...]]:
    for name, cost in found.stages.items():
        mean = f"{cost.seconds / cost.files * 1000:,.1f} ms each" if cost.files else ""
        files = f"{cost.files:,} {'file ' if cost.files == 1 else 'files'}"
        yield name, files, f"{cost.seconds:,.1f} s", mean


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield rows in columns as wide as they need to be, the first to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        yield _GAP.join((f"{first:<{widths[0]}}", *cells)).rstrip()


def _how_to_go_on(shown: RunShown) -> str:
    """Return whether the same call of a batch goes on, or begins anew, where files are left."""
    run = shown.run
    has_paths = any(not argument.startswith("-") for argument in run.arguments)
    if run.command != "batch" or not has_paths or not _is_cut_short(shown):
        return ""
    is_anew = _BEGINS_ANEW in run.arguments and not _has_no_end(shown)
    return "begin anew" if is_anew else "go on"


def _is_cut_short(shown: RunShown) -> bool:
    """Say whether files are left that the same call tries again; nothing found is a result."""
    causes = shown.measures.causes if shown.measures else {}
    has_failed = any(cause not in _NO_FAILURES for cause in causes)
    return _has_no_end(shown) or has_failed


def _has_no_end(shown: RunShown) -> bool:
    stopped = shown.measures.stopped if shown.measures else None
    return stopped is not None or shown.run.status in _CUT_SHORT


def _clock(moment: str) -> str:
    return moment[:_CLOCK].replace("T", " ")
