"""The two kinds of databases: an SQLite file, and a PostgreSQL server for several machines."""

import math
import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.engine import URL

from chart_binder.errors import StoreError, masked
from chart_binder.store.sqlite_file import first_line, is_read_only, reading_uri, sqlite_problem

Meaning = Callable[[BaseException | None], str]


@dataclass(frozen=True, slots=True)
class Backend:
    """An open database: its engines, and how messages call it.

    `name` has no secrets; `noun` is `file` or `database`. `writers` begin transactions that wait
    for one another, if the database has a single writer. `lock` is a statement to execute before
    the schema is changed. `turn` is held by the thread that writes, if there is a single writer.
    `meaning` returns what an error means.
    """

    name: str
    noun: str
    readers: Engine
    writers: Engine
    meaning: Meaning
    lock: str = ""
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)


DEFAULT_TIMEOUT_S = 10.0
MAX_TIMEOUT_S = 86_400.0

Query = Mapping[str, str | tuple[str, ...]]


def read_timeout(url: URL) -> tuple[float, Query]:
    """Return the seconds of `?timeout=`, and the rest of the query. Raises `StoreError`."""
    problem = StoreError(
        f"store.url {masked(url.render_as_string())!r} has an odd timeout: only ?timeout=SECONDS"
        f" may follow, up to {MAX_TIMEOUT_S:.0f}"
    )
    query = dict(url.query)
    text = query.pop("timeout", str(DEFAULT_TIMEOUT_S))
    try:
        timeout = float(text)  # type: ignore[arg-type]  # a tuple if it is there twice
    except (ValueError, TypeError) as error:
        raise problem from error
    if not 0 <= timeout <= MAX_TIMEOUT_S:
        raise problem
    return timeout, query


_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


def open_sqlite(url: URL, allowed: str) -> Backend:
    """Return the SQLite file at `url`; its folder is created.

    Raises `StoreError`, whose text ends with `allowed`.
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
    timeout, more = read_timeout(url)
    if more:
        raise StoreError(
            f"store.url {said!r} has more than a file: only ?timeout=SECONDS may follow it, up to"
            f" {MAX_TIMEOUT_S:.0f}"
        )
    engine = (
        _read_only(path, timeout)
        if is_read_only(path)
        else create_engine(url.set(query={}), connect_args={"timeout": timeout}, max_overflow=-1)
    )
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    writers = engine.execution_options(canon_begin="BEGIN IMMEDIATE")
    # Waiting writers of SQLite poll: of many threads some would starve without taking turns.
    return Backend(url.database, "file", engine, writers, sqlite_problem, turn=Lock())


def _read_only(path: Path, timeout: float) -> Engine:
    connect = partial(
        sqlite3.connect, reading_uri(path), uri=True, timeout=timeout, check_same_thread=False
    )
    return create_engine("sqlite://", creator=connect, poolclass=QueuePool, max_overflow=-1)


def _set_up(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions: `_begin` does
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    # A transaction that reads first and then writes fails at once when another wrote meanwhile,
    # whatever the timeout (SQLITE_BUSY_SNAPSHOT); one that begins as a writer waits its turn.
    connection.exec_driver_sql(connection.get_execution_options().get("canon_begin", "BEGIN"))


_MEANING = {
    "55P03": "is locked by another program: wait for it to end, or stop it",
    "40P01": "is locked by another program: wait for it to end, or stop it",
    "40001": "was changed by another program at the same time: try again",
    "25006": "is read-only: name a server that takes writes",
    "42501": "may not be used: its user is not allowed to",
    "28000": "may not be opened: the server refuses its user",
    "28P01": "may not be opened: the server refuses the password",
    "3D000": "is not there: make the database, or name another in store.url",
    "53100": "cannot be written: no room is left on the server's disk",
    "53300": "cannot be opened: the server has too many connections",
    "57P03": "cannot be reached: the server is starting or stopping",
}
"""By SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html)."""
_MEANING_OF_CLASS = {
    "08": "cannot be reached: the connection to the server failed",
    "28": "may not be opened: the server refuses its user",
    "53": "cannot be used: the server lacks room, memory or connections",
    "57": "cannot be reached: the server was stopped",
    "58": "cannot be read or written: the server's disk failed",
    "XX": "is damaged: the server cannot read its own files",
}
_NO_CODE = (
    ("password authentication failed", _MEANING["28P01"]),
    ("does not exist", _MEANING["3D000"]),
    ("is not permitted to log in", _MEANING["28000"]),
    ("no pg_hba.conf entry", _MEANING["28000"]),
)
"""A refused connection has no code, but a text, in English by default."""
_USER_NAME = re.compile(r'(user|role) "[^"]*"')


def postgres_problem(cause: BaseException | None) -> str:
    """Return what a PostgreSQL error means, as the rest of a sentence: `is damaged: ...`."""
    code = getattr(cause, "sqlstate", None) or ""
    known = _MEANING.get(code) or _MEANING_OF_CLASS.get(code[:2])
    if known:
        return known
    said = _USER_NAME.sub(r"\1 ***", first_line(cause))
    if code:
        return f"cannot be used: {said}"
    return next((told for words, told in _NO_CODE if words in said), f"cannot be reached: {said}")


_LOCK = "SELECT pg_advisory_xact_lock(7165063)"
"""Held until the end of a transaction that changes the schema; the number is arbitrary."""


def open_postgres(url: URL) -> Backend:
    """Return the database at `url`, without connecting to it. Raises `StoreError`.

    `timeout` in the query is how many seconds to wait for a connection or a lock; the rest of the
    query is for libpq (sslmode and the like).
    """
    timeout, more = read_timeout(url)
    # libpq takes less than two seconds as two, and zero as no limit.
    arguments: dict[str, object] = {
        "connect_timeout": max(2, math.ceil(timeout)),
        "client_encoding": "utf8",
        "options": _options(more, timeout),
    }
    others = {name: value for name, value in more.items() if name != "options"}
    plain = url.set(drivername="postgresql+psycopg", query=others)
    try:
        engine = create_engine(plain, connect_args=arguments, max_overflow=-1, pool_pre_ping=True)
    except ImportError as error:
        raise StoreError(
            "a store on PostgreSQL needs a driver that is not installed"
            f" ({first_line(error)}): pip install 'chart-binder[postgres]'"
        ) from error
    readers = engine.execution_options(isolation_level="REPEATABLE READ")
    return Backend(_name(url), "database", readers, engine, postgres_problem, _LOCK)


def _options(query: Query, timeout: float) -> str:
    """Return the options of the session, with the timeout for locks."""
    said = query.get("options", ())
    own = f"-c lock_timeout={max(1, round(timeout * 1000))}"
    return " ".join((said, own) if isinstance(said, str) else (*said, own))


def _name(url: URL) -> str:
    """Return the address of the store, without user and password."""
    host = url.host or url.query.get("host", "") or "localhost"
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{host if isinstance(host, str) else host[0]}{port}/{url.database or ''}"
