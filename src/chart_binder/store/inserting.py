"""A row is put in place of an earlier one, in the words of either database."""

from typing import cast

from sqlalchemy import Connection, Table
from sqlalchemy.dialects.sqlite import Insert, insert


def insert_into(connection: Connection, table: Table) -> Insert:
    """Return an insertion that may say what happens `on_conflict`.

    Both databases say it alike; SQLAlchemy has a class for each, with the same methods.
    """
    if connection.dialect.name == "sqlite":
        return insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - not read for a file

    return cast("Insert", postgresql.insert(table))
