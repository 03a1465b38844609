"""SQLite files without SQLAlchemy, whose import costs more than a decision by rules.

Overrides are read this way; the error messages and URIs serve both ways.
"""

import os
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from chart_binder.domain.verdict import KeptOverride
from chart_binder.errors import StoreError

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


VERSION = 3
"""The schema version of the tables in `schema`."""


def newer_schema_message(name: str, version: int) -> str:
    """Return the error text for a store that a newer program has migrated."""
    return (
        f"the store {name!r} was written by a newer canon (schema {version}, this one knows"
        f" {VERSION}): update canon, or name another file in store.url"
    )


_FILE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)(?:\?.*)?")
_ALL = "SELECT recording_mbid, crg_mbid, rr_mbid, reason, set_at_utc FROM overrides"
_VERSION = "SELECT version FROM schema_version"
_PATIENCE_S = 10.0


def read_overrides(url: str) -> Mapping[str, KeptOverride]:
    """Return the overrides in the store at `url`, by recording; none if there is no store.

    Nothing is created or changed. Raises `StoreError` that names the store.
    """
    if url.startswith("postgresql"):
        return _read_from_server(url)
    path = _existing_file(url)
    if path is None:
        return {}
    place = reading_uri(path) if is_read_only(path) else f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(place, uri=True, timeout=_PATIENCE_S)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
            if "overrides" not in tables:  # a store from before there were any
                return {}
            (version,) = connection.execute(_VERSION).fetchone() or (0,)
            if isinstance(version, int) and version > VERSION:
                raise StoreError(newer_schema_message(str(path), version))
            rows = connection.execute(_ALL).fetchall()
    except sqlite3.Error as error:
        raise StoreError(f"the store {str(path)!r} {sqlite_problem(error)}") from error
    except UnicodeDecodeError as error:
        raise StoreError(f"the store {str(path)!r} is damaged: {error}") from error
    return {row[0]: KeptOverride(*row) for row in rows}


def _read_from_server(url: str) -> Mapping[str, KeptOverride]:
    from chart_binder.store.database import open_database
    from chart_binder.store.reviews import Overrides

    database = open_database(url)
    try:
        return Overrides(database).all() if database.has_tables() else {}
    finally:
        database.close()


def _existing_file(url: str) -> Path | None:
    form = _FILE.fullmatch(url)
    # From 2.1 on, SQLAlchemy reads percent signs in a path as escapes.
    paths = [Path(unquote(form[1])), Path(form[1])] if form else []
    return next((path for path in paths if path.is_file()), None)
