"""Overrides in a file are read without SQLAlchemy, whose import costs more than a decision."""

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
    """Return what follows the store's name in a sentence: `is damaged: ...`."""
    code = getattr(cause, "sqlite_errorcode", 0) & _PRIMARY
    return _MEANING.get(code, f"cannot be used: {first_line(cause)}")


def first_line(error: BaseException | None) -> str:
    """Return the first line of what an error says."""
    return (str(error).splitlines() or [""])[0]


def is_read_only(path: Path) -> bool:
    """Tell whether there is a file that, or whose folder, this process may not write."""
    return path.is_file() and not all(os.access(each, os.W_OK) for each in (path, path.parent))


def reading_uri(path: Path) -> str:
    """Return the URI by which SQLite reads a file and makes none beside it.

    It may make the index of the write-ahead log only where it may write, so without a log the file
    is said to be immutable: who writes has a log (https://www.sqlite.org/wal.html#readonly).
    """
    log, index = (Path(f"{path}{end}") for end in ("-wal", "-shm"))
    has_log = index.exists() or (log.exists() and log.stat().st_size > 0)
    return f"{path.absolute().as_uri()}?mode=ro" + ("" if has_log else "&immutable=1")


VERSION = 3
"""What `schema_version` holds once every table stands as `schema` says."""


def newer_schema_message(name: str, version: int) -> str:
    """Return what is said of a store that a newer program has brought up to date."""
    return (
        f"the store {name!r} was written by a newer canon (schema {version}, this one knows"
        f" {VERSION}): update canon, or name another file in store.url"
    )


_FILE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)(?:\?.*)?")
_ALL = "SELECT recording_mbid, crg_mbid, rr_mbid, reason, set_at_utc FROM overrides"
_VERSION = "SELECT version FROM schema_version"
_PATIENCE_S = 10.0


def read_overrides(url: str) -> Mapping[str, KeptOverride]:
    """Return the overrides in the store at `url`, by recording; none where there is no store.

    Nothing is made or changed. Raises `StoreError` that names the store.
    """
    if url.startswith("postgresql"):
        return _on_a_server(url)
    path = _file_at(url)
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


def _on_a_server(url: str) -> Mapping[str, KeptOverride]:
    from chart_binder.store.database import open_database
    from chart_binder.store.reviews import Overrides

    database = open_database(url)
    try:
        return Overrides(database).all() if database.has_tables() else {}
    finally:
        database.close()


def _file_at(url: str) -> Path | None:
    form = _FILE.fullmatch(url)
    # From 2.1 on, SQLAlchemy reads percent signs in a path as escapes.
    paths = [Path(unquote(form[1])), Path(form[1])] if form else []
    return next((path for path in paths if path.is_file()), None)
