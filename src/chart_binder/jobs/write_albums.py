"""Plan the tags of the files of an album together, so that players still show one album."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from chart_binder.audio.find import listed_audio
from chart_binder.audio.save import NotWritableError
from chart_binder.domain import tag_policies
from chart_binder.domain.records import UnwrittenRecord, now_utc
from chart_binder.domain.tag_policies import AlbumDates
from chart_binder.domain.tags import (
    AlbumKey,
    Fields,
    album_folder,
    group_by_album,
    is_disc_folder,
    navidrome_keys,
    split_keys,
)
from chart_binder.errors import (
    CanonError,
    DamagedRecordError,
    StoreError,
    counted,
)
from chart_binder.files import absolute_path, quoted
from chart_binder.jobs.journal import WritingRun
from chart_binder.jobs.stored_decisions import RecordsOfFiles, StoredDecision, path_bytes
from chart_binder.jobs.write import (
    FieldEdit,
    PlanOrReport,
    TagDraft,
    TaggedFile,
    TagPlan,
    TagPlanner,
    WriteReport,
    WriteStatus,
    read_file_tags,
    refused,
    write_planned,
)

if TYPE_CHECKING:
    from chart_binder.store import Store

_MAX_PLANNED = 2_000
"""The number of files that are planned together; their evidence is in memory."""

_NOT_WHOLE = (
    "skipped because --whole-albums dates all tracks or none, and {undated} of {tracks} cannot be"
    " dated"
)
_FAILED_BEFORE = "skipped because its album is written whole or not at all, and of {name}: {why}"
_IN_PART = (
    "{why}; {written} already written, so Navidrome may split its album: write it again when this"
    " is solved, or take the run back with `canon undo {run}`"
)
_SPLIT = "skipped because Navidrome{version} would split the album{details}; --in-parts writes it"
_BEFORE_055 = " before 0.55"
"""In these versions of Navidrome, the original date makes the date part of an album's key."""

T = TypeVar("T")
_DraftOrReport: TypeAlias = TagDraft | WriteReport


@dataclass(frozen=True, slots=True)
class AlbumToWrite:
    """Files of one album that are to be written; `read_others` reads its other files."""

    key: AlbumKey
    files: Sequence[TaggedFile]
    read_others: Callable[[], Sequence[TaggedFile]]


def album_folders(paths: Iterable[Path | WriteReport]) -> Iterator[Sequence[Path] | WriteReport]:
    """Yield the files of each folder and its disc folders together; pass on reports."""
    files: list[Path] = []
    folder: Path | None = None
    for item in paths:
        if isinstance(item, WriteReport):
            yield item
            continue
        next_folder = album_folder(Path(absolute_path(item)))
        if files and next_folder != folder:
            yield files
            files = []
        files.append(item)
        folder = next_folder
    if files:
        yield files


def albums_in(paths: Sequence[Path]) -> Iterator[AlbumToWrite]:
    """Yield the albums of files from one folder or several."""
    files = [read_file_tags(path) for path in paths]

    @cache
    def unnamed_files(folder: Path) -> Sequence[TaggedFile]:
        resolved = {path.resolve() for path in paths}
        paths_there = (path for path in files_of_album(folder) if path.resolve() not in resolved)
        return [read_file_tags(path) for path in paths_there]

    def read_others(key: AlbumKey, files_named: Sequence[TaggedFile]) -> Sequence[TaggedFile]:
        # Players cannot read them either if there is a problem.
        unnamed = unnamed_files(key.folder)
        return [*files_named, *(file for file in unnamed if file.album == key and not file.problem)]

    for key, album in group_by_album(files, lambda file: file.album):
        for start in range(0, len(album), _MAX_PLANNED):
            end = start + _MAX_PLANNED
            files_named = [*album[:start], *album[end:]]
            yield AlbumToWrite(key, album[start:end], partial(read_others, key, files_named))


def files_of_album(folder: Path) -> Iterator[Path]:
    """Yield the audio files in a folder and in its disc folders."""
    for item in listed_audio(folder):
        if item.is_dir() and is_disc_folder(item.name):
            yield from (path for path in listed_audio(item) if not path.is_dir())
        elif not item.is_dir():
            yield item


def plan_album(
    planner: TagPlanner, album: AlbumToWrite, unsaved: Mapping[Path, StoredDecision] | None = None
) -> Sequence[PlanOrReport]:
    """Plan the files of an album by stored decisions, or by `unsaved` ones. Raises `StoreError`."""
    stored = RecordsOfFiles(planner.store, [file.path for file in album.files], unsaved or {})
    drafts: list[_DraftOrReport] = [
        _or_report(file, partial(planner.draft, file, stored)) for file in album.files
    ]
    match planner.options.policy:
        case tag_policies.Policy.DATES:
            return _plan_dates(planner, album, drafts)
        case tag_policies.Policy.NOTE:
            return [
                _plan_by(planner, draft, lambda draft: partial(tag_policies.note, draft.track))
                for draft in drafts
            ]
        case tag_policies.Policy.MOVE:
            return [_plan_by(planner, draft, planner.move) for draft in drafts]


