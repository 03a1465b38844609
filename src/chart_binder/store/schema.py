"""The tables of the store as queries name them, and the migrations that create them.

What a column may hold, keys and indexes are said by the migrations alone.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

METADATA = sa.MetaData()


class Bytes(sa.LargeBinary):
    """Bytes, unconverted: SQLite keeps values of any type in any column, so readers check them."""

    cache_ok = True

    def result_processor(self, dialect: object, coltype: object) -> None:
        """Convert nothing."""


def _columns(kind: type[TypeEngine[Any]], *names: str) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, kind) for name in names)


def _seq() -> sa.Column[int]:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column("seq", number, sa.Identity(always=True), primary_key=True)


def _key(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=True)


schema_version = sa.Table("schema_version", METADATA, sa.Column("version", sa.Integer))

cached_answers = sa.Table(
    "cached_answers",
    METADATA,
    _key("key"),
    sa.Column("body", Bytes),
    sa.Column("fetched_at", sa.Double),
)
"""`fetched_at` and `next_slot` are in seconds since the epoch."""
rate_slots = sa.Table("rate_slots", METADATA, _key("service"), sa.Column("next_slot", sa.Double))

overrides = sa.Table(
    "overrides",
    METADATA,
    _key("recording_mbid"),
    *_columns(sa.Text, "crg_mbid", "rr_mbid", "reason", "set_at_utc"),
)

runs = sa.Table(
    "runs",
    METADATA,
    _seq(),
    *_columns(sa.Text, "id", "command", "arguments", "started_at_utc", "ended_at_utc", "counts"),
    sa.Column("status", sa.Integer),
    sa.Column("measures", Bytes),
)
"""`arguments`, `counts` and `measures` are JSON."""

decisions = sa.Table(
    "decisions",
    METADATA,
    _seq(),
    *_columns(sa.Text, "id", "run_id", "recording_mbid", "state", "decided_by", "crg_mbid"),
    *_columns(sa.Text, "rr_mbid", "evidence_hash", "rules_version", "trace", "decided_at_utc"),
    *_columns(sa.Text, "transcript_id", "adjudicator"),
    *_columns(Bytes, "path_key", "path", "document", "artifact"),
    *_columns(sa.BigInteger, "file_size", "file_mtime_ns"),
    sa.Column("pinned", sa.Boolean),
)
"""`path_key` is `database.path_key`; `document` and `artifact` are JSON."""

evidence = sa.Table("evidence", METADATA, _key("hash"), sa.Column("document", Bytes))
"""`document` is JSON by zlib, that of a transcript JSON Lines by zlib."""
transcripts = sa.Table("transcripts", METADATA, _key("id"), sa.Column("document", Bytes))

verdicts = sa.Table(
    "verdicts",
    METADATA,
    _seq(),
    *_columns(sa.Text, "decision_id", "verdict", "crg_mbid", "rr_mbid", "reason", "at_utc"),
)

unwritten = sa.Table(
    "unwritten",
    METADATA,
    sa.Column("path_key", Bytes, primary_key=True),
    sa.Column("path", Bytes),
    *_columns(sa.Text, "decision_id", "why", "at_utc"),
)

audits = sa.Table(
    "audits", METADATA, _seq(), *_columns(sa.Text, "decision_id", "verdict", "at_utc")
)

writes = sa.Table(
    "writes",
    METADATA,
    _seq(),
    *_columns(sa.Text, "id", "run_id", "decision_id", "state", "audio_hash", "tags_before_hash"),
    *_columns(sa.Text, "tags_after_hash", "at_utc", "done_at_utc", "problem"),
    *_columns(Bytes, "path_key", "path", "changes", "temporary", "tags_left", "restoration"),
    sa.Column("undoes", sa.Text),
)
"""`changes` is JSON, `tags_left` JSON by zlib, `restoration` MessagePack by zlib."""


_TYPES = {
    "sqlite": {"order": "INTEGER PRIMARY KEY", "bytes": "BLOB", "double": "DOUBLE"},
    "postgresql": {
        "order": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "bytes": "BYTEA",
        "double": "DOUBLE PRECISION",
    },
}
"""The types in braces below, by database."""

_OVERRIDES = """CREATE TABLE IF NOT EXISTS overrides (
    recording_mbid TEXT NOT NULL PRIMARY KEY, crg_mbid TEXT NOT NULL, rr_mbid TEXT,
    reason TEXT NOT NULL, set_at_utc TEXT NOT NULL)"""

MIGRATIONS: tuple[Sequence[str], ...] = (
    (  # answers, rate slots, overrides
        "CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY)",
        """CREATE TABLE cached_answers (
            key TEXT NOT NULL PRIMARY KEY, body {bytes} NOT NULL, fetched_at {double} NOT NULL)""",
        """CREATE TABLE rate_slots (
            service TEXT NOT NULL PRIMARY KEY, next_slot {double} NOT NULL)""",
        _OVERRIDES,
        "INSERT INTO schema_version (version) VALUES (0)",
    ),
    (  # decisions and the journal
        _OVERRIDES,  # the first stores of version 1 had none
        """CREATE TABLE runs (
            seq {order}, id TEXT NOT NULL, command TEXT NOT NULL, arguments TEXT NOT NULL,
            started_at_utc TEXT NOT NULL, ended_at_utc TEXT, status INTEGER,
            counts TEXT NOT NULL)""",
        "CREATE UNIQUE INDEX runs_by_id ON runs (id)",
        """CREATE TABLE decisions (
            seq {order}, id TEXT NOT NULL, run_id TEXT NOT NULL, path_key {bytes} NOT NULL,
            path {bytes} NOT NULL, file_size BIGINT NOT NULL, file_mtime_ns BIGINT NOT NULL,
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
            seq {order}, decision_id TEXT NOT NULL, verdict TEXT NOT NULL, crg_mbid TEXT,
            rr_mbid TEXT, reason TEXT NOT NULL, at_utc TEXT NOT NULL)""",
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
    ),
    (  # adjudicators, tags that were left, measures
        "ALTER TABLE decisions ADD COLUMN adjudicator TEXT",
        """UPDATE decisions SET adjudicator = ''
            WHERE state <> 'error' AND (decided_by = 'llm' OR transcript_id IS NOT NULL)""",
        """CREATE INDEX decisions_by_evidence ON decisions (evidence_hash, seq)
            WHERE adjudicator IS NOT NULL""",
        "ALTER TABLE writes ADD COLUMN tags_left {bytes}",
        "CREATE INDEX writes_by_audio ON writes (audio_hash, seq)",
        "ALTER TABLE runs ADD COLUMN measures {bytes}",
    ),
    (  # what people say of a sample of decisions
        """CREATE TABLE audits (
            seq {order}, decision_id TEXT NOT NULL, verdict TEXT NOT NULL, at_utc TEXT NOT NULL)""",
        "CREATE INDEX audits_by_decision ON audits (decision_id, seq)",
    ),
    (  # former files, what an undo took back
        "ALTER TABLE writes ADD COLUMN restoration {bytes}",
        "ALTER TABLE writes ADD COLUMN undoes TEXT",
    ),
    (  # files that were not written, with the reason
        """CREATE TABLE unwritten (
            path_key {bytes} NOT NULL PRIMARY KEY, path {bytes} NOT NULL, decision_id TEXT,
            why TEXT NOT NULL, at_utc TEXT NOT NULL)""",
    ),
)
"""The n-th leads to version n. A released one is never changed; another is added."""


def migrate(connection: sa.Connection, version: int) -> None:
    """Migrate from `version` to the next one, in the transaction of `connection`."""
    types = _TYPES[connection.dialect.name]
    for statement in MIGRATIONS[version]:
        connection.exec_driver_sql(statement.format_map(types))
    connection.execute(sa.update(schema_version).values(version=version + 1))
