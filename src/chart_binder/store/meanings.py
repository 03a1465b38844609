"""What SQLite's result codes mean to the person at the terminal."""

import sqlite3

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


def meaning(cause: BaseException | None) -> str:
    """Return what follows the store's name in a sentence: `is damaged: ...`."""
    code = getattr(cause, "sqlite_errorcode", 0) & _PRIMARY
    return _MEANING.get(code, f"cannot be used: {first_line(cause)}")


def first_line(error: BaseException | None) -> str:
    """Return the first line of what an error says."""
    return (str(error).splitlines() or [""])[0]