def _plan_by(
    planner: TagPlanner,
    draft: _DraftOrReport,
    choose_edit: Callable[[TagDraft], FieldEdit | WriteReport],
) -> PlanOrReport:
    if not isinstance(draft, TagDraft):
        return draft

    def plan() -> PlanOrReport:
        try:
            edit = choose_edit(draft)
            return edit if isinstance(edit, WriteReport) else planner.plan(draft, edit)
        except NotWritableError as error:
            return refused(draft.file, error.why, draft.decision)

    return _or_report(draft.file, plan)


def _or_report(file: TaggedFile, make: Callable[[], T]) -> T | WriteReport:
    """Return the result of `make`, or a report on the file if it fails."""
    try:
        return make()
    except (CanonError, OSError) as error:
        if isinstance(error, StoreError) and not isinstance(error, DamagedRecordError):
            raise
        return WriteReport(file.path, WriteStatus.FAILED, why=str(error), file=file)


def _plan_dates(
    planner: TagPlanner, album: AlbumToWrite, drafted: Sequence[_DraftOrReport]
) -> Sequence[PlanOrReport]:
    """Plan the original dates of an album.

    Files that would split the album in Navidrome are refused if the options keep it together. With
    `whole_albums`, all files are refused if one cannot be dated.
    """
    options, has_ids = planner.options, bool(album.key.release)
    is_all_or_nothing = options.whole_albums or (options.keeps_together and not has_ids)
    drafts = [draft for draft in drafted if isinstance(draft, TagDraft)]
    tracks = (*album.files, *(album.read_others() if is_all_or_nothing else ()))
    plans, split = _dating_plans(planner, tracks, drafts, has_ids=has_ids)
    dated = sum(isinstance(plan, TagPlan) and _has_own_date(plan) for plan in plans.values())
    undated = len(tracks) - dated if options.whole_albums else 0
    is_skipped = options.whole_albums and (undated or split)
    why = ""
    if undated:
        why = _NOT_WHOLE.format(undated=undated, tracks=counted(len(tracks), "track"))
    elif split:
        why = _split_text(tracks, plans, "" if options.also_date else _BEFORE_055)
    blocked = [plan for plan in plans.values() if isinstance(plan, WriteReport)]
    for report in blocked[:1] if is_all_or_nothing else ():
        further = f", and {len(blocked) - 1} more" if len(blocked) > 1 else ""
        why += f"; {quoted(Path(report.path.name))}{further}: {report.why}"

    def plan_or_report(draft: _DraftOrReport) -> PlanOrReport:
        plan = plans[draft.path] if isinstance(draft, TagDraft) else draft
        if isinstance(plan, WriteReport):
            return plan
        keys = navidrome_keys(plan.draft.file.container, plan.draft.file.fields)
        if is_skipped or keys in split:
            return refused(plan.draft.file, why, plan.draft.decision)
        return replace(plan, is_all_or_nothing=is_all_or_nothing)

    return [plan_or_report(draft) for draft in drafted]


def _dating_plans(
    planner: TagPlanner,
    tracks: Sequence[TaggedFile],
    drafts: Sequence[TagDraft],
    *,
    has_ids: bool,
) -> tuple[Mapping[Path, PlanOrReport], frozenset[object]]:
    """Return plans that date files, and the Navidrome keys of albums that these would split.

    If full dates would split the album, take none finer than those in the tags.
    """
    options = planner.options
    shared = _shared_dates(tracks, drafts)
    plans: dict[Path, PlanOrReport] = {}
    split: frozenset[object] = frozenset()
    for is_coarse in (False, True):

        def dating(draft: TagDraft, *, is_coarse: bool = is_coarse) -> FieldEdit:
            dates = AlbumDates(
                tag_policies.dates_of_album(draft.track, draft.file.fields)
                | shared
                | draft.own_dates,
                also_date=options.also_date,
                with_release_date=options.also_date and not has_ids,
                no_finer_than_date=is_coarse,
                best_known=options.best_known,
            )
            return partial(tag_policies.dates, draft.track, album=dates)

        plans = {draft.path: _plan_by(planner, draft, dating) for draft in drafts}
        if options.keeps_together:
            split = split_keys(
                ((track.container, track.fields, _fields_after(track, plans)) for track in tracks),
                before_055=options.navidrome_before_055,
            )
        if not split or has_ids or not options.navidrome_before_055:
            break
    return plans, split


def _has_own_date(plan: TagPlan) -> bool:
    """Return whether a file would have an original date that is its own."""
    is_kept = "original_date" in plan.draft.file.fields
    return plan.draft.track.certain_date is not None and (is_kept or not plan.withheld)


