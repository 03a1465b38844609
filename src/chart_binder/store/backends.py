"""A store on a PostgreSQL server, which several machines may share."""

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


@dataclass(frozen=True, slots=True)
class Backend:
    """An open database: two ways into it, and what is said of it.

    `name` is what a message calls it and has no secrets; `noun` is the kind of thing that it is.
    `writers` begin transactions that wait for one another where the database has one writer alone.
    `lock` is what a transaction says before it changes the schema, where beginning does not say it.
    `turn` is held by the thread that writes, where the database has one writer alone.
    """

    name: str
    noun: str
    readers: Engine
    writers: Engine
    meaning: Callable[[BaseException | None], str]
    lock: str = ""
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)


PATIENCE_S = 10.0
"""Where the URL does not say."""
MOST_PATIENCE_S = 86_400.0

Query = Mapping[str, str | tuple[str, ...]]


def read_timeout(url: URL) -> tuple[float, Query]:
    """Return the seconds of `?timeout=`, and what else stands in the query."""
    query = dict(url.query)
    text = query.pop("timeout", str(PATIENCE_S))
    try:
        patience = float(text)  # type: ignore[arg-type]  # a tuple where it stands there twice
    except (ValueError, TypeError) as error:
        raise _odd(url) from error
    if not 0 <= patience <= MOST_PATIENCE_S:
        raise _odd(url)
    return patience, query


def _odd(url: URL) -> StoreError:
    said = masked(url.render_as_string())
    return StoreError(
        f"store.url {said!r} has an odd timeout: only ?timeout=SECONDS may follow, up to"
        f" {MOST_PATIENCE_S:.0f}"
    )


_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


def open_sqlite(url: URL, allowed: str) -> Backend:
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
    patience, more = read_timeout(url)
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
    return Backend(url.database, "file", engine, writers, sqlite_problem, turn=Lock())


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
"""A connection that is refused has no code, but words: English ones, as a server has by default."""
_SAYS_WHO = re.compile(r'(user|role) "[^"]*"')


def postgres_problem(cause: BaseException | None) -> str:
    """Return what follows the store's name in a sentence: `is damaged: ...`."""
    code = getattr(cause, "sqlstate", None) or ""
    known = _MEANING.get(code) or _MEANING_OF_CLASS.get(code[:2])
    if known:
        return known
    said = _SAYS_WHO.sub(r"\1 ***", first_line(cause))
    if code:
        return f"cannot be used: {said}"
    return next((told for words, told in _NO_CODE if words in said), f"cannot be reached: {said}")


_LOCK = "SELECT pg_advisory_xact_lock(7165063)"
"""The number is ours; who changes the schema holds it until the transaction ends."""


def open_postgres(url: URL) -> Backend:
    """Return the database that `url` names; nothing is connected to yet.

    What follows `?` is for the server's own library (sslmode and the like), but for `timeout`: how
    many seconds a connection, or a lock, is waited for. Raises `StoreError`.
    """
    patience, more = read_timeout(url)
    # libpq reads less than two seconds of a connection as two, and none as for ever.
    arguments: dict[str, object] = {
        "connect_timeout": max(2, math.ceil(patience)),
        "client_encoding": "utf8",
        "options": _options(more, patience),
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


def _options(query: Query, patience: float) -> str:
    """Return settings of the session; a lock is waited for as long as on a file."""
    said = query.get("options", ())
    own = f"-c lock_timeout={max(1, round(patience * 1000))}"
    return " ".join((said, own) if isinstance(said, str) else (*said, own))


def _name(url: URL) -> str:
    """Return where the store is, without who asks."""
    host = url.host or url.query.get("host", "") or "localhost"
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{host if isinstance(host, str) else host[0]}{port}/{url.database or ''}"
