"""`canon write`: what decisions change in tags, shown or written."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from chart_binder.audio.walk import UnreadablePath, find_audio_files
from chart_binder.cli.decide import named_paths
from chart_binder.cli.logs import about_file
from chart_binder.cli.options import Session, common_options, pass_session, typed
from chart_binder.cli.output import readable
from chart_binder.cli.progress import Wish, finishing_in_hand
from chart_binder.cli.render.tags import TagResults
from chart_binder.cli.terminal import harmless
from chart_binder.domain.tags import Policy
from chart_binder.errors import CanonError, StoreError, UsageError
from chart_binder.jobs.journal import WritingRun, clean_folders, repair_journal
from chart_binder.jobs.write import Planner, WriteReport, WriteStatus, write_tags
from chart_binder.store import open_store
from chart_binder.wiring import overrides, store_url

INTERRUPTED = 130
FAILED = 1


@click.command("write")
@click.argument("paths", nargs=-1, type=click.Path(path_type=str))
@click.option("--apply", "applies", is_flag=True, help="Write; else only show what would change.")
@click.option(
    "--policy",
    type=click.Choice([policy.value for policy in Policy]),
    default=Policy.IDS.value,
    help="ids: identifiers alone (the default); full: album, dates, label and the rest too.",
)
@click.option("--keep-mtime", is_flag=True, help="Leave the files' modification times.")
@common_options
@pass_session
def command(
    session: Session, paths: tuple[str, ...], applies: bool, policy: str, keep_mtime: bool
) -> int:
    """Show what the decisions on files change in their tags; --apply writes it, safely.

    `canon undo` takes back what was written.

    Exit status: 0 written, or nothing to change, 3 something may not be written, 1 a file could not
    be read or saved.
    """
    if not paths:
        raise UsageError("name files or folders, or - for paths on standard input")
    config = session.config
    results = TagResults(session.as_json)
    called = typed(click.get_current_context())
    with open_store(store_url(config)) as store, finishing_in_hand() as wish:
        planner = Planner(store, config.llm.acceptance, overrides(config)(), Policy(policy))
        run = WritingRun.of(store, "write", called, keep_mtime=keep_mtime) if applies else None
        if run:
            say(repair_journal(store))
        with ending(results, run):
            for item in _items(paths, say if run else None):
                if isinstance(item, WriteReport):
                    results.show(item)
                else:
                    about_file(readable(str(item)))
                    results.show(write_tags(planner, item, run))
                if wish.to_stop:
                    break
            return ended(results, run, wish)


@contextmanager
def ending(results: TagResults, run: WritingRun | None) -> Iterator[None]:
    """Keep how a run ended that is cut short, by Ctrl-C or because nobody reads its results."""
    try:
        yield
    except (KeyboardInterrupt, OSError, CanonError) as error:
        if run:
            status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
            with suppress(StoreError):  # the first error is what is told
                _end(results, run, status)
        raise


def _end(results: TagResults, run: WritingRun, status: int) -> None:
    run.counts.update({fate.value: count for fate, count in results.counts.items()})
    run.end(status)


def ended(results: TagResults, run: WritingRun | None, wish: Wish) -> int:
    """Print what is left, keep how the run ended, and return the exit status."""
    results.flush()
    is_cut = wish.to_stop  # Ctrl-C may come once more while this is said
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
    say([f"{results.summary or 'no file'}{hint}"])
    return status


def say(lines: Iterable[str]) -> None:
    """Say something beside the results."""
    for line in lines:
        click.echo(harmless(readable(line)), err=True)


def _items(
    paths: Iterable[str], report: Callable[[Iterable[str]], None] | None
) -> Iterator[Path | WriteReport]:
    """Yield the files; the first time a folder is come to, what is left over there is removed."""
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
