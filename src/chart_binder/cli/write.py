"""`canon write`, `canon undo` and `canon verify`: tags are written, put back and compared."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from chart_binder.audio.walk import AudioFile, UnreadablePath, find_audio_files
from chart_binder.cli.options import (
    INTERRUPTED,
    PATH,
    Session,
    command_line,
    keep_mtime_option,
    named_paths,
    pass_session,
    paths_argument,
    policy_option,
)
from chart_binder.cli.output import (
    file_object,
    print_json,
    print_lines,
    print_notes,
    set_log_file,
    worst,
    wrap,
)
from chart_binder.cli.progress import stop_after_current
from chart_binder.cli.render.decision import SITE, change_lines, note_lines
from chart_binder.domain.records import WriteRecord
from chart_binder.domain.tags import Policy
from chart_binder.errors import CanonError, StoreError, UsageError
from chart_binder.files import path_text
from chart_binder.jobs.journal import (
    FieldChange,
    Verification,
    VerifyState,
    WritingRun,
    clean_folders,
    moved_write,
    only_done,
    repair_journal,
)
from chart_binder.jobs.journal import verify as verify_file
from chart_binder.jobs.write import (
    UNDO,
    Planner,
    WriteReport,
    WriteStatus,
    last_write,
    runs_to_undo,
    undo_writes,
    write_tags,
    writes_to_undo,
)
from chart_binder.store import open_store
from chart_binder.wiring import overrides, store_url

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_FAILED = 1
_MAX_HELD = 100
"""Files of one album that are held back, to print once what is the same in all."""
_WRITE_STATUS = {WriteStatus.REFUSED: 3, WriteStatus.FAILED: 1}
_WORDS = {
    WriteStatus.PLANNED: "would change",
    WriteStatus.WRITTEN: "written",
    WriteStatus.UNDONE: "put back",
    WriteStatus.UNCHANGED: "nothing to change",
    WriteStatus.REFUSED: "left alone",
    WriteStatus.FAILED: "failed",
}
_NO_PATHS = "name files or folders, or - for paths on standard input"
_VERIFY_STATUS = {
    VerifyState.SAME: 0,
    VerifyState.UNRECORDED: 0,
    VerifyState.OPEN: 3,
    VerifyState.TAGS_DIFFER: 3,
    VerifyState.AUDIO_DIFFERS: 1,
    VerifyState.UNREADABLE: 1,
}


@click.command("write")
@paths_argument
@click.option("--apply", "applies", is_flag=True, help="Write; else only show what would change.")
@policy_option("ids: identifiers alone (the default); full: album, dates, label and the rest too.")
@keep_mtime_option
@pass_session
def write(
    session: Session, paths: tuple[str, ...], applies: bool, policy: str, keep_mtime: bool
) -> int:
    """Show what the decisions on files change in their tags; --apply writes it, safely.

    `canon undo` takes back what was written.

    Exit status: 0 written, or nothing to change, 3 something may not be written, 1 a file could not
    be read or saved.
    """
    if not paths:
        raise UsageError(_NO_PATHS)
    config = session.config
    results = TagResults(session.as_json)
    with open_store(store_url(config)) as store, stop_after_current() as stop:
        planner = Planner(store, overrides(config)(), Policy(policy))
        run = (
            WritingRun.of(store, "write", command_line(), keep_mtime=keep_mtime)
            if applies
            else None
        )
        if run:
            print_notes(repair_journal(store))
        with recording_end(results, run):
            for item in _files(paths, print_notes if run else None):
                if isinstance(item, WriteReport):
                    results.show(item)
                else:
                    set_log_file(item)
                    results.show(write_tags(planner, item, run))
                if stop.is_set():
                    break
            return _finish(results, run, stop)


def _files(
    paths: Iterable[str], report: Callable[[Iterable[str]], None] | None
) -> Iterator[Path | WriteReport]:
    """Yield the files; with `report`, remove leftovers from each folder that is entered."""
    known: Path | None = None
    for named in named_paths(paths):
        for item in find_audio_files([Path(named)]):
            if isinstance(item, UnreadablePath):
                yield WriteReport(item.path, WriteStatus.FAILED, why=str(item.problem))
                continue
            folder = item.path.resolve().parent
            if report and folder != known:
                report(clean_folders([folder]))
                known = folder
            yield item.path


@contextmanager
def recording_end(results: "TagResults", run: WritingRun | None) -> Iterator[None]:
    """Store how a run ended where it is interrupted, or its results cannot be printed."""
    try:
        yield
    except (KeyboardInterrupt, OSError, CanonError) as error:
        if run:
            status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else _FAILED
            with suppress(StoreError):  # the first error is the one that is reported
                _end(results, run, status)
        raise


def _end(results: "TagResults", run: WritingRun, status: int) -> None:
    run.counts.update({fate.value: count for fate, count in results.counts.items()})
    run.end(status)


def _finish(results: "TagResults", run: WritingRun | None, stop: Event) -> int:
    """Print the rest and the summary, store how the run ended, and return the exit status."""
    results.flush()
    is_cut = stop.is_set()  # read once: another signal may come while the summary is printed
    status = INTERRUPTED if is_cut else results.status
    hint = ""
    if run:
        _end(results, run, status)
        if run.has_begun:
            hint = f"; `canon undo {run.run.id}` takes it back"
    elif results.counts[WriteStatus.PLANNED]:
        hint = "; --apply writes it"
    if is_cut:
        hint += "; interrupted: the same command goes on"
    print_notes([f"{results.summary or 'no file'}{hint}"])
    return status


@click.command("undo")
@click.argument("name", metavar="[RUN_OR_PATH]", required=False, type=PATH)
@keep_mtime_option
@pass_session
def undo(session: Session, name: str | None, keep_mtime: bool) -> int:
    """Put the tags back as they were before a run, or before the last write of a file or folder.

    Without an argument, the last run that wrote is taken back. A file that was changed since is
    left alone, and the difference shown. The run of an undo can be undone by its name.

    Exit status: 0 all is put back, 3 something was changed since and left, 1 something failed.
    """
    results = TagResults(session.as_json)
    with session.open_store() as store, stop_after_current() as stop:
        print_notes(repair_journal(store))
        run = WritingRun.of(store, UNDO, command_line(), keep_mtime=keep_mtime)
        moved: dict[str, Path] = {}
        with recording_end(results, run):
            for told in undo_writes(_writes_named(store, name, moved), run, moved):
                set_log_file(told.path)
                results.show(told)
                if stop.is_set():
                    break
            status = _finish(results, run, stop)
        if name is None and status and (before := next(islice(runs_to_undo(store), 1, 2), None)):
            print_notes([f"what was written before that is taken back by `canon undo {before.id}`"])
        return status


def _writes_named(
    store: "Store", name: str | None, moved: dict[str, Path]
) -> Iterator[WriteRecord]:
    """Return the writes to take back; `moved` gets the present path of files that were renamed.

    Raises `CanonError` where there are none.
    """
    if name is None:
        run = next(runs_to_undo(store), None)
        if run is None:
            raise CanonError("there is nothing to undo: no tags were written, or all are put back")
        return writes_to_undo(store, run)
    if os.path.lexists(name):
        paths = (
            item.path for item in find_audio_files([Path(name)]) if isinstance(item, AudioFile)
        )
        last = (_last_write(store, path, moved) for path in paths)
        writes: Iterator[WriteRecord] = (write for write in last if write)
        problem = f"{path_text(name)}: no tags were written there, or all are put back"
    elif store.runs.get(name) is None:
        raise CanonError(f"{path_text(name)!r} is neither a file or folder nor a run that is kept")
    else:
        writes = only_done(store.journal.of_run(name))
        problem = f"the run {name} wrote no tags, or all are put back"
    for first in writes:
        return chain([first], writes)  # not in a list, for there may be very many
    raise CanonError(problem)


def _last_write(store: "Store", path: Path, moved: dict[str, Path]) -> WriteRecord | None:
    if own := last_write(store, path):
        return own
    write = moved_write(store, path, last_write)
    if write:
        moved[write.id] = path
    return write


@click.command("verify")
@paths_argument
@pass_session
def verify(session: Session, paths: tuple[str, ...]) -> int:
    """Read the tags and audio of files again, and say what differs from what was written.

    Nothing is changed. Exit status: 0 all as written, 3 tags differ, or a named file was never
    written; 1 audio differs, or cannot be read.
    """
    if not paths:
        raise UsageError(_NO_PATHS)
    status = 0
    counts: Counter[VerifyState] = Counter()
    with session.open_store() as store:
        for named in named_paths(paths):
            for item in find_audio_files([Path(named)]):
                set_log_file(item.path)
                if isinstance(item, UnreadablePath):
                    result = Verification(item.path, VerifyState.UNREADABLE, str(item.problem))
                else:
                    result = verify_file(store, item.path)
                is_missed = result.finding is VerifyState.UNRECORDED and item.path == Path(named)
                counts[result.finding] += 1
                status = worst(status, 3 if is_missed else _VERIFY_STATUS[result.finding])
                _show_verified(session, result, is_missed=is_missed)
    counted = (f"{count} {finding}" for finding, count in counts.items())
    print_notes([", ".join(counted) or "no file"])
    return status


def _show_verified(session: Session, result: Verification, *, is_missed: bool) -> None:
    """Print one file; `is_missed`: it was named, and nothing is recorded of it."""
    if session.as_json:
        write = result.write
        fields = {
            "state": result.finding, "why": result.why,
            "decision_id": write and write.decision_id, "run_id": write and write.run_id,
            "write_id": write and write.id, "written_at_utc": write and write.at_utc,
            "changes": result.changes,
        }  # fmt: skip
        print_json(file_object(result.path, fields))
    elif is_missed or result.finding not in (VerifyState.SAME, VerifyState.UNRECORDED):
        click.echo(path_text(result.path))
        print_lines(note_lines(result.finding, result.why or ""))
        print_lines(change_lines(result.changes, 4))


@dataclass
class TagResults:
    """Prints files as they come: JSON at once, text when all files of their album are there."""

    as_json: bool
    status: int = 0
    counts: Counter[WriteStatus] = field(default_factory=Counter)
    held: list[WriteReport] = field(default_factory=list)
    printed: bool = False

    def show(self, told: WriteReport) -> None:
        """Print one file, or hold it back until its album is complete."""
        self.counts[told.status] += 1
        self.status = worst(self.status, _WRITE_STATUS.get(told.status, 0))
        if self.as_json:
            print_json(file_object(told.path, _fields(told)))
            return
        if self.held and (_album(self.held[-1]) != _album(told) or len(self.held) == _MAX_HELD):
            self.flush()
        self.held.append(told)

    def flush(self) -> None:
        """Print what is held back."""
        held, self.held = self.held, []
        if held:
            print_lines(chain([""] * self.printed, _album_lines(held)))
            self.printed = True

    @property
    def summary(self) -> str:
        """The number of files of each outcome."""
        return ", ".join(f"{count} {_WORDS[fate]}" for fate, count in self.counts.items())


def _fields(told: WriteReport) -> dict[str, Any]:
    chosen = told.plan.chosen if told.plan else None
    return {
        "state": told.status,
        "why": told.why,
        "crg_mbid": chosen.release_group if chosen else None,
        "rr_mbid": chosen.release if chosen else None,
        "policy": told.plan.policy if told.plan else None,
        "decision_id": told.decision_id,
        "run_id": told.run_id,
        "write_id": told.write_id,
        "lost": told.lost,
        "changes": told.changes,
    }


def _album(told: WriteReport) -> tuple[object, ...]:
    return told.path.parent, told.plan.chosen.release_group if told.plan else None


def _album_lines(held: list[WriteReport]) -> Iterator[str]:
    indent = 0
    common: tuple[FieldChange, ...] = ()
    if plan := held[0].plan:
        indent = 2
        yield from wrap(plan.album, "", 2)
        yield f"{SITE}/release-group/{plan.chosen.release_group}"
        common = _common_changes(held)
        if common:
            yield f"  all {len(held)} files"
            yield from change_lines(common, 4)
    for told in held:
        yield f"{'':{indent}}{path_text(told.path)}"
        yield from _file_lines(told, set(common), indent + 2)


def _common_changes(held: Iterable[WriteReport]) -> tuple[FieldChange, ...]:
    """Return the changes that are the same in every file of an album of several."""
    first, *rest = (told.changes for told in held)
    return tuple(one for one in first if rest and all(one in other for other in rest))


def _file_lines(told: WriteReport, common: set[FieldChange], indent: int) -> Iterator[str]:
    if told.why:
        yield from note_lines(_WORDS[told.status], told.why, indent)
    else:
        yield f"{'':{indent}}{_WORDS[told.status]}"
    yield from change_lines(tuple(one for one in told.changes if one not in common), indent)
    if told.lost:
        yield from note_lines("lost", f"extended attributes {', '.join(told.lost)}", indent)
