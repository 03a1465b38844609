"""Changes of tags as text: a line for each album, what its files share, and what differs."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from chart_binder.audio.field_table import FIELDS_BY_NAME
from chart_binder.cli.decision_text import entity_names
from chart_binder.cli.output import count_text, labelled, labelled_list, note_lines, wrap
from chart_binder.domain.tags import AlbumKey, album_key
from chart_binder.errors import counted
from chart_binder.files import absolute_path, path_text
from chart_binder.jobs.journal import ChangedKey, FieldChange
from chart_binder.jobs.write import Plan, WriteReport, WriteStatus

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
_DONE = (WriteStatus.WRITTEN, WriteStatus.UNDONE, WriteStatus.UNCHANGED)
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
    "decision_trace": "decision trace",
}  # fmt: skip

Entry = tuple[str, str]


def album_of(report: WriteReport) -> AlbumKey:
    """Return the album that a file is of, by its tags where they were read."""
    return report.file.album if report.file else album_key(Path(absolute_path(report.path)), {})


def counts_text(
    counts: Mapping[WriteStatus, int], partial: Mapping[str, int], words: Words = WORDS
) -> str:
    """Return counts of outcomes as text; `partial` has how many of them are not whole, and how."""
    beside = (f", {count:,} of them {how}" for how, count in partial.items())
    return count_text(counts, words) + "".join(beside)


def what_lacks(report: WriteReport) -> Sequence[str]:
    """Return in a few words in what an outcome is not whole, if it is not."""
    if report.withheld is not None:
        return ["without a new date"]
    return ["in part"] if report.kept and report.status is not WriteStatus.REFUSED else []


def album_lines(
    reports: Sequence[WriteReport], words: Words = WORDS, *, detailed: bool, verbose: bool
) -> Iterator[str]:
    """Yield the files of one album; if `detailed` all of them, if `verbose` with ids."""
    key = album_of(reports[0])
    title = next(iter(reports[0].file.fields.get("album", ())), "") if reports[0].file else ""
    head = f"{title or 'no album'}, {counted(len(reports), 'file')}"
    partial = Counter(how for one in reports for how in what_lacks(one))
    counts = counts_text(Counter(one.status for one in reports), partial, words)
    yield from wrap(f"{head}: {counts}  [{path_text(key.folder)}]", "", 2)
    entries = {id(one): list(_entries(one, verbose=verbose)) if detailed else [] for one in reports}
    changing = [each for each in entries.values() if each]
    first, *rest = changing or [[]]
    shared = [each for each in first if rest and all(each in other for other in rest)]
    if shared:
        yield f"  in all {len(changing)} that change"
        yield from chain.from_iterable(labelled(*each, _LABEL_WIDTH, 4) for each in shared)
    reasons = Counter(text for one in reports for text in (_reason(one), *_notes(one)))
    for reason, count in reasons.items():
        if reason and count > 1:
            yield from note_lines(f"{count} files", reason, _INDENT)
    for one in reports:
        own = [each for each in entries[id(one)] if each not in shared]
        more = (not one.why, one.changes, _notes(one), one.lost, one.kept, one.others)
        if reasons[_reason(one)] == len(reports) > 1 and not any(more) and not verbose:
            continue  # all that is to be said of it is the reason that holds for all
        texts = {text for text in (_reason(one), *_notes(one)) if text and reasons[text] == 1}
        is_done = one.status in _DONE and not one.waits
        if detailed or texts or not is_done or one.lost or one.others:
            yield from _file_lines(one, own, key.folder, words, texts)


def _reason(report: WriteReport) -> str:
    return report.why or report.withheld or ""


def _notes(report: WriteReport) -> Sequence[str]:
    hidden = report.not_copied
    return (*report.notes, f"not copied: {', '.join(hidden)}") if hidden else report.notes


def _file_lines(
    report: WriteReport, own: Sequence[Entry], folder: Path, words: Words, texts: Collection[str]
) -> Iterator[str]:
    """Yield what became of a file, and what only it changes; `texts` were not printed before."""
    path = Path(absolute_path(report.path))
    name = path.relative_to(folder) if path.is_relative_to(folder) else report.path
    state = ", ".join((words[report.status], *what_lacks(report)))
    reason = _reason(report) if _reason(report) in texts else ""
    if len(own) == 1 and not (report.why or report.withheld):  # the counts say what became of it
        ((label, text),) = own
        yield from wrap(f"{path_text(name)}: {label}  {text}", "  ", 4)
    else:
        yield from wrap(f"{path_text(name)}: {state}{f': {reason}' if reason else ''}", "  ", 4)
        yield from chain.from_iterable(labelled(*each, _LABEL_WIDTH, 4) for each in own)
    for text in _notes(report):
        if text in texts:
            yield from wrap(text, "    ", 6)
    if report.lost:
        yield from note_lines("lost", ", ".join(report.lost), 4)
    if report.kept:
        yield "    kept, for somebody changed it since:"
        yield from changed_key_lines(report.kept, 6)
    if report.others:
        yield "    changed since by others, and not touched:"
        yield from changed_key_lines(report.others, 6)


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
             for key in (*keys.written, *keys.also)}  # fmt: skip
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


def _names(plan: Plan) -> Mapping[str, str]:
    """Return what ids stand for: that of the file's group for its album, others by the evidence."""
    before, bundle = plan.draft.file.fields, plan.draft.track.bundle
    title = next(iter(before.get("album", ())), "")
    recordings = {one.mb_recording_id: one.title or "" for one in bundle.recording_candidates}
    own = dict.fromkeys(before.get("release_group_mbid", ()), title)
    return own | recordings | entity_names(bundle)
