"""`canon write`, `canon undo` and `canon verify`: change tags, put them back, and compare them."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import chain, islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from chart_binder.audio.find import AudioFile, UnreadablePath
from chart_binder.cli import options, output, tag_text
from chart_binder.cli.progress import Progress
from chart_binder.cli.terminal import stop_after_current
from chart_binder.domain.records import DecisionRecord, WriteRecord, local_time, utc_text
from chart_binder.domain.tag_policies import Policy
from chart_binder.errors import INTERRUPTED, CanonError, StoreError, UsageError, end_status
from chart_binder.files import path_text
from chart_binder.jobs import journal, write_albums
from chart_binder.jobs.batch.report import BatchTally
from chart_binder.jobs.decision import WAITING_STATES, State
from chart_binder.jobs.journal import MovedFiles, WritingRun, repair_journal
from chart_binder.jobs.stored_decisions import current_decisions, new_run, path_bytes
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
from chart_binder.jobs.write import NeedsDecision, TagPlanner, WriteReport, WriteStatus
from chart_binder.wiring import overrides, release_lookup

if TYPE_CHECKING:
    from chart_binder.store import Store


_MAX_HELD = 200
"""The most files of an album that are collected, to print once what they share."""
_PROGRESS_AFTER_S = 1.0
_WAITS = 3
_BEST_KNOWN = "--best-known"
_WRITE_STATUS = {WriteStatus.REFUSED: _WAITS, WriteStatus.FAILED: 1}


@click.command("write")
@options.some_paths_argument
@options.flag("--apply", "applies", "Write the tags; without it, only preview them.")
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
    """Preview how decisions change the tags of files; --apply writes the changes.

    Files are shown by album; -v shows every file, with ids. `canon undo` takes the changes back.

    Exit status: 0 written, or nothing to change; 3 something may not be written, 1 a file could not
    be read or saved.

    Preview: canon write PATH. Apply: canon write PATH --apply.
    """
    config = session.config
    tag_options = options.write_options(config, **tags)
    results = TagResults(
        session.as_json, not applies, session.verbosity > 0, is_quiet=session.quiet, paths=paths
    )
    with session.open_store() as store, stop_after_current() as stop:
        lookup = release_lookup(config, store)
        planner = TagPlanner(store, overrides(config)(), tag_options, lookup, copy_links)
        run = None
        if applies:
            started = new_run("write", options.command_line())
            run = WritingRun(store, started, keep_mtime=keep_mtime, copy_links=copy_links)
            output.print_notes(repair_journal(store))
        with results.ending(run, stop):
            names = list(options.named_paths(paths))
            if tag_options.policy is Policy.MOVE:
                lines = list(_regrouping(planner, names, stop))
                if session.as_json:
                    output.print_notes(lines)
                else:
                    results.lines += chain.from_iterable(output.wrap(line, "", 2) for line in lines)
            if not stop.is_set():
                _write_all(planner, names, run, results, stop)
    return results.status


def _write_all(
    planner: TagPlanner,
    names: Iterable[str],
    run: WritingRun | None,
    results: "TagResults",
    stop: Event,
) -> None:
    for item in _albums(names, cleans=run is not None):
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


def _regrouping(planner: TagPlanner, names: Iterable[str], stop: Event) -> Iterator[str]:
    """Yield which albums would be split and merged."""
    moves: Counter[tuple[write_albums.AlbumName, write_albums.AlbumName]] = Counter()
    for item in _albums(names):
        if isinstance(item, write_albums.AlbumToWrite):
            moves.update(write_albums.album_moves(write_albums.plan_album(planner, item)))
        if stop.is_set():
            return
    yield from write_albums.regrouping_lines(moves)


def _albums(
    names: Iterable[str], *, cleans: bool = False
) -> Iterator[write_albums.AlbumToWrite | WriteReport]:
    """Yield the albums of files; if `cleans`, first remove leftovers of killed saves."""
    for item in write_albums.album_folders(_files(names)):
        if isinstance(item, WriteReport):
            yield item
            continue
        if cleans:
            for folder in {path.resolve().parent for path in item}:
                _clean_folder(folder)
        yield from write_albums.albums_in(item)


def _files(names: Iterable[str]) -> Iterator[Path | WriteReport]:
    for item in chain.from_iterable(map(options.audio_files, names)):
        if isinstance(item, UnreadablePath):
            yield WriteReport(item.path, WriteStatus.FAILED, why=str(item.problem))
        else:
            yield item.path


@cache
def _clean_folder(folder: Path) -> None:
    """Remove the copies that killed saves left in a folder, once per process."""
    output.print_notes(journal.clean_folder(folder))


@dataclass
class TagResults:
    """Prints files as JSON as they come; as text, first a summary, then each album."""

    as_json: bool
    is_preview: bool = False
    verbose: bool = False
    is_undo: bool = False
    is_quiet: bool = False
    paths: tuple[str, ...] = ()
    status: int = 0
    counts: Counter[WriteStatus] = field(default_factory=Counter)
    partial: Counter[str] = field(default_factory=Counter)
    tally: BatchTally = field(default_factory=BatchTally)
    lines: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    _held: list[WriteReport] = field(default_factory=list)
    _has_kept: bool = False
    _is_undecided: bool = False
    _is_in_review: bool = False
    _needs_person: bool = False
    _undated: list[Path] = field(default_factory=list)
    """The files that are open in nothing but their date."""
    _is_year_open: bool = False
    _bar: Progress = field(default_factory=lambda: Progress(is_quiet=True))

    @property
    def words(self) -> tag_text.Words:
        """The words for the outcomes of a file."""
        return tag_text.UNDO_WORDS if self.is_undo else tag_text.WORDS

    @contextmanager
    def ending(self, run: WritingRun | None, stop: Event) -> Iterator[None]:
        """Store how a run ended, also on an error, and print the results."""
        is_quiet = self.is_quiet or self.as_json
        try:
            with Progress(is_quiet=is_quiet, after_s=_PROGRESS_AFTER_S) as self._bar:
                yield
            is_cut = stop.is_set()  # read once: a signal may come while results are printed
            self.status = INTERRUPTED if is_cut else self.status
        except (KeyboardInterrupt, OSError, CanonError) as error:
            self.status = end_status(error)
            with suppress(StoreError, OSError):  # the first error is reported
                self._end(run)
                if any(self.counts.values()):
                    self._print(run)
            raise
        self._end(run)
        self._print(run)

    def _end(self, run: WritingRun | None) -> None:
        if run:
            run.counts.update({status.value: count for status, count in self.counts.items()})
            run.end(self.status)

    def _print(self, run: WritingRun | None) -> None:
        """Print the summary, the albums, and what can be done next."""
        self._flush()
        goal = WriteStatus.UNDONE if self.is_undo else WriteStatus.WRITTEN
        goal = WriteStatus.PLANNED if self.is_preview else goal
        text = tag_text.headline(self.counts, self.partial, self.words, goal)
        show = output.print_notes if self.as_json else output.print_lines
        show(output.wrap(text, indent=2))
        output.print_lines(self.lines)
        output.print_notes(self._hints(run))
        output.print_next(self._next_call())

    def _hints(self, run: WritingRun | None) -> Iterator[str]:
        """Yield what else can be done."""
        yield from self.hints
        if self.status == INTERRUPTED:
            yield "interrupted: the same command continues"
        if self._has_kept:
            yield f"to put the changed keys back too: {options.same_call(added='--force')}"
        if run and run.has_begun:
            again = "to write the tags again" if self.is_undo else "to undo it"
            yield f"{again}: canon undo {run.run.id}"

    def _next_call(self) -> str:
        """Return the next step, or nothing."""
        if self.is_preview and self.counts[WriteStatus.PLANNED]:
            change = {"removed": "--dry-run"} if self.is_undo else {"added": "--apply"}
            return options.same_call(**change)
        if self.is_undo:
            return ""
        if self._is_undecided:
            return output.canon_call("decide", *self.paths)
        if self._undated and not self._is_in_review and self.status == _WAITS:
            if self._is_year_open and _BEST_KNOWN not in options.command_line():
                return options.same_call(added=_BEST_KNOWN)
            return output.canon_call("override", "set", str(self._undated[0]), "--first", "DATE")
        return "canon review" if self.status == _WAITS and self._needs_person else ""

    def show(self, report: WriteReport) -> None:
        """Count a file and print it as JSON, or collect it until its album is complete."""
        self.counts[report.status] += 1
        self.partial.update(tag_text.shortfalls(report))
        self._has_kept |= bool(report.kept_keys)
        self._is_undecided |= isinstance(report.why, NeedsDecision) or report.is_failed
        self._is_in_review |= report.in_review and not report.is_dated
        if report.withheld and not report.in_review:
            self._undated.append(report.path)
            track = report.plan.draft.track if report.plan else None
            self._is_year_open |= track is None or track.certain_date is None
        self.tally.files = self.tally.worked = self.counts.total()
        self._bar.show(self.tally)
        waiting = _WAITS if report.waits else 0
        file_status = output.worst(waiting, _WRITE_STATUS.get(report.status, 0))
        self._needs_person |= file_status == _WAITS and not report.is_dated
        self.status = output.worst(self.status, file_status)
        if self.as_json:
            fields = _report_object(report, is_undo=self.is_undo)
            output.print_json(output.file_object(report.path, fields))
            return
        if report.file is None:  # there is no file at the path
            self._flush()
            path, why = path_text(report.path), report.why or ""
            reason = f"{self.words[report.status]}: {why}"
            reason = reason if path in why else f"{path}: {reason}"
            self.lines += output.wrap(reason, "", 2)
            return
        is_next = self._held and tag_text.album_of(self._held[-1]) != tag_text.album_of(report)
        if is_next or len(self._held) == _MAX_HELD:
            self._flush()
        self._held.append(report)

    def show_all(self, reports: Iterable[WriteReport], stop: Event) -> None:
        """Show each report until a stop is requested."""
        for report in reports:
            output.set_log_file(report.path)
            self.show(report)
            if stop.is_set():
                break

    def _flush(self) -> None:
        """Turn the collected files into lines; an undo collects by time, and prints by name."""
        held, self._held = self._held, []
        if self.is_undo:
            held.sort(key=lambda report: report.path)
        if held:
            is_detailed = self.is_preview or self.verbose
            self.lines += tag_text.album_lines(
                held, self.words, detailed=is_detailed, verbose=self.verbose
            )


def _report_object(report: WriteReport, *, is_undo: bool) -> dict[str, Any]:
    fields = {
        "state": report.status,
        "decision_id": report.decision_id,
        "run_id": report.run_id,
        "write_id": report.write_id,
        "lost": report.lost,
        "changes": report.changes,
    }
    if is_undo:
        return fields | {"why": report.why, "kept": report.kept_keys, "others": report.other_keys}
    chosen = report.plan.draft.track.chosen if report.plan else None
    return fields | {
        "why": report.why or report.withheld,
        "crg_mbid": chosen.release_group if chosen else None,
        "rr_mbid": chosen.release if chosen else None,
        "policy": report.plan.policy if report.plan else None,
        "notes": report.notes,
        "not_copied": report.not_copied,
    }


_VERIFY_STATUS = dict.fromkeys(VerifyState, 3) | {
    VerifyState.SAME: 0, VerifyState.PUT_BACK: 0, VerifyState.UNRECORDED: 0,
    VerifyState.AUDIO_DIFFERS: 1, VerifyState.UNREADABLE: 1,
}  # fmt: skip
_FINDINGS = {state: state.value for state in VerifyState} | {
    VerifyState.SAME: "as written", VerifyState.UNRECORDED: "never written",
    VerifyState.TAGS_DIFFER: "changed since", VerifyState.AUDIO_DIFFERS: "with other audio",
    VerifyState.UNREADABLE: "cannot be read",
}  # fmt: skip


@click.command("undo")
@click.argument("name", metavar="[RUN_OR_PATH]", required=False, type=options.PATH_OR_ID)
@options.option("--since WHEN", "Undo all writes since a time: 2026-11-20, 2026-11-20T18:30, 2h.")
@options.flag("--dry-run", "Only preview what would be put back.")
@options.flag("--force", "Also put back written keys that were changed since.")
@options.save_options
@options.pass_session
def undo(
    session: options.Session,
    name: str | None,
    since: str | None,
    dry_run: bool,
    force: bool,
    keep_mtime: bool,
    copy_links: bool,
) -> int:
    """Put tags back as they were before a run, or before the last write of a file or folder.

    It acts at once; --dry-run shows what it would do. Without an argument, the last run that wrote
    is taken back. Tags that canon did not write stay. A written key that was changed since is named
    and stays, except with --force. An undo is itself a run, and its id undoes it.

    Exit status: 0 all is put back, 3 a file was changed since or may not be written, 1 a file
    failed.

    Preview: canon undo --dry-run. Apply: canon undo.
    """
    moment = _moment(since.strip()) if since else None
    if dry_run:
        session.create_no_store()
    results = TagResults(
        session.as_json, dry_run, session.verbosity > 0, is_undo=True, is_quiet=session.quiet
    )
    with session.open_store() as store, stop_after_current() as stop:
        if not dry_run:
            output.print_notes(repair_journal(store))
        started = new_run("undo", options.command_line())
        run = WritingRun(store, started, keep_mtime=keep_mtime, copy_links=copy_links)
        moved = MovedFiles(store)
        with results.ending(run, stop):
            writes = _writes_named(store, name, moment, moved)
            reports = (
                plan_undo(store, writes, moved, force=force, copy_links=copy_links)
                if dry_run
                else undo_writes(_in_clean_folders(writes, moved), run, moved, force=force)
            )
            results.show_all(reports, stop)
            earlier = islice(runs_to_undo(store), 1, 2) if name is None and since is None else ()
            for before in earlier if results.status else ():
                results.hints.append(f"to undo the run before: canon undo {before.id}")
    return results.status


def _in_clean_folders(writes: Iterable[WriteRecord], moved: MovedFiles) -> Iterator[WriteRecord]:
    for write in writes:
        _clean_folder(moved.path_of(write).resolve().parent)
        yield write


def _moment(text: str) -> str:
    """Return a time in the format of the journal. Raises `UsageError`."""
    try:
        ago = options.read_duration(text)
        moment = datetime.fromisoformat(text) if ago is None else datetime.now(UTC) - ago
        return utc_text(moment.astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since {text!r} is not a date (2026-11-20), a time (2026-11-20T18:30, in this zone"
            " unless it names another) or how long ago (30m, 2h, 3d, 1w)"
        ) from error


def _writes_named(
    store: "Store", name: str | None, since: str | None, moved: MovedFiles
) -> Iterator[WriteRecord]:
    """Return the writes to undo; `moved` records where named files are. Raises `CanonError`."""
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
            raise CanonError(f"{path_text(name)!r} does not exist, and no run has this id")
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
        return chain([first], writes)  # not a list, because there may be very many
    raise CanonError(problem)


@click.command("verify")
@options.some_paths_argument
@options.pass_session
def verify(session: options.Session, paths: tuple[str, ...]) -> int:
    """Compare the tags and audio of files with what was written. Nothing is changed.

    Exit status: 0 all is as written or put back; 3 tags differ or were put back in part, or a named
    file was never written; 1 audio differs or cannot be read.
    """
    status, lines, open_file = 0, list[str](), ""
    counts: Counter[VerifyState] = Counter()
    with session.open_store() as store:
        for name in options.named_paths(paths):
            for item in options.audio_files(name):
                output.set_log_file(item.path)
                if isinstance(item, UnreadablePath):
                    result = Verification(item.path, VerifyState.UNREADABLE, str(item.problem))
                else:
                    result = verify_file(store, item.path)
                is_missed = result.state is VerifyState.UNRECORDED and item.path == Path(name)
                if is_missed and _waits(store, item.path):
                    open_file = name
                file_status = 3 if is_missed else _VERIFY_STATUS[result.state]
                counts[result.state] += 1
                status = output.worst(status, file_status)
                if session.as_json:
                    output.print_json(_verified_object(result))
                elif file_status:
                    lines += _verified_lines(result)
    show = output.print_notes if session.as_json else output.print_lines
    show([output.count_text(counts, _FINDINGS) or "no audio file was found"])
    output.print_lines(lines)
    if counts[VerifyState.TAGS_DIFFER]:
        output.print_notes([
            "if you changed the tags yourself, nothing is left to do",
            "to keep a date of yours: canon override set FILE --first DATE",
            f"to write canon's tags again: {output.canon_call('write', *paths)}",
        ])  # fmt: skip
    if open_file:
        output.print_next(output.canon_call("review", "show", open_file))
    elif set(counts) == {VerifyState.UNRECORDED} or (
        status == _WAITS and not counts[VerifyState.TAGS_DIFFER]
    ):
        output.print_next(output.canon_call("write", *paths))
    return status


def _waits(store: "Store", path: Path) -> bool:
    """Return whether the decision on a file needs a person before tags can be written."""
    [decision] = current_decisions(store, [path_bytes(path)])
    return isinstance(decision, DecisionRecord) and State(decision.state) in WAITING_STATES


def _verified_object(result: Verification) -> dict[str, Any]:
    write = result.write
    fields = {
        "state": result.state, "why": result.why,
        "decision_id": write and write.decision_id, "run_id": write and write.run_id,
        "write_id": write and write.id, "written_at_utc": write and write.at_utc,
        "changes": result.changes,
    }  # fmt: skip
    return output.file_object(result.path, fields)


def _verified_lines(result: Verification) -> Iterator[str]:
    if result.state is VerifyState.UNREADABLE:  # the reason names the file
        yield from output.wrap(result.why or "", "", 2)
        return
    yield path_text(result.path)
    label = "never written" if result.state is VerifyState.UNRECORDED else result.state
    yield from output.note_lines(label, result.why or "")
    yield from tag_text.changed_key_lines(result.changes, 4)
