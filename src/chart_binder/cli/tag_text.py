"""Changes of tags as text: a line for each album, what its files share, and what differs."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from chart_binder.audio.fields import FIELDS_BY_NAME
from chart_binder.cli.decision_text import find_entities, group_name, note_lines, release_name
from chart_binder.cli.output import count_text, wrap
from chart_binder.domain.evidence import EvidenceBundle
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
"""The outcomes of a file, for people."""
UNDO_WORDS = WORDS | {
    WriteStatus.PLANNED: "would be put back",
    WriteStatus.REFUSED: "not changed",
}
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
"""A changed field's label, and what it changes from and to."""


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
    """Yield the files of one album: a line with counts, shared changes once, then each file.

    Without `detailed` only files are named of which something is to be said but the changes; none
    where one reason holds for all. If `verbose`, ids are shown behind names, and every file.
    """
    key = album_of(reports[0])
    first = reports[0].file
    title = next(iter(first.fields.get("album", ())), "") if first else ""
    head = f"{title or 'no album'}, {counted(len(reports), 'file')}"
    partial = Counter(how for one in reports for how in what_lacks(one))
    counts = counts_text(Counter(one.status for one in reports), partial, words)
    yield from wrap(f"{head}: {counts}  [{path_text(key.folder)}]", "", 2)
    entries = {id(one): list(_entries(one, verbose=verbose)) if detailed else [] for one in reports}
    changing = [each for each in entries.values() if each]
    shared = _shared(changing)
    if shared:
        yield f"  in all {len(changing)} that change"
        yield from _entry_lines(shared, 4)
    reasons = Counter(text for one in reports for text in (_reason(one), *one.notes))
    for reason, count in reasons.items():
        if reason and count > 1:
            yield from note_lines(f"{count} files", reason, _INDENT)
    for one in reports:
        own = [each for each in entries[id(one)] if each not in shared]
        if reasons[_reason(one)] == len(reports) > 1 and _is_all(one) and not verbose:
            continue
        texts = {text for text in (_reason(one), *one.notes) if text and reasons[text] == 1}
        is_done = one.status in _DONE and not one.waits
        if detailed or texts or not is_done or one.lost or one.others:
            yield from _file_lines(one, own, key.folder, words, texts)


def _shared(changing: Sequence[Sequence[Entry]]) -> Sequence[Entry]:
    """Return what is the same in every file that changes, if there are several."""
    if not changing[1:]:
        return []
    first, *rest = changing
    return [each for each in first if all(each in other for other in rest)]


def _is_all(report: WriteReport) -> bool:
    """Whether the reason why a file was not written is all that is to be said of it."""
    more = (report.changes, report.notes, report.lost, report.kept, report.others)
    return bool(report.why) and not any(more)


def _reason(report: WriteReport) -> str:
    return report.why or report.withheld or ""


def _file_lines(
    report: WriteReport, own: Sequence[Entry], folder: Path, words: Words, texts: Collection[str]
) -> Iterator[str]:
    """Yield one file: its name with what became of it, then what only it changes.

    `texts` are of its reason and notes those that were not printed before.
    """
    path = Path(absolute_path(report.path))
    name = path.relative_to(folder) if path.is_relative_to(folder) else report.path
    state = ", ".join((words[report.status], *what_lacks(report)))
    reason = _reason(report) if _reason(report) in texts else ""
    if len(own) == 1 and not (report.why or report.withheld):  # the counts say what became of it
        ((label, text),) = own
        yield from wrap(f"{path_text(name)}: {label}  {text}", "  ", 4)
    else:
        yield from wrap(f"{path_text(name)}: {state}{f': {reason}' if reason else ''}", "  ", 4)
        yield from _entry_lines(own, 4)
    for text in report.notes:
        if text in texts:
            yield from wrap(text, "    ", 6)
    if report.lost:
        yield from note_lines("lost", f"extended attributes {', '.join(report.lost)}", 4)
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
            head = f"{'':{indent}}  {label:<8} "
            for text in texts or ("-",):
                yield from wrap(text, head, len(head))
                head = " " * len(head)


def _entry_lines(entries: Iterable[Entry], indent: int) -> Iterator[str]:
    for label, text in entries:
        head = f"{'':{indent}}{label:<{_LABEL_WIDTH}} "
        yield from wrap(text, head, len(head))


def _entries(report: WriteReport, *, verbose: bool) -> Iterator[Entry]:
    """Yield the changed fields, without those that repeat a part of another one."""
    dates = [each for each in report.changes if each.field == "original_date"]
    years = [(_years(each.old), _years(each.new)) for each in dates]
    changed = {change.field for change in report.changes}
    parts = {key for name in _IN_PARTS & changed for key in _keys_of(name)}
    for change in report.changes:
        if change.field == "original_year" and (change.old, change.new) in years:
            continue
        if change.field in parts:
            continue
        label = _LABELS.get(change.field, change.field.replace("_", " "))
        if change.field in _IDS:
            yield label, _id_text(change, report.plan, verbose=verbose)
        else:
            yield label, _arrow("; ".join(change.old), "; ".join(change.new))


def _keys_of(name: str) -> Iterator[str]:
    for keys in FIELDS_BY_NAME[name].keys.values():
        yield from (*keys.written, *keys.also)


def _years(dates: Sequence[str]) -> tuple[str, ...]:
    return tuple(date[:4] for date in dates)


def _arrow(old: str, new: str) -> str:
    return f"{old or _NONE} -> {new or _NONE}"


def _id_text(change: FieldChange, plan: Plan | None, *, verbose: bool) -> str:
    """Return the names that ids stand for, and with `verbose` the ids behind them."""
    ids = _arrow(" ".join(change.old), " ".join(change.new))
    named = [_names(change.field, texts, plan) for texts in (change.old, change.new)]
    if any(named):
        before, after = named
        text = _arrow(before or ("(another)" if change.old else ""), after)
    else:
        text = "changed" if change.old and change.new else "set" if change.new else "removed"
    return f"{text}  [{ids}]" if verbose else text


def _names(field: str, ids: Sequence[str], plan: Plan | None) -> str:
    """Return what ids of a field stand for, by the evidence; else by the file's own tags."""
    if not ids or not plan:
        return ""
    bundle, before = plan.bundle, plan.draft.file.fields
    is_old = before.get(field) == tuple(ids)
    match field.removeprefix("note_"):
        case "release_group_mbid":
            group, _ = find_entities(bundle, ids[0], None)
            own = next(iter(before.get("album", ())), "") if is_old else ""
            return group_name(group) if group else own
        case "release_mbid":
            return _release_text(bundle, ids[0])
        case "recording_mbid":
            found = (one for one in bundle.recording_candidates if one.mb_recording_id == ids[0])
            return next((one.title or "" for one in found), "")
    return ""


def _release_text(bundle: EvidenceBundle, release_id: str) -> str:
    for recording in bundle.recording_candidates:
        for group in recording.groups:
            for release in group.editions:
                if release.mb_release_id == release_id:
                    return f"{release.title or group.title or ''} {release_name(release)}".strip()
    return ""
