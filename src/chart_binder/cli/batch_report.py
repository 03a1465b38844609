"""What a batch says: a line of JSON for each file, and a summary at the end."""

import base64
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from chart_binder.cli.results import readable
from chart_binder.domain.measures import Measures

if TYPE_CHECKING:
    from chart_binder.batch import BatchResult, FileResult

_WIDTH = 11
_BRIEFLY_S = 10
_MOST_ERRORS = 10
_TIME = ((3600, "h"), (60, "min"), (1, "s"))


def file_line(file: "FileResult") -> bytes:
    """Return the line of JSON that stands for a file."""
    return msgspec.json.encode(result_of(file))


def result_of(file: "FileResult") -> dict[str, object]:
    """Return what the line of a file holds: that of `canon decide --output json`, and more.

    `resumed` is there and true for a file that an earlier run settled, `tags` where they were
    looked at: what became of them, and why nothing was written.
    """
    path = str(file.settled.path)
    name = readable(path)
    line: dict[str, object] = {"path": name} | msgspec.to_builtins(file.settled.decision)
    if name != path:
        line["path_b64"] = base64.b64encode(os.fsencode(path)).decode()
    if file.settled.is_resumed:
        line["resumed"] = True
    if file.tags:
        line["tags"] = {"fate": file.tags.fate.value, "why": file.tags.why}
    return line


def summary_lines(result: "BatchResult") -> Iterator[str]:
    """Yield the summary of a run."""
    found = result.measures
    if result.stopped:
        yield f"stopped: {result.stopped}; the same command goes on"
    yield from measures_lines(found)
    yield _row("run", f"{result.run_id} (`canon runs show` has it all)")


def measures_lines(found: Measures) -> Iterator[str]:
    """Yield what a run came to and cost, a line a fact."""
    rate = f", {found.files / found.seconds:,.0f}/s" if found.seconds > 1 else ""
    before = f", {found.resumed:,} of them settled before" if found.resumed else ""
    yield _row("files", f"{found.files:,} in {span(found.seconds)}{rate}{before}")
    states = found.states
    for state, word in (("decided", ""), ("review", "for a person: `canon review list`"),
                        ("indeterminate", "left open"), ("error", "failed")):  # fmt: skip
        if states.get(state):
            by = f" ({_counts(found.decided_by)})" if state == "decided" else ""
            yield _row(state, f"{states[state]:,}{by}{f' {word}' if word else ''}")
    if found.rules:
        yield _row("rules", _counts(found.rules))
    if found.tags:
        yield _row("tags", _counts(found.tags))
    if found.spent:
        spent = {name.replace("_", " "): count for name, count in found.spent.items()}
        yield _row("spent", _counts(spent))
    errors = list(found.errors.items())
    for number, (why, count) in enumerate(errors[:_MOST_ERRORS]):
        yield _row("failures" if number == 0 else "", f"{count:,} x {why}")
    if len(errors) > _MOST_ERRORS:
        yield _row("", f"and {len(errors) - _MOST_ERRORS} other kinds")


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


def _row(label: str, text: str) -> str:
    return f"{label:<{_WIDTH}}  {text}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name.removeprefix('CRG:')}" for name, count in counts.items())