def _shared_dates(tracks: Sequence[TaggedFile], drafts: Sequence[TagDraft]) -> frozenset[str]:
    """Return the original date that all tracks have although their years differ: the album's."""
    originals = {track.fields.get("original_date", ()) for track in tracks}
    years = {draft.track.first.year for draft in drafts if draft.track.first}
    is_shared = len(originals) == 1 and len(years) > 1
    return frozenset(*originals) if is_shared else frozenset()


def _split_text(
    tracks: Sequence[TaggedFile], plans: Mapping[Path, PlanOrReport], version: str
) -> str:
    """Return why an album that Navidrome would split is skipped, and how to write it."""
    undated = sum(not _fields_after(track, plans).get("original_date") for track in tracks)
    details = f": {undated} of {counted(len(tracks), 'track')} would have no original date"
    details = details if 0 < undated < len(tracks) else ""
    return _SPLIT.format(version=version, details=details)


def _fields_after(file: TaggedFile, plans: Mapping[Path, PlanOrReport]) -> Fields:
    """Return the fields that a file would have after its plan, if it has one."""
    plan = plans.get(file.path)
    return plan.after if isinstance(plan, TagPlan) else file.fields


def write_album(planned: Sequence[PlanOrReport], run: WritingRun | None) -> Iterator[WriteReport]:
    """Write the planned files of an album, unless there is no `run`; yield a report on each.

    If the first write of an album that is all or nothing fails, its other files are skipped.
    Raises `StoreError`.
    """
    written_files, failure = 0, ""
    for item in planned:
        plan = (
            item
            if isinstance(item, TagPlan) and item.is_all_or_nothing and item.is_changed
            else None
        )
        if plan and failure and not written_files:
            yield refused(plan.draft.file, failure, plan.draft.decision)
            continue
        report = write_planned(item, run)
        if plan and run and report.status in (WriteStatus.FAILED, WriteStatus.REFUSED):
            failure = _FAILED_BEFORE.format(name=quoted(Path(item.path.name)), why=report.why)
            if written_files:
                so_far = counted(written_files, "file is", "files are")
                why = _IN_PART.format(why=report.why, written=so_far, run=run.run.id)
                report = replace(report, why=why)
        written_files += report.status is WriteStatus.WRITTEN
        yield report


def record_unwritten(store: "Store", reports: Iterable[WriteReport]) -> None:
    """Save for `canon review` why files were not written, unless they wait there anyway."""
    unwritten: list[UnwrittenRecord] = []
    settled: list[bytes] = []
    for report in reports:
        why = report.why if report.status is WriteStatus.REFUSED else report.withheld
        path = path_bytes(report.path)
        if why and not report.in_review:
            record = UnwrittenRecord(
                path=path, decision_id=report.decision_id, why=str(why), at_utc=now_utc()
            )
            unwritten.append(record)
        elif report.status is not WriteStatus.FAILED:
            settled.append(path)
    store.unwritten.update(unwritten, settled)


AlbumName: TypeAlias = tuple[str, str]
"""The title of an album, and the id of its release."""


def album_moves(planned: Iterable[PlanOrReport]) -> Counter[tuple[AlbumName, AlbumName]]:
    """Count the planned files by their present album and the album that they would move to."""
    return Counter(
        (_album_name(plan.draft.file.fields), _album_name(plan.after))
        for plan in planned
        if isinstance(plan, TagPlan) and plan.policy is tag_policies.Policy.MOVE
    )


def _album_name(fields: Fields) -> AlbumName:
    title, release = (next(iter(fields.get(name, ())), "") for name in ("album", "release_mbid"))
    return title, release


def regrouping_lines(moves: Counter[tuple[AlbumName, AlbumName]]) -> Iterator[str]:
    """Yield a line for each album that is split, renamed or merged, with the numbers of files."""
    leaving: defaultdict[AlbumName, Counter[AlbumName]] = defaultdict(Counter)
    arriving: defaultdict[AlbumName, Counter[AlbumName]] = defaultdict(Counter)
    for (source, target), count in moves.items():
        leaving[source][target] += count
        arriving[target][source] += count
    for source, targets in leaving.items():
        if len(targets) > 1:
            total = counted(targets.total(), "file")
            yield f"falls apart: {_shown(source)}, {total} into {_counts(targets)}"
        elif source not in targets:
            yield f"becomes another release: {_shown(source)} to {_counts(targets)}"
    for target, sources in arriving.items():
        if len(sources) > 1:
            total = counted(sources.total(), "file")
            yield f"comes together: {_shown(target)}, {total} from {_counts(sources)}"


def _shown(name: AlbumName) -> str:
    return repr(name[0]) if name[0] else "no album"


def _counts(albums: Counter[AlbumName]) -> str:
    return ", ".join(f"{_shown(name)} ({count})" for name, count in albums.most_common())
