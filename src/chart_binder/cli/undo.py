"""`canon undo` and `canon verify`: what was written is put back, and compared with the files."""

import os
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chart_binder.audio.walk import AudioFile, UnreadablePath, find_audio_files
from chart_binder.cli.options import (
    PATH,
    Session,
    command_line,
    keep_mtime_option,
    named_paths,
    pass_session,
    paths_argument,
)
from chart_binder.cli.output import (
    file_object,
    print_json,
    print_lines,
    print_notes,
    set_log_file,
    worst,
)
from chart_binder.cli.progress import stop_after_current
from chart_binder.cli.render.decision import change_lines, note_lines
from chart_binder.cli.write import NO_PATHS, TagResults, finish, recording_end
from chart_binder.domain.records import WriteRecord
from chart_binder.errors import CanonError, UsageError
from chart_binder.files import path_text
from chart_binder.jobs.journal import (
    Verification,
    VerifyState,
    WritingRun,
    moved_write,
    only_done,
    repair_journal,
)
from chart_binder.jobs.journal import verify as verify_file
from chart_binder.jobs.undo import (
    UNDO,
    last_write,
    runs_to_undo,
    undo_writes,
    writes_to_undo,
)

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_VERIFY_STATUS = {
    VerifyState.SAME: 0,
    VerifyState.UNRECORDED: 0,
    VerifyState.OPEN: 3,
    VerifyState.TAGS_DIFFER: 3,
    VerifyState.AUDIO_DIFFERS: 1,
    VerifyState.UNREADABLE: 1,
}


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
            status = finish(results, run, stop)
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
        raise UsageError(NO_PATHS)
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
