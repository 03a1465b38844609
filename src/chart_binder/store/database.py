"""The database of a store: its transactions, its schema version, and reading of its rows."""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import msgspec
from sqlalchemy import Connection, Executable, Row, Select, Table, func, inspect, select
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from chart_binder.errors import DamagedRecordError, StoreError, masked
from chart_binder.store.backends import Backend, Meaning, open_postgres, open_sqlite
from chart_binder.store.schema import METADATA, migrate, schema_version
from chart_binder.store.sqlite_file import VERSION, first_line, newer_schema_message
from chart_binder.typed_json import convert_json

S = TypeVar("S", bound=msgspec.Struct)
_PAGE = 100


@contextmanager
def translated(name: str, meaning: Meaning) -> Iterator[None]:
    """Raise `StoreError` for what a database or its driver raises about the store `name`."""
    try:
        yield
    except DBAPIError as error:
        raise StoreError(f"the store {name!r} {meaning(error.orig)}") from error
    except sqlite3.Error as error:  # raised while a connection is set up
        raise StoreError(f"the store {name!r} {meaning(error)}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"the store {name!r} cannot be used: {first_line(error)}") from error
    except UnicodeDecodeError as error:  # from an SQLite error that quotes a damaged page
        raise StoreError(f"the store {name!r} is damaged: {first_line(error)}") from error
    except (UnicodeError, OverflowError) as error:  # values that no database can hold
        raise StoreError(f"the store {name!r} cannot keep this: {first_line(error)}") from error


_ALLOWED = "sqlite:////absolute/path.db or postgresql+psycopg://user@host/database is allowed"
_POSTGRES = ("postgresql", "postgresql+psycopg")


class Database:
    """Transactions on one database; failures in them raise `StoreError`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.name = backend.name

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Begin a transaction that sees one state of the store and changes nothing."""
        backend = self._backend
        with translated(self.name, backend.meaning), backend.readers.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Begin a transaction that is committed if the block ends well, else rolled back."""
        backend = self._backend
        with (
            backend.turn,
            translated(self.name, backend.meaning),
            backend.writers.begin() as connection,
        ):
            yield connection

    def rows(
        self, statement: Executable, parameters: Mapping[str, object] | None = None
    ) -> Sequence[Row[*tuple[Any, ...]]]:
        """Return the rows that a statement finds."""
        with self.reading() as connection:
            return connection.execute(statement, parameters).all()

    def records(
        self, kind: type[S], statement: Executable, parameters: Mapping[str, object] | None = None
    ) -> tuple[S, ...]:
        """Return the records in the rows that a statement finds."""
        return tuple(read_row(self.name, kind, row) for row in self.rows(statement, parameters))

    def record(
        self, kind: type[S], statement: Executable, parameters: Mapping[str, object] | None = None
    ) -> S | None:
        """Return the first record that a statement finds."""
        return next(iter(self.records(kind, statement, parameters)), None)

    def last(self, table: Table) -> int:
        """Return the number of the newest row, 0 if there is none."""
        return self.rows(select(func.max(table.c.seq)))[0][0] or 0

    def pages(
        self, table: Table, wanted: Select[Any], last: int | None = None
    ) -> Iterator[Row[*tuple[Any, ...]]]:
        """Yield rows by their number, up to `last`; the newest first if it is not given.

        They are read in pages, so that no transaction stays open while the caller works.
        """
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

    def create_or_migrate(self) -> None:
        """Create the tables, or migrate them; refuse tables of other programs.

        Every step is a transaction: a process that is killed in one leaves the version before it.
        """
        with self.reading() as connection:
            version = self._version(connection)
        while version < VERSION:
            with self.writing() as connection:
                if self._backend.lock:
                    connection.exec_driver_sql(self._backend.lock)
                version = self._version(connection)  # another process may have been faster
                if version < VERSION:
                    migrate(connection, version)
                    version += 1

    def has_tables(self) -> bool:
        """Return whether there is a store; create none, and refuse tables of other programs."""
        with self.reading() as connection:
            return self._version(connection) > 0

    def close(self) -> None:
        """Close every connection."""
        self._backend.readers.dispose()

    def _version(self, connection: Connection) -> int:
        """Return the version of the schema, 0 if there are no tables."""
        tables = set(inspect(connection).get_table_names())
        if schema_version.name not in tables:
            if tables:
                noun = self._backend.noun
                raise StoreError(f"the {noun} {self.name!r} is a database of another program")
            return 0
        rows = connection.execute(select(schema_version.c.version)).scalars().all()
        version = rows[0] if len(rows) == 1 else None
        if not isinstance(version, int) or version < 0:
            found = repr(rows[0] if len(rows) == 1 else rows)
            raise StoreError(
                f"the store {self.name!r} is damaged: its schema version is {found:.100}"
            )
        if version > VERSION:
            raise StoreError(newer_schema_message(self.name, version))
        missing = sorted(set(METADATA.tables) - tables)
        if version == VERSION and missing:
            raise StoreError(
                f"the store {self.name!r} is damaged: its table {missing[0]!r} is missing"
            )
        return version


def open_database(text: str) -> Database:
    """Return the database at a URL, whose tables need not exist yet. Raises `StoreError`."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:  # ValueError: a port that is no number
        raise StoreError(f"store.url {masked(text)!r} is no URL; {_ALLOWED}") from error
    if url.get_backend_name() == "sqlite":
        return Database(open_sqlite(url, _ALLOWED))
    if url.drivername in _POSTGRES:
        return Database(open_postgres(url))
    raise StoreError(f"store.url {masked(text)!r} names no store; {_ALLOWED}")


def insert_into(connection: Connection, table: Table) -> Insert:
    """Return an insertion with `on_conflict_...` methods.

    SQLAlchemy has a class for each database, with the same methods.
    """
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


def read_row(name: str, kind: type[S], row: Row[Any] | Mapping[str, object]) -> S:
    """Return the record in a row of the store `name`; other columns are ignored.

    Raises `DamagedRecordError`: SQLite keeps values of any type in any column.
    """
    columns = row._asdict() if isinstance(row, Row) else row
    fields = {field: columns[field] for field in kind.__struct_fields__}
    try:
        return convert_json(fields, kind, builtin_types=(bytes,))
    except (msgspec.ValidationError, UnicodeError) as error:
        raise damaged_record(name, kind, str(error), columns.get("id")) from error


def compress(document: bytes) -> bytes:
    """Return a document as it is stored."""
    return zlib.compress(document)


def decompress(name: str, kind: type, kept: object) -> bytes:
    """Return a stored document. Raises `DamagedRecordError`."""
    try:
        return zlib.decompress(kept)  # type: ignore[arg-type]  # of any type
    except (zlib.error, TypeError) as error:
        raise damaged_record(name, kind, str(error)) from error


def damaged_record(
    name: str, kind: type, problem: str, record_id: object = None
) -> DamagedRecordError:  # fmt: skip
    """Return the error for a record that canon cannot have written; `record_id` is its id."""
    which = f"a {kind.__name__} in it"
    if isinstance(record_id, str):
        which += f", {record_id[:_LONGEST_ID]!r}"
    return DamagedRecordError(f"the store {name!r} is damaged: {which}: {problem[:200]}")
