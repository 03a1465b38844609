"""What a batch says: a line of JSON for each file, and a summary at the end."""

import base64
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from chart_binder.cli.columns import terminal_width, wrapped
from chart_binder.cli.results import readable
from chart_binder.domain.measures import Measures

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
_MOST_ERRORS = 10
_PACES = ((1, "s"), (60, "min"), (3600, "h"))
_TIME = ((3600, "h"), (60, "min"), (1, "s"))


def file_line(file: "FileResult") -> bytes:
    """Return the line of JSON that stands for a file."""
    return msgspec.json.encode(result_of(file))


def result_of(file: "FileResult") -> dict[str, object]:
    """Return what the line of a file holds: that of `canon decide --output json`, and more.

    `resumed` is there and true for a file that an earlier run settled, `tags` where they were
    looked at: what became of them, and why nothing was written.
    """
    path = str(file.path)
    name = readable(path)
    line: dict[str, object] = {"path": name} | msgspec.to_builtins(file.decision)
    if name != path:
        line["path_b64"] = base64.b64encode(os.fsencode(path)).decode()
    if file.resumed:
        line["resumed"] = True
    if file.tags:
        line["tags"] = {"fate": file.tags.fate.value, "why": file.tags.why}
    return line


def summary_lines(result: "BatchResult", what_next: str) -> Iterator[str]:
    """Yield the summary of a run; `what_next` says what to do where it ended before its time."""
    if result.stopped:
        yield f"stopped: {result.stopped}; {what_next}"
    yield from measures_lines(result.measures)
    yield from label_row("run", f"{result.run_id} (`canon runs show` has it all)")


def measures_lines(found: Measures) -> Iterator[str]:
    """Yield what a run came to and cost, a line a fact."""
    rate = f", {pace(found.files / found.seconds)}" if found.seconds > 1 and found.files else ""
    before = f", {found.resumed:,} of them settled before" if found.resumed else ""
    yield from label_row("files", f"{found.files:,} in {span(found.seconds)}{rate}{before}")
    states = found.states
    for state, words in _STATES.items():
        if states.get(state):
            by = f" ({counts_text(found.decided_by)})" if state == "decided" else ""
            yield from label_row(state, f"{states[state]:,}{by}{words}")
    if found.rules:
        yield from label_row("rules", counts_text(found.rules))
    if found.tags:
        yield from label_row("tags", counts_text(found.tags))
    if spent := {name.replace("_", " "): count for name, count in found.spent.items() if count}:
        yield from label_row("spent", counts_text(spent))
    yield from _failures(found)


def _failures(found: Measures) -> Iterator[str]:
    """Yield why files failed: in a word each, then in the sentences that were most frequent."""
    label = "failures"
    if found.causes:
        causes = {name.replace("_", " "): count for name, count in found.causes.items()}
        yield from label_row(label, counts_text(causes))
        label = ""
    errors = list(found.errors.items())
    for why, count in errors[:_MOST_ERRORS]:
        yield from label_row(label, f"{count:,} x {why}")
        label = ""
    if len(errors) > _MOST_ERRORS:
        yield from label_row("", f"and {len(errors) - _MOST_ERRORS} other kinds")


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
