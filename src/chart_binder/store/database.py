"""Transactions on a store's database, whose tables are made or brought up to date."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from chart_binder.errors import StoreError
from chart_binder.masking import masked
from chart_binder.store.backend import Backend
from chart_binder.store.failures import translated
from chart_binder.store.migrations import migrate
from chart_binder.store.schema import METADATA, schema_version
from chart_binder.store.sqlite_file import sqlite_file
from chart_binder.store.version import VERSION, from_the_future

_ALLOWED = "sqlite:////absolute/path.db or postgresql+psycopg://user@host/database is allowed"
_POSTGRES = ("postgresql", "postgresql+psycopg")


class Database:
    """Transactions on one database; whatever fails in one raises `StoreError`."""

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
        """Begin a transaction that is kept if the block ends well, else undone."""
        backend = self._backend
        with (
            backend.turn,
            translated(self.name, backend.meaning),
            backend.writers.begin() as connection,
        ):
            yield connection

    def settle(self) -> None:
        """Make the tables, or bring them up to date; refuse tables that are not ours.

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
        """Tell whether there is a store, without making one; refuse tables that are not ours."""
        with self.reading() as connection:
            return self._version(connection) > 0

    def close(self) -> None:
        """Close every connection."""
        self._backend.readers.dispose()

    def _version(self, connection: Connection) -> int:
        """Return the version of the tables, 0 where there are none."""
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
            raise StoreError(from_the_future(self.name, version))
        missing = sorted(set(METADATA.tables) - tables)
        if version == VERSION and missing:
            raise StoreError(
                f"the store {self.name!r} is damaged: its table {missing[0]!r} is missing"
            )
        return version


def database_at(text: str) -> Database:
    """Return the database that a URL names; nothing is made yet but its folder.

    Raises `StoreError`.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:  # ValueError: a port that is no number
        raise StoreError(f"store.url {masked(text)!r} is no URL; {_ALLOWED}") from error
    if url.get_backend_name() == "sqlite":
        return Database(sqlite_file(url, _ALLOWED))
    if url.drivername in _POSTGRES:
        from chart_binder.store.postgres import postgres  # noqa: PLC0415 - not read for a file

        return Database(postgres(url))
    raise StoreError(f"store.url {masked(text)!r} names no store; {_ALLOWED}")
