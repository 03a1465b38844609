"""`canon undo` and `canon verify`: what was written is put back, and compared with the files."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chart_binder.audio.walk import AudioFile, UnreadablePath
from chart_binder.cli import options, output
from chart_binder.cli.progress import stop_after_current
from chart_binder.cli.render.decision import note_lines
from chart_binder.cli.render.tags import UNDO_WORDS, Words, changed_key_lines
from chart_binder.cli.write import NO_PATHS, TagResults
from chart_binder.domain.records import WriteRecord, local_time, utc_text
from chart_binder.errors import CanonError, UsageError
from chart_binder.files import path_text
from chart_binder.jobs import journal
from chart_binder.jobs.moved_files import MovedFiles
from chart_binder.jobs.undo import (
    last_write,
    plan_undo,
    runs_to_undo,
    undo_writes,
    writes_since,
    writes_to_undo,
)
from chart_binder.jobs.verify import Verification, VerifyState
from chart_binder.jobs.verify import verify as verify_file
from chart_binder.jobs.write import WriteReport

if TYPE_CHECKING:
    from chart_binder.store.store import Store

_FAILED = 1
_AGO = re.compile(r"(\d+) ?(m|min|h|d|w)")
_UNITS = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_FINDINGS = {each: each.value for each in VerifyState} | {
    VerifyState.SAME: "as written", VerifyState.UNRECORDED: "never written",
}  # fmt: skip
"""What the sums say, in their order."""
_UNREMARKABLE = (VerifyState.SAME, VerifyState.PUT_BACK, VerifyState.UNRECORDED)
_VERIFY_STATUS = {
    VerifyState.SAME: 0,
    VerifyState.PUT_BACK: 0,
    VerifyState.UNRECORDED: 0,
    VerifyState.IN_PART: 3,
    VerifyState.OPEN: 3,
    VerifyState.TAGS_DIFFER: 3,
    VerifyState.AUDIO_DIFFERS: 1,
    VerifyState.UNREADABLE: 1,
}


@click.command("undo")
@click.argument("name", metavar="[RUN_OR_PATH]", required=False, type=options.PATH)
@click.option("--since", metavar="WHEN", help="All writes since: 2026-11-20, 2026-11-20T18:30, 2h.")
@options.flag("--dry-run", "Show what would be put back; nothing is changed.")
@options.flag("--force", "Put written keys back that somebody changed since.")
@options.keep_mtime_option
@options.pass_session
def undo(
    session: options.Session,
    name: str | None,
    since: str | None,
    dry_run: bool,
    force: bool,
    keep_mtime: bool,
) -> int:
    """Put the tags back as they were before a run, or before the last write of a file or folder.

    Without an argument, the last run that wrote is taken back. Where other tags of a file changed
    since, the written keys are put back and the rest stays. A written key that somebody changed
    since is named and stays, unless with --force. The run of an undo can be undone by its name.

    Files are counted by album; -v and --dry-run show what is put back in each.

    Exit status: 0 all is put back, 3 a file was changed since or may not be written, 1 one failed.
    """
    moment = _moment(since) if since else None
    verbose = session.verbosity > 0
    results = _UndoResults(session.as_json, detailed=verbose or dry_run, verbose=verbose)
    with session.open_store() as store, stop_after_current() as stop:
        if not dry_run:
            output.print_notes(journal.repair_journal(store))
        run = journal.WritingRun.of(
            store, journal.UNDO, options.command_line(), keep_mtime=keep_mtime
        )
        moved = MovedFiles(store, last_write) if dry_run else _CleanedFolders(store, last_write)
        with results.ending(run, stop):
            writes = _writes_named(store, name, moment, moved)
            reports = (
                plan_undo(store, writes, moved, force=force)
                if dry_run
                else undo_writes(writes, run, moved, force=force)
            )
            for report in reports:
                output.set_log_file(report.path)
                results.show(report)
                if stop.is_set():
                    break
        is_last = name is None and since is None
        if results.status and is_last and (before := next(islice(runs_to_undo(store), 1, 2), None)):
            taken = f"what was written before that is taken back by `canon undo {before.id}`"
            output.print_notes([taken])
    return results.status


@dataclass
class _UndoResults(TagResults):
    """Prints files as they come, with the newest write first in JSON, by name in an album."""

    words: Words = field(default_factory=lambda: UNDO_WORDS)
    when_planned: str = "without --dry-run it is done"
    has_kept: bool = False

    def hints(self, run: journal.WritingRun | None) -> Iterator[str]:
        """Yield what can be done next."""
        yield from super().hints(run)
        if self.has_kept:
            yield "--force puts back what is kept"

    def show(self, report: WriteReport) -> None:
        """Print one file, or hold it back until its album is complete."""
        self.has_kept |= bool(report.kept)
        super().show(report)

    def flush(self) -> None:
        """Print what is held back."""
        self.held.sort(key=lambda report: report.path)
        super().flush()

    def fields(self, report: WriteReport) -> dict[str, Any]:
        """Return what is printed of a file in JSON."""
        names = ("why", "kept", "others", "decision_id", "run_id", "write_id", "lost", "changes")
        return {"state": report.status, **{name: getattr(report, name) for name in names}}


@dataclass
class _CleanedFolders(MovedFiles):
    """Removes the copies that killed saves left, once in the folder of each file it is asked of."""

    _cleaned: set[Path] = field(default_factory=set)

    def last_write(self, path: Path) -> WriteRecord | None:
        self._clean(path)
        return super().last_write(path)

    def path_of(self, write: WriteRecord) -> Path:
        path = super().path_of(write)
        self._clean(path)
        return path

    def _clean(self, path: Path) -> None:
        folder = path.resolve().parent
        if folder not in self._cleaned:
            self._cleaned.add(folder)
            output.print_notes(journal.clean_folders([folder]))


def _moment(text: str) -> str:
    """Return the time that is meant, as the journal has it; raise `UsageError`."""
    try:
        if ago := _AGO.fullmatch(text.strip()):
            moment = datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        else:
            moment = datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since {text!r} is no time: a date (2026-11-20), a time (2026-11-20T18:30, of this"
            " zone unless it names another) or how long ago (30m, 2h, 3d, 1w)"
        ) from error
    return utc_text(moment)


def _writes_named(
    store: "Store", name: str | None, since: str | None, moved: MovedFiles
) -> Iterator[WriteRecord]:
    """Return the writes to take back; `moved` learns where files are that are named.

    Raises `CanonError` where there are none.
    """
    if name is not None and os.path.lexists(name):
        paths = (item.path for item in options.audio_files(name) if isinstance(item, AudioFile))
        if since:
            writes = writes_since(store, since, moved, paths)
        else:
            writes = filter(None, map(moved.last_write, paths))
        problem = f"{path_text(name)}: no tags were written there, or all are put back"
    elif name is not None:
        if since:
            raise UsageError("--since goes with a file or folder, or alone, not with a run")
        if store.runs.get(name) is None:
            problem = "is neither a file or folder nor a run that is kept"
            raise CanonError(f"{path_text(name)!r} {problem}")
        writes = journal.only_done(store.journal.of_run(name))
        problem = f"the run {name} wrote no tags, or all are put back"
    elif since:
        writes = writes_since(store, since, moved)
        problem = f"no tags were written since {local_time(since)}, or all are put back"
    else:
        run = next(runs_to_undo(store), None)
        writes = writes_to_undo(store, run) if run else iter(())
        problem = "there is nothing to undo: no tags were written, or all are put back"
    for first in writes:
        return chain([first], writes)  # not in a list, for there may be very many
    raise CanonError(problem)


@click.command("verify")
@options.paths_argument
@options.pass_session
def verify(session: options.Session, paths: tuple[str, ...]) -> int:
    """Read the tags and audio of files again, and say what differs from what was written.

    Nothing is changed. Exit status: 0 all as written or put back, 3 tags differ or were put back
    in part, or a named file was never written; 1 audio differs, or cannot be read.
    """
    if not paths:
        raise UsageError(NO_PATHS)
    status = 0
    counts: Counter[VerifyState] = Counter()
    with session.open_store() as store:
        for named in options.named_paths(paths):
            for item in options.audio_files(named):
                output.set_log_file(item.path)
                if isinstance(item, UnreadablePath):
                    result = Verification(item.path, VerifyState.UNREADABLE, str(item.problem))
                else:
                    result = verify_file(store, item.path)
                is_missed = result.finding is VerifyState.UNRECORDED and item.path == Path(named)
                counts[result.finding] += 1
                status = output.worst(status, 3 if is_missed else _VERIFY_STATUS[result.finding])
                _show_verified(session, result, is_missed=is_missed)
    output.print_notes([output.count_text(counts, _FINDINGS) or "no file"])
    return status


def _show_verified(session: options.Session, result: Verification, *, is_missed: bool) -> None:
    """Print one file; `is_missed`: it was named, and nothing is recorded of it."""
    if session.as_json:
        write = result.write
        fields = {
            "state": result.finding, "why": result.why,
            "decision_id": write and write.decision_id, "run_id": write and write.run_id,
            "write_id": write and write.id, "written_at_utc": write and write.at_utc,
            "changes": result.changes,
        }  # fmt: skip
        output.print_json(output.file_object(result.path, fields))
    elif is_missed or result.finding not in _UNREMARKABLE:
        output.print_lines([path_text(result.path), *note_lines(result.finding, result.why or "")])
        output.print_lines(changed_key_lines(result.changes, 4))
