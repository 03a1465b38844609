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
from chart_binder.store import open_store

NOBODY = 65_534


def url_of(path: Path, query: str = "") -> str:
    return f"sqlite:///{path}{query}"


def refusal(url: str) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(url).close()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_parent_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "データ" / "store.db"
    with open_store(url_of(path)) as store:
        store.answers.put("key", b"body", 1.5)
    assert path.exists()


def test_a_store_keeps_what_was_put_until_it_is_opened_again(tmp_path: Path) -> None:
    for body in (b"one", b"two"):
        with open_store(url_of(tmp_path / "store.db")) as store:
            store.answers.put("key", body, 2.5)
    with open_store(url_of(tmp_path / "store.db")) as store:
        kept = store.answers.get("key")
    assert kept is not None
    assert (kept.body, kept.fetched_at) == (b"two", 2.5)


def test_a_store_is_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    open_store(url_of(path)).close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_importing_the_room_does_not_load_sqlalchemy() -> None:
    program = (
        "import sys, chart_binder.store; assert not [m for m in sys.modules if 'sqlalchemy' in m]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "mysql://somewhere/x",
        "postgresql+psycopg2://somewhere/x",
        "postgresql://somewhere:port/x",
        "sqlite://",
        "sqlite:///:memory:",
    ],
)
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


@pytest.mark.parametrize("column", ["body", "fetched_at"])
def test_an_answer_of_another_type_is_a_damaged_store(tmp_path: Path, column: str) -> None:
    path = tmp_path / "store.db"
    with open_store(url_of(path)) as store:
        store.answers.put("key", b"body", 1)
        connection = sqlite3.connect(path)
        connection.execute(f"UPDATE cached_answers SET {column} = 'text'")
        connection.commit()
        connection.close()
        with pytest.raises(StoreError, match="is damaged: the answer kept under 'key'") as caught:
            store.answers.get("key")
        assert str(path) in str(caught.value)
        store.answers.put("key", b"again", 2)
        assert store.answers.get("key") is not None


def under_a_file(folder: Path) -> Path:
    (folder / "file").write_text("x")
    return folder / "file" / "store.db"


def a_folder(folder: Path) -> Path:
    (folder / "store.db").mkdir()
    return folder / "store.db"


def no_database(folder: Path) -> Path:
    (folder / "store.db").write_bytes(b"this is a text, and no database at all; " * 40)
    return folder / "store.db"


def another_program(folder: Path) -> Path:
    connection = sqlite3.connect(folder / "store.db")
    connection.execute("CREATE TABLE items (id INTEGER)")
    connection.close()
    return folder / "store.db"


def a_newer_canon(folder: Path) -> Path:
    open_store(url_of(folder / "store.db")).close()
    connection = sqlite3.connect(folder / "store.db")
    connection.execute("UPDATE schema_version SET version = 99")
    connection.commit()
    connection.close()
    return folder / "store.db"


def of_no_version(folder: Path) -> Path:
    path = folder / "store.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE schema_version (version)")
    connection.execute("INSERT INTO schema_version VALUES ('abc')")
    connection.commit()
    connection.close()
    return path


def torn(folder: Path) -> Path:
    path = folder / "store.db"
    open_store(url_of(path)).close()
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 8192)
    return path


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (under_a_file, "the folder of the store"),
        (a_folder, "is a folder"),
        (no_database, "no SQLite database"),
        (another_program, "a database of another program"),
        (a_newer_canon, "newer canon (schema 99, this one knows 3)"),
        (of_no_version, "is damaged: its schema version is 'abc'"),
        (torn, "is damaged"),
    ],
)
def test_what_is_no_store_of_ours_is_named(
    tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    path = make(tmp_path)
    message = refusal(url_of(path))
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


def test_a_folder_that_may_not_be_written_is_named() -> None:
    with forbidden() as folder:
        path = folder / "new.db"
        message = refusal(url_of(path))
    assert f"{str(path)!r} cannot be opened" in message


def test_a_store_that_may_not_be_written_is_named() -> None:
    with forbidden() as folder:
        path = folder / "made.db"
        message = refusal(url_of(path))
    assert str(path) in message
    assert "writable" in message


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
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(path) in said.stdout
    assert "disk" in said.stdout
    with open_store(url_of(path)) as store:
        assert store.answers.get("kept") is not None
        assert store.answers.get("large") is None
