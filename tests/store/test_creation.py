"""The tables are created once and whole, whoever else creates them or is killed meanwhile."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect

from chart_binder.errors import StoreError
from chart_binder.store import VERSION, open_store, read_overrides
from chart_binder.store.schema import METADATA
from servers.postgres import Postgres
from store.records import decision, execute

OPEN = "import sys; from chart_binder.store import open_store; open_store(sys.argv[1]).close()"
KILLED = """
import os, signal, sys
from sqlalchemy import Engine, event
from chart_binder.store import open_store
left = int(sys.argv[2])
def count(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
@event.listens_for(Engine, "before_cursor_execute")
def executing(connection, cursor, statement, *_):
    if statement.lstrip().startswith(("CREATE", "INSERT")):
        count()
event.listen(Engine, "commit", count)
open_store(sys.argv[1]).close()
"""


def test_tables_on_a_server_are_those_of_a_file(tmp_path: Path, postgres: Postgres) -> None:
    assert tables(postgres.database()) == tables(f"sqlite:///{tmp_path / 'store.db'}")


def tables(url: str) -> dict[str, object]:
    """Open a store, compare its columns with the definition, and return its tables."""
    open_store(url).close()
    engine = create_engine(url)
    found = inspect(engine)
    assert set(found.get_table_names()) == set(METADATA.tables)
    described: dict[str, object] = {}
    for name, table in METADATA.tables.items():
        columns = {column["name"]: column for column in found.get_columns(name)}
        kinds = {column.name: column.type._type_affinity for column in table.columns}
        assert {each: columns[each]["type"]._type_affinity for each in columns} == kinds
        described[name] = (
            [(each, columns[each]["nullable"]) for each in columns],
            found.get_pk_constraint(name)["constrained_columns"],
            sorted((str(one["name"]), *one["column_names"],
                bool(one["unique"])) for one in found.get_indexes(name)),
        )  # fmt: skip
    engine.dispose()
    return described


def test_what_a_record_must_have_is_never_null(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with open_store(f"sqlite:///{path}") as store:
        store.decisions.put(decision(1))
    for column in ("path", "state", "document", "file_size"):
        with pytest.raises(sqlite3.IntegrityError, match=f"decisions.{column}"):
            execute(path, f"UPDATE decisions SET {column} = NULL")
    execute(path, "UPDATE decisions SET crg_mbid = NULL")


def test_processes_that_open_a_new_store_at_once_create_it_once(url: str) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", OPEN, url], stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate()[1] for process in running] == ["", "", ""]
    engine = create_engine(url)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT version FROM schema_version").all()
    engine.dispose()
    assert [tuple(row) for row in rows] == [(VERSION,)]


@pytest.mark.parametrize("statement", [0, 12, 26])
def test_a_killed_creation_leaves_nothing_and_the_next_makes_it(url: str, statement: int) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, url, str(statement)], check=False)
    assert done.returncode == -9
    engine = create_engine(url)
    assert inspect(engine).get_table_names() == []
    engine.dispose()
    with open_store(url) as store:
        store.decisions.put(decision(1))
        assert store.decisions.by_id("decision1") == decision(1)


def test_a_creation_on_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    full = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); {OPEN}"
    done = subprocess.run(
        [sys.executable, "-c", full, f"sqlite:///{path}"], capture_output=True, check=False,
        text=True,
    )  # fmt: skip
    assert "StoreError" in done.stderr
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == []
    open_store(f"sqlite:///{path}").close()


def test_a_store_of_another_version_on_a_server_is_left_as_it_is(postgres: Postgres) -> None:
    url = postgres.database("another_version")
    open_store(url).close()
    postgres.query("another_version", "UPDATE schema_version SET version = 6")
    for read in (open_store, read_overrides):
        with pytest.raises(StoreError, match="by another version of canon"):
            read(url)
    assert postgres.query("another_version", "SELECT version FROM schema_version") == [(6,)]
