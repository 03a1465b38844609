"""What a batch says: a line of JSON for each file, and a summary at the end."""

import base64
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from chart_binder.cli.columns import terminal_width, wrapped
from chart_binder.cli.results import readable
from chart_binder.domain.measures import Measures
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
    if file.settled.is_pinned:
        line["pinned"] = True
    if file.tags:
        line["tags"] = {"fate": file.tags.fate.value, "why": file.tags.why}
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
        "tags": file.tags.fate.value if file.tags else None,
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
