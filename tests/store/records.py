"""Records to keep, each told from the next by a number, and changes to a file behind its back."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from chart_binder.domain.records import DecisionRecord, RunRecord, WriteRecord
from chart_binder.errors import StoreError
from chart_binder.store import open_store

NOW = "2026-11-21T15:45:00.123456Z"
ODD_PATH = b"/music/\xff \x00\xe3\x83\x87" + b"x" * 4_000
"""Bytes that are no UTF-8, one that no file name has, and more of them than an index takes."""


def execute(path: Path, *statements: str, values: Sequence[object] = ()) -> None:
    """Change a database as another program would."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement, values)
        connection.commit()


def decision(
    number: int, path: bytes = b"/music/song.flac", state: str = "decided"
) -> DecisionRecord:
    return DecisionRecord(
        id=f"decision{number}", run_id="run", path=path, file_size=2**40,
        file_mtime_ns=1_763_740_000_123_456_789,
        recording_mbid="recording" if number % 2 else None, state=state, decided_by="rules",
        crg_mbid="group", rr_mbid=None, evidence_hash="hash", rules_version="1", trace=None,
        document=b'{"state":"decided"}', decided_at_utc=NOW,
    )  # fmt: skip


def run(number: int, command: str = "decide") -> RunRecord:
    return RunRecord(
        id=f"run{number}", command=command, arguments=("a", "\udcff データ"), started_at_utc=NOW
    )


def write(number: int, path: bytes = b"/music/song.flac", run_id: str = "run") -> WriteRecord:
    return WriteRecord(
        id=f"write{number}", run_id=run_id, path=path, decision_id="decision1", audio_hash="audio",
        tags_before_hash="before", tags_after_hash="after", changes=b'{"TXXX":["\xc3\xa9"]}',
        tags_left=b"left", restoration=b"former", at_utc=NOW, temporary=b".song.\xff.tmp",
    )  # fmt: skip


def refusal(url: str) -> str:
    """Return the sentence with which a store is not opened."""
    with pytest.raises(StoreError) as caught:
        open_store(url).close()
    message = str(caught.value)
    assert "\n" not in message
    assert "secret" not in message
    return message
