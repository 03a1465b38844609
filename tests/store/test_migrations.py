"""A store of an older version is led to today's with every row kept, whoever is killed."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs
from sqlalchemy import create_engine, inspect

from chart_binder.errors import StoreError
from chart_binder.store import VERSION, open_store
from chart_binder.store.schema import METADATA, MIGRATIONS
from servers.postgres import Postgres
from store.make_version_1 import ROWS, rows_of, version_1
from store.records import decision, execute

OPEN = "import sys; from chart_binder.store import open_store; open_store(sys.argv[1]).close()"
KILLED = """
import os, signal, sys
from sqlalchemy import Engine, event
from chart_binder.store import open_store
left = int(sys.argv[2])
@event.listens_for(Engine, "before_cursor_execute")
def count(connection, cursor, statement, *_):
    global left
    if statement.lstrip().startswith(("CREATE", "INSERT", "UPDATE")):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
@event.listens_for(Engine, "commit")
def committing(connection):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
open_store(sys.argv[1]).close()
"""


def test_every_row_of_version_1_is_kept(tmp_path: Path) -> None:
    path = version_1(tmp_path / "store.db")
    with open_store(f"sqlite:///{path}") as store:
        store.decisions.put(decision(1))
        answer = store.answers.get("key 7 é")
        assert answer is not None
        assert answer.body == bytes(range(7)) * 7
    for table, rows in ROWS.items():
        assert rows_of(path, table) == rows
    assert rows_of(path, "schema_version") == [(VERSION,)]


def test_each_version_has_its_migration() -> None:
    assert len(MIGRATIONS) == VERSION


@pytest.mark.parametrize("has_overrides", [True, False])
def test_tables_are_the_same_whatever_version_they_came_from(
    tmp_path: Path, has_overrides: bool
) -> None:
    version_1(tmp_path / "old.db", has_overrides=has_overrides)
    old, new = (tables(f"sqlite:///{tmp_path / name}") for name in ("old.db", "new.db"))
    assert old == new


def test_tables_on_a_server_are_those_of_a_file(tmp_path: Path, postgres: Postgres) -> None:
    assert tables(postgres.database()) == tables(f"sqlite:///{tmp_path / 'store.db'}")


def tables(url: str) -> dict[str, object]:
    """Open a store, hold its columns against those that queries name, and return its tables."""
    open_store(url).close()
    engine = create_engine(url)
    found = inspect(engine)
    assert set(found.get_table_names()) == set(METADATA.tables)
    described: dict[str, object] = {}
    for name, table in METADATA.tables.items():
        columns = {column["name"]: column for column in found.get_columns(name)}
        keys = found.get_pk_constraint(name)["constrained_columns"]
        kinds = {column.name: column.type._type_affinity for column in table.columns}
        assert {each: columns[each]["type"]._type_affinity for each in columns} == kinds
        described[name] = (
            [(each, each in keys or columns[each]["nullable"]) for each in columns],
            keys,
            sorted(
                (str(one["name"]), *one["column_names"], bool(one["unique"]))
                for one in found.get_indexes(name)
            ),
        )
    engine.dispose()
    return described


def together(url: str, count: int = 3) -> None:
    """Open a store by several processes at once."""
    running = [
        subprocess.Popen([sys.executable, "-c", OPEN, url], stderr=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    assert [process.communicate()[1] for process in running] == [""] * count


def test_processes_that_migrate_at_once_do_it_once(tmp_path: Path) -> None:
    path = version_1(tmp_path / "store.db")
    together(f"sqlite:///{path}")
    assert rows_of(path, "schema_version") == [(VERSION,)]
    for table, rows in ROWS.items():
        assert rows_of(path, table) == rows


def test_processes_that_make_a_store_on_a_server_at_once_make_it_once(postgres: Postgres) -> None:
    postgres.database("made_at_once")
    together(postgres.url("made_at_once"))
    assert postgres.query("made_at_once", "SELECT version FROM schema_version") == [(VERSION,)]


def killed_at(url: str, statement: int) -> bool:
    done = subprocess.run([sys.executable, "-c", KILLED, url, str(statement)], check=False)
    assert done.returncode in (0, -9)
    return done.returncode != 0


@pytest.mark.parametrize("statement", [0, 7, 18])
def test_a_migration_that_is_killed_leaves_the_version_before_it(
    tmp_path: Path, statement: int
) -> None:
    path = version_1(tmp_path / "store.db")
    assert killed_at(f"sqlite:///{path}", statement)
    assert rows_of(path, "schema_version") == [(1,)]
    with closing(sqlite3.connect(path)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    assert "decisions" not in names
    open_store(f"sqlite:///{path}").close()
    for table, rows in ROWS.items():
        assert rows_of(path, table) == rows
    assert rows_of(path, "schema_version") == [(VERSION,)]


@pytest.mark.parametrize("statement", [12])
def test_a_store_on_a_server_whose_making_is_killed_is_made_by_the_next(
    postgres: Postgres, statement: int
) -> None:
    url = postgres.database()
    assert killed_at(url, statement)
    with open_store(url) as store:
        store.decisions.put(decision(1))
        assert store.decisions.by_id("decision1") == decision(1)


def test_a_migration_on_a_full_disk_leaves_the_version_before_it(tmp_path: Path) -> None:
    path = version_1(tmp_path / "store.db")
    full = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); {OPEN}"
    done = subprocess.run(
        [sys.executable, "-c", full, f"sqlite:///{path}"], capture_output=True, check=False,
        text=True,
    )  # fmt: skip
    assert "StoreError" in done.stderr
    assert rows_of(path, "schema_version") == [(1,)]
    open_store(f"sqlite:///{path}").close()
    assert rows_of(path, "cached_answers") == ROWS["cached_answers"]


def test_a_store_of_a_newer_canon_on_a_server_is_left_as_it_is(postgres: Postgres) -> None:
    url = postgres.database("newer")
    open_store(url).close()
    postgres.query("newer", "UPDATE schema_version SET version = 99")
    with pytest.raises(StoreError, match=rf"newer canon \(schema 99, this one knows {VERSION}\)"):
        open_store(url)


def test_a_missing_table_is_damage_and_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    open_store(f"sqlite:///{path}").close()
    execute(path, "DROP TABLE writes")
    with pytest.raises(StoreError, match="is damaged: its table 'writes' is missing"):
        open_store(f"sqlite:///{path}")


def test_what_models_answered_is_found_in_a_store_of_version_2(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    url = f"sqlite:///{path}"
    rows = [
        structs.replace(decision(1), decided_by="llm"),
        structs.replace(decision(2, state="indeterminate"), transcript_id="t", decided_by=None),
        structs.replace(decision(3, state="error"), transcript_id="t", decided_by=None),
        decision(4),
    ]
    with open_store(url) as store:
        store.decisions.put_all([(row, None, None) for row in rows])
    execute(
        path,
        "DROP TABLE audits",
        "DROP TABLE unwritten",
        "DROP INDEX decisions_by_evidence",
        "ALTER TABLE decisions DROP COLUMN adjudicator",
        "DROP INDEX writes_by_audio",
        "ALTER TABLE writes DROP COLUMN tags_left",
        "ALTER TABLE writes DROP COLUMN restoration",
        "ALTER TABLE writes DROP COLUMN undoes",
        "ALTER TABLE runs DROP COLUMN measures",
        "UPDATE schema_version SET version = 2",
    )
    with open_store(url) as store:
        kept = {one.id: one.adjudicator for one in store.decisions.history(rows[0].path)}
    assert kept == {"decision1": "", "decision2": "", "decision3": None, "decision4": None}
