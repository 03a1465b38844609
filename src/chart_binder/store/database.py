"""An SQLite file that several threads share, which several processes may have open."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, create_engine, event, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from chart_binder.errors import StoreError
from chart_binder.masking import masked
from chart_binder.store.answers import CachedAnswers
from chart_binder.store.failures import translated
from chart_binder.store.overrides import Overrides
from chart_binder.store.schema import METADATA, VERSION, schema_version
from chart_binder.store.slots import RateSlots

_PATIENCE_S = 10.0
"""How long a write waits for another program's, unless the URL says."""
_MOST_PATIENCE_S = 86_400.0
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


class Store:
    """An open store: answers of services, slots that pace requests to them, people's overrides."""

    def __init__(self, database: "Database") -> None:
        self._database = database
        self.answers = CachedAnswers(database)
        self.slots = RateSlots(database)
        self.overrides = Overrides(database)

    @classmethod
    def open(cls, url: str) -> Self:
        """Open or make the store at `url`, or raise `StoreError`."""
        database = Database(_file_url(url))
        try:
            database.settle()
        except StoreError:
            database.close()
            raise
        return cls(database)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Database:
    """Transactions on one SQLite file; whatever fails in one raises `StoreError`."""

    def __init__(self, url: URL) -> None:
        self.name = str(url.database)
        patience = {"timeout": _patience_s(url)}
        self._engine = create_engine(url.set(query={}), connect_args=patience, max_overflow=-1)
        event.listen(self._engine, "connect", _make_ready)
        event.listen(self._engine, "begin", _begin)
        self._writer: Engine = self._engine.execution_options(canon_begin="BEGIN IMMEDIATE")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Begin a transaction that sees one state of the store and changes nothing."""
        with translated(self.name), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Begin a transaction that is kept if the block ends well, else undone."""
        with translated(self.name), self._writer.begin() as connection:
            yield connection

    def settle(self) -> None:
        """Make the tables that are missing; refuse a file with tables that are not ours."""
        with self.reading() as connection:
            version, is_complete = self._state(connection)
        if not is_complete:
            with self.writing() as connection:
                version, _ = self._state(connection)  # another process may have been faster
                METADATA.create_all(connection)
                if version is None:
                    connection.execute(schema_version.insert().values(version=VERSION))
        if version is not None and version > VERSION:
            raise StoreError(
                f"the store {self.name!r} was written by a newer canon (schema {version}, this one"
                f" knows {VERSION}): update canon, or name another file in store.url"
            )

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def _state(self, connection: Connection) -> tuple[int | None, bool]:
        """Return the version of the tables, and whether there is nothing to be made."""
        tables = inspect(connection).get_table_names()
        if schema_version.name in tables:
            version = connection.execute(select(schema_version.c.version)).scalar_one()
            if not isinstance(version, int):
                raise StoreError(
                    f"the store {self.name!r} is damaged: its schema version is {version!r:.100}"
                )
            return version, version > VERSION or set(tables) >= set(METADATA.tables)
        if tables:
            raise StoreError(f"the file {self.name!r} is a database of another program")
        return None, False


def _file_url(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise StoreError(f"store.url {masked(text)!r} is no URL; {_ALLOWED}") from error
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        raise StoreError(f"store.url {masked(text)!r} names no file; {_ALLOWED}")
    path = Path(url.database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder of the store {url.database!r} cannot be made: {error.strerror}"
        ) from error
    if path.is_dir():
        raise StoreError(f"the store {url.database!r} is a folder; {_ALLOWED}")
    return url


def _patience_s(url: URL) -> float:
    """Read what may stand in the query: `timeout`, in seconds."""
    query = dict(url.query)
    text = query.pop("timeout", str(_PATIENCE_S))
    try:
        patience_s = float(text)  # type: ignore[arg-type]  # a tuple where it stands there twice
    except (ValueError, TypeError) as error:
        raise _odd_query(url) from error
    if query or not 0 <= patience_s <= _MOST_PATIENCE_S:
        raise _odd_query(url)
    return patience_s


def _odd_query(url: URL) -> StoreError:
    said = masked(url.render_as_string())
    return StoreError(
        f"store.url {said!r} has more than a file: only ?timeout=SECONDS may follow it, up to"
        f" {_MOST_PATIENCE_S:.0f}"
    )


_ALLOWED = "sqlite:////absolute/path.db is allowed"


def _make_ready(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions: `_begin` does
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    # A transaction that reads first and then writes fails at once when another wrote meanwhile,
    # whatever the timeout (SQLITE_BUSY_SNAPSHOT); one that begins as a writer waits its turn.
    connection.exec_driver_sql(connection.get_execution_options().get("canon_begin", "BEGIN"))
