"""Rows become the values that were put, or the store is said to be damaged."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Row, Select, Table

from chart_binder.errors import DamagedRecordError
from chart_binder.store.transactions import Transactions
from chart_binder.typed import converted

V = TypeVar("V")
S = TypeVar("S", bound=msgspec.Struct)
_PAGE = 100
_LONGEST_ID = 40


def read_row(name: str, kind: type[S], row: Row[Any] | Mapping[str, object]) -> S:
    """Return what a row of the store `name` stands for; columns of no field are left aside.

    SQLite keeps any type in any column, whatever another program put there. Raises
    `DamagedRecordError`.
    """
    columns = row._asdict() if isinstance(row, Row) else row
    fields = {field: columns[field] for field in kind.__struct_fields__}
    try:
        return converted(fields, kind, builtin_types=(bytes,))
    except (msgspec.ValidationError, UnicodeError) as error:
        raise damaged(name, kind, str(error), columns.get("id")) from error


def packed(document: bytes) -> bytes:
    """Return a document as it is kept."""
    return zlib.compress(document)


def unpacked(name: str, kind: type, kept: object) -> bytes:
    """Return a document that was kept. Raises `DamagedRecordError`."""
    try:
        return zlib.decompress(kept)  # type: ignore[arg-type]  # whatever another program put there
    except (zlib.error, TypeError) as error:
        raise damaged(name, kind, str(error)) from error


def pages(
    database: Transactions, table: Table, wanted: Select[Any], read: Callable[[Row[Any]], V],
    *, last: int,
) -> Iterator[V]:  # fmt: skip
    """Yield rows in the order in which they came, up to the number `last`.

    They are read by the page, so that no transaction stays open while the caller works.
    """
    seen = 0
    while True:
        page = wanted.where(table.c.seq > seen, table.c.seq <= last).order_by(table.c.seq)
        with database.reading() as connection:
            found = connection.execute(page.limit(_PAGE)).all()
        for row in found:
            yield read(row)
        if len(found) < _PAGE:
            return
        seen = found[-1].seq


def damaged(
    name: str, kind: type, problem: str, known_as: object = None
) -> DamagedRecordError:  # fmt: skip
    """Return what is raised about a record that nobody can have put; `known_as` is its id."""
    which = f"a {kind.__name__} in it"
    if isinstance(known_as, str):
        which += f", {known_as[:_LONGEST_ID]!r}"
    return DamagedRecordError(f"the store {name!r} is damaged: {which}: {problem[:200]}")
