"""`canon write`, `canon undo` and `canon verify`: tags are changed, put back, and compared."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain, islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from chart_binder.audio.file_access import AudioFile, UnreadablePath
from chart_binder.cli import options, output, tag_text
from chart_binder.cli.progress import stop_after_current
from chart_binder.domain.records import WriteRecord, local_time, utc_text
from chart_binder.domain.tags import Policy
from chart_binder.errors import INTERRUPTED, CanonError, StoreError, UsageError, end_status
from chart_binder.files import path_text
from chart_binder.jobs import journal, write_albums
from chart_binder.jobs.journal import MovedFiles, WritingRun, repair_journal
from chart_binder.jobs.stored_decisions import new_run
from chart_binder.jobs.undo import (
    Verification,
    VerifyState,
    plan_undo,
    runs_to_undo,
    undo_writes,
    writes_since,
    writes_to_undo,
)
from chart_binder.jobs.undo import verify as verify_file
from chart_binder.jobs.write import Planner, WriteReport, WriteStatus
from chart_binder.wiring import overrides, release_lookup

if TYPE_CHECKING:
    from chart_binder.store import Store


_MAX_HELD = 200
"""Files of one album that are held back, to print once what is the same in all."""
_WRITE_STATUS = {WriteStatus.REFUSED: 3, WriteStatus.FAILED: 1}


@click.command("write")
@options.some_paths_argument
@options.flag("--apply", "applies", "Write; else only show what would change.")
@options.tag_options
@options.save_options
@options.pass_session
def write(
    session: options.Session,
    paths: tuple[str, ...],
    applies: bool,
    keep_mtime: bool,
    copy_links: bool,
    **tags: Any,
) -> int:
    """Show what the decisions on files change in their tags; --apply writes it, safely.

    Files are shown by album. What is written is counted for each album; -v shows it, with ids
    behind names. `canon undo` takes back what was written.

    Exit status: 0 written, or nothing to change; 3 something may not be written, 1 a file could not
    be read or saved.
    """
    config, is_verbose = session.config, session.verbosity > 0
    wanted = options.write_options(config, **tags)
    results = TagResults(session.as_json, detailed=is_verbose or not applies, verbose=is_verbose)
    with session.open_store() as store, stop_after_current() as stop:
        lookup = release_lookup(config, store)
        planner = Planner(store, overrides(config)(), wanted, lookup, copy_links)
        run = None
        if applies:
            started = new_run("write", options.command_line())
            run = WritingRun(store, started, keep_mtime=keep_mtime, copy_links=copy_links)
            output.print_notes(repair_journal(store))
        with results.ending(run, stop):
            named = list(options.named_paths(paths))
            if wanted.policy is Policy.MOVE:
                _show_regrouping(planner, named, stop, as_json=session.as_json)
            if not stop.is_set():
                _write_all(planner, named, run, results, stop)
    return results.status


def _write_all(
    planner: Planner,
    named: Iterable[str],
    run: WritingRun | None,
    results: "TagResults",
    stop: Event,
) -> None:
    for item in _albums(named, cleans=run is not None):
        if isinstance(item, WriteReport):
            results.show(item)
            continue
        reports: list[WriteReport] = []
        planned = write_albums.plan_album(planner, item)
        for report in write_albums.write_album(planned, run):
            reports.append(report)
            results.show(report)
            if stop.is_set():
                break
        if run:
            write_albums.record_unwritten(planner.store, reports)
        if stop.is_set():
            return


def _show_regrouping(planner: Planner, named: Iterable[str], stop: Event, *, as_json: bool) -> None:
    moves: Counter[tuple[write_albums.AlbumName, write_albums.AlbumName]] = Counter()
    for item in _albums(named):
        if isinstance(item, write_albums.AlbumFiles):
            moves.update(write_albums.album_moves(write_albums.plan_album(planner, item)))
        if stop.is_set():
            return
    lines = write_albums.regrouping_lines(moves)
    if as_json:
        output.print_notes(lines)
    else:
        output.print_lines(chain.from_iterable(output.wrap(line, "", 2) for line in lines))


def _albums(
    named: Iterable[str], *, cleans: bool = False
) -> Iterator[write_albums.AlbumFiles | WriteReport]:
    """Yield the albums of files; if it `cleans`, without what killed saves left in its folders."""
    for item in write_albums.album_folders(_files(named)):
        if isinstance(item, WriteReport):
            yield item
            continue
        if cleans:
            for folder in {path.resolve().parent for path in item}:
                _clean_folder(folder)
        yield from write_albums.albums_in(item)


def _files(named: Iterable[str]) -> Iterator[Path | WriteReport]:
    for item in chain.from_iterable(map(options.audio_files, named)):
        if isinstance(item, UnreadablePath):
            yield WriteReport(item.path, WriteStatus.FAILED, why=str(item.problem))
        else:
            yield item.path


@cache
def _clean_folder(folder: Path) -> None:
    """Remove the copies that killed saves left in a folder, once in this process."""
    output.print_notes(journal.clean_folder(folder))


@dataclass
class TagResults:
    """Prints files as they come: JSON at once, text when all files of their album are there."""

    as_json: bool
    detailed: bool = True
    verbose: bool = False
    is_undo: bool = False
    status: int = 0
    counts: Counter[WriteStatus] = field(default_factory=Counter)
    partial: Counter[str] = field(default_factory=Counter)
    held: list[WriteReport] = field(default_factory=list)
    has_kept: bool = False
    printed: bool = False

    @property
    def words(self) -> tag_text.Words:
        """What the outcomes of a file are called."""
        return tag_text.UNDO_WORDS if self.is_undo else tag_text.WORDS

    @contextmanager
    def ending(self, run: WritingRun | None, stop: Event) -> Iterator[None]:
        """Store how a run ended, also where an error ends it, and print what it came to."""
        try:
            yield
            self.flush()
            is_cut = stop.is_set()  # read once: another signal may come while the sum is printed
            self.status = INTERRUPTED if is_cut else self.status
        except (KeyboardInterrupt, OSError, CanonError) as error:
            self.status = end_status(error)
            with suppress(StoreError):  # the first error is the one that is reported
                self._end(run)
            raise
        self._end(run)
        summary = tag_text.counts_text(self.counts, self.partial, self.words) or "no file"
        output.print_notes(output.wrap("; ".join((summary, *self._hints(run))), indent=2))

    def _end(self, run: WritingRun | None) -> None:
        if run:
            run.counts.update({status.value: count for status, count in self.counts.items()})
            run.end(self.status)

    def _hints(self, run: WritingRun | None) -> Iterator[str]:
        """Yield what can be done next."""
        if run and run.has_begun:
            yield f"`canon undo {run.run.id}` takes it back"
        if self.status == INTERRUPTED:
            yield "interrupted: the same command goes on"
        elif self.counts[WriteStatus.PLANNED]:
            yield "without --dry-run it is done" if self.is_undo else "--apply writes it"
        if self.has_kept:
            yield "--force puts back what is kept"

    def show(self, report: WriteReport) -> None:
        """Print one file, or hold it back until its album is complete."""
        self.counts[report.status] += 1
        self.partial.update(tag_text.what_lacks(report))
        self.has_kept |= bool(report.kept)
        waiting = 3 if report.waits else 0
        self.status = output.worst(self.status, waiting, _WRITE_STATUS.get(report.status, 0))
        if self.as_json:
            fields = _undo_object(report) if self.is_undo else _write_object(report)
            output.print_json(output.file_object(report.path, fields))
            return
        if report.file is None:  # a path that leads to no file
            self.flush()
            said = f"{path_text(report.path)}: {self.words[report.status]}: {report.why}"
            output.print_lines(output.wrap(said, "", 2))
            return
        is_next = self.held and tag_text.album_of(self.held[-1]) != tag_text.album_of(report)
        if is_next or len(self.held) == _MAX_HELD:
            self.flush()
        self.held.append(report)

    def flush(self) -> None:
        """Print what is held back; what is undone comes by its time, and is printed by name."""
        held, self.held = self.held, []
        if self.is_undo:
            held.sort(key=lambda report: report.path)
        if held:
            lines = tag_text.album_lines(
                held, self.words, detailed=self.detailed, verbose=self.verbose
            )
            output.print_lines(chain([""] * self.printed, lines))
            self.printed = self.detailed


def _write_object(report: WriteReport) -> dict[str, Any]:
    chosen = report.plan.draft.track.chosen if report.plan else None
    return {
        "state": report.status,
        "why": report.why or report.withheld,
        "crg_mbid": chosen.release_group if chosen else None,
        "rr_mbid": chosen.release if chosen else None,
        "policy": report.plan.policy if report.plan else None,
        "decision_id": report.decision_id,
        "run_id": report.run_id,
        "write_id": report.write_id,
        "lost": report.lost,
        "notes": report.notes,
        "not_copied": report.not_copied,
        "changes": report.changes,
    }


def _undo_object(report: WriteReport) -> dict[str, Any]:
    names = ("why", "kept", "others", "decision_id", "run_id", "write_id", "lost", "changes")
    return {"state": report.status, **{name: getattr(report, name) for name in names}}


_AGO = re.compile(r"(\d+) ?(m|min|h|d|w)")
_UNITS = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_VERIFY_STATUS = dict.fromkeys(VerifyState, 3) | {
    VerifyState.SAME: 0, VerifyState.PUT_BACK: 0, VerifyState.UNRECORDED: 0,
    VerifyState.AUDIO_DIFFERS: 1, VerifyState.UNREADABLE: 1,
}  # fmt: skip
_FINDINGS = {each: each.value for each in VerifyState} | {
    VerifyState.SAME: "as written", VerifyState.UNRECORDED: "never written",
}  # fmt: skip


@click.command("undo")
@click.argument("name", metavar="[RUN_OR_PATH]", required=False, type=options.PATH)
@options.option("--since WHEN", "All writes since: 2026-11-20, 2026-11-20T18:30, 2h.")
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
    is_verbose = session.verbosity > 0
    results = TagResults(session.as_json, is_verbose or dry_run, is_verbose, is_undo=True)
    with session.open_store() as store, stop_after_current() as stop:
        if not dry_run:
            output.print_notes(repair_journal(store))
        run = WritingRun(store, new_run("undo", options.command_line()), keep_mtime=keep_mtime)
        moved = MovedFiles(store)
        with results.ending(run, stop):
            writes = _writes_named(store, name, moment, moved)
            reports = (
                plan_undo(store, writes, moved, force=force)
                if dry_run
                else undo_writes(_in_clean_folders(writes, moved), run, moved, force=force)
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


def _in_clean_folders(writes: Iterable[WriteRecord], moved: MovedFiles) -> Iterator[WriteRecord]:
    for write in writes:
        _clean_folder(moved.path_of(write).resolve().parent)
        yield write


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
    """Return the writes to take back; `moved` learns where named files are. Raises `CanonError`."""
    if name is not None and os.path.lexists(name):
        paths = (one.path for one in options.audio_files(name) if isinstance(one, AudioFile))
        if since:
            writes = writes_since(store, since, moved, paths)
        else:
            writes = filter(None, map(moved.last_write, paths))
        problem = f"{path_text(name)}: no tags were written there, or all are put back"
    elif name is not None:
        if since:
            raise UsageError("--since goes with a file or folder, or alone, not with a run")
        if store.runs.get(name) is None:
            raise CanonError(
                f"{path_text(name)!r} is neither a file or folder nor a run that is kept"
            )
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
@options.some_paths_argument
@options.pass_session
def verify(session: options.Session, paths: tuple[str, ...]) -> int:
    """Read the tags and audio of files again, and say what differs from what was written.

    Nothing is changed. Exit status: 0 all as written or put back, 3 tags differ or were put back
    in part, or a named file was never written; 1 audio differs, or cannot be read.
    """
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
                its_status = 3 if is_missed else _VERIFY_STATUS[result.finding]
                counts[result.finding] += 1
                status = output.worst(status, its_status)
                if session.as_json or its_status:
                    session.show(_verified_object(result), _verified_lines(result))
    output.print_notes([output.count_text(counts, _FINDINGS) or "no file"])
    return status


def _verified_object(result: Verification) -> dict[str, Any]:
    write = result.write
    fields = {
        "state": result.finding, "why": result.why,
        "decision_id": write and write.decision_id, "run_id": write and write.run_id,
        "write_id": write and write.id, "written_at_utc": write and write.at_utc,
        "changes": result.changes,
    }  # fmt: skip
    return output.file_object(result.path, fields)


def _verified_lines(result: Verification) -> Iterator[str]:
    yield path_text(result.path)
    yield from output.note_lines(result.finding, result.why or "")
    yield from tag_text.changed_key_lines(result.changes, 4)
