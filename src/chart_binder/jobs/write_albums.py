"""Plan the tags of an album's files together, so that players show it as one album still."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from chart_binder.audio.file_access import listed_audio
from chart_binder.audio.save import NotWritableError
from chart_binder.domain import albums, tags
from chart_binder.domain.records import UnwrittenRecord, now_utc
from chart_binder.domain.tags import AlbumDates, WantedFields
from chart_binder.errors import (
    AudioError,
    CanonError,
    DamagedRecordError,
    SaveError,
    StoreError,
    counted,
)
from chart_binder.files import absolute_path, quoted
from chart_binder.jobs.journal import WritingRun
from chart_binder.jobs.stored_decisions import RecordsOfFiles, StoredDecision, path_bytes
from chart_binder.jobs.write import (
    PlanOrReport,
    TagDraft,
    TaggedFile,
    TagPlan,
    TagPlanner,
    WriteReport,
    WriteStatus,
    read_file_tags,
    refused,
    why_text,
    write_planned,
)

if TYPE_CHECKING:
    from chart_binder.store import Store

_MAX_TOGETHER = 2_000
"""Files that are planned at once: their evidence is in memory."""

_FILES_AT_ONCE = 100
"""Files of which the records in the store are read together."""

_NOT_WHOLE = (
    "skipped because --whole-albums dates all tracks or none, and {undated} of {tracks} cannot be"
    " dated"
)
_FAILED_BEFORE = "skipped because its album is written whole or not at all, and of {name}: {why}"
_IN_PART = (
    "{why}; {written} already written, so Navidrome may split its album: write it again when this"
    " is solved, or take the run back with `canon undo {run}`"
)
_SPLIT = "skipped because Navidrome{version} would split the album{is_partly}; --in-parts writes it"
_BEFORE_055 = " before 0.55"
"""These versions of Navidrome have the date in an album's key if there is an original date."""

T = TypeVar("T")
_DraftOrReport: TypeAlias = TagDraft | WriteReport
FieldEdit: TypeAlias = Callable[[tags.Fields], WantedFields]
_TryPlan: TypeAlias = Callable[[TagDraft, FieldEdit], TagPlan | SaveError | None]


@dataclass(frozen=True, slots=True)
class AlbumToWrite:
    """Files of one album that are to be written; `others` returns the rest of the album's."""

    key: albums.AlbumKey
    files: Sequence[TaggedFile]
    others: Callable[[], Sequence[TaggedFile]]


def album_folders(paths: Iterable[Path | WriteReport]) -> Iterator[Sequence[Path] | WriteReport]:
    """Yield the files of each folder, with its disc folders, together; reports as they are."""
    held: list[Path] = []
    entered: Path | None = None
    for item in paths:
        if isinstance(item, WriteReport):
            yield item
            continue
        folder = albums.album_folder(Path(absolute_path(item)))
        if held and folder != entered:
            yield held
            held = []
        held.append(item)
        entered = folder
    if held:
        yield held


def albums_in(paths: Sequence[Path]) -> Iterator[AlbumToWrite]:
    """Yield the albums of files in a folder, or in a few."""
    files = [read_file_tags(path) for path in paths]

    @cache
    def unnamed(folder: Path) -> Sequence[TaggedFile]:
        there = {path.resolve() for path in paths}
        beside = (path for path in files_of_album(folder) if path.resolve() not in there)
        return [read_file_tags(path) for path in beside]

    def others(key: albums.AlbumKey, known: Sequence[TaggedFile]) -> Sequence[TaggedFile]:
        # What cannot be read here, a player cannot read, either.
        found = (one for one in unnamed(key.folder) if one.album == key and not one.problem)
        return [*known, *found]

    for key, whole in albums.group_by_album(files, lambda one: one.album):
        for start in range(0, len(whole), _MAX_TOGETHER):
            end = start + _MAX_TOGETHER
            rest = [*whole[:start], *whole[end:]]
            yield AlbumToWrite(key, whole[start:end], partial(others, key, rest))


def files_of_album(folder: Path) -> Iterator[Path]:
    """Yield the audio files in a folder, and in the folders of its discs."""
    for item in listed_audio(folder):
        if item.is_dir() and albums.is_disc_folder(item.name):
            yield from (one for one in listed_audio(item) if not one.is_dir())
        elif not item.is_dir():
            yield item


def plan_album(
    planner: TagPlanner, album: AlbumToWrite, unsaved: Mapping[Path, StoredDecision] | None = None
) -> Sequence[PlanOrReport]:
    """Plan an album's files, by `unsaved` decisions if there are any. Raises `StoreError`."""
    drafts: list[_DraftOrReport] = []
    for start in range(0, len(album.files), _FILES_AT_ONCE):
        files = album.files[start : start + _FILES_AT_ONCE]
        stored = RecordsOfFiles(planner.store, [file.path for file in files], unsaved or {})
        drafts += [_or_report(file, partial(planner.draft, file, stored)) for file in files]
    match planner.options.policy:
        case tags.Policy.DATES:
            return _plan_dates(planner, album, drafts)
        case tags.Policy.NOTE:
            return [
                _plan_by(planner, one, lambda draft: partial(tags.note, draft.track))
                for one in drafts
            ]
        case tags.Policy.MOVE:
            return [_plan_by(planner, one, planner.move) for one in drafts]


