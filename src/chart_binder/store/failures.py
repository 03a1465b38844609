"""Database errors become one sentence that names the store."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

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


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Turn what SQLAlchemy raises about the store `name` into `StoreError`."""
    try:
        yield
    except DBAPIError as error:
        raise StoreError(f"the store {name!r} {_meaning(error.orig)}") from error
    except sqlite3.Error as error:  # raised while a connection is being made ready
        raise StoreError(f"the store {name!r} {_meaning(error)}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"the store {name!r} cannot be used: {_line(error)}") from error


def _meaning(cause: BaseException | None) -> str:
    code = getattr(cause, "sqlite_errorcode", 0) & _PRIMARY
    return _MEANING.get(code, f"cannot be used: {_line(cause)}")


def _line(error: BaseException | None) -> str:
    return (str(error).splitlines() or [""])[0]
