"""A decision that cannot be read is told, where others can be gone on with."""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from sqlalchemy import Row

from chart_binder.domain.kept import KeptDecision, UnreadDecision
from chart_binder.errors import DamagedRecordError
from chart_binder.store.rows import read_row

Unread: TypeAlias = Callable[[UnreadDecision], None]
"""Is told of each decision that is left out, for its record is damaged."""

_log = logging.getLogger(__name__)


def read_decision(name: str, row: Row[Any]) -> KeptDecision | UnreadDecision:
    """Return the decision that a row of the store `name` stands for, or why it cannot be told."""
    try:
        return read_row(name, KeptDecision, row)
    except DamagedRecordError as error:
        path = row.path if isinstance(row.path, bytes) else None
        return UnreadDecision(problem=str(error), path=path, pinned=row.pinned is True)


def readable(
    name: str, rows: Iterable[Row[Any]], unread: Unread | None = None
) -> Iterator[KeptDecision]:
    """Yield the decisions that can be read; the others are told to `unread`, or logged."""
    for row in rows:
        found = read_decision(name, row)
        if isinstance(found, KeptDecision):
            yield found
        else:
            (unread or _logged)(found)


def _logged(left_out: UnreadDecision) -> None:
    _log.warning("left out: %s", left_out.problem)
