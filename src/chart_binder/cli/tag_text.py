"""Changes of tags as text: a line for each album, what its files share, and what differs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from chart_binder.audio.field_table import FIELDS_BY_NAME
from chart_binder.cli.decision_text import entity_names
from chart_binder.cli.output import (
    count_text,
    labelled,
    labelled_list,
    note_lines,
    with_folder,
    wrap,
)
from chart_binder.domain.albums import AlbumKey, album_key
from chart_binder.errors import counted
from chart_binder.files import absolute_path, path_text
from chart_binder.jobs.journal import ChangedKey, FieldChange
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

_INDENT, _LABEL_WIDTH = 2, 18
_IN_PARTS = frozenset({"track", "disc"})
"""Fields whose keys hold a number or a total each."""
_NONE = "(none)"
_CHANGED = (WriteStatus.PLANNED, WriteStatus.WRITTEN, WriteStatus.UNDONE)
_MAX_NAMES = 3
_IDS = frozenset({
    "recording_mbid", "release_track_mbid", "release_mbid", "release_group_mbid", "artist_mbids",
    "album_artist_mbids", "disc_id", "note_release_group_mbid", "note_release_mbid",
    "decision_trace",
})  # fmt: skip
_LABELS = {
    "recording_mbid": "recording", "release_track_mbid": "release track",
    "release_mbid": "release", "release_group_mbid": "release group",
    "artist_mbids": "artist ids", "album_artist_mbids": "album artist ids",
    "note_release_group_mbid": "note: group", "note_release_mbid": "note: release",
    "note_album": "note: album", "note_original_date": "note: first date",
    "note_uncertain_date": "note: uncertain",
    "decision_trace": "decision trace",
}  # fmt: skip

Entry = tuple[str, str]


def album_of(report: WriteReport) -> AlbumKey:
    """Return the album that a file is of, by its tags where they were read."""
    return report.file.album if report.file else album_key(Path(absolute_path(report.path)), {})


def headline(
    counts: Mapping[WriteStatus, int], partial: Mapping[str, int], words: Words, goal: WriteStatus
) -> str:
    """Return how many files reached a goal, and of how many something else is to be said."""
    files = sum(counts.values())
    if not files:
        return "no audio file was there"
    others = {status: count for status, count in counts.items()
              if status not in (goal, WriteStatus.UNCHANGED)}  # fmt: skip
    beside = (f"{count:,} {how}" for how, count in partial.items())
    reached = counts.get(goal, 0)
    first = (
        f"{'' if reached == files else f'{reached:,} of '}{counted(files, 'file')} {words[goal]}"
    )
    return ", ".join(filter(None, (first, count_text(others, words), *beside)))


def what_lacks(report: WriteReport) -> Sequence[str]:
    """Return in a few words in what an outcome is not whole, if it is not."""
    if report.withheld is not None:
        return ["without a new date"]
    return ["in part"] if report.kept_keys and report.status is not WriteStatus.REFUSED else []


def album_lines(
    reports: Sequence[WriteReport], words: Words = WORDS, *, detailed: bool, verbose: bool
) -> Iterator[str]:
    """Yield what is to be said of the files of an album; if `detailed` also what changes in them.

    If `verbose`, with ids and every file. What holds for several files is said once.
    """
    folder, title = album_of(reports[0]).folder, ""
    if file := reports[0].file:
        title = next(iter(file.fields.get("album", ())), "")
    changed = [one for one in reports if one.status in _CHANGED]
    entries = {id(one): list(_entries(one, verbose=verbose)) if detailed else [] for one in reports}
    changing = [each for each in entries.values() if each]
    first, *rest = changing or [[]]
    same = [each for each in first if rest and all(each in other for other in rest)]
    groups = defaultdict[str, list[WriteReport]](list)
    for one in reports:
        for text in _texts(one, words):
            groups[text].append(one)
    shared = {text: those for text, those in groups.items() if len(those) > 1}
    lines = [
        line
        for one in reports
        for line in _file_lines(
            one,
            [each for each in entries[id(one)] if each not in same],
            folder,
            words,
            [text for text in _texts(one, words) if text not in shared],
            is_named=verbose or (detailed and one in changed),
        )
    ]
    if not (changed or lines or shared):
        return
    count = f"{len(changed):,} of {counted(len(reports), 'file')}"
    yield with_folder(f"{title or 'no album'}: {count}", path_text(folder))
    for label, text in same:
        yield from wrap(f"all {len(changing)}: {label}  {text}", "  ", 4)
    yield from lines
    for text, those in shared.items():
        yield from note_lines(_names_of(those, folder, len(reports)), text, _INDENT)


def _names_of(reports: Sequence[WriteReport], folder: Path, files: int) -> str:
    if len(reports) == files:
        return f"all {files:,} files"
    shown = reports if len(reports) <= _MAX_NAMES else reports[: _MAX_NAMES - 1]
    names = ", ".join(_name_in(folder, one) for one in shown)
    rest = len(reports) - len(shown)
    return f"{names} and {counted(rest, 'other')}" if rest else names


def _name_in(folder: Path, report: WriteReport) -> str:
    path = Path(absolute_path(report.path))
    return path_text(path.relative_to(folder) if path.is_relative_to(folder) else report.path)


def _state(report: WriteReport, words: Words) -> str:
    return ", ".join((words[report.status], *what_lacks(report)))


def _texts(report: WriteReport, words: Words) -> Iterator[str]:
    """Yield why a file is not written, or not as a whole, and what else is to be said of it."""
    if why := report.why or report.withheld:
        yield f"{_state(report, words)}: {why}"
    yield from report.notes
    if report.not_copied:
        yield f"not copied: {', '.join(report.not_copied)}"


def _file_lines(
    report: WriteReport,
    own: Sequence[Entry],
    folder: Path,
    words: Words,
    texts: Sequence[str],
    *,
    is_named: bool,
) -> Iterator[str]:
    """Yield what became of a file, and the entries and texts that are only of it."""
    if not (own or texts or is_named or report.lost or report.kept_keys or report.other_keys):
        return
    state = _state(report, words)
    if texts and texts[0].startswith(f"{state}: "):
        state, *texts = texts
    if len(own) == 1 and not (report.why or report.withheld):  # the counts say what became of it
        state, own = "  ".join(own[0]), []
    yield from wrap(f"{_name_in(folder, report)}: {state}", "  ", 4)
    yield from chain.from_iterable(labelled(*each, _LABEL_WIDTH, 4) for each in own)
    yield from chain.from_iterable(wrap(text, "    ", 6) for text in texts)
    if report.lost:
        yield from note_lines("lost", ", ".join(report.lost), 4)
    if report.kept_keys:
        yield "    kept, because somebody changed it since:"
        yield from changed_key_lines(report.kept_keys, 6)
    if report.other_keys:
        yield "    changed since by others, and left as it is:"
        yield from changed_key_lines(report.other_keys, 6)


def changed_key_lines(keys: Iterable[ChangedKey], indent: int) -> Iterator[str]:
    """Yield each key by its name, with what it said, the oldest first."""
    for key in keys:
        yield f"{'':{indent}}{key.field}"
        then = [("was", key.old)]
        if key.before is not None:
            then = [("before", key.before), ("written", key.old)]
        for label, texts in (*then, ("now", key.new)):
            yield from labelled_list(label, texts or ("-",), 8, indent + 2)


def _entries(report: WriteReport, *, verbose: bool) -> Iterator[Entry]:
    dates = [each for each in report.changes if each.field == "original_date"]
    years = [tuple(tuple(date[:4] for date in both) for both in (each.old, each.new))
             for each in dates]  # fmt: skip
    changed = {change.field for change in report.changes}
    parts = {key for name in _IN_PARTS & changed for keys in FIELDS_BY_NAME[name].keys.values()
             for key in (*keys.primary, *keys.secondary)}  # fmt: skip
    names = _names(report.plan) if report.plan else {}
    for change in report.changes:
        if change.field == "original_year" and (change.old, change.new) in years:
            continue
        if change.field in parts:
            continue
        label = _LABELS.get(change.field, change.field.replace("_", " "))
        if change.field in _IDS:
            yield label, _id_text(change, names, verbose=verbose)
        else:
            yield label, _arrow("; ".join(change.old), "; ".join(change.new))


def _arrow(old: str, new: str) -> str:
    return f"{old or _NONE} -> {new or _NONE}"


def _id_text(change: FieldChange, names: Mapping[str, str], *, verbose: bool) -> str:
    before, after = (names.get(ids[0], "") if ids else "" for ids in (change.old, change.new))
    if before or after:
        text = _arrow(before or ("(another)" if change.old else ""), after)
    else:
        text = "changed" if change.old and change.new else "set" if change.new else "removed"
    ids = _arrow(" ".join(change.old), " ".join(change.new))
    return f"{text}  [{ids}]" if verbose else text


def _names(plan: TagPlan) -> Mapping[str, str]:
    """Return what ids stand for: that of the file's group for its album, others by the evidence."""
    before, bundle = plan.draft.file.fields, plan.draft.track.bundle
    title = next(iter(before.get("album", ())), "")
    recordings = {one.mb_recording_id: one.title or "" for one in bundle.recording_candidates}
    own = dict.fromkeys(before.get("release_group_mbid", ()), title)
    return own | recordings | entity_names(bundle)
