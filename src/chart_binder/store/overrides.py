"""What people ruled on recordings is set and removed."""

import msgspec
from sqlalchemy import delete
from sqlalchemy.dialects.sqlite import insert

from chart_binder.domain.ids import RecordingId
from chart_binder.domain.overriding import KeptOverride
from chart_binder.store.answers import Transactions
from chart_binder.store.schema import overrides


class Overrides:
    """One override for each recording; every method may raise `StoreError`.

    They are read by `reading.kept_overrides`, which makes no store where there is none.
    """

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def put(self, override: KeptOverride) -> None:
        """Keep an override, in place of an earlier one for the same recording."""
        row = msgspec.structs.asdict(override)
        new = insert(overrides).values(row)
        replacing = new.on_conflict_do_update(
            index_elements=["recording_mbid"],
            set_={name: new.excluded[name] for name in row if name != "recording_mbid"},
        )
        with self._database.writing() as connection:
            connection.execute(replacing)

    def remove(self, recording: RecordingId) -> None:
        """Forget the override for a recording, if there is one."""
        with self._database.writing() as connection:
            connection.execute(delete(overrides).where(overrides.c.recording_mbid == recording))
