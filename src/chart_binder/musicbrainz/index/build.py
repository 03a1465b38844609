"""Build an index from a dump: check what it takes, stage, write, verify, and put it in place."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from chart_binder import __version__
from chart_binder.errors import IndexFileError
from chart_binder.files import path_text, quoted
from chart_binder.musicbrainz.index import dump as dumps
from chart_binder.musicbrainz.index import layout, staging, tables, verify
from chart_binder.musicbrainz.index.dump import Dump, Meter
from chart_binder.musicbrainz.index.hashing import hash_texts
from chart_binder.musicbrainz.index.workspace import Workspace, available_memory, open_workspace

MEMORY_MB: Final = 4_000
"""How much memory a build uses at most, unless another amount is named."""
LEAST_MEMORY_MB: Final = 500
_OTHER_MB: Final = 300
_PROCESS_MB: Final = 70
_THREAD_MB: Final = 125
_DUCKDB_SHARE: Final = 0.85
"""What Python, a process that hashes and a thread take; DuckDB exceeds its limit a little."""
_LEAST_DUCKDB_MB: Final = 200
_UNPACKED: Final = 3.0
_STAGED: Final = 1.0
_INDEX: Final = 1.0
"""Bytes of tables per byte of an archive; per byte of tables, staged bytes, and bytes of an index,
of which there are two while the second is packed.
"""


@dataclass(frozen=True)
class BuildOptions:
    """Where an index goes, and what its build may use."""

    out: Path
    temporary: Path | None = None
    memory_mb: int = MEMORY_MB
    jobs: int = 1

    @property
    def processes(self) -> int:
        """How many processes hash texts: as many as jobs, but most of the memory is DuckDB's."""
        return max(1, min(self.jobs, (self.memory_mb - _OTHER_MB) // 3 // _PROCESS_MB))

    @property
    def duckdb_mb(self) -> int:
        """How much memory DuckDB may use."""
        left_mb = self.memory_mb - _OTHER_MB - _PROCESS_MB * self.processes
        return max(_LEAST_DUCKDB_MB, round(left_mb * _DUCKDB_SHARE))

    @property
    def threads(self) -> int:
        """How many threads DuckDB has: as many as jobs, if there is memory for them."""
        return max(1, min(self.jobs, self.duckdb_mb // _THREAD_MB))


def build_index(source: Path, options: BuildOptions, meter: Meter) -> layout.Summary:
    """Build an index, which replaces the old one once it has been verified; return its summary.

    Raises `IndexFileError`; then, and on an interrupt, the old index stays and nothing is left.
    """
    staging.require_duckdb()
    if not (source.is_file() or source.is_dir()):
        raise IndexFileError(f"{quoted(source)} is not a file or folder: name mbdump.tar.bz2")
    if options.out.is_symlink():  # the file on the other disk is replaced, not the link to it
        options = replace(options, out=options.out.resolve())
    for folder in (options.out.parent, options.temporary):
        if folder and not folder.is_dir():
            raise IndexFileError(f"{quoted(folder)} is not a folder")
    for path in (source if source.is_dir() else None, options.out, options.temporary):
        if path and path_text(path) != str(path):
            raise IndexFileError(f"{quoted(path)} is not UTF-8, as DuckDB requires: name another")
    _refuse_other_file(options.out)
    dump = dumps.read_folder(source) if source.is_dir() else None
    _require_room(source, dump, options)
    with _named_failures(options), open_workspace(options.out, options.temporary) as workspace:
        if dump is None:
            dumps.verify_sums(source, meter)
            dump = dumps.unpack(source, workspace.temporary, options.jobs, meter)
        path = workspace.beside / "index"
        summary = _build(dump, path, workspace, options, meter)
        verify.write_digest(path, meter)
        verify.check_index(path, meter)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        path.replace(options.out)
    return summary


def _refuse_other_file(out: Path) -> None:
    """Raise `IndexFileError` if the index would replace something that is not an index."""
    if not out.exists():
        return
    is_index = False
    if out.is_file():
        with out.open("rb") as file:
            header = file.read(layout.ID_OFFSET + 4)
        is_index = not header or header.endswith(layout.APPLICATION_ID.to_bytes(4))
    if not is_index:
        raise IndexFileError(
            f"{quoted(out)} is not an index, so it is not replaced: name another file with --out"
        )


def _build(
    dump: Dump, path: Path, workspace: Workspace, options: BuildOptions, meter: Meter
) -> layout.Summary:
    folder = workspace.temporary
    with closing(staging.open_staging(folder, options.duckdb_mb, options.threads)) as staged:
        is_unpacked = folder in next(iter(dump.tables.values())).parents
        staging.load(staged, dump, meter, deletes=is_unpacked)
        staging.derive(staged, meter)
        hash_texts(staged, folder, options.processes, meter)
        with closing(_new_file(path.with_suffix(".unpacked"))) as file:
            tables.write_tables(staged, file, staging.read_areas(staged), meter)
            verify.compare_with_dump(staged, file, meter)
            summary = layout.Summary(
                schema=dump.schema,
                timestamp=dump.timestamp,
                replication_sequence=dump.replication_sequence,
                built_at=datetime.now(UTC).isoformat(timespec="seconds"),
                canon=__version__,
                absent=dump.absent,
                counts=verify.count_rows(file, meter),
            )
            layout.write_summary(file, summary)
            meter.begin("pack the file")
            file.execute("VACUUM INTO ?", (str(path),))
    return summary


def _new_file(path: Path) -> sqlite3.Connection:
    file = sqlite3.connect(path)
    for setting in (
        f"page_size = {layout.PAGE_SIZE}", "journal_mode = OFF", "synchronous = OFF",
        "locking_mode = EXCLUSIVE", "cache_size = -64000",
        f"application_id = {layout.APPLICATION_ID}", f"user_version = {layout.FORMAT}",
    ):  # fmt: skip
        file.execute(f"PRAGMA {setting}")
    file.executescript(layout.TABLES)
    return file


def _require_room(source: Path, dump: Dump | None, options: BuildOptions) -> None:
    """Estimate the memory and the space on disk that a build takes. Raises `IndexFileError`."""
    available = available_memory()
    if available is not None and options.memory_mb * 1e6 > available:
        raise IndexFileError(
            f"the build may use {options.memory_mb:,} MB of memory, and {available / 1e6:,.0f} MB"
            f" are free: end other programs, or pass --memory (at least {LEAST_MEMORY_MB} MB)"
        )
    files = dump.tables.values() if dump else ()
    unpacked = 0.0 if dump else source.stat().st_size * _UNPACKED
    size = unpacked + sum(path.stat().st_size for path in files)
    needs = {options.out.parent: size * _INDEX}
    temporary = options.temporary or options.out.parent
    needs[temporary] = needs.get(temporary, 0.0) + unpacked + size * _STAGED
    devices: dict[int, tuple[Path, float]] = {}
    for folder, need in needs.items():
        device = folder.stat().st_dev
        devices[device] = folder, devices.get(device, (folder, 0.0))[1] + need
    for folder, need in devices.values():
        free = shutil.disk_usage(folder).free
        if need > free:
            raise IndexFileError(
                f"the build needs about {need / 1e9:,.1f} GB in {quoted(folder)}, and"
                f" {free / 1e9:,.1f} GB are free: free some, or name another folder with --out"
                " or --temporary"
            )


@contextmanager
def _named_failures(options: BuildOptions) -> Iterator[None]:
    """Turn failures of DuckDB, SQLite and the disk into errors that say what to do."""
    import duckdb

    folders = dict.fromkeys((options.temporary or options.out.parent, options.out.parent))
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise IndexFileError(
            f"{options.memory_mb:,} MB of memory are too little for this dump: pass more with"
            f" --memory ({_first_line(error)})"
        ) from error
    except (duckdb.Error, sqlite3.Error, OSError, RuntimeError) as error:
        text = _first_line(error)
        if "interrupted" in text.casefold():  # DuckDB turns an interrupt into its own error
            raise KeyboardInterrupt from error
        is_full = getattr(error, "errno", None) == errno.ENOSPC or any(
            words in text for words in ("No space left", "disk is full", "not enough disk space")
        )
        if is_full:
            raise IndexFileError(
                f"there is no space left in {' or '.join(map(quoted, folders))}: free some, or name"
                " another folder with --temporary; the old index is unchanged"
            ) from error
        raise IndexFileError(f"the index could not be built: {text}") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
