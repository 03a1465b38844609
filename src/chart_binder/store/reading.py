"""Overrides in a file are read without SQLAlchemy, whose import costs more than a decision."""

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from chart_binder.domain.overriding import KeptOverride
from chart_binder.errors import StoreError
from chart_binder.store.meanings import meaning
from chart_binder.store.read_only import is_read_only, reading_uri
from chart_binder.store.version import VERSION, from_the_future

_FILE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)(?:\?.*)?")
_ALL = "SELECT recording_mbid, crg_mbid, rr_mbid, reason, set_at_utc FROM overrides"
_VERSION = "SELECT version FROM schema_version"
_PATIENCE_S = 10.0


def kept_overrides(url: str) -> Mapping[str, KeptOverride]:
    """Return the overrides in the store at `url`, by recording; none where there is no store.

    Nothing is made or changed. Raises `StoreError` that names the store.
    """
    if url.startswith("postgresql"):
        return _on_a_server(url)
    path = _file_at(url)
    if path is None:
        return {}
    place = reading_uri(path) if is_read_only(path) else f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(place, uri=True, timeout=_PATIENCE_S)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
            if "overrides" not in tables:  # a store from before there were any
                return {}
            (version,) = connection.execute(_VERSION).fetchone() or (0,)
            if isinstance(version, int) and version > VERSION:
                raise StoreError(from_the_future(str(path), version))
            rows = connection.execute(_ALL).fetchall()
    except sqlite3.Error as error:
        raise StoreError(f"the store {str(path)!r} {meaning(error)}") from error
    except UnicodeDecodeError as error:
        raise StoreError(f"the store {str(path)!r} is damaged: {error}") from error
    return {row[0]: KeptOverride(*row) for row in rows}


def _on_a_server(url: str) -> Mapping[str, KeptOverride]:
    from chart_binder.store.database import database_at  # noqa: PLC0415 - not read for a file
    from chart_binder.store.overrides import Overrides  # noqa: PLC0415

    database = database_at(url)
    try:
        return Overrides(database).all() if database.has_tables() else {}
    finally:
        database.close()


def _file_at(url: str) -> Path | None:
    form = _FILE.fullmatch(url)
    # From 2.1 on, SQLAlchemy reads percent signs in a path as escapes.
    paths = [Path(unquote(form[1])), Path(form[1])] if form else []
    return next((path for path in paths if path.is_file()), None)
