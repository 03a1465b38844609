"""Changes of tags as text: a heading for each album, what its files share, and what differs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from chart_binder.audio.field_table import FIELDS_BY_NAME
from chart_binder.cli.output import (
    count_text,
    labelled,
    labelled_list,
    note_lines,
    with_folder,
    wrap,
)
from chart_binder.domain.tags import AlbumKey, album_key
from chart_binder.errors import counted
from chart_binder.files import absolute_path, path_text
from chart_binder.jobs.journal import ChangedKey, FieldChange
from chart_binder.jobs.wording import entity_names
from chart_binder.jobs.write import TagPlan, WriteReport, WriteStatus

WORDS = {
    WriteStatus.PLANNED: "would change",
    WriteStatus.WRITTEN: "written",
    WriteStatus.UNDONE: "put back",
    WriteStatus.UNCHANGED: "nothing to change",
    WriteStatus.REFUSED: "not written",
    WriteStatus.FAILED: "failed",
}
UNDO_WORDS = WORDS | {WriteStatus.PLANNED: "would be put back", WriteStatus.REFUSED: "not changed"}
Words = Mapping[WriteStatus, str]

_INDENT, _LABEL_WIDTH = 2, 22
_IN_PARTS = frozenset({"track", "disc"})
"""Fields whose keys each hold a number or a total."""
_NONE = "(none)"
_CHANGED = (WriteStatus.PLANNED, WriteStatus.WRITTEN, WriteStatus.UNDONE)
_MAX_NAMES = 3
_TRACE = "decision_trace"

Entry = tuple[str, str]


def album_of(report: WriteReport) -> AlbumKey:
    """Return the album of a file, by its tags if they were read."""
    return report.file.album if report.file else album_key(Path(absolute_path(report.path)), {})


def headline(
    counts: Mapping[WriteStatus, int], partial: Mapping[str, int], words: Words, goal: WriteStatus
) -> str:
    """Return how many files reached a goal, and the counts of other outcomes."""
    files = sum(counts.values())
    if not files:
        return "no audio file was found"
    remaining_counts = {status: count for status, count in counts.items()
              if status not in (goal, WriteStatus.UNCHANGED)}  # fmt: skip
    remarks = (f"{count:,} {remark}" for remark, count in partial.items())
    reached = counts.get(goal, 0)
    first = (
        f"{'' if reached == files else f'{reached:,} of '}{counted(files, 'file')} {words[goal]}"
    )
    return ", ".join(filter(None, (first, *remarks, count_text(remaining_counts, words))))


def shortfalls(report: WriteReport) -> Sequence[str]:
    """Return in a few words what an outcome lacks, if anything."""
    if report.withheld is not None:
        return ["without a new date"]
    return ["in part"] if report.kept_keys and report.status is not WriteStatus.REFUSED else []


def album_lines(
    reports: Sequence[WriteReport], words: Words = WORDS, *, detailed: bool, verbose: bool
) -> Iterator[str]:
    """Yield the results of the files of an album; if `detailed`, also their changes.

    If `verbose`, show ids and every file. What several files share is printed once.
    """
    folder, title = album_of(reports[0]).folder, ""
    if file := reports[0].file:
        title = next(iter(file.fields.get("album", ())), "")
    changed = [report for report in reports if report.status in _CHANGED]
    entries = {
        id(report): list(_entries(report, verbose=verbose)) if detailed else []
        for report in reports
    }
    changing = list(filter(None, entries.values()))
    first, *later = changing or [[]]
    same = [entry for entry in first if later and all(entry in texts for texts in later)]
    shared = _shared_texts(reports, words)
    lines = [
        line
        for report in reports
        for line in _file_lines(
            report,
            [entry for entry in entries[id(report)] if entry not in same],
            folder,
            words,
            [text for text in _texts(report, words) if text not in shared],
            is_named=verbose or (detailed and report in changed),
        )
    ]
    if not (changed or lines or shared):
        return
    count = f"{len(changed):,} of {counted(len(reports), 'file')}"
    yield with_folder(f"{title or 'no album'}: {count}", path_text(folder))
    for label, text in same:
        yield from wrap(f"all {len(changing)}: {label}  {text}", "  ", 4)
    yield from lines
    for text, sharing in shared.items():
        yield from note_lines(_names_of(sharing, folder, len(reports)), text, _INDENT)


def _shared_texts(
    reports: Sequence[WriteReport], words: Words
) -> Mapping[str, Sequence[WriteReport]]:
    """Return the texts that several files share, with these files."""
    groups = defaultdict[str, list[WriteReport]](list)
    for report in reports:
        for text in _texts(report, words):
            groups[text].append(report)
    return {text: sharing for text, sharing in groups.items() if len(sharing) > 1}


def _names_of(reports: Sequence[WriteReport], folder: Path, files: int) -> str:
    if len(reports) == files:
        return f"all {files:,} files"
    listed_reports = reports if len(reports) <= _MAX_NAMES else reports[: _MAX_NAMES - 1]
    names = ", ".join(_name_in(folder, report) for report in listed_reports)
    hidden = len(reports) - len(listed_reports)
    return f"{names} and {counted(hidden, 'other')}" if hidden else names


def _name_in(folder: Path, report: WriteReport) -> str:
    path = Path(absolute_path(report.path))
    return path_text(path.relative_to(folder) if path.is_relative_to(folder) else report.path)


def _state(report: WriteReport, words: Words) -> str:
    return ", ".join((words[report.status], *shortfalls(report)))


def _reason(report: WriteReport, words: Words) -> Sequence[str]:
    why = report.why or report.withheld
    return [f"{_state(report, words)}: {why}"] if why else []


def _texts(report: WriteReport, words: Words) -> Iterator[str]:
    """Yield why a file is not written, or only in part, and its notes."""
    yield from _reason(report, words)
    yield from report.notes
    if report.not_copied:
        yield f"not copied: {', '.join(report.not_copied)}"


def _file_lines(
    report: WriteReport,
    entries: Sequence[Entry],
    folder: Path,
    words: Words,
    texts: Sequence[str],
    *,
    is_named: bool,
) -> Iterator[str]:
    """Yield the result of a file, and the entries and texts that no other file shares."""
    if not (entries or texts or is_named or report.lost or report.kept_keys or report.other_keys):
        return
    state, reason = _state(report, words), _reason(report, words)
    if reason and reason == texts[:1]:
        state, *texts = texts
    if len(entries) == 1 and not (report.why or report.withheld):  # the counts give the state
        state, entries = "  ".join(entries[0]), []
    yield from wrap(f"{_name_in(folder, report)}: {state}", "  ", 4)
    yield from chain.from_iterable(labelled(*entry, _LABEL_WIDTH, 4) for entry in entries)
    yield from chain.from_iterable(wrap(text, "    ", 6) for text in texts)
    if report.lost:
        yield from note_lines("lost", ", ".join(report.lost), 4)
    if report.kept_keys:
        yield "    not put back, because it was changed after canon wrote it:"
        yield from changed_key_lines(report.kept_keys, 6)
    if report.other_keys:
        yield "    changed since, not by canon, and left as it is:"
        yield from changed_key_lines(report.other_keys, 6)


def changed_key_lines(keys: Iterable[ChangedKey], indent: int) -> Iterator[str]:
    """Yield each key with its values, the oldest first."""
    for key in keys:
        yield f"{'':{indent}}{key.field}"
        earlier = [("was", key.old)]
        if key.before is not None:
            earlier = [("before", key.before), ("written", key.old)]
        for label, texts in (*earlier, ("now", key.new)):
            yield from labelled_list(label, texts or ("-",), 8, indent + 2)


def _entries(report: WriteReport, *, verbose: bool) -> Iterator[Entry]:
    dates = [change for change in report.changes if change.field == "original_date"]
    years = [tuple(tuple(date[:4] for date in values) for values in (change.old, change.new))
             for change in dates]  # fmt: skip
    changed = {change.field for change in report.changes}
    parts = {key for name in _IN_PARTS & changed for keys in FIELDS_BY_NAME[name].keys.values()
             for key in (*keys.primary, *keys.secondary)}  # fmt: skip
    names = _names(report.plan) if report.plan else {}
    for change in report.changes:
        if change.field == "original_year" and (change.old, change.new) in years:
            continue
        if change.field in parts:
            continue
        label = _label(change.field)
        if change in dates and "original_year" in changed:
            label = "original date and year"
        if "_mbid" in change.field or change.field in ("disc_id", _TRACE):
            yield label, _id_text(change, names, verbose=verbose)
        else:
            yield label, _arrow("; ".join(change.old), "; ".join(change.new))


def _label(field: str) -> str:
    """Return the name of a field in words, such as `note: release group`."""
    if field == _TRACE:
        return "CANON_TRACE"
    name = field.replace("_mbids", "_ids").replace("_mbid", "").replace("note_", "note: ")
    return name.replace("_", " ")


def _arrow(old: str, new: str) -> str:
    return f"{old or _NONE} -> {new or _NONE}"


def _id_text(change: FieldChange, names: Mapping[str, str], *, verbose: bool) -> str:
    before, after = (names.get(ids[0], "") if ids else "" for ids in (change.old, change.new))
    if before or after:
        text = _arrow(before or ("(another)" if change.old else ""), after)
    else:
        text = "changed" if change.old and change.new else "added" if change.new else "removed"
    ids = _arrow(" ".join(change.old), " ".join(change.new))
    return f"{text}  [{ids}]" if verbose else text


def _names(plan: TagPlan) -> Mapping[str, str]:
    """Return the names of ids: the file's group by its album tag, the others by the evidence."""
    before, bundle = plan.draft.file.fields, plan.draft.track.bundle
    title = next(iter(before.get("album", ())), "")
    candidates = bundle.recording_candidates
    recordings = {item.mb_recording_id: item.title or "" for item in candidates}
    file_group = dict.fromkeys(before.get("release_group_mbid", ()), title)
    return file_group | recordings | entity_names(bundle)