def _plan_by(
    planner: TagPlanner, draft: _DraftOrReport, wish: Callable[[TagDraft], FieldEdit | WriteReport]
) -> PlanOrReport:
    if not isinstance(draft, TagDraft):
        return draft

    def plan() -> PlanOrReport:
        try:
            wanted = wish(draft)
            if isinstance(wanted, WriteReport):
                return wanted
            return planner.plan(draft, wanted)
        except NotWritableError as error:
            return refused(draft.file, error.why, draft.decision)

    return _or_report(draft.file, plan)


def _try_plan(planner: TagPlanner, draft: TagDraft, wish: FieldEdit) -> TagPlan | SaveError | None:
    """Return the plan of a file, why it cannot be saved, or `None` if it cannot be read."""
    try:
        return planner.plan(draft, wish)
    except SaveError as error:
        return error
    except (AudioError, OSError):  # the next attempt to plan it reports that
        return None


def _or_report(file: TaggedFile, make: Callable[[], T]) -> T | WriteReport:
    """Return what `make` returns, or the report of a file that it failed for."""
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

    What would split the album in Navidrome is refused if the options keep it together, and with
    `whole_albums` the whole album if one track cannot be dated.
    """
    options, has_ids = planner.options, bool(album.key.release)
    of_whole = options.whole_albums or (options.keeps_together and not has_ids)
    try_plan: _TryPlan = partial(_try_plan, planner) if of_whole else lambda *_: None
    drafts = [one for one in drafted if isinstance(one, TagDraft)]
    everyone = (*album.files, *(album.others() if of_whole else ()))
    tried = _attempt(everyone, drafts, options, try_plan, has_ids=has_ids)
    dated = [one for one in drafts if one.track.certain_date and one.path in tried.wishes]
    undated = len(everyone) - len(dated) if options.whole_albums else 0
    is_left_out = options.whole_albums and (undated or tried.split)
    why = ""
    if undated:
        why = _NOT_WHOLE.format(undated=undated, tracks=counted(len(everyone), "track"))
    elif tried.split:
        why = _split(everyone, tried.wishes, "" if options.also_date else _BEFORE_055)
    for path, error in islice(tried.blocked.items(), 1):
        others = f", and {len(tried.blocked) - 1} more" if len(tried.blocked) > 1 else ""
        why += f"; {quoted(Path(path.name))}{others}: {why_text(error)}"

    def planned(one: _DraftOrReport) -> PlanOrReport:
        if not isinstance(one, TagDraft):
            return one
        keys = albums.navidrome_keys(one.file.container, one.file.fields)
        if one.path in tried.wishes and (is_left_out or keys in tried.split):
            return refused(one.file, why, one.decision)
        plan = tried.plans.get(one.path) or _plan_by(planner, one, tried.wish)
        return replace(plan, of_whole=of_whole) if isinstance(plan, TagPlan) else plan

    return [planned(one) for one in drafted]


@dataclass(frozen=True, slots=True)
class _DatingAttempt:
    """A way to date files, those that may not be written, and the keys that it would split.

    `plans` are those that had to be made to know it.
    """

    wishes: Mapping[Path, FieldEdit]
    plans: Mapping[Path, TagPlan]
    blocked: Mapping[Path, SaveError]
    split: frozenset[object]

    def wish(self, draft: TagDraft) -> FieldEdit:
        """Return what dates a file. Raises `SaveError` for one that may not be written."""
        if error := self.blocked.get(draft.path):
            raise error
        return self.wishes[draft.path]


def _attempt(
    everyone: Sequence[TaggedFile],
    drafts: Sequence[TagDraft],
    options: tags.WriteOptions,
    try_plan: _TryPlan,
    *,
    has_ids: bool,
) -> _DatingAttempt:
    """Date an album's files; if whole dates would split it, no finer than those in the tags."""

    def attempt(*, is_cut: bool) -> _DatingAttempt:
        wishes: dict[Path, FieldEdit] = {}
        plans: dict[Path, TagPlan] = {}
        blocked: dict[Path, SaveError] = {}
        for draft in drafts:
            dates = AlbumDates(
                tags.dates_of_album(draft.track, draft.file.fields) | shared | draft.own_dates,
                also_date=options.also_date,
                with_release_date=options.also_date and not has_ids,
                no_finer_than_date=is_cut,
                best_known=options.best_known,
            )
            wish = partial(tags.dates, draft.track, album=dates)
            plan = try_plan(draft, wish)
            if isinstance(plan, SaveError):
                blocked[draft.path] = plan
                continue
            wishes[draft.path] = wish
            if plan:
                plans[draft.path] = plan
        after = ((one, _fields_after(one, wishes.get(one.path))) for one in everyone)
        split = frozenset[object]()
        if options.keeps_together:
            split = albums.split_keys(
                ((one.container, one.fields, fields) for one, fields in after),
                before_055=options.navidrome_before_055,
            )
        return _DatingAttempt(wishes, plans, blocked, split)

    shared = _shared_dates(everyone, drafts)
    whole = attempt(is_cut=False)
    is_cut = whole.split and not has_ids and options.navidrome_before_055
    return attempt(is_cut=True) if is_cut else whole


