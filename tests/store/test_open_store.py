"""A store opens where it can, and says in one sentence why where it cannot."""

import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from chart_binder.errors import StoreError
from chart_binder.store import VERSION, open_store, read_overrides
from store.records import execute, refusal

NOBODY = 65_534


def test_importing_the_store_or_reading_overrides_does_not_load_sqlalchemy() -> None:
    program = (
        "import sys, chart_binder.store;assert not [m for m in sys.modules if 'sqlalchemy' in m]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def url_of(path: Path, query: str = "") -> str:
    return f"sqlite:///{path}{query}"


def test_a_store_is_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    open_store(url_of(path)).close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.parametrize("url", [
    "", "nonsense", "mysql://somewhere/x", "postgresql+psycopg2://somewhere/x",
    "postgresql://somewhere:port/x", "sqlite://", "sqlite:///:memory:",
])  # fmt: skip
def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    assert "sqlite:////absolute/path.db or postgresql+psycopg://" in refusal(url)


@pytest.mark.parametrize(
    "query",
    ["timeout=abc", "timeout=nan", "timeout=-1", "timeout=1e9", "timeout=1&timeout=2", "uri=true"],
)
def test_only_seconds_of_patience_may_follow_the_file(tmp_path: Path, query: str) -> None:
    message = refusal(url_of(tmp_path / "store.db", f"?{query}"))
    assert str(tmp_path / "store.db") in message
    assert "only ?timeout=SECONDS may follow" in message


def under_a_file(path: Path) -> Path:
    path.write_text("x")
    return path / "store.db"


def no_database(path: Path) -> None:
    path.write_bytes(b"this is a text, and no database at all; " * 40)


def of_another_version(path: Path) -> None:
    open_store(url_of(path)).close()
    execute(path, "UPDATE schema_version SET version = 99")


def of_another_program(path: Path) -> None:
    execute(path, "CREATE TABLE x (y)")


def of_another_program_with_wal(path: Path) -> None:
    execute(path, "PRAGMA journal_mode=WAL", "CREATE TABLE x (y)")


def of_no_version(path: Path) -> None:
    execute(path, "CREATE TABLE schema_version (version)")


def of_odd_version(path: Path) -> None:
    of_no_version(path)
    execute(path, "INSERT INTO schema_version VALUES ('abc')")


def of_two_versions(path: Path) -> None:
    of_no_version(path)
    execute(path, "INSERT INTO schema_version VALUES (6), (7)")


def torn(path: Path) -> None:
    open_store(url_of(path)).close()
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 8192)


@pytest.mark.parametrize(("make", "reason"), [
    (under_a_file, "the folder of the store"), (Path.mkdir, "is not a file"),
    (no_database, "not an SQLite database"),
    (of_another_program, "a database of another program"),
    (of_another_program_with_wal, "a database of another program"),
    (of_another_version, f"by another version of canon (schema 99, this one reads only {VERSION})"),
    (of_no_version, "is damaged: its schema version is []"),
    (of_odd_version, "is damaged: its schema version is 'abc'"),
    (of_two_versions, "is damaged: its schema version is [6, 7]"), (torn, "is damaged"),
])  # fmt: skip
def test_what_is_no_store_of_ours_is_named(
    tmp_path: Path, make: Callable[[Path], Path | None], reason: str
) -> None:
    path = tmp_path / "store.db"
    path = make(path) or path
    before = path.read_bytes() if path.is_file() else b""
    messages = [refusal(url_of(path))]
    if before:
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
    if make in {
        no_database,
        of_another_version,
        of_no_version,
        of_odd_version,
        of_two_versions,
        torn,
    }:
        with pytest.raises(StoreError) as caught:
            read_overrides(url_of(path, "?timeout=1"))
        messages.append(str(caught.value))
    for message in messages:
        assert reason in message
        assert str(path) in message


@contextmanager
def forbidden() -> Iterator[Path]:
    """A folder that may be read, by somebody who may do nothing else: root would not mind."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        open_store(url_of(folder / "made.db")).close()
        folder.chmod(0o555)
        was_root = os.geteuid() == 0
        if was_root:
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            if was_root:
                os.seteuid(0)
            folder.chmod(0o755)


@pytest.mark.parametrize(
    ("name", "words"), [("new.db", "cannot be opened"), ("made.db", "writable")]
)
def test_a_store_that_may_not_be_written_is_named(name: str, words: str) -> None:
    with forbidden() as folder:
        message = refusal(url_of(folder / name))
    assert repr(str(folder / name)) in message
    assert words in message


def test_a_full_disk_is_named_with_nothing_lost(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with open_store(url_of(path)) as store:
        store.answers.put("kept", b"body", 1)
    program = """
import sys
from chart_binder.errors import StoreError
from chart_binder.store import open_store
with open_store(sys.argv[1]) as store:
    try:
        store.answers.put("large", b"x" * 1_000_000, 2)
    except StoreError as error:
        print(error)
"""
    said = subprocess.run(
        [sys.executable, "-c", program, url_of(path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(path) in said.stdout
    assert "disk" in said.stdout
    with open_store(url_of(path)) as store:
        assert store.answers.get("kept") is not None
        assert store.answers.get("large") is None
