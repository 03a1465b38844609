"""`canon write`: what decisions change in tags is shown album by album, and written."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Any

import click

from chart_binder.audio.walk import UnreadablePath
from chart_binder.cli import options, output
from chart_binder.cli.progress import stop_after_current
from chart_binder.cli.render.tags import (
    WORDS,
    Words,
    album_lines,
    album_of,
    counts_text,
    what_lacks,
)
from chart_binder.domain.tags import Policy
from chart_binder.errors import INTERRUPTED, CanonError, StoreError, UsageError, end_status
from chart_binder.files import path_text
from chart_binder.jobs import write_albums
from chart_binder.jobs.journal import WritingRun, clean_folders, repair_journal
from chart_binder.jobs.write import Planner, WriteReport, WriteStatus
from chart_binder.store import open_store
from chart_binder.wiring import overrides, release_lookup, store_url

_FAILED = 1
_MAX_HELD = 200
"""Files of one album that are held back, to print once what is the same in all."""
_WRITE_STATUS = {WriteStatus.REFUSED: 3, WriteStatus.FAILED: 1}
NO_PATHS = "name files or folders, or - for paths on standard input"


@click.command("write")
@options.paths_argument
@options.flag("--apply", "applies", "Write; else only show what would change.")
@options.tag_options
@options.keep_mtime_option
@options.pass_session
def write(
    session: options.Session, paths: tuple[str, ...], applies: bool, keep_mtime: bool, **tags: Any
) -> int:
    """Show what the decisions on files change in their tags; --apply writes it, safely.

    Files are shown by album. What is written is counted for each album; -v shows it, with ids
    behind names. `canon undo` takes back what was written.

    Exit status: 0 written, or nothing to change; 3 something may not be written, 1 a file could not
    be read or saved.
    """
    if not paths:
        raise UsageError(NO_PATHS)
    config = session.config
    wanted = options.write_options(config, **tags)
    verbose = session.verbosity > 0
    results = TagResults(session.as_json, detailed=verbose or not applies, verbose=verbose)
    with open_store(store_url(config)) as store, stop_after_current() as stop:
        lookup = release_lookup(config, store)
        planner = Planner(store, overrides(config)(), wanted, lookup, config.rules)
        run = (
            WritingRun.of(store, "write", options.command_line(), keep_mtime=keep_mtime)
            if applies
            else None
        )
        if run:
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
    """Plan the files album by album, write them if there is a run, and print each."""
    for item in _albums(named, output.print_notes if run else None):
        if isinstance(item, WriteReport):
            results.show(item)
        else:
            reports = _write_album(planner, item, run, results, stop)
            if run:
                write_albums.record_unwritten(planner.store, reports)
        if stop.is_set():
            return


def _write_album(
    planner: Planner,
    album: write_albums.AlbumFiles,
    run: WritingRun | None,
    results: "TagResults",
    stop: Event,
) -> Sequence[WriteReport]:
    reports: list[WriteReport] = []
    for report in write_albums.write_album(write_albums.plan_album(planner, album), album, run):
        reports.append(report)
        results.show(report)
        if stop.is_set():
            break
    return reports


def _show_regrouping(planner: Planner, named: Iterable[str], stop: Event, *, as_json: bool) -> None:
    """Print which albums fall apart and which come together, of all files that are named."""
    found = write_albums.Regrouping()
    for item in _albums(named, None):
        if isinstance(item, write_albums.AlbumFiles):
            for planned in write_albums.plan_album(planner, item):
                found.add(planned)
        if stop.is_set():
            return
    if as_json:
        output.print_notes(found.lines)
    else:
        output.print_lines(chain.from_iterable(output.wrap(line, "", 2) for line in found.lines))


def _albums(
    named: Iterable[str], report: Callable[[Iterable[str]], None] | None
) -> Iterator[write_albums.AlbumFiles | WriteReport]:
    """Yield the albums of files; with `report`, remove leftovers from each folder before."""
    for item in write_albums.album_folders(_files(named)):
        if isinstance(item, WriteReport):
            yield item
            continue
        if report:
            report(clean_folders(dict.fromkeys(path.resolve().parent for path in item)))
        yield from write_albums.albums_in(item)


def _files(named: Iterable[str]) -> Iterator[Path | WriteReport]:
    for name in named:
        for item in options.audio_files(name):
            if isinstance(item, UnreadablePath):
                yield WriteReport(item.path, WriteStatus.FAILED, why=str(item.problem))
            else:
                yield item.path


@dataclass
class TagResults:
    """Prints files as they come: JSON at once, text when all files of their album are there."""

    as_json: bool
    detailed: bool = True
    verbose: bool = False
    words: Words = field(default_factory=lambda: WORDS)
    when_planned: str = "--apply writes it"
    status: int = 0
    counts: Counter[WriteStatus] = field(default_factory=Counter)
    partial: Counter[str] = field(default_factory=Counter)
    held: list[WriteReport] = field(default_factory=list)
    printed: bool = False

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
        summary = counts_text(self.counts, self.partial, self.words) or "no file"
        output.print_notes(output.wrap("; ".join((summary, *self.hints(run))), indent=2))

    def _end(self, run: WritingRun | None) -> None:
        if run:
            run.counts.update({status.value: count for status, count in self.counts.items()})
            run.end(self.status)

    def hints(self, run: WritingRun | None) -> Iterator[str]:
        """Yield what can be done next."""
        if run and run.has_begun:
            yield f"`canon undo {run.run.id}` takes it back"
        if self.status == INTERRUPTED:
            yield "interrupted: the same command goes on"
        elif self.counts[WriteStatus.PLANNED]:
            yield self.when_planned

    def show(self, report: WriteReport) -> None:
        """Print one file, or hold it back until its album is complete."""
        self.counts[report.status] += 1
        self.partial.update(what_lacks(report))
        waiting = 3 if report.waits else 0
        self.status = output.worst(self.status, waiting, _WRITE_STATUS.get(report.status, 0))
        if self.as_json:
            output.print_json(output.file_object(report.path, self.fields(report)))
            return
        if report.file is None:  # a path that leads to no file
            self.flush()
            said = f"{path_text(report.path)}: {self.words[report.status]}: {report.why}"
            output.print_lines(output.wrap(said, "", 2))
            return
        is_next = self.held and album_of(self.held[-1]) != album_of(report)
        if is_next or len(self.held) == _MAX_HELD:
            self.flush()
        self.held.append(report)

    def flush(self) -> None:
        """Print what is held back."""
        held, self.held = self.held, []
        if held:
            lines = album_lines(held, self.words, detailed=self.detailed, verbose=self.verbose)
            output.print_lines(chain([""] * self.printed, lines))
            self.printed = self.detailed

    def fields(self, report: WriteReport) -> dict[str, Any]:
        """Return what is printed of a file in JSON."""
        chosen = report.plan.chosen if report.plan else None
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
            "changes": report.changes,
        }
