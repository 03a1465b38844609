"""The results of a batch as text and as JSON: of each file, and of the whole run."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from chart_binder.cli import output
from chart_binder.cli.decision_text import decision_object
from chart_binder.cli.tag_text import WORDS
from chart_binder.domain.records import Measures
from chart_binder.errors import counted
from chart_binder.files import path_text
from chart_binder.jobs.decision import WAITING_STATES, State

if TYPE_CHECKING:
    from chart_binder.batch import BatchResult, FileResult

LABEL_WIDTH = 13
UNMATCHED = ("nothing_found", "unidentified")
"""The causes of unmatched files."""
_STATES = {
    "error": "",
    "review": ", a proposal waits",
    "undecided": ", a fact is missing (`canon review` shows which)",
    "unmatched": ", no recording was found",
    "unreadable": ", no audio that can be read",
    "decided": "",
}
"""What follows the count of each state, in the order of what needs doing."""
_DECIDED_BY = {"rules": "by rules", "llm": "by a model", "override": "by a person"}
_MAX_ERRORS, _MAX_UNWRITTEN = 10, 3
_SPENT = {
    "musicbrainz_requests": ("request to MusicBrainz", "requests to MusicBrainz"),
    "model_runs": ("case for the model", "cases for the model"),
    "model_replies": ("reply of the model", "replies of the model"),
    "prompt_tokens": ("token read", "tokens read"),
    "completion_tokens": ("token written", "tokens written"),
}
_CAUSES = {
    "file": "cannot be read",
    "evidence": "with an ill-formed bundle",
    "lookup failed": "could not be looked up",
    "model": "without a reply of the model",
    "store": "could not be stored",
    "fault": "because of a bug",
}
_SERVICES = {"lookup_failed", "model"}
_MAY_SUCCEED_LATER = (*_SERVICES, "store")


def file_result(file: "FileResult") -> dict[str, object]:
    """Return the JSON object of a file of a batch: as `canon decide` prints it, and more."""
    fields: dict[str, object] = dict(decision_object(file.decision))
    if file.resumed:
        fields["resumed"] = True
    if file.tags:
        why = file.tags.why or file.tags.withheld
        fields["tags"] = {"fate": file.tags.status.value, "why": why}
    return output.file_object(file.path, fields)


def log_fields(file: "FileResult") -> dict[str, object]:
    """Return the log fields of a finished file."""
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
    """Yield the summary of a batch; `what_next` says how to continue a stopped one."""
    measures = result.measures
    yield headline(measures)
    if result.stopped:
        yield f"stopped: {result.stopped}; {what_next}"
    yield from measure_lines(measures)
    if any(count > 1 for count in (*measures.errors.values(), *measures.unwritten.values())):
        yield from summary_line("", "(`--report FILE` has all of them)")
    if is_dry:
        yield from summary_line("run", "dry run: nothing was stored or written")
        return
    yield from summary_line("run", f"{result.run_id} (`canon runs show` has it all)")


def headline(measures: Measures) -> str:
    """Return the result of a run in a sentence: how many tracks are older than their tags say."""
    if not measures.files:
        return "no audio file was found"
    if measures.states.get("error") == measures.files:
        return "nothing was decided"
    tracks = counted(measures.files, "track")
    if measures.earlier == 1:
        return f"1 of {tracks} is older than its tags say"
    if measures.earlier:
        return f"{measures.earlier:,} of {tracks} are older than their tags say"
    is_one = measures.files == 1
    if measures.first_releases.get("certain"):
        return f"{tracks}, {'not' if is_one else 'none of them'} older than its tags say"
    return f"{tracks}, {'without' if is_one else 'none of them with'} a certain first year"


def next_call(measures: Measures, paths: Sequence[str]) -> str:
    """Return the next command: write the tags of `paths`, or review what needs a person.

    If services failed for half of the files, `doctor` comes first. If a file needs nothing but a
    certain year, the person can set it.
    """
    failed = sum(measures.causes.get(cause, 0) for cause in _SERVICES)
    if failed and 2 * failed >= measures.files:
        return output.canon_call("doctor")
    if measures.earlier and paths and not measures.tags:
        return output.canon_call("write", *paths)
    if (
        measures.tags.get("refused")
        or measures.years_proposed
        or any(map(measures.states.get, WAITING_STATES))
    ):
        return output.canon_call("review")
    if failed:
        return output.canon_call("doctor")
    if measures.first_releases.get("uncertain") and [*map(os.path.isfile, paths)] == [True]:
        return output.canon_call("override", "set", *paths, "--first", "DATE")
    return ""


def measure_lines(measures: Measures) -> Iterator[str]:
    """Yield the result of a run: states in the order of what needs doing, failures, tags, costs."""
    for state, words in _STATES.items():
        if count := measures.states.get(state):
            note = _about_errors(measures) if state == "error" else words
            if state == "decided" and len(measures.decided_by) > 1:
                note = f" ({output.count_text(measures.decided_by, _DECIDED_BY)})"
            yield from summary_line(state, f"{count:,}{note}")
    certain = f"year certain for {measures.first_releases.get('certain', 0):,}"
    if measures.certain_undecided:
        certain += f" ({measures.certain_undecided:,} of them with an undecided release group)"
    if count := measures.first_releases.get("uncertain"):
        certain += f", uncertain for {count:,}"
    if measures.years_proposed:
        certain += f"; {measures.years_proposed:,} proposed by a model, for you to accept"
    yield from summary_line("first release", certain if measures.first_releases else "")
    yield from summary_line("tags", output.count_text(measures.tags, WORDS))
    yield from _reasons("not written", measures, measures.unwritten, _MAX_UNWRITTEN)
    yield from summary_line("failures", output.count_text(_failures(measures), _CAUSES))
    yield from _reasons("reasons", measures, measures.errors, _MAX_ERRORS)
    yield from summary_line("files", _files_text(measures) if measures.files else "")
    spent = (counted(count, *_SPENT.get(name, (name, name)))
             for name, count in measures.spent.items() if count)  # fmt: skip
    yield from summary_line("spent", ", ".join(spent))


def _failures(measures: Measures) -> Mapping[str, int]:
    """Return the causes of errors, without those of unmatched and unreadable files."""
    counts = {name: count for name, count in measures.causes.items() if name not in UNMATCHED}
    if counts.keys() == {"file"} and len(measures.errors) == 1:
        return {}  # the reason says it
    if "file" in counts:
        counts["file"] -= measures.states.get(State.UNREADABLE, 0)
    return {name.replace("_", " "): count for name, count in counts.items() if count > 0}


def _files_text(measures: Measures) -> str:
    files = f"{measures.files:,} in {output.duration(measures.seconds)}"
    if measures.seconds > 1 and measures.files:
        files += f", {output.rate_text(measures.files / measures.seconds)}"
    if measures.resumed:
        files += f", {measures.resumed:,} unchanged since an earlier run"
    if measures.unsaved:
        files += f", {measures.unsaved:,} with an earlier decision"
    return files


def _about_errors(measures: Measures) -> str:
    later = sum(measures.causes.get(cause, 0) for cause in _MAY_SUCCEED_LATER)
    folders = counted(measures.folders, "folder") if measures.folders else ""
    return (f"; {later:,} may succeed later" if later else "") + (
        f"; {folders} included, which `files` does not count" if folders else ""
    )


def _reasons(label: str, measures: Measures, counts: Mapping[str, int], most: int) -> Iterator[str]:
    texts = []
    for why, count in list(counts.items())[:most]:
        path = measures.examples.get(why)
        where = "" if path is None or PurePath(path).name in why else f"{path}: "
        same_reason = f" (and {counted(count - 1, 'more file')})" if count > 1 else ""
        texts.append(f"{where}{why}{same_reason}")
    if len(counts) > most:
        texts.append(f"and {counted(len(counts) - most, 'other kind')}")
    yield from output.labelled_list(label, texts, LABEL_WIDTH + 1, 0)


summary_line = partial(output.labelled, width=LABEL_WIDTH + 1, indent=0)
