"""SQLite files: what an error means, how a file is opened for reading, the schema version.

Nothing here needs SQLAlchemy.
"""

import os
import sqlite3
from pathlib import Path

_MEANING = {
    sqlite3.SQLITE_BUSY: "is locked by another program: wait for it to end, or stop it",
    sqlite3.SQLITE_LOCKED: "is locked by another program: wait for it to end, or stop it",
    sqlite3.SQLITE_READONLY: "is read-only: make the file and its folder writable",
    sqlite3.SQLITE_PERM: "may not be opened: its permissions forbid it",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: the file and its folder must be readable, writable",
    sqlite3.SQLITE_NOTADB: "is not a store: the file is no SQLite database",
    sqlite3.SQLITE_CORRUPT: "is damaged: move the file away, a new one is made",
    sqlite3.SQLITE_FULL: "cannot be written: no room is left on its disk",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk failed or is full",
}
"""By primary result code (sqlite.org/rescode.html)."""
_PRIMARY = 0xFF


def sqlite_problem(cause: BaseException | None) -> str:
    """Return what an SQLite error means, as the rest of a sentence: `is damaged: ...`."""
    code = getattr(cause, "sqlite_errorcode", 0) & _PRIMARY
    return _MEANING.get(code, f"cannot be used: {first_line(cause)}")


def first_line(error: BaseException | None) -> str:
    """Return the first line of an error's text."""
    return (str(error).splitlines() or [""])[0]


def is_read_only(path: Path) -> bool:
    """Return whether the file exists, and it or its folder may not be written."""
    return path.is_file() and not all(os.access(each, os.W_OK) for each in (path, path.parent))


def reading_uri(path: Path) -> str:
    """Return the URI by which SQLite reads a file without creating one beside it.

    SQLite can create the index of the write-ahead log only in a writable folder, so a file without
    a log is declared immutable: a writer has a log (https://www.sqlite.org/wal.html#readonly).
    """
    log, index = (Path(f"{path}{end}") for end in ("-wal", "-shm"))
    has_log = index.exists() or (log.exists() and log.stat().st_size > 0)
    return f"{path.absolute().as_uri()}?mode=ro" + ("" if has_log else "&immutable=1")


VERSION = 6
"""The schema version of the tables in `schema`."""


def newer_schema_message(name: str, version: int) -> str:
    """Return the error text for a store that a newer program has migrated."""
    return (
        f"the store {name!r} was written by a newer canon (schema {version}, this one knows"
        f" {VERSION}): update canon, or name another file in store.url"
    )
