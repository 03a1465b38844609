"""A store in an SQLite file, which several processes may have open."""

import sqlite3
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.engine import URL

from chart_binder.errors import StoreError
from chart_binder.masking import masked
from chart_binder.store.backend import Backend
from chart_binder.store.meanings import meaning
from chart_binder.store.patience import MOST_PATIENCE_S, patience_s
from chart_binder.store.read_only import is_read_only, reading_uri

_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


def sqlite_file(url: URL, allowed: str) -> Backend:
    """Return the file that `url` names, its folder made where there was none.

    Raises `StoreError`; `allowed` says in it what a URL may be.
    """
    said = masked(url.render_as_string())
    if not url.database or url.database == ":memory:":
        raise StoreError(f"store.url {said!r} names no file; {allowed}")
    path = Path(url.database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder of the store {url.database!r} cannot be made: {error.strerror}"
        ) from error
    if path.is_dir():
        raise StoreError(f"the store {url.database!r} is a folder; {allowed}")
    patience, more = patience_s(url)
    if more:
        raise StoreError(
            f"store.url {said!r} has more than a file: only ?timeout=SECONDS may follow it, up to"
            f" {MOST_PATIENCE_S:.0f}"
        )
    engine = (
        _read_only(path, patience)
        if is_read_only(path)
        else create_engine(url.set(query={}), connect_args={"timeout": patience}, max_overflow=-1)
    )
    event.listen(engine, "connect", _make_ready)
    event.listen(engine, "begin", _begin)
    writers = engine.execution_options(canon_begin="BEGIN IMMEDIATE")
    # SQLite lets who waits look again now and then: of many threads some would starve.
    return Backend(url.database, "file", engine, writers, meaning, turn=Lock())


def _read_only(path: Path, patience: float) -> Engine:
    connect = partial(
        sqlite3.connect, reading_uri(path), uri=True, timeout=patience, check_same_thread=False
    )
    return create_engine("sqlite://", creator=connect, poolclass=QueuePool, max_overflow=-1)


def _make_ready(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions: `_begin` does
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    # A transaction that reads first and then writes fails at once when another wrote meanwhile,
    # whatever the timeout (SQLITE_BUSY_SNAPSHOT); one that begins as a writer waits its turn.
    connection.exec_driver_sql(connection.get_execution_options().get("canon_begin", "BEGIN"))
