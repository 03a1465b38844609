"""`canon undo`: tags are put back as they were."""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chart_binder.audio.walk import AudioFile, find_audio_files
from chart_binder.cli.logs import about_file
from chart_binder.cli.options import Session, common_options, pass_session, typed
from chart_binder.cli.output import readable
from chart_binder.cli.progress import finishing_in_hand
from chart_binder.cli.render.tags import TagResults
from chart_binder.cli.write import ended, ending, say
from chart_binder.domain.records import KeptWrite
from chart_binder.errors import CanonError
from chart_binder.jobs.journal import WritingRun, repair_journal
from chart_binder.jobs.undo import (
    UNDO,
    last_write,
    last_write_of_moved_file,
    only_done,
    runs_to_undo,
    undo_writes,
    writes_to_undo,
)
from chart_binder.store import open_store
from chart_binder.wiring import store_url

if TYPE_CHECKING:
    from chart_binder.store.store import Store


@click.command("undo")
@click.argument("name", metavar="[RUN_OR_PATH]", required=False, type=click.Path(path_type=str))
@click.option("--keep-mtime", is_flag=True, help="Leave the files' modification times.")
@common_options
@pass_session
def command(session: Session, name: str | None, keep_mtime: bool) -> int:
    """Put the tags back as they were before a run, or before the last write of a file or folder.

    Without an argument, the last run that wrote is taken back. A file that was changed since is
    left alone, and the difference shown. The run of an undo can be undone by its name.

    Exit status: 0 all is put back, 3 something was changed since and left, 1 something failed.
    """
    results = TagResults(session.as_json)
    with open_store(store_url(session.config)) as store, finishing_in_hand() as wish:
        say(repair_journal(store))
        run = WritingRun.of(store, UNDO, typed(click.get_current_context()), keep_mtime=keep_mtime)
        moved: dict[str, Path] = {}
        with ending(results, run):
            for told in undo_writes(_meant(store, name, moved), run, moved):
                about_file(readable(str(told.path)))
                results.show(told)
                if wish.to_stop:
                    break
            status = ended(results, run, wish)
        if name is None and status and (before := _run_before(store)):
            say([f"what was written before that is taken back by `canon undo {before}`"])
        return status


def _any(writes: Iterator[KeptWrite]) -> Iterator[KeptWrite] | None:
    """Return the writes if there is one: they are not held together, for there may be very many."""
    first = next(writes, None)
    return None if first is None else chain([first], writes)


def _last_write(store: "Store", path: Path, moved: dict[str, Path]) -> KeptWrite | None:
    if own := last_write(store, path):
        return own
    write = last_write_of_moved_file(store, path)
    if write:
        moved[write.id] = path
    return write


def _run_before(store: "Store") -> str | None:
    """Return the writing run before the last, where the last cannot be taken back."""
    runs = runs_to_undo(store)
    next(runs, None)
    before = next(runs, None)
    return before.id if before else None


def _meant(store: "Store", name: str | None, moved: dict[str, Path]) -> Iterator[KeptWrite]:
    """Return the writes to take back; of those of a file by another name, say where it is."""
    if name is None:
        run = next(runs_to_undo(store), None)
        if run is None:
            raise CanonError("there is nothing to undo: no tags were written, or all are put back")
        return writes_to_undo(store, run)
    if os.path.lexists(name):
        found = (
            item.path for item in find_audio_files([Path(name)]) if isinstance(item, AudioFile)
        )
        last = (_last_write(store, path, moved) for path in found)
        if writes := _any(write for write in last if write):
            return writes
        raise CanonError(f"{readable(name)}: no tags were written there, or all are put back")
    if store.runs.get(name) is None:
        raise CanonError(f"{readable(name)!r} is neither a file or folder nor a run that is kept")
    if writes := _any(only_done(store.journal.of_run(name))):
        return writes
    raise CanonError(f"the run {name} wrote no tags, or all are put back")
