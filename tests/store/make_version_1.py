"""A store as version 1 of the schema left it, with rows in every table."""

import sqlite3
from contextlib import closing
from pathlib import Path

SCHEMA = """
CREATE TABLE schema_version (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
CREATE TABLE cached_answers (
	"key" TEXT NOT NULL, 
	body BLOB NOT NULL, 
	fetched_at DOUBLE NOT NULL, 
	PRIMARY KEY ("key")
);
CREATE TABLE rate_slots (
	service TEXT NOT NULL, 
	next_slot DOUBLE NOT NULL, 
	PRIMARY KEY (service)
);
CREATE TABLE overrides (
	recording_mbid TEXT NOT NULL, 
	crg_mbid TEXT NOT NULL, 
	rr_mbid TEXT, 
	reason TEXT NOT NULL, 
	set_at_utc TEXT NOT NULL, 
	PRIMARY KEY (recording_mbid)
);
INSERT INTO schema_version VALUES (1);
"""  # noqa: W291 - to the byte what SQLAlchemy had SQLite keep
ROWS: dict[str, list[tuple[object, ...]]] = {
    "cached_answers": [(f"key {n} é", bytes(range(n)) * n, n + 0.25) for n in range(200)],
    "rate_slots": [("musicbrainz.org", 1_763_740_000.5), ("mirror:5000", 0.0)],
    "overrides": [
        ("recording", "group", "release", "I was there", "2026-11-02T10:00:00.000000Z"),
        ("他の録音", "group", None, "", "2026-11-03T10:00:00.000000Z"),
    ],
}


def version_1(path: Path, *, has_overrides: bool = True) -> Path:
    """Make a store of version 1; the first of them had no overrides."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(SCHEMA)
        if not has_overrides:
            connection.execute("DROP TABLE overrides")
        for table, rows in ROWS.items():
            if table != "overrides" or has_overrides:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        connection.commit()
    return path


def rows_of(path: Path, table: str) -> list[tuple[object, ...]]:
    """Return the rows of a table as any program sees them."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()
