"""The tables of the store, and the migrations from older versions."""

from collections.abc import Sequence

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    update,
)

METADATA = MetaData()


class Bytes(LargeBinary):
    """Bytes, unconverted: SQLite keeps values of any type in any column, so readers check them."""

    cache_ok = True

    def result_processor(self, dialect: object, coltype: object) -> None:
        """Convert nothing."""


def _order(name: str = "seq") -> Column[int]:
    """Return the column that numbers the rows."""
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


Statements = Sequence[str]

_TYPES = {
    "sqlite": {
        "order": "INTEGER PRIMARY KEY",
        "bytes": "BLOB",
        "double": "DOUBLE",
        "big": "BIGINT",
    },
    "postgresql": {
        "order": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "bytes": "BYTEA",
        "double": "DOUBLE PRECISION",
        "big": "BIGINT",
    },
}
"""The types in braces below, by database."""

_OVERRIDES = """CREATE TABLE IF NOT EXISTS overrides (
    recording_mbid TEXT NOT NULL PRIMARY KEY, crg_mbid TEXT NOT NULL, rr_mbid TEXT,
    reason TEXT NOT NULL, set_at_utc TEXT NOT NULL)"""

_ANSWERS_SLOTS_OVERRIDES: Statements = (
    "CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY)",
    """CREATE TABLE cached_answers (
        key TEXT NOT NULL PRIMARY KEY, body {bytes} NOT NULL, fetched_at {double} NOT NULL)""",
    """CREATE TABLE rate_slots (
        service TEXT NOT NULL PRIMARY KEY, next_slot {double} NOT NULL)""",
    _OVERRIDES,
    "INSERT INTO schema_version (version) VALUES (0)",
)

_DECISIONS_AND_JOURNAL: Statements = (
    _OVERRIDES,  # the first stores of version 1 had none
    """CREATE TABLE runs (
        seq {order}, id TEXT NOT NULL, command TEXT NOT NULL, arguments TEXT NOT NULL,
        started_at_utc TEXT NOT NULL, ended_at_utc TEXT, status INTEGER, counts TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX runs_by_id ON runs (id)",
    """CREATE TABLE decisions (
        seq {order}, id TEXT NOT NULL, run_id TEXT NOT NULL, path_key {bytes} NOT NULL,
        path {bytes} NOT NULL, file_size {big} NOT NULL, file_mtime_ns {big} NOT NULL,
        recording_mbid TEXT, state TEXT NOT NULL, decided_by TEXT, crg_mbid TEXT, rr_mbid TEXT,
        evidence_hash TEXT, rules_version TEXT NOT NULL, trace TEXT, document {bytes} NOT NULL,
        decided_at_utc TEXT NOT NULL, transcript_id TEXT, artifact {bytes},
        pinned BOOLEAN NOT NULL)""",
    "CREATE UNIQUE INDEX decisions_by_id ON decisions (id)",
    "CREATE INDEX decisions_by_path ON decisions (path_key, seq)",
    "CREATE INDEX decisions_by_state ON decisions (state, seq)",
    "CREATE INDEX decisions_by_run ON decisions (run_id, seq)",
    "CREATE TABLE evidence (hash TEXT NOT NULL PRIMARY KEY, document {bytes} NOT NULL)",
    "CREATE TABLE transcripts (id TEXT NOT NULL PRIMARY KEY, document {bytes} NOT NULL)",
    """CREATE TABLE verdicts (
        seq {order}, decision_id TEXT NOT NULL, verdict TEXT NOT NULL, crg_mbid TEXT, rr_mbid TEXT,
        reason TEXT NOT NULL, at_utc TEXT NOT NULL)""",
    "CREATE INDEX verdicts_by_decision ON verdicts (decision_id, seq)",
    """CREATE TABLE writes (
        seq {order}, id TEXT NOT NULL, run_id TEXT NOT NULL, path_key {bytes} NOT NULL,
        path {bytes} NOT NULL, decision_id TEXT, state TEXT NOT NULL, audio_hash TEXT NOT NULL,
        tags_before_hash TEXT NOT NULL, tags_after_hash TEXT NOT NULL, changes {bytes} NOT NULL,
        at_utc TEXT NOT NULL, done_at_utc TEXT, temporary {bytes} NOT NULL, problem TEXT)""",
    "CREATE UNIQUE INDEX writes_by_id ON writes (id)",
    "CREATE INDEX writes_by_path ON writes (path_key, seq)",
    "CREATE INDEX writes_by_run ON writes (run_id, seq)",
    "CREATE INDEX writes_by_state ON writes (state, seq)",
)

_ADJUDICATORS_TAGS_LEFT_MEASURES: Statements = (
    "ALTER TABLE decisions ADD COLUMN adjudicator TEXT",
    """UPDATE decisions SET adjudicator = ''
        WHERE state <> 'error' AND (decided_by = 'llm' OR transcript_id IS NOT NULL)""",
    """CREATE INDEX decisions_by_evidence ON decisions (evidence_hash, seq)
        WHERE adjudicator IS NOT NULL""",
    "ALTER TABLE writes ADD COLUMN tags_left {bytes}",
    "CREATE INDEX writes_by_audio ON writes (audio_hash, seq)",
    "ALTER TABLE runs ADD COLUMN measures {bytes}",
)

MIGRATIONS: tuple[Statements, ...] = (
    _ANSWERS_SLOTS_OVERRIDES,
    _DECISIONS_AND_JOURNAL,
    _ADJUDICATORS_TAGS_LEFT_MEASURES,
)
"""The n-th leads to version n. A released one is never changed; another is added."""


def migrate(connection: Connection, version: int) -> None:
    """Migrate from `version` to the next one, in the transaction of `connection`."""
    types = _TYPES[connection.dialect.name]
    for statement in MIGRATIONS[version]:
        connection.exec_driver_sql(statement.format_map(types))
    connection.execute(update(schema_version).values(version=version + 1))
