"""The database of a store, an SQLite file or a PostgreSQL server: transactions, schema, rows."""

import hashlib
import math
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock, local
from typing import Any, TypeVar, cast

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from chart_binder.errors import DamagedRecordError, StoreError, how_to_install, masked
from chart_binder.files import convert_json
from chart_binder.store import (
    VERSION,
    file_number,
    first_line,
    is_read_only,
    reading_uri,
    require_version,
    sqlite_problem,
)
from chart_binder.store.schema import METADATA, schema_version

S = TypeVar("S", bound=msgspec.Struct)
ErrorText = Callable[[BaseException | None], str]
"""Returns an error of the driver as a predicate about the store: `is damaged: ...`."""

_PAGE = 100
_Parameters = Mapping[str, object] | None


@contextmanager
def translated(name: str, error_text: ErrorText) -> Iterator[None]:
    """Raise the errors of a database or its driver as a `StoreError` about the store `name`."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:  # the latter is raised by `_set_up`
        cause = getattr(error, "orig", error)
        raise StoreError(f"the store {name!r} {error_text(cause)}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"the store {name!r} cannot be used: {first_line(error)}") from error
    except UnicodeDecodeError as error:  # from an SQLite error that quotes a damaged page
        raise StoreError(f"the store {name!r} is damaged: {first_line(error)}") from error
    except (UnicodeError, OverflowError) as error:  # values that no database can hold
        raise StoreError(f"the store {name!r} cannot store this: {first_line(error)}") from error


class StorePart:
    """A part of an open store. Every method may raise `StoreError`."""

    def __init__(self, database: "Database") -> None:
        self._database = database


_ALLOWED = "sqlite:////absolute/path.db or postgresql+psycopg://user@host/database is allowed"
_POSTGRES = ("postgresql", "postgresql+psycopg")


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """Transactions on one database; failures in them raise `StoreError` with its `name`.

    Each transaction of `writers` holds `turn`, a lock if the database allows a single writer.
    `mode` and `lock` are statements for `create_tables`: it executes `mode` first, repeating it for
    up to `patience_s` seconds while another process uses the database, and `lock` before it creates
    the tables.
    """

    name: str
    readers: sa.Engine
    writers: sa.Engine
    error_text: ErrorText
    mode: str = ""
    patience_s: float = 0.0
    lock: str = ""
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)
    _shared: local = field(default_factory=local)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Begin a transaction that sees one state of the store and changes nothing."""
        if shared := getattr(self._shared, "connection", None):
            yield shared
            return
        with translated(self.name, self.error_text), self.readers.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Begin a transaction; commit it if the block succeeds, else roll it back.

        Within `together`, it is a part of that transaction, and rolled back alone if it fails.
        """
        if shared := getattr(self._shared, "connection", None):
            with translated(self.name, self.error_text), shared.begin_nested():
                yield shared
            return
        with self.turn, translated(self.name, self.error_text), self.writers.begin() as connection:
            yield connection

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make one transaction of all that this thread reads and writes in the block."""
        with self.writing() as self._shared.connection:
            try:
                yield
            finally:
                del self._shared.connection

    def rows(
        self, statement: sa.Executable, parameters: _Parameters = None
    ) -> Sequence[sa.Row[*tuple[Any, ...]]]:
        """Return the rows that a statement finds."""
        with self.reading() as connection:
            return connection.execute(statement, parameters).all()

    def records(
        self, kind: type[S], statement: sa.Executable, parameters: _Parameters = None
    ) -> tuple[S, ...]:
        """Return the records in the rows that a statement finds."""
        return tuple(self.read(kind, row) for row in self.rows(statement, parameters))

    def record(
        self, kind: type[S], statement: sa.Executable, parameters: _Parameters = None
    ) -> S | None:
        """Return the first record that a statement finds."""
        return next(iter(self.records(kind, statement, parameters)), None)

    def read(self, kind: type[S], row: sa.Row[Any] | Mapping[str, object]) -> S:
        """Return the record in a row. Raises `DamagedRecordError` if a value has a wrong type."""
        columns = row._asdict() if isinstance(row, sa.Row) else row
        fields = {field: columns[field] for field in kind.__struct_fields__}
        try:
            return convert_json(fields, kind, builtin_types=(bytes,))
        except (msgspec.ValidationError, UnicodeError) as error:
            raise damaged_record(self.name, kind, str(error), columns.get("id")) from error

    def insert_new(self, table: sa.Table, row: Mapping[str, object]) -> None:
        """Insert a row unless its id is stored already."""
        with self.writing() as connection:
            insertion = insert_into(connection, table).on_conflict_do_nothing(index_elements=["id"])
            connection.execute(insertion, row)

    def last(self, table: sa.Table) -> int:
        """Return the number of the newest row, or 0 for an empty table."""
        return self.rows(sa.select(sa.func.max(table.c.seq)))[0][0] or 0

    def pages(
        self, table: sa.Table, query: sa.Select[Any], last: int | None = None
    ) -> Iterator[sa.Row[*tuple[Any, ...]]]:
        """Yield all rows, newest first, in pages; with `last`, rows up to it, oldest first."""
        number = table.c.seq
        if last is None:
            pages = query.order_by(number.desc()).limit(_PAGE)
        else:
            pages = query.where(number <= last).order_by(number).limit(_PAGE)
        page = pages
        while True:
            rows = self.rows(page)
            yield from rows
            if len(rows) < _PAGE:
                return
            end = rows[-1].seq
            page = pages.where(number < end if last is None else number > end)

    def create_tables(self) -> None:
        """Create the tables unless they exist. Raises `StoreError` if their schema differs."""
        has_tables = self.has_tables()
        if self.mode:  # takes no effect in a transaction
            with (
                translated(self.name, self.error_text),
                closing(self.readers.raw_connection()) as raw,
            ):
                _set_mode(raw.cursor(), self.mode, self.patience_s)
        if has_tables:
            return
        with self.writing() as connection:
            if self.lock:
                connection.exec_driver_sql(self.lock)
            if not self._has_tables(connection):  # another process may have created them
                METADATA.create_all(connection, checkfirst=False)
                connection.execute(sa.insert(schema_version).values(version=VERSION))

    def has_tables(self) -> bool:
        """Return whether the tables exist. Raises `StoreError` as `create_tables` does."""
        with self.reading() as connection:
            return self._has_tables(connection)

    def close(self) -> None:
        """Close every connection."""
        self.readers.dispose()

    def _has_tables(self, connection: sa.Connection) -> bool:
        tables = sa.inspect(connection).get_table_names()
        if schema_version.name not in tables:
            if tables:
                raise StoreError(f"the store {self.name!r} is a database of another program")
            return False
        versions = connection.execute(sa.select(schema_version.c.version)).scalars().all()
        require_version(self.name, versions)
        return True


