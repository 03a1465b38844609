"""Database errors become one sentence that names the store."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from chart_binder.errors import StoreError
from chart_binder.store.meanings import first_line

Meaning = Callable[[BaseException | None], str]


@contextmanager
def translated(name: str, meaning: Meaning) -> Iterator[None]:
    """Turn what a database or its driver raises about the store `name` into `StoreError`."""
    try:
        yield
    except DBAPIError as error:
        raise StoreError(f"the store {name!r} {meaning(error.orig)}") from error
    except sqlite3.Error as error:  # raised while a connection is being made ready
        raise StoreError(f"the store {name!r} {meaning(error)}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"the store {name!r} cannot be used: {first_line(error)}") from error
    except UnicodeDecodeError as error:  # an SQLite error that quotes a damaged page says so, too
        raise StoreError(f"the store {name!r} is damaged: {first_line(error)}") from error
    except (UnicodeError, OverflowError) as error:  # what no database has a form for
        raise StoreError(f"the store {name!r} cannot keep this: {first_line(error)}") from error
