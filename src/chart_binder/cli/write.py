"""`canon write`: what decisions change in tags is shown, and written."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Any

import click

from chart_binder.audio.walk import UnreadablePath, find_audio_files
from chart_binder.cli.options import (
    INTERRUPTED,
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
from chart_binder.domain.tags import Policy
from chart_binder.errors import CanonError, StoreError, UsageError
from chart_binder.files import path_text
from chart_binder.jobs.journal import (
    FieldChange,
    WritingRun,
    clean_folders,
    repair_journal,
)
from chart_binder.jobs.write import (
    Planner,
    WriteReport,
    WriteStatus,
    write_tags,
)
from chart_binder.store import open_store
from chart_binder.wiring import overrides, store_url

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
NO_PATHS = "name files or folders, or - for paths on standard input"


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
        raise UsageError(NO_PATHS)
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
            return finish(results, run, stop)


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


def finish(results: "TagResults", run: WritingRun | None, stop: Event) -> int:
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
