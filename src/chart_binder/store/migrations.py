"""Every version of the schema is reached from the one before, with all rows kept."""

from collections.abc import Sequence

from sqlalchemy import Connection, update

from chart_binder.store.schema import schema_version

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
"""What the names in braces below are called by each database."""

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
"""The n-th leads to version n. One that was released is never changed: another is added."""


def migrate(connection: Connection, version: int) -> None:
    """Lead from `version` to the next one, inside the transaction of `connection`."""
    types = _TYPES[connection.dialect.name]
    for statement in MIGRATIONS[version]:
        connection.exec_driver_sql(statement.format_map(types))
    connection.execute(update(schema_version).values(version=version + 1))