def open_database(text: str) -> Database:
    """Return the database at a URL; its tables need not exist yet. Raises `StoreError`."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:  # ValueError: the port is not a number
        raise StoreError(f"store.url {masked(text)!r} is not a URL; {_ALLOWED}") from error
    if url.get_backend_name() == "sqlite":
        return _open_sqlite(url)
    if url.drivername in _POSTGRES:
        return _open_postgres(url)
    raise StoreError(f"store.url {masked(text)!r} names no store; {_ALLOWED}")


_PAUSE_S = 0.02
_DEFAULT_TIMEOUT_S, _MAX_TIMEOUT_S = 10.0, 86_400.0


def _read_timeout(url: URL) -> tuple[float, dict[str, str | tuple[str, ...]]]:
    """Return the seconds of `?timeout=`, and the rest of the query. Raises `StoreError`."""
    query = dict(url.query)
    try:
        timeout = float(query.pop("timeout", _DEFAULT_TIMEOUT_S))  # type: ignore[arg-type]
    except (ValueError, TypeError):  # TypeError: it is there twice
        timeout = math.nan
    is_file = url.get_backend_name() == "sqlite"
    if not 0 <= timeout <= _MAX_TIMEOUT_S or (is_file and query):
        raise StoreError(
            f"store.url {masked(url.render_as_string())!r} has an invalid query: only"
            f" ?timeout=SECONDS may follow, up to {_MAX_TIMEOUT_S:.0f}"
        )
    return timeout, query


def _open_sqlite(url: URL) -> Database:
    """Return the SQLite file at `url`, after creating its folder. Raises `StoreError`."""
    path = Path(url.database or ".")
    if path == Path(":memory:") or path.is_dir():
        raise StoreError(f"the store {url.database!r} is not a file; {_ALLOWED}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"the folder of the store {str(path)!r} cannot be created: {error.strerror}"
        raise StoreError(problem) from error
    timeout, _ = _read_timeout(url)
    if is_read_only(path):
        connect = partial(
            sqlite3.connect, reading_uri(path), uri=True, timeout=timeout, check_same_thread=False
        )
        engine = sa.create_engine(
            "sqlite://", creator=connect, poolclass=sa.QueuePool, max_overflow=-1
        )
    else:
        plain = url.set(query={})
        engine = sa.create_engine(plain, connect_args={"timeout": timeout}, max_overflow=-1)
    sa.event.listen(engine, "connect", _set_up)
    sa.event.listen(engine, "begin", _begin)
    return Database(
        name=str(path),
        readers=engine,
        writers=engine.execution_options(canon_begin="BEGIN IMMEDIATE"),
        error_text=sqlite_problem,
        mode="PRAGMA journal_mode=WAL",
        patience_s=timeout,
        turn=Lock(),  # SQLite's writers poll, so some of many threads would wait forever
    )


def _set_up(connection: Any, _: object) -> None:
    connection.isolation_level = None  # `_begin` begins transactions, not the driver
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _set_mode(cursor: Any, mode: str, patience_s: float) -> None:
    """Execute `PRAGMA journal_mode`; wait for other processes, because SQLite itself does not."""
    until = time.monotonic() + patience_s
    while True:
        try:
            cursor.execute(mode)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
        else:
            return
        time.sleep(_PAUSE_S)


def _begin(connection: sa.Connection) -> None:
    # If another process writes after a transaction has read, its own write fails at once,
    # whatever the timeout (SQLITE_BUSY_SNAPSHOT). A transaction that begins as a writer waits.
    statement = connection.get_execution_options().get("canon_begin")
    if statement and (path := connection.engine.url.database):
        number = file_number(path)
        if number is None or connection.info.setdefault("file", number) != number:
            raise StoreError(f"the store {path!r} was moved or deleted: start canon again")
    connection.exec_driver_sql(statement or "BEGIN")


_MEANING = {
    "55P03": "is locked by another program: wait for it to end, or stop it",
    "40P01": "is locked by another program: wait for it to end, or stop it",
    "40001": "was changed by another program at the same time: try again",
    "25006": "is read-only: name a server that takes writes",
    "42501": "may not be used: its user is not allowed to",
    "28P01": "may not be opened: the server refuses the password",
    "3D000": "is missing: create the database, or name another in store.url",
}
"""What an error means, by SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html)."""
_MEANING_OF_CLASS = {
    "08": "cannot be reached: the connection to the server failed",
    "28": "may not be opened: the server refuses its user",
    "53": "cannot be used: the server lacks room, memory or connections",
    "57": "cannot be reached: the server is starting, or was stopped",
    "58": "cannot be read or written: the server's disk failed",
    "XX": "is damaged: the server cannot read its own files",
}
_NO_DATABASE = re.compile(r'database "[^"]*" does not exist')
"""The error of a refused connection has a text, in English by default, but no code."""
_USER_NAME = re.compile(r'(user|role) "[^"]*"')


def postgres_problem(cause: BaseException | None) -> str:
    """Return a PostgreSQL error as a predicate about the store: `is damaged: ...`."""
    code = getattr(cause, "sqlstate", None) or ""
    meaning = _MEANING.get(code) or _MEANING_OF_CLASS.get(code[:2])
    text = _USER_NAME.sub(r"\1 ***", first_line(cause))
    if not code and _NO_DATABASE.search(text):
        meaning = _MEANING["3D000"]
    return meaning or f"cannot be {'used' if code else 'reached'}: {text}"


_LOCK = "SELECT pg_advisory_xact_lock(7165063)"
"""Holds a lock until the transaction that creates the tables ends; the number is arbitrary."""


def _open_postgres(url: URL) -> Database:
    """Return the database at `url`, without connecting to it. Raises `StoreError`.

    `timeout` in the query is the longest wait in seconds; libpq takes the rest of the query.
    """
    timeout, query = _read_timeout(url)
    options = query.pop("options", ())
    options = (options,) if isinstance(options, str) else options
    lock_timeout = f"-c lock_timeout={max(1, round(timeout * 1000))}"
    # libpq rounds less than two seconds up to two, and takes zero as no limit.
    arguments: dict[str, object] = {
        "connect_timeout": max(2, math.ceil(timeout)),
        "client_encoding": "utf8",
        "options": " ".join((*options, lock_timeout)),
    }
    plain = url.set(drivername="postgresql+psycopg", query=query)
    try:
        engine = sa.create_engine(
            plain, connect_args=arguments, max_overflow=-1, pool_pre_ping=True
        )
    except ImportError as error:
        raise StoreError(
            "a store on PostgreSQL needs a driver that is not installed"
            f" ({first_line(error)}): {how_to_install('postgres')}"
        ) from error
    host = url.host or query.get("host", "") or "localhost"
    port = f":{url.port}" if url.port else ""
    place = f"{host if isinstance(host, str) else host[0]}{port}"
    return Database(
        name=f"postgresql://{place}/{url.database or ''}",
        readers=engine.execution_options(isolation_level="REPEATABLE READ"),
        writers=engine,
        error_text=postgres_problem,
        lock=_LOCK,
    )


def insert_into(connection: sa.Connection, table: sa.Table) -> Insert:
    """Return an insertion with the `on_conflict_...` methods of the database's dialect."""
    if connection.dialect.name == "sqlite":
        return insert(table)
    from sqlalchemy.dialects import postgresql

    return cast("Insert", postgresql.insert(table))


_KEY_BYTES = 16
_MAX_KEY_LENGTH = 500
_KEY_START = 200


def path_key(path: bytes) -> bytes:
    """Return 16 bytes of a path's SHA-256, because PostgreSQL indexes at most 2,704 bytes."""
    return hashlib.sha256(path).digest()[:_KEY_BYTES]


def short_key(key: str) -> str:
    """Return a text key unchanged, or its beginning and its hash if it is long."""
    if len(key) <= _MAX_KEY_LENGTH:
        return key
    return f"{key[:_KEY_START]}...{hashlib.sha256(key.encode()).hexdigest()}"


_LONGEST_ID = 40


def damaged_record(
    name: str, kind: type, problem: str, record_id: object = None
) -> DamagedRecordError:
    """Return the error for a record with values of a wrong type or form."""
    subject = f"its {kind.__name__.removesuffix('Record').lower()} record"
    if isinstance(record_id, str):
        subject += f" {record_id[:_LONGEST_ID]!r}"
    return DamagedRecordError(f"the store {name!r} is damaged: {subject}: {problem[:200]}")
