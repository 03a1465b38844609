"""The tables of the store, with their keys and indexes."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

METADATA = sa.MetaData()


class Bytes(sa.LargeBinary):
    """Unconverted bytes; readers check the type, because SQLite stores any type in any column."""

    cache_ok = True

    def result_processor(self, dialect: object, coltype: object) -> None:
        """Return None, so that values are not converted."""


def _columns(kind: type[TypeEngine[Any]], *names: str) -> Iterator[sa.Column[Any]]:
    """Yield columns that always have a value."""
    return (sa.Column(name, kind, nullable=False) for name in names)


def _optional(kind: type[TypeEngine[Any]], *names: str) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, kind) for name in names)


def _seq() -> sa.Column[int]:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column("seq", number, sa.Identity(always=True), primary_key=True)


def _key(name: str, kind: type[TypeEngine[Any]] = sa.Text) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=True)


schema_version = sa.Table(
    "schema_version",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
)

cached_answers = sa.Table(
    "cached_answers",
    METADATA,
    _key("key"),
    *_columns(Bytes, "body"),
    *_columns(sa.Double, "fetched_at"),
)
"""`fetched_at` and `next_slot` are in seconds since the epoch."""
rate_slots = sa.Table("rate_slots", METADATA, _key("service"), *_columns(sa.Double, "next_slot"))

overrides = sa.Table(
    "overrides",
    METADATA,
    _key("recording_mbid"),
    *_columns(sa.Text, "reason", "set_at_utc"),
    *_optional(sa.Text, "crg_mbid", "rr_mbid", "first_date", "same_as"),
)

runs = sa.Table(
    "runs",
    METADATA,
    _seq(),
    *_columns(sa.Text, "id", "command", "arguments", "started_at_utc", "counts"),
    *_optional(sa.Text, "ended_at_utc"),
    *_optional(sa.Integer, "status"),
    *_optional(Bytes, "measures"),
    sa.Index("runs_by_id", "id", unique=True),
)
"""`arguments`, `counts` and `measures` are JSON."""

decisions = sa.Table(
    "decisions",
    METADATA,
    _seq(),
    *_columns(sa.Text, "id", "run_id", "state", "rules_version", "decided_at_utc"),
    *_columns(Bytes, "path_key", "path"),
    *_columns(sa.BigInteger, "file_size", "file_mtime_ns"),
    *_optional(sa.Text, "recording_mbid", "decided_by", "crg_mbid", "rr_mbid", "evidence_hash"),
    *_optional(sa.Text, "trace", "transcript_id", "adjudicator"),
    *_columns(Bytes, "document"),  # long values come last: SQLite reads a row up to a column
    *_optional(Bytes, "artifact"),
    sa.Index("decisions_by_id", "id", unique=True),
    sa.Index("decisions_by_path", "path_key", "seq"),
    sa.Index("decisions_by_state", "state", "seq"),
    sa.Index("decisions_by_run", "run_id", "seq"),
    sa.Index("decisions_by_evidence", "evidence_hash", "seq"),
)
"""`path_key` is `database.path_key`; `document` and `artifact` are JSON."""

evidence = sa.Table("evidence", METADATA, _key("hash"), *_columns(Bytes, "document"))
"""`document` is compressed by zlib: evidence as JSON, a transcript as JSON Lines."""
transcripts = sa.Table("transcripts", METADATA, _key("id"), *_columns(Bytes, "document"))

verdicts = sa.Table(
    "verdicts",
    METADATA,
    _seq(),
    *_columns(sa.Text, "decision_id", "verdict", "reason", "at_utc"),
    *_optional(sa.Text, "crg_mbid", "rr_mbid"),
    sa.Index("verdicts_by_decision", "decision_id", "seq"),
)

unwritten = sa.Table(
    "unwritten",
    METADATA,
    _key("path_key", Bytes),
    *_columns(Bytes, "path"),
    *_columns(sa.Text, "why", "at_utc"),
    *_optional(sa.Text, "decision_id"),
)

audits = sa.Table(
    "audits",
    METADATA,
    _seq(),
    *_columns(sa.Text, "decision_id", "verdict", "at_utc"),
    sa.Index("audits_by_decision", "decision_id", "seq"),
)

writes = sa.Table(
    "writes",
    METADATA,
    _seq(),
    *_columns(sa.Text, "id", "run_id", "state", "audio_hash", "tags_before_hash"),
    *_columns(sa.Text, "tags_after_hash", "at_utc"),
    *_columns(Bytes, "path_key", "path", "temporary"),
    *_optional(sa.Text, "decision_id", "done_at_utc", "problem", "undoes"),
    *_columns(Bytes, "changes", "tags_left", "restoration"),
    sa.Index("writes_by_id", "id", unique=True),
    sa.Index("writes_by_path", "path_key", "seq"),
    sa.Index("writes_by_run", "run_id", "seq"),
    sa.Index("writes_by_state", "state", "seq"),
    sa.Index("writes_by_audio", "audio_hash", "seq"),
)
"""`changes` is JSON, `tags_left` zlib-compressed JSON, `restoration` compressed MessagePack."""
