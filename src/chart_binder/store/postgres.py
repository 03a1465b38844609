"""A store on a PostgreSQL server, which several machines may share."""

import math

from sqlalchemy import create_engine
from sqlalchemy.engine import URL

from chart_binder.errors import StoreError
from chart_binder.store.backend import Backend
from chart_binder.store.meanings import first_line
from chart_binder.store.patience import Query, patience_s
from chart_binder.store.sqlstates import postgres_meaning

_LOCK = "SELECT pg_advisory_xact_lock(7165063)"
"""The number is ours; who changes the schema holds it until the transaction ends."""


def postgres(url: URL) -> Backend:
    """Return the database that `url` names; nothing is connected to yet.

    What follows `?` is for the server's own library (sslmode and the like), but for `timeout`: how
    many seconds a connection, or a lock, is waited for. Raises `StoreError`.
    """
    patience, more = patience_s(url)
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
    return Backend(_name(url), "database", readers, engine, postgres_meaning, _LOCK)


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
