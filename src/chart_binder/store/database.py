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
from threading import Lock
from typing import Any, TypeVar, cast

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from chart_binder.errors import DamagedRecordError, StoreError, masked
from chart_binder.files import convert_json
from chart_binder.store import (
    VERSION,
    first_line,
    is_read_only,
    reading_uri,
    require_version,
    sqlite_problem,
)
from chart_binder.store.schema import METADATA, schema_version

S = TypeVar("S", bound=msgspec.Struct)
Meaning = Callable[[BaseException | None], str]


_PAGE = 100
_Parameters = Mapping[str, object] | None


@contextmanager
def translated(name: str, meaning: Meaning) -> Iterator[None]:
    """Raise `StoreError` for what a database or its driver raises about the store `name`."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:  # the latter while a connection is set up
        cause = getattr(error, "orig", error)
        raise StoreError(f"the store {name!r} {meaning(cause)}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"the store {name!r} cannot be used: {first_line(error)}") from error
    except UnicodeDecodeError as error:  # from an SQLite error that quotes a damaged page
        raise StoreError(f"the store {name!r} is damaged: {first_line(error)}") from error
    except (UnicodeError, OverflowError) as error:  # values that no database can hold
        raise StoreError(f"the store {name!r} cannot keep this: {first_line(error)}") from error


class Part:
    """A part of an open store. Every method may raise `StoreError`."""

    def __init__(self, database: "Database") -> None:
        self._database = database


_ALLOWED = "sqlite:////absolute/path.db or postgresql+psycopg://user@host/database is allowed"
_POSTGRES = ("postgresql", "postgresql+psycopg")


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """Transactions on one database; failures in them raise `StoreError` with its `name`.

    `writers` begin transactions that wait for one another, if the database has a single writer;
    `turn` is then held. `mode` is executed once the database is known to be a store, or empty, for
    `patience_s` again while another process uses it, and `lock` before the tables are created.
    """

    name: str
    noun: str
    readers: sa.Engine
    writers: sa.Engine
    meaning: Meaning
    mode: str = ""
    patience_s: float = 0.0
    lock: str = ""
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Begin a transaction that sees one state of the store and changes nothing."""
        with translated(self.name, self.meaning), self.readers.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Begin a transaction that is committed if the block ends well, else rolled back."""
        with self.turn, translated(self.name, self.meaning), self.writers.begin() as connection:
            yield connection

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
        """Return the record in a row. Raises `DamagedRecordError`: SQLite keeps any type."""
        columns = row._asdict() if isinstance(row, sa.Row) else row
        fields = {field: columns[field] for field in kind.__struct_fields__}
        try:
            return convert_json(fields, kind, builtin_types=(bytes,))
        except (msgspec.ValidationError, UnicodeError) as error:
            raise damaged_record(self.name, kind, str(error), columns.get("id")) from error

    def insert_new(self, table: sa.Table, row: Mapping[str, object]) -> None:
        """Insert a row, unless its id is there."""
        with self.writing() as connection:
            new = insert_into(connection, table).on_conflict_do_nothing(index_elements=["id"])
            connection.execute(new, row)

    def last(self, table: sa.Table) -> int:
        """Return the number of the newest row, 0 if there is none."""
        return self.rows(sa.select(sa.func.max(table.c.seq)))[0][0] or 0

    def pages(
        self, table: sa.Table, wanted: sa.Select[Any], last: int | None = None
    ) -> Iterator[sa.Row[*tuple[Any, ...]]]:
        """Yield rows up to number `last`, else the newest first; no transaction stays open."""
        number = table.c.seq
        if last is None:
            pages = wanted.order_by(number.desc()).limit(_PAGE)
        else:
            pages = wanted.where(number <= last).order_by(number).limit(_PAGE)
        page = pages
        while True:
            found = self.rows(page)
            yield from found
            if len(found) < _PAGE:
                return
            seen = found[-1].seq
            page = pages.where(number < seen if last is None else number > seen)

    def create_tables(self) -> None:
        """Create the tables unless they exist. Raises `StoreError` for those of another schema."""
        has_tables = self.has_tables()
        if self.mode:  # takes no effect in a transaction
            with translated(self.name, self.meaning), closing(self.readers.raw_connection()) as raw:
                _set_mode(raw.cursor(), self.mode, self.patience_s)
        if has_tables:
            return
        with self.writing() as connection:
            if self.lock:
                connection.exec_driver_sql(self.lock)
            if not self._has_tables(connection):  # another process may have been faster
                METADATA.create_all(connection, checkfirst=False)
                connection.execute(sa.insert(schema_version).values(version=VERSION))

    def has_tables(self) -> bool:
        """Return whether the tables exist; raise as `create_tables`."""
        with self.reading() as connection:
            return self._has_tables(connection)

    def close(self) -> None:
        """Close every connection."""
        self.readers.dispose()

    def _has_tables(self, connection: sa.Connection) -> bool:
        inspector = sa.inspect(connection)
        tables = set(inspector.get_table_names())
        if schema_version.name not in tables:
            # On a server an extension may have made views.
            if tables or (self.noun == "file" and inspector.get_view_names()):
                raise StoreError(f"the {self.noun} {self.name!r} is a database of another program")
            return False
        versions = connection.execute(sa.select(schema_version.c.version)).scalars().all()
        require_version(self.name, versions, self.noun)
        missing = sorted(set(METADATA.tables) - tables)
        if missing:
            raise StoreError(
                f"the store {self.name!r} is damaged: its table {missing[0]!r} is missing"
            )
        return True


def open_database(text: str) -> Database:
    """Return the database at a URL, whose tables need not exist yet. Raises `StoreError`."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:  # ValueError: a port that is no number
        raise StoreError(f"store.url {masked(text)!r} is no URL; {_ALLOWED}") from error
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
            f"store.url {masked(url.render_as_string())!r} has an odd query: only"
            f" ?timeout=SECONDS may follow, up to {_MAX_TIMEOUT_S:.0f}"
        )
    return timeout, query


