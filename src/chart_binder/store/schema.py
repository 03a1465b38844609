"""The tables of the store as they stand today; `migrations` leads from older ones to these."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

METADATA = MetaData()


class Bytes(LargeBinary):
    """Bytes as the driver returns them: SQLite keeps any type in any column, readers check."""

    cache_ok = True

    def result_processor(self, dialect: object, coltype: object) -> None:
        """Leave what was read as it is."""


def _order(name: str = "seq") -> Column[int]:
    """Return the column that rows are numbered by as they come."""
    number = BigInteger().with_variant(Integer(), "sqlite")
    return Column(name, number, Identity(always=True), primary_key=True)


schema_version = Table(
    "schema_version",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
)

cached_answers = Table(
    "cached_answers",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("body", Bytes, nullable=False),
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

runs = Table(
    "runs",
    METADATA,
    _order(),
    Column("id", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("arguments", Text, nullable=False, comment="JSON"),
    Column("started_at_utc", Text, nullable=False),
    Column("ended_at_utc", Text, nullable=True),
    Column("status", Integer, nullable=True),
    Column("counts", Text, nullable=False, comment="JSON"),
    Column("measures", Bytes, nullable=True, comment="JSON"),
    Index("runs_by_id", "id", unique=True),
)

decisions = Table(
    "decisions",
    METADATA,
    _order(),
    Column("id", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("path_key", Bytes, nullable=False, comment="see keys.path_key"),
    Column("path", Bytes, nullable=False),
    Column("file_size", BigInteger, nullable=False),
    Column("file_mtime_ns", BigInteger, nullable=False),
    Column("recording_mbid", Text, nullable=True),
    Column("state", Text, nullable=False),
    Column("decided_by", Text, nullable=True),
    Column("crg_mbid", Text, nullable=True),
    Column("rr_mbid", Text, nullable=True),
    Column("evidence_hash", Text, nullable=True),
    Column("rules_version", Text, nullable=False),
    Column("trace", Text, nullable=True),
    Column("document", Bytes, nullable=False, comment="JSON"),
    Column("decided_at_utc", Text, nullable=False),
    Column("transcript_id", Text, nullable=True),
    Column("artifact", Bytes, nullable=True, comment="JSON"),
    Column("pinned", Boolean, nullable=False),
    Column("adjudicator", Text, nullable=True),
    Index("decisions_by_id", "id", unique=True),
    Index("decisions_by_path", "path_key", "seq"),
    Index("decisions_by_state", "state", "seq"),
    Index("decisions_by_run", "run_id", "seq"),
    Index("decisions_by_evidence", "evidence_hash", "seq"),  # of those with an adjudicator alone
)

evidence = Table(
    "evidence",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("document", Bytes, nullable=False, comment="JSON, by zlib"),
)

transcripts = Table(
    "transcripts",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("document", Bytes, nullable=False, comment="JSON Lines, by zlib"),
)

verdicts = Table(
    "verdicts",
    METADATA,
    _order(),
    Column("decision_id", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("crg_mbid", Text, nullable=True),
    Column("rr_mbid", Text, nullable=True),
    Column("reason", Text, nullable=False),
    Column("at_utc", Text, nullable=False),
    Index("verdicts_by_decision", "decision_id", "seq"),
)

writes = Table(
    "writes",
    METADATA,
    _order(),
    Column("id", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("path_key", Bytes, nullable=False, comment="see keys.path_key"),
    Column("path", Bytes, nullable=False),
    Column("decision_id", Text, nullable=True),
    Column("state", Text, nullable=False),
    Column("audio_hash", Text, nullable=False),
    Column("tags_before_hash", Text, nullable=False),
    Column("tags_after_hash", Text, nullable=False),
    Column("changes", Bytes, nullable=False, comment="JSON"),
    Column("at_utc", Text, nullable=False),
    Column("done_at_utc", Text, nullable=True),
    Column("temporary", Bytes, nullable=False),
    Column("problem", Text, nullable=True),
    Column("tags_left", Bytes, nullable=True, comment="JSON, by zlib"),
    Index("writes_by_id", "id", unique=True),
    Index("writes_by_path", "path_key", "seq"),
    Index("writes_by_run", "run_id", "seq"),
    Index("writes_by_audio", "audio_hash", "seq"),
    Index("writes_by_state", "state", "seq"),
)
