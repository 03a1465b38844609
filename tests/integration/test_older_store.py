"""A store that an older canon wrote is refused by name, and left as it is."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chart_binder.store import VERSION
from golden.bundles import golden
from integration.conftest import Canon
from integration.services import file_of

BUNDLE = golden("lead-bohemian")
SCHEMA_6 = """
PRAGMA journal_mode=WAL;
CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY);
INSERT INTO schema_version VALUES (6);
CREATE TABLE cached_answers (
    key TEXT NOT NULL PRIMARY KEY, body BLOB NOT NULL, fetched_at DOUBLE NOT NULL);
CREATE TABLE rate_slots (service TEXT NOT NULL PRIMARY KEY, next_slot DOUBLE NOT NULL);
CREATE TABLE overrides (
    recording_mbid TEXT NOT NULL PRIMARY KEY, crg_mbid TEXT NOT NULL, rr_mbid TEXT,
    reason TEXT NOT NULL, set_at_utc TEXT NOT NULL);
INSERT INTO overrides VALUES ('recording', 'group', NULL, 'mine', '2026-11-02T10:00:00.000000Z');
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, command TEXT NOT NULL, arguments TEXT NOT NULL,
    started_at_utc TEXT NOT NULL, ended_at_utc TEXT, status INTEGER, counts TEXT NOT NULL,
    measures BLOB);
CREATE TABLE decisions (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, run_id TEXT NOT NULL, path_key BLOB NOT NULL,
    path BLOB NOT NULL, file_size BIGINT NOT NULL, file_mtime_ns BIGINT NOT NULL,
    recording_mbid TEXT, state TEXT NOT NULL, decided_by TEXT, crg_mbid TEXT, rr_mbid TEXT,
    evidence_hash TEXT, rules_version TEXT NOT NULL, trace TEXT, document BLOB NOT NULL,
    decided_at_utc TEXT NOT NULL, transcript_id TEXT, artifact BLOB, pinned BOOLEAN NOT NULL,
    adjudicator TEXT);
CREATE TABLE writes (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, run_id TEXT NOT NULL, path_key BLOB NOT NULL,
    path BLOB NOT NULL, decision_id TEXT, state TEXT NOT NULL, audio_hash TEXT NOT NULL,
    tags_before_hash TEXT NOT NULL, tags_after_hash TEXT NOT NULL, changes BLOB NOT NULL,
    at_utc TEXT NOT NULL, done_at_utc TEXT, temporary BLOB NOT NULL, problem TEXT,
    tags_left BLOB, restoration BLOB, undoes TEXT);
"""
"""Tables of version 6 with what tells them from today's; the others do not matter."""


@pytest.fixture
def older(home: Path) -> Path:
    """The store where the program looks for it."""
    path = home / "data" / "canon" / "canon.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA_6)
    return path


@pytest.mark.parametrize(
    "command",
    ["decide {song}", "batch {song}", "write {song} --apply", "undo", "drift", "ls", "review list",
     "override list", "runs list", "verify {song}"],
)  # fmt: skip
def test_an_older_store_is_refused_with_what_to_do(
    canon: Canon, home: Path, older: Path, command: str
) -> None:
    song = file_of(BUNDLE, home)
    audio, content = song.read_bytes(), older.read_bytes()
    words = command.format(song=song).split()
    told = canon(*words, "--offline").must_end(
        1,
        f"the store '{older}' was written by an older canon (schema 6, this one reads {VERSION}",
        "move the file away, with its -wal, or name another in store.url, run `canon batch` again",
        "set your overrides again",
        "run its `canon undo` first",
    )
    assert "Traceback" not in told.err
    assert (song.read_bytes(), older.read_bytes()) == (audio, content)


def test_a_bundle_is_not_decided_past_overrides_that_cannot_be_read(
    canon: Canon, older: Path, home: Path
) -> None:
    bundle = home / "bundle.json"
    bundle.write_text('{"version": 1, "artist": {"name": "A"}, "recording_candidates": []}')
    canon("decide", "--evidence", bundle).must_end(1, "older canon (schema 6")
    canon("doctor", "--offline").must_end(1, "older canon (schema 6")


def test_the_same_commands_work_once_it_is_moved_away(
    canon: Canon, home: Path, older: Path
) -> None:
    song = file_of(BUNDLE, home)
    older.rename(older.with_name("older.db"))
    canon("batch", song, knowing=[BUNDLE]).must_end(0)
    canon("write", song, "--apply").must_end(0)
    canon("undo").must_end(0)