def _shared_dates(everyone: Sequence[TaggedFile], drafts: Sequence[TagDraft]) -> frozenset[str]:
    """Return the original date on all tracks: the album's, if they came out in different years."""
    originals = {file.fields.get("original_date", ()) for file in everyone}
    years = {draft.track.first.year for draft in drafts if draft.track.first}
    is_shared = len(originals) == 1 and len(years) > 1
    return frozenset(*originals) if is_shared else frozenset()


def _split(everyone: Sequence[TaggedFile], wishes: Mapping[Path, FieldEdit], version: str) -> str:
    """Return why an album is left out that Navidrome would split, and what helps."""
    after = [_fields_after(one, wishes.get(one.path)) for one in everyone]
    undated = sum(not each.get("original_date") for each in after)
    is_partly = f": {undated} of {counted(len(after), 'track')} would have no original date"
    is_partly = is_partly if 0 < undated < len(after) else ""
    return _SPLIT.format(version=version, is_partly=is_partly)


def _fields_after(file: TaggedFile, wish: FieldEdit | None) -> tags.Fields:
    """Return the fields of a file as they would be, without those that are removed."""
    if wish is None:
        return file.fields
    after = {**file.fields, **wish(file.fields).fields}
    return {name: texts for name, texts in after.items() if texts}


def write_album(planned: Sequence[PlanOrReport], run: WritingRun | None) -> Iterator[WriteReport]:
    """Write the files of an album as planned, if there is a `run`, and yield a report for each.

    Where one of a whole album fails first, the others are left out. Raises `StoreError`.
    """
    written, failed = 0, ""
    for one in planned:
        plan = one if isinstance(one, TagPlan) and one.of_whole and one.is_changed else None
        if plan and failed and not written:
            yield refused(plan.draft.file, failed, plan.draft.decision)
            continue
        report = write_planned(one, run)
        if plan and run and report.status in (WriteStatus.FAILED, WriteStatus.REFUSED):
            failed = _FAILED_BEFORE.format(name=quoted(Path(one.path.name)), why=report.why)
            if written:
                so_far = counted(written, "file is", "files are")
                why = _IN_PART.format(why=report.why, written=so_far, run=run.run.id)
                report = replace(report, why=why)
        written += report.status is WriteStatus.WRITTEN
        yield report


def record_unwritten(store: "Store", reports: Iterable[WriteReport]) -> None:
    """Save for `canon review` why files were not written, if they do not wait there anyhow."""
    unwritten: list[UnwrittenRecord] = []
    written: list[bytes] = []
    for one in reports:
        why = one.why if one.status is WriteStatus.REFUSED else one.withheld
        path = path_bytes(one.path)
        if why and not one.in_review:
            unwritten.append(
                UnwrittenRecord(path=path, decision_id=one.decision_id, why=why, at_utc=now_utc())
            )
        elif one.status is not WriteStatus.FAILED:
            written.append(path)
    store.unwritten.update(unwritten, written)


AlbumName: TypeAlias = tuple[str, str]


def album_moves(planned: Iterable[PlanOrReport]) -> Counter[tuple[AlbumName, AlbumName]]:
    """Count files by the album that they are of and the one whose ids would be written."""
    return Counter(
        (_album_name(one.draft.file.fields), _album_name(one.after))
        for one in planned
        if isinstance(one, TagPlan) and one.policy is tags.Policy.MOVE
    )


def _album_name(fields: tags.Fields) -> AlbumName:
    title, release = (next(iter(fields.get(name, ())), "") for name in ("album", "release_mbid"))
    return title, release


def regrouping_lines(moves: Counter[tuple[AlbumName, AlbumName]]) -> Iterator[str]:
    """Yield a line for each album that falls apart or comes together, with its files."""
    leaving: defaultdict[AlbumName, Counter[AlbumName]] = defaultdict(Counter)
    arriving: defaultdict[AlbumName, Counter[AlbumName]] = defaultdict(Counter)
    for (source, goal), count in moves.items():
        leaving[source][goal] += count
        arriving[goal][source] += count
    for source, goals in leaving.items():
        if len(goals) > 1:
            whole = counted(goals.total(), "file")
            yield f"falls apart: {_shown(source)}, {whole} into {_counts(goals)}"
        elif source not in goals:
            yield f"becomes another release: {_shown(source)} to {_counts(goals)}"
    for goal, sources in arriving.items():
        if len(sources) > 1:
            whole = counted(sources.total(), "file")
            yield f"comes together: {_shown(goal)}, {whole} from {_counts(sources)}"


def _shown(name: AlbumName) -> str:
    return repr(name[0]) if name[0] else "no album"


def _counts(albums: Counter[AlbumName]) -> str:
    return ", ".join(f"{_shown(name)} ({count})" for name, count in albums.most_common())
