"""A run as lines for a person: one of a list, or all that is known of it."""

import base64
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from chart_binder.cli.output import readable
from chart_binder.cli.terminal import fitted, terminal_width, wrapped
from chart_binder.domain.records import KeptRun, Measures, WriteState
from chart_binder.llm.result import counted

if TYPE_CHECKING:
    from chart_binder.batch import BatchResult, FileResult


_WIDTH = 13
_STATES = {
    "decided": "",
    "review": " for a person: `canon review list`",
    "indeterminate": " left open: `canon review list`",
    "error": " failed",
}
_BRIEFLY_S = 10
_MOST_ERRORS, _MOST_UNWRITTEN = 10, 3
_SPENT = {
    "musicbrainz_requests": ("try at MusicBrainz", "tries at MusicBrainz"),
    "model_runs": ("case for the model", "cases for the model"),
    "model_replies": ("reply of it", "replies of it"),
    "prompt_tokens": ("token read", "tokens read"),
    "completion_tokens": ("token written", "tokens written"),
}
"""What was spent, of one and of several; a try may have come to nothing."""
_PACES = ((1, "s"), (60, "min"), (3600, "h"))
_TIME = ((3600, "h"), (60, "min"), (1, "s"))


def file_line(file: "FileResult") -> bytes:
    """Return the line of JSON that stands for a file."""
    return msgspec.json.encode(result_of(file))


def result_of(file: "FileResult") -> dict[str, object]:
    """Return what the line of a file holds: that of `canon decide --output json`, and more.

    `resumed` is there and true for a file that an earlier run settled, `pinned` where its decision
    stands whatever would come out now, `tags` where they were
    looked at: what became of them, and why nothing was written.
    """
    path = str(file.path)
    name = readable(path)
    line: dict[str, object] = {"path": name} | msgspec.to_builtins(file.decision)
    if name != path:
        line["path_b64"] = base64.b64encode(os.fsencode(path)).decode()
    if file.resumed:
        line["resumed"] = True
    if file.outcome.is_pinned:
        line["pinned"] = True
    if file.tags:
        line["tags"] = {"fate": file.tags.status.value, "why": file.tags.why}
    return line


def log_fields(file: "FileResult") -> dict[str, object]:
    """Return what is logged of a file when it is finished."""
    found = file.decision
    told = {
        "path": readable(str(file.path)),
        "state": found.state.value,
        "rule": found.crg_rule,
        "crg_mbid": found.crg_mbid,
        "error": found.error,
        "tags": file.tags.status.value if file.tags else None,
        "resumed": file.resumed or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def summary_lines(result: "BatchResult", what_next: str, *, is_dry: bool) -> Iterator[str]:
    """Yield the summary of a run; `what_next` says what to do where it ended before its time."""
    found = result.measures
    if result.stopped:
        yield f"stopped: {result.stopped}; {what_next}"
    yield from measures_lines(found)
    if any(count > 1 for count in (*found.errors.values(), *found.unwritten.values())):
        yield from label_row("", "(`--report FILE` has every one of them)")
    if is_dry:
        yield from label_row("run", "dry run: nothing was kept or written")
    else:
        yield from label_row("run", f"{result.run_id} (`canon runs show` has it all)")


def measures_lines(found: Measures) -> Iterator[str]:
    """Yield what a run came to and cost, a line a fact."""
    rate = f", {pace(found.files / found.seconds)}" if found.seconds > 1 and found.files else ""
    before = f", {found.resumed:,} of them settled before" if found.resumed else ""
    pinned = f" ({found.pinned:,} pinned: what is pinned stands)" if found.pinned else ""
    yield from label_row("files", f"{found.files:,} in {span(found.seconds)}{rate}{before}{pinned}")
    states = found.states
    for state, words in _STATES.items():
        if states.get(state):
            by = f" ({counts_text(found.decided_by)})" if state == "decided" else ""
            yield from label_row(state, f"{states[state]:,}{by}{words}")
    if found.rules:
        yield from label_row("rules", counts_text(found.rules))
    if found.tags:
        yield from label_row("tags", counts_text(found.tags))
    yield from _kinds("not written", found, found.unwritten, _MOST_UNWRITTEN)
    spent = [_spent(name, count) for name, count in found.spent.items() if count]
    if spent:
        yield from label_row("spent", ", ".join(spent))
    label = "failures"
    if found.causes:
        causes = {name.replace("_", " "): count for name, count in found.causes.items()}
        yield from label_row(label, counts_text(causes))
        label = ""
    yield from _kinds(label, found, found.errors, _MOST_ERRORS)


def _kinds(label: str, found: Measures, counts: Mapping[str, int], most: int) -> Iterator[str]:
    """Yield the most frequent sentences, each with a file that it was said of."""
    for why, count in list(counts.items())[:most]:
        path = found.examples.get(why)
        named = f"{path}: " if path and path not in why else ""
        alike = f" (and {counted(count - 1, 'other')} alike)" if count > 1 else ""
        yield from label_row(label, f"{named}{why}{alike}")
        label = ""
    if len(counts) > most:
        yield from label_row(label, f"and {counted(len(counts) - most, 'other kind')}")


def _spent(name: str, count: int) -> str:
    one, several = _SPENT.get(name, (name.replace("_", " "),) * 2)
    return f"{count:,} {one if count == 1 else several}"


def span(seconds: float) -> str:
    """Return a time in words: `1 h 4 min`, `12 s`, `0.3 s`."""
    if seconds < _BRIEFLY_S:
        return f"{seconds:.1f} s"
    parts = []
    left = round(seconds)
    for size, unit in _TIME:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def pace(per_second: float) -> str:
    """Return a rate in a unit that leaves something before the point: `1.5/s`, `12/min`, `3/h`."""
    shown = ((size, unit) for size, unit in _PACES if per_second * size >= 1)
    size, unit = next(shown, _PACES[-1])
    return f"{per_second * size:,.{1 if unit == 's' else 0}f}/{unit}"


def label_row(label: str, text: str, *, is_wrapped: bool = True) -> Iterator[str]:
    """Yield a label and its text, wrapped below itself unless it is to be copied whole."""
    head = f"{label:<{_WIDTH}}  "
    if is_wrapped:
        yield from wrapped(text, terminal_width(), head, len(head))
    else:
        yield head + text


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts with what they are of: `4 decided, 1 review`."""
    return ", ".join(f"{count:,} {name.removeprefix('CRG:')}" for name, count in counts.items())


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
