"""A person's overrides are kept, replaced and removed, and are read without making a store."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from chart_binder.domain.verdict import KeptOverride
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.errors import StoreError
from chart_binder.store import open_store
from chart_binder.store.sqlite_file import read_overrides
from store.make_version_1 import ROWS, rows_of, version_1

RULED = KeptOverride(
    RecordingId("rec"), ReleaseGroupId("group"), ReleaseId("release"), "I was there", "2026-11-02"
)


def test_an_override_is_read_as_it_was_put(url: str) -> None:
    other = msgspec.structs.replace(RULED, recording_mbid=RecordingId("other"), rr_mbid=None)
    with open_store(url) as store:
        store.overrides.put(RULED)
        store.overrides.put(other)
        assert read_overrides(url) == {"rec": RULED, "other": other}, "beside an open store"
    assert read_overrides(url) == {"rec": RULED, "other": other}


def test_a_new_override_takes_the_place_of_the_old(url: str) -> None:
    newer = msgspec.structs.replace(RULED, rr_mbid=None, reason="on second thoughts")
    with open_store(url) as store:
        store.overrides.put(RULED)
        store.overrides.put(newer)
    assert read_overrides(url) == {"rec": newer}


def test_a_removed_override_is_gone(url: str) -> None:
    with open_store(url) as store:
        store.overrides.put(RULED)
        store.overrides.remove(RULED.recording_mbid)
        store.overrides.remove(RULED.recording_mbid)
    assert read_overrides(url) == {}


def test_reading_makes_no_store(tmp_path: Path) -> None:
    assert read_overrides(f"sqlite:///{tmp_path}/absent/store.db") == {}
    assert list(tmp_path.iterdir()) == []


def test_a_store_from_before_there_were_overrides_is_completed(tmp_path: Path) -> None:
    path = version_1(tmp_path / "store.db", has_overrides=False)
    url = f"sqlite:///{path}"
    assert read_overrides(url) == {}
    with open_store(url) as store:
        store.overrides.put(RULED)
    assert read_overrides(url) == {"rec": RULED}
    assert rows_of(path, "cached_answers") == ROWS["cached_answers"]


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"this is a text, and no database at all; " * 40)
    with pytest.raises(StoreError, match="no SQLite database") as caught:
        read_overrides(f"sqlite:///{path}?timeout=1")
    assert str(path) in str(caught.value)


def test_reading_does_not_load_sqlalchemy() -> None:
    program = "import sys, chart_binder.store.sqlite_file; assert 'sqlalchemy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_store_of_a_newer_canon_or_with_a_name_that_is_no_text_is_not_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    url = f"sqlite:///{path}"
    open_store(url).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE schema_version SET version = 99")
        connection.commit()
    with pytest.raises(StoreError, match="newer canon"):
        read_overrides(url)
    content = path.read_bytes()
    path.write_bytes(
        content.replace(b"CREATE TABLE runs", b"CREXTE TABLE runs").replace(
            b"runsruns", b"ru\xff\xfe" * 2
        )
    )
    for read in (read_overrides, lambda url: open_store(url).close()):
        with pytest.raises(StoreError, match="is damaged"):
            read(url)