def _open_sqlite(url: URL) -> Database:
    """Return the SQLite file at `url`; its folder is created. Raises `StoreError`."""
    path = Path(url.database or ".")
    if path == Path(":memory:") or path.is_dir():
        raise StoreError(f"the store {url.database!r} is no file; {_ALLOWED}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"the folder of the store {str(path)!r} cannot be made: {error.strerror}"
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
        noun="file",
        readers=engine,
        writers=engine.execution_options(canon_begin="BEGIN IMMEDIATE"),
        meaning=sqlite_problem,
        mode="PRAGMA journal_mode=WAL",
        patience_s=timeout,
        turn=Lock(),  # waiting writers of SQLite poll: of many threads some would starve
    )


def _set_up(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions: `_begin` does
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _set_mode(cursor: Any, mode: str, patience_s: float) -> None:
    """Set the journal's mode, for which SQLite itself does not wait its turn."""
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
    # A transaction that reads first and then writes fails at once when another wrote meanwhile,
    # whatever the timeout (SQLITE_BUSY_SNAPSHOT); one that begins as a writer waits its turn.
    connection.exec_driver_sql(connection.get_execution_options().get("canon_begin", "BEGIN"))


_MEANING = {
    "55P03": "is locked by another program: wait for it to end, or stop it",
    "40P01": "is locked by another program: wait for it to end, or stop it",
    "40001": "was changed by another program at the same time: try again",
    "25006": "is read-only: name a server that takes writes",
    "42501": "may not be used: its user is not allowed to",
    "28P01": "may not be opened: the server refuses the password",
    "3D000": "is not there: make the database, or name another in store.url",
}
"""By SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html)."""
_MEANING_OF_CLASS = {
    "08": "cannot be reached: the connection to the server failed",
    "28": "may not be opened: the server refuses its user",
    "53": "cannot be used: the server lacks room, memory or connections",
    "57": "cannot be reached: the server is starting, or was stopped",
    "58": "cannot be read or written: the server's disk failed",
    "XX": "is damaged: the server cannot read its own files",
}
_NO_DATABASE = re.compile(r'database "[^"]*" does not exist')
"""A refused connection has no code, but a text, in English by default."""
_USER_NAME = re.compile(r'(user|role) "[^"]*"')


def postgres_problem(cause: BaseException | None) -> str:
    """Return what a PostgreSQL error means, as the rest of a sentence: `is damaged: ...`."""
    code = getattr(cause, "sqlstate", None) or ""
    known = _MEANING.get(code) or _MEANING_OF_CLASS.get(code[:2])
    said = _USER_NAME.sub(r"\1 ***", first_line(cause))
    if not code and _NO_DATABASE.search(said):
        known = _MEANING["3D000"]
    return known or f"cannot be {'used' if code else 'reached'}: {said}"


_LOCK = "SELECT pg_advisory_xact_lock(7165063)"
"""Held until the end of the transaction that creates the tables; the number is arbitrary."""


def _open_postgres(url: URL) -> Database:
    """Return the database at `url`, without connecting to it. Raises `StoreError`.

    `timeout` in the query is how many seconds to wait; the rest of the query is for libpq.
    """
    timeout, more = _read_timeout(url)
    said = more.pop("options", ())
    own = f"-c lock_timeout={max(1, round(timeout * 1000))}"
    # libpq takes less than two seconds as two, and zero as no limit.
    arguments: dict[str, object] = {
        "connect_timeout": max(2, math.ceil(timeout)),
        "client_encoding": "utf8",
        "options": " ".join((said, own) if isinstance(said, str) else (*said, own)),
    }
    plain = url.set(drivername="postgresql+psycopg", query=more)
    try:
        engine = sa.create_engine(
            plain, connect_args=arguments, max_overflow=-1, pool_pre_ping=True
        )
    except ImportError as error:
        raise StoreError(
            "a store on PostgreSQL needs a driver that is not installed"
            f" ({first_line(error)}): pip install 'chart-binder[postgres]'"
        ) from error
    host = url.host or more.get("host", "") or "localhost"
    port = f":{url.port}" if url.port else ""
    place = f"{host if isinstance(host, str) else host[0]}{port}"
    return Database(
        name=f"postgresql://{place}/{url.database or ''}",
        noun="database",
        readers=engine.execution_options(isolation_level="REPEATABLE READ"),
        writers=engine,
        meaning=postgres_problem,
        lock=_LOCK,
    )


def insert_into(connection: sa.Connection, table: sa.Table) -> Insert:
    """Return an insertion with `on_conflict_...` methods, which each database has of its own."""
    if connection.dialect.name == "sqlite":
        return insert(table)
    from sqlalchemy.dialects import postgresql

    return cast("Insert", postgresql.insert(table))


_KEY_BYTES = 16
_MOST_TEXT = 500
_HEAD = 200


def path_key(path: bytes) -> bytes:
    """Return 16 bytes of a path's SHA-256: PostgreSQL indexes no value over 2,704 bytes."""
    return hashlib.sha256(path).digest()[:_KEY_BYTES]


def short_key(key: str) -> str:
    """Return a text key as it is, or its beginning and its hash where it is long."""
    if len(key) <= _MOST_TEXT:
        return key
    return f"{key[:_HEAD]}...{hashlib.sha256(key.encode()).hexdigest()}"


_LONGEST_ID = 40


def damaged_record(
    name: str, kind: type, problem: str, record_id: object = None
) -> DamagedRecordError:
    """Return the error for a record that canon cannot have written; `record_id` is its id."""
    which = f"its {kind.__name__.removesuffix('Record').lower()} record"
    if isinstance(record_id, str):
        which += f" {record_id[:_LONGEST_ID]!r}"
    return DamagedRecordError(f"the store {name!r} is damaged: {which}: {problem[:200]}")
