"""`canon index`: build an index of all of MusicBrainz from a dump, show it, and check it."""

import os
import re
import signal
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import click

from chart_binder.cli import options, output
from chart_binder.cli.progress import Stages
from chart_binder.cli.terminal import handling
from chart_binder.errors import UsageError
from chart_binder.musicbrainz.index.build import (
    LEAST_MEMORY_MB,
    MEMORY_MB,
    BuildOptions,
    build_index,
)
from chart_binder.musicbrainz.index.layout import Summary, open_index, read_summary
from chart_binder.musicbrainz.index.verify import check_index
from chart_binder.musicbrainz.index.workspace import available_memory
from chart_binder.wiring import index_path

_SIZE = re.compile(r"(\d{1,6}(?:\.\d+)?) ?(MB|GB)", re.IGNORECASE)
_MOST_JOBS = 256
_DEFAULT_SHARE = 0.8
_TIME = "%Y-%m-%d %H:%M UTC"
_SHOWN = ("recording", "release", "release_group", "artist", "work", "isrc")
file_argument = click.argument("file", required=False, type=options.PATH)


@options.group("index")
def index() -> None:
    """Build an index of all of MusicBrainz from a dump, show it, and check it."""


@index.command("build")
@click.argument("dump", type=options.PATH)
@options.option("-o --out FILE", "The index; by default, what `canon index path` prints.",
                type=options.PATH)  # fmt: skip
@options.option("--temporary FOLDER", "A folder for temporary files; by default, that of the"
                " index.", type=options.PATH)  # fmt: skip
@options.option("--memory SIZE", "The most memory, such as 800MB; by default 4GB, or less if less"
                " is free.")  # fmt: skip
@options.option("--jobs N", "Threads and processes, as far as memory allows; by default, one"
                " for each processor.",
                type=click.IntRange(1, _MOST_JOBS))  # fmt: skip
@options.pass_session
def build(
    session: options.Session,
    dump: str,
    out: str | None,
    temporary: str | None,
    memory: str | None,
    jobs: int | None,
) -> None:
    """Build an index from DUMP: mbdump.tar.bz2, or a folder of its unpacked tables.

    This needs the extra `index` (DuckDB), and disk space of about twice the tables. The new
    index replaces the old one only after it has been checked.

    Exit status: 0 success, 1 the dump is damaged, there is too little room, or the file to replace
    is not an index, 2 an option is not valid, 130 interrupted.
    """
    path = _path(session, out)
    if out is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    build_options = BuildOptions(
        path,
        Path(temporary) if temporary else None,
        _memory_mb(memory),
        jobs or os.cpu_count() or 1,
    )
    with (  # so that a build removes what it wrote
        handling(signal.default_int_handler, signal.SIGTERM, signal.SIGHUP),
        Stages(is_quiet=session.quiet) as meter,
    ):
        summary = build_index(Path(dump), build_options, meter)
    _show(session, path, summary)
    if summary.absent:
        absent = ", ".join(summary.absent)
        output.print_notes([f"the dump has no file for {absent}, so they count as empty"])
    output.print_next("canon doctor")


@index.command("show")
@file_argument
@options.pass_session
def show(session: options.Session, file: str | None) -> None:
    """Show the age, schema, size and row counts of the index, or of FILE.

    Exit status: 0 success, 1 there is no index that can be read.
    """
    path = _path(session, file)
    with closing(open_index(path)) as connection:
        _show(session, path, read_summary(connection))


@index.command("verify")
@file_argument
@options.pass_session
def verify(session: options.Session, file: str | None) -> None:
    """Check the index, or FILE: its checksum, pages, row counts, and a sample read in two ways.

    Exit status: 0 success, 1 it is damaged, or there is none, 130 interrupted.
    """
    path = _path(session, file)
    with Stages(is_quiet=session.quiet) as meter:
        summary, pages, recordings = check_index(path, meter)
    fields = {**_facts(path, summary), "pages": pages, "recordings": recordings}
    text = f"no fault: {pages:,} pages read, {recordings:,} recordings compared by a second path"
    session.show(fields, [f"{path}: {text}"])


@index.command("path")
@options.pass_session
def print_path(session: options.Session) -> None:
    """Print where the index is, or would be."""
    path = index_path(session.config)
    session.show({"path": str(path), "exists": path.exists()}, [str(path)])


def _path(session: options.Session, name: str | None) -> Path:
    return Path(name) if name else index_path(session.config)


def _memory_mb(text: str | None) -> int:
    """Parse a size; by default 4 GB, or most of what is free. Raises `UsageError`."""
    if text is None:
        free = available_memory()
        default = MEMORY_MB if free is None else min(MEMORY_MB, free / 1e6 * _DEFAULT_SHARE)
        return max(LEAST_MEMORY_MB, int(default))
    size = _SIZE.fullmatch(text.strip())
    amount = float(size[1]) * (1_000 if size[2].upper() == "GB" else 1) if size else 0
    if amount < LEAST_MEMORY_MB:
        raise UsageError(
            f"--memory: {text!r} is not a size such as 800MB or 4GB, at least {LEAST_MEMORY_MB}MB"
        )
    return int(amount)


def _facts(path: Path, summary: Summary) -> dict[str, object]:
    age = round(summary.age_days(datetime.now(UTC)), 1)
    return {"path": str(path), "bytes": path.stat().st_size, "age_days": age, "summary": summary}


def _show(session: options.Session, path: Path, summary: Summary) -> None:
    built_at = datetime.fromisoformat(summary.built_at)
    counts = (f"{summary.counts.get(table, 0):,} {table.replace('_', ' ')}s" for table in _SHOWN)
    texts = {
        "index": f"{path} ({path.stat().st_size / 1e6:,.1f} MB)",
        "dump": f"of {summary.dumped_at:{_TIME}}, {summary.age_days(datetime.now(UTC)):,.0f} days"
        f" old, schema {summary.schema}",
        "built": f"{built_at:{_TIME}} by canon {summary.canon}",
        "has": ", ".join(counts),
    }
    lines = (line for name, text in texts.items() for line in output.labelled(name, text, 6, 0))
    session.show(_facts(path, summary), lines)
