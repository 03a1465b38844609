"""What people ruled on recordings is set and removed.

A verdict on a decision that was given with an override goes with it: it has the same time and
names the same release group.
"""

from collections.abc import Mapping

import msgspec
from sqlalchemy import Connection, delete, select

from chart_binder.domain.ids import RecordingId
from chart_binder.domain.overriding import KeptOverride
from chart_binder.store.inserting import insert_into
from chart_binder.store.rows import read_row
from chart_binder.store.schema import overrides, verdicts
from chart_binder.store.transactions import Transactions


class Overrides:
    """One override for each recording; every method may raise `StoreError`.

    `reading.kept_overrides` reads them too; it makes no store where there is none.
    """

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def put(self, override: KeptOverride) -> None:
        """Keep an override, in place of an earlier one for the same recording."""
        with self._database.writing() as connection:
            put_override(connection, override)

    def all(self) -> Mapping[str, KeptOverride]:
        """Return every override, by recording."""
        with self._database.reading() as connection:
            rows = connection.execute(select(overrides)).all()
        kept = (read_row(self._database.name, KeptOverride, row) for row in rows)
        return {override.recording_mbid: override for override in kept}

    def remove(self, recording: RecordingId) -> None:
        """Forget the override for a recording, if there is one."""
        with self._database.writing() as connection:
            remove_override(connection, recording)


def put_override(connection: Connection, override: KeptOverride) -> None:
    """Keep an override in a transaction that has begun."""
    remove_override(connection, override.recording_mbid)
    row = msgspec.structs.asdict(override)
    new = insert_into(connection, overrides)
    replacing = new.on_conflict_do_update(  # another process may be putting one just now
        index_elements=["recording_mbid"],
        set_={name: new.excluded[name] for name in row if name != "recording_mbid"},
    )
    connection.execute(replacing, row)


def remove_override(connection: Connection, recording: str) -> None:
    """Forget an override, with the verdicts it came with, in a transaction that has begun."""
    same = (
        select(overrides.c.recording_mbid)
        .where(
            overrides.c.recording_mbid == recording,
            overrides.c.set_at_utc == verdicts.c.at_utc,
            overrides.c.crg_mbid == verdicts.c.crg_mbid,
        )
        .exists()
    )
    connection.execute(delete(verdicts).where(same))
    connection.execute(delete(overrides).where(overrides.c.recording_mbid == recording))
