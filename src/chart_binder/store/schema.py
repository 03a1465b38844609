"""The tables of the store."""

from sqlalchemy import Column, Double, Integer, LargeBinary, MetaData, Table, Text

VERSION = 1
"""What `schema_version` holds once every table below stands as it does here."""

METADATA = MetaData()

schema_version = Table(
    "schema_version",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
)

cached_answers = Table(
    "cached_answers",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("fetched_at", Double, nullable=False, comment="seconds since the epoch"),
)

rate_slots = Table(
    "rate_slots",
    METADATA,
    Column("service", Text, primary_key=True),
    Column("next_slot", Double, nullable=False, comment="seconds since the epoch"),
)

overrides = Table(
    "overrides",
    METADATA,
    Column("recording_mbid", Text, primary_key=True),
    Column("crg_mbid", Text, nullable=False),
    Column("rr_mbid", Text, nullable=True),
    Column("reason", Text, nullable=False),
    Column("set_at_utc", Text, nullable=False, comment="ISO 8601"),
)
